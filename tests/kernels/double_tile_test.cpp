#include "kernels/dtypes/double_tile.h"

#include "kernels/kernel_test.h"

namespace pt2::kernels {
namespace {

TEST(DoubleTileTest, EqualsAPlainLoop) {
  test::on_every_target([] {
    test::Random random(1);
    for (const int64_t depth : {0, 1, 7, 128}) {
      std::vector<double> left, right;
      for (int64_t i = 0; i < depth * kDoubleTileRows; ++i) left.push_back(random.number(-1, 1));
      for (int64_t i = 0; i < depth * kDoubleTileColumns; ++i)
        right.push_back(random.number(-1, 1));
      std::vector<double> tile(kDoubleTileRows * kDoubleTileColumns, 9);
      multiply_double_tile(depth, left.data(), right.data(), tile.data());
      for (int64_t i = 0; i < kDoubleTileRows; ++i)
        for (int64_t j = 0; j < kDoubleTileColumns; ++j) {
          double expected = 0;
          for (int64_t k = 0; k < depth; ++k)
            expected += left[static_cast<size_t>(k * kDoubleTileRows + i)] *
                        right[static_cast<size_t>(k * kDoubleTileColumns + j)];
          ASSERT_NEAR(tile[static_cast<size_t>(i * kDoubleTileColumns + j)], expected, 1e-13);
        }
    }
  });
}

}  // namespace
}  // namespace pt2::kernels
