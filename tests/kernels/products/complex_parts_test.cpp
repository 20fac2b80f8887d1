#include "kernels/products/complex_parts.h"

#include <complex>

#include "kernels/kernel_test.h"

namespace pt2::kernels {
namespace {

using Numbers = std::vector<std::complex<float>>;

Numbers numbers(test::Random& random, int64_t count) {
  Numbers out(static_cast<size_t>(count));
  for (auto& number : out) number = {random.number(-1, 1), random.number(-1, 1)};
  return out;
}

const float* parts(const Numbers& numbers) {
  return reinterpret_cast<const float*>(numbers.data());
}

TEST(ComplexPartsTest, AProductOfFloatsHoldsTheComplexProduct) {
  constexpr int64_t kCount = 3;
  for (const bool turned : {false, true})
    for (const bool has_bias : {false, true})
      for (const int64_t rows : {1, 2, 250})
        for (const int64_t depth : {1, 7, 40})
          for (const int64_t columns : {1, 4, 37}) {
            test::Random random(1);
            const int64_t gap = 2;  // numbers between rows
            const Numbers left = numbers(random, kCount * rows * (depth + gap)),
                          right = numbers(random, depth * columns), bias = numbers(random, columns);
            const auto by = [&](int64_t k, int64_t n) {
              return right[static_cast<size_t>(turned ? n * depth + k : k * columns + n)];
            };
            test::on_every_target([&] {
              ThreadPool pool(2);
              const int64_t float_depth = turned ? 2 * depth : depth,
                            float_columns = turned ? columns : 2 * columns;
              std::vector<float> lines(static_cast<size_t>(kCount * 2 * rows * float_depth));
              split_complex({.count = kCount,
                             .rows = rows,
                             .columns = depth,
                             .turned = turned,
                             .from = parts(left),
                             .stride = 2 * (depth + gap),
                             .to = lines.data()},
                            &pool);
              // The right matrix as floats: [K, 2 N] by rows, or [2 K, N] by columns.
              std::vector<float> sums(static_cast<size_t>(kCount * 2 * rows * float_columns));
              for (int64_t row = 0; row < kCount * 2 * rows; ++row)
                for (int64_t n = 0; n < float_columns; ++n)
                  for (int64_t k = 0; k < float_depth; ++k)
                    sums[static_cast<size_t>(row * float_columns + n)] +=
                        lines[static_cast<size_t>(row * float_depth + k)] *
                        parts(right)[turned ? n * float_depth + k : k * float_columns + n];
              Numbers found(static_cast<size_t>(kCount * rows * columns));
              join_complex({.count = kCount,
                            .rows = rows,
                            .columns = columns,
                            .turned = turned,
                            .from = sums.data(),
                            .bias = has_bias ? parts(bias) : nullptr,
                            .to = reinterpret_cast<float*>(found.data())},
                           &pool);
              for (int64_t row = 0; row < kCount * rows; ++row)
                for (int64_t n = 0; n < columns; ++n) {
                  std::complex<float> expected =
                      has_bias ? bias[static_cast<size_t>(n)] : std::complex<float>();
                  for (int64_t k = 0; k < depth; ++k)
                    expected += left[static_cast<size_t>(row * (depth + gap) + k)] * by(k, n);
                  ASSERT_LT(std::abs(found[static_cast<size_t>(row * columns + n)] - expected),
                            1e-4);
                }
            });
          }
}

}  // namespace
}  // namespace pt2::kernels
