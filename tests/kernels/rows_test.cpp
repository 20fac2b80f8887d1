#include "kernels/rows.h"

#include <algorithm>
#include <limits>

#include "kernels/kernel_test.h"

namespace pt2::kernels {
namespace {

using test::Random;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Rows of random sizes and strides.
struct Case {
  RowShape shape;
  std::vector<float> in, out, weight, bias;

  Case(Random& random, bool long_rows) {
    shape.rows = random.whole(1, 9);
    shape.columns = random.whole(1, long_rows ? 5000 : 70);
    shape.in_stride = shape.columns + random.whole(0, 3);
    shape.out_stride = shape.columns + random.whole(0, 3);
    in = random.numbers(shape.rows * shape.in_stride, -3, 3);
    out.assign(static_cast<size_t>(shape.rows * shape.out_stride), 9);
    weight = random.numbers(shape.columns);
    bias = random.numbers(shape.columns);
  }
  std::vector<double> row(int64_t index) const {
    const auto first = in.begin() + index * shape.in_stride;
    return {first, first + shape.columns};
  }
  // `expected` returns the row of results for a row.
  template <class Function>
  void check(double tolerance, const Function& expected) const {
    for (int64_t r = 0; r < shape.rows; ++r) {
      const std::vector<double> values = expected(row(r));
      for (int64_t i = 0; i < shape.out_stride; ++i) {
        const double value = i < shape.columns ? values[static_cast<size_t>(i)] : 9;
        ASSERT_TRUE(test::close_to(out[static_cast<size_t>(r * shape.out_stride + i)], value,
                                   tolerance * (1 + std::abs(value))))
            << "row " << r << " column " << i << " of " << shape.columns;
      }
    }
  }
};

double sum(const std::vector<double>& row) {
  double total = 0;
  for (const double value : row) total += value;
  return total;
}

TEST(RowsTest, OfEqualElementsNormalizeToZero) {
  for (const int64_t columns : {1, 3, 7, 100, 768, 1000, 5001}) {
    for (const float element : {0.1f, -1234.567f, 3e-20f, 1e15f}) {
      const std::vector<float> in(static_cast<size_t>(columns), element);
      std::vector<float> out(in.size(), 9);
      EXPECT_EQ(row_moments(in.data(), columns).squares, 0) << columns << " of " << element;
      layer_norm_rows({1, columns, columns, columns}, in.data(), nullptr, nullptr, 1e-5,
                      out.data());
      EXPECT_EQ(out, std::vector<float>(in.size(), 0)) << columns << " of " << element;
    }
  }
}

TEST(RowsTest, SoftmaxEqualsAPlainLoop) {
  ThreadPool pool(3);
  test::on_every_target([&] {
    Random random(1);
    for (int i = 0; i < 40; ++i) {
      Case plain(random, i % 8 == 0);
      softmax_rows(false, plain.shape, plain.in.data(), plain.out.data(), &pool);
      plain.check(5e-7, [](const std::vector<double>& row) { return test::softmax(row, false); });
      softmax_rows(true, plain.shape, plain.in.data(), plain.out.data(), &pool);
      plain.check(5e-7, [](const std::vector<double>& row) { return test::softmax(row, true); });
    }
  });
}

TEST(RowsTest, SoftmaxOfDoublesEqualsAPlainLoop) {
  ThreadPool pool(3);
  test::on_every_target([&] {
    Random random(3);
    for (int i = 0; i < 40; ++i) {
      const Case plain(random, i % 8 == 0);
      const std::vector<double> in(plain.in.begin(), plain.in.end());
      for (const bool logarithm : {false, true}) {
        std::vector<double> out(plain.out.size(), 9);
        softmax_rows(logarithm, plain.shape, in.data(), out.data(), &pool);
        for (int64_t r = 0; r < plain.shape.rows; ++r) {
          const std::vector<double> row = test::softmax(plain.row(r), logarithm);
          for (size_t c = 0; c < row.size(); ++c)
            ASSERT_NEAR(out[static_cast<size_t>(r * plain.shape.out_stride) + c], row[c],
                        1e-14 * (1 + std::abs(row[c])));
        }
      }
    }
  });
}

TEST(RowsTest, PartsOfNormalizationsEqualPlainLoops) {
  test::on_every_target([] {
    Random random(7);
    for (int i = 0; i < 40; ++i) {
      Case plain(random, i % 8 == 0);
      const std::vector<double> row = plain.row(0);
      const double mean = sum(row) / static_cast<double>(row.size());
      double squares = 0;
      for (const double value : row) squares += (value - mean) * (value - mean);
      const RowMoments moments = row_moments(plain.in.data(), plain.shape.columns);
      EXPECT_NEAR(moments.mean, mean, 1e-6);
      EXPECT_NEAR(moments.squares, squares, 1e-5 * (1 + squares));
      plain.shape.rows = 1;
      normalize_row(plain.in.data(), plain.shape.columns, 0.5f, 2, plain.weight.data(),
                    plain.bias.data(), plain.out.data());
      plain.check(1e-6, [&](std::vector<double> values) {
        for (size_t j = 0; j < values.size(); ++j)
          values[j] = (values[j] - 0.5) * 2 * static_cast<double>(plain.weight[j]) +
                      static_cast<double>(plain.bias[j]);
        return values;
      });
      scale_row(plain.in.data(), plain.shape.columns, 3, -1, plain.out.data());
      plain.check(1e-6, [](std::vector<double> values) {
        for (double& value : values) value = value * 3 - 1;
        return values;
      });
    }
  });
}

TEST(RowsTest, SoftmaxWithInfinities) {
  test::on_every_target([] {
    for (const int64_t columns : {2, 5, 40}) {
      std::vector<float> row(static_cast<size_t>(columns), -kInfinity);
      std::vector<float> out(row.size());
      const RowShape shape{.columns = columns};
      softmax_rows(false, shape, row.data(), out.data());
      for (const float value : out) EXPECT_TRUE(std::isnan(value));
      row[1] = -1e30f;
      softmax_rows(false, shape, row.data(), out.data());
      EXPECT_EQ(out[0], 0);
      EXPECT_EQ(out[1], 1);
    }
  });
}

TEST(RowsTest, NormsEqualAPlainLoop) {
  ThreadPool pool(3);
  test::on_every_target([&] {
    Random random(2);
    for (int i = 0; i < 40; ++i) {
      Case plain(random, i % 8 == 0);
      const bool affine = random.whole(0, 1) == 1;
      const float* weight = affine ? plain.weight.data() : nullptr;
      const float* bias = affine ? plain.bias.data() : nullptr;
      const auto normal = [&](std::vector<double> row, bool centered) {
        const auto size = static_cast<double>(row.size());
        const double mean = centered ? sum(row) / size : 0;
        double squares = 0;
        for (const double value : row) squares += (value - mean) * (value - mean);
        const double factor = 1 / std::sqrt(squares / size + 1e-3);
        for (size_t k = 0; k < row.size(); ++k) {
          row[k] = (row[k] - mean) * factor;
          if (affine) row[k] = row[k] * plain.weight[k] + (centered ? plain.bias[k] : 0);
        }
        return row;
      };
      layer_norm_rows(plain.shape, plain.in.data(), weight, bias, 1e-3, plain.out.data(), &pool);
      plain.check(2e-6, [&](const std::vector<double>& row) { return normal(row, true); });
      rms_norm_rows(plain.shape, plain.in.data(), weight, 1e-3, plain.out.data(), &pool);
      plain.check(2e-6, [&](const std::vector<double>& row) { return normal(row, false); });
    }
  });
}

TEST(RowsTest, ReductionsEqualAPlainLoop) {
  ThreadPool pool(3);
  test::on_every_target([&] {
    Random random(3);
    for (int i = 0; i < 60; ++i) {
      Case plain(random, i % 8 == 0);
      plain.shape.out_stride = 2;
      plain.out.assign(static_cast<size_t>(plain.shape.rows) * 2, 9);
      if (i % 5 == 0) plain.in[static_cast<size_t>(plain.shape.columns - 1)] = NAN;
      for (const Reduction reduction :
           {Reduction::sum, Reduction::mean, Reduction::maximum, Reduction::minimum}) {
        reduce_rows(reduction, plain.shape, plain.in.data(), plain.out.data(), &pool);
        for (int64_t r = 0; r < plain.shape.rows; ++r) {
          const std::vector<double> row = plain.row(r);
          const double total = sum(row);
          double expected = total;
          if (reduction == Reduction::mean) expected /= static_cast<double>(row.size());
          if (reduction == Reduction::maximum) expected = *std::max_element(row.begin(), row.end());
          if (reduction == Reduction::minimum) expected = *std::min_element(row.begin(), row.end());
          if (std::isnan(total)) expected = NAN;
          ASSERT_TRUE(test::close_to(plain.out[static_cast<size_t>(2 * r)], expected, 1e-4))
              << row.size();
          ASSERT_EQ(plain.out[static_cast<size_t>(2 * r + 1)], 9);
        }
      }
    }
  });
}

}  // namespace
}  // namespace pt2::kernels
