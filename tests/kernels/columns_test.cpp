#include "kernels/columns.h"

#include <cmath>
#include <limits>
#include <utility>

#include "kernels/kernel_test.h"

namespace pt2::kernels {
namespace {

using test::Random;

// Returns the softmax of the column whose first element has the index `at`.
std::vector<double> softmax_of(const std::vector<float>& in, int64_t at, const ColumnShape& shape,
                               bool logarithm) {
  std::vector<double> out;
  for (int64_t row = 0; row < shape.rows; ++row)
    out.push_back(in[static_cast<size_t>(at + row * shape.columns)]);
  return test::softmax(std::move(out), logarithm);
}

TEST(Columns, SoftmaxIsThatOfEachColumn) {
  Random random(5);
  for (int round = 0; round < 60; ++round) {
    const ColumnShape shape{random.whole(1, 3), random.whole(1, round % 10 == 0 ? 1500 : 40),
                            random.whole(1, round % 7 == 0 ? 2500 : 200)};
    const bool logarithm = round % 2 == 0;
    const std::vector<float> in =
        random.numbers(shape.matrices * shape.rows * shape.columns, -4, 4);
    std::vector<float> out(in.size(), 9);
    ThreadPool pool(2);
    softmax_columns(logarithm, shape, in.data(), out.data(), &pool);
    for (int64_t matrix = 0; matrix < shape.matrices; ++matrix)
      for (int64_t column = 0; column < shape.columns; ++column) {
        const int64_t first = matrix * shape.rows * shape.columns + column;
        const std::vector<double> expected = softmax_of(in, first, shape, logarithm);
        for (int64_t row = 0; row < shape.rows; ++row)
          ASSERT_TRUE(test::close_to(out[static_cast<size_t>(first + row * shape.columns)],
                                     expected[static_cast<size_t>(row)],
                                     1e-6 * (1 + std::abs(expected[static_cast<size_t>(row)]))))
              << "row " << row << " column " << column << " of " << shape.columns;
      }
    std::vector<float> in_place = in;
    softmax_columns(logarithm, shape, in_place.data(), in_place.data(), nullptr);
    EXPECT_EQ(in_place, out);
    const std::vector<double> wide(in.begin(), in.end());
    std::vector<double> wide_out(in.size(), 9);
    softmax_columns(logarithm, shape, wide.data(), wide_out.data(), &pool);
    for (size_t i = 0; i < in.size(); ++i)
      ASSERT_NEAR(wide_out[i], static_cast<double>(out[i]), 1e-6 * (1 + std::abs(wide_out[i])));
  }
}

TEST(Columns, InfinitiesAndNaNStayInTheirColumn) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> in = {-kInfinity, nan, -kInfinity, 1, -kInfinity, 0, 3, 1};
  std::vector<float> out(in.size());
  softmax_columns(false, {1, 2, 4}, in.data(), out.data());
  EXPECT_TRUE(std::isnan(out[0]) && std::isnan(out[4]));
  EXPECT_TRUE(std::isnan(out[1]) && std::isnan(out[5]));
  EXPECT_EQ(out[2], 0);
  EXPECT_EQ(out[6], 1);
  EXPECT_EQ(out[3], 0.5f);
}

}  // namespace
}  // namespace pt2::kernels
