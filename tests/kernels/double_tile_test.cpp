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

template <class Number>
void check_wholes() {
  test::Random random(2);
  for (const int64_t depth : {0, 1, 7, 128}) {
    std::vector<Number> left, right;
    const auto number = [&] {
      return static_cast<Number>(static_cast<uint64_t>(random.whole(0, 1 << 30)) *
                                 0x9E3779B97F4A7C15);
    };
    for (int64_t i = 0; i < depth * kWholeTileRows; ++i) left.push_back(number());
    for (int64_t i = 0; i < depth * kWholeTileColumns; ++i) right.push_back(number());
    std::vector<Number> tile(kWholeTileRows * kWholeTileColumns, 9), expected(tile.size());
    for (int64_t k = 0; k < depth; ++k)
      for (int64_t i = 0; i < kWholeTileRows; ++i)
        for (int64_t j = 0; j < kWholeTileColumns; ++j)
          expected[static_cast<size_t>(i * kWholeTileColumns + j)] +=
              left[static_cast<size_t>(k * kWholeTileRows + i)] *
              right[static_cast<size_t>(k * kWholeTileColumns + j)];
    multiply_whole_tile(depth, left.data(), right.data(), tile.data());
    ASSERT_EQ(tile, expected);
  }
}

TEST(DoubleTileTest, WholeNumbersWrap) {
  test::on_every_target([] {
    check_wholes<uint32_t>();
    check_wholes<uint64_t>();
  });
}

}  // namespace
}  // namespace pt2::kernels
