// Plane rotations of neighbouring columns, as iterations for eigenvalues make them by the thousand.
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

// Rotations of columns `column` and `column` + 1, then of the pair that shares one of them, and so
// on: of higher columns, or of lower ones.
struct RotationSequence {
  int64_t column = 0;
  int64_t count = 0;
  bool ascending = true;
};

// Rotates the columns of a column-major matrix of `rows` rows by one sequence after another, whose
// rotations stand one behind another. Rows are independent: a few of them at a time stay in the
// first cache for all sequences.
void rotate_columns(double* matrix, int64_t rows, std::span<const RotationSequence> sequences,
                    std::span<const PlaneRotation> rotations);

}  // namespace pt2::kernels

#endif  // PT2_KERNELS_DTYPES_ROTATIONS_H
