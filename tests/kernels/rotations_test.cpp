#include "kernels/dtypes/rotations.h"

#include "kernels/kernel_test.h"

namespace pt2::kernels {
namespace {

void rotate_plainly(std::vector<double>& matrix, int64_t rows, const RotationSequence& sequence,
                    const PlaneRotation* rotation) {
  for (int64_t i = 0; i < sequence.count; ++i, ++rotation) {
    const int64_t column = sequence.column + (sequence.ascending ? i : -i);
    for (int64_t row = 0; row < rows; ++row) {
      double& x = matrix[static_cast<size_t>(column * rows + row)];
      double& y = matrix[static_cast<size_t>((column + 1) * rows + row)];
      const double before = x;
      x = rotation->c * x + rotation->s * y;
      y = rotation->c * y - rotation->s * before;
    }
  }
}

TEST(RotationsTest, EqualAPlainLoop) {
  test::on_every_target([] {
    test::Random random(1);
    for (const int64_t rows : {1, 3, 16, 37}) {
      constexpr int64_t kColumns = 9;
      std::vector<double> matrix;
      for (int64_t i = 0; i < rows * kColumns; ++i) matrix.push_back(random.number(-1, 1));
      std::vector<double> expected = matrix;
      const std::vector<RotationSequence> sequences{{0, 8, true}, {7, 8, false}, {3, 1, true},
                                                    {4, 0, true}, {5, 3, false}, {2, 4, true}};
      std::vector<PlaneRotation> rotations;
      for (const RotationSequence& sequence : sequences)
        for (int64_t i = 0; i < sequence.count; ++i)
          rotations.push_back({random.number(-1, 1), random.number(-1, 1)});
      const PlaneRotation* next = rotations.data();
      for (const RotationSequence& sequence : sequences) {
        rotate_plainly(expected, rows, sequence, next);
        next += sequence.count;
      }
      rotate_columns(matrix.data(), rows, sequences, rotations);
      for (size_t i = 0; i < matrix.size(); ++i) ASSERT_NEAR(matrix[i], expected[i], 1e-13);
    }
  });
}

}  // namespace
}  // namespace pt2::kernels
