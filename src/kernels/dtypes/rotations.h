// Plane rotations of adjacent columns, for eigenvalue iterations, which make thousands of them.
#ifndef PT2_KERNELS_DTYPES_ROTATIONS_H
#define PT2_KERNELS_DTYPES_ROTATIONS_H

#include <cstdint>
#include <span>

namespace pt2::kernels {

// Columns (x, y) become (c x + s y, c y - s x).
struct PlaneRotation {
  double c = 1;
  double s = 0;
};

// The first rotation is of columns `column` and `column` + 1. Each next rotation is of the adjacent
// pair one column higher (ascending) or lower.
struct RotationSequence {
  int64_t column = 0;
  int64_t count = 0;
  bool ascending = true;
};

// Applies the sequences in turn to the columns of a column-major matrix of `rows` rows. `rotations`
// holds the rotations of all sequences, one sequence after another. Rows are independent: a few
// rows at a time stay in the L1 cache for all sequences.
void rotate_columns(double* matrix, int64_t rows, std::span<const RotationSequence> sequences,
                    std::span<const PlaneRotation> rotations);

}  // namespace pt2::kernels

#endif  // PT2_KERNELS_DTYPES_ROTATIONS_H
