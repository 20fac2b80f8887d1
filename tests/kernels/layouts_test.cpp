#include "kernels/layouts.h"

#include "kernels/kernel_test.h"

namespace pt2::kernels {
namespace {

Turning random_turning(test::Random& random, int64_t largest) {
  Turning turning{.count = random.whole(1, 3),
                  .rows = random.whole(1, largest),
                  .columns = random.whole(1, largest)};
  turning.from_stride = turning.columns + random.whole(0, 3);
  turning.to_stride = turning.rows + random.whole(0, 3);
  turning.from_matrix_stride = turning.rows * turning.from_stride;
  turning.to_matrix_stride = turning.columns * turning.to_stride;
  return turning;
}

// Transposes with a plain loop. `to` gives the elements between rows, which stay unchanged.
std::vector<float> turned(const Turning& turning, const std::vector<float>& from,
                          std::vector<float> to) {
  for (int64_t n = 0; n < turning.count; ++n)
    for (int64_t r = 0; r < turning.rows; ++r)
      for (int64_t c = 0; c < turning.columns; ++c)
        to[static_cast<size_t>(n * turning.to_matrix_stride + c * turning.to_stride + r)] =
            from[static_cast<size_t>(n * turning.from_matrix_stride + r * turning.from_stride + c)];
  return to;
}

TEST(LayoutsTest, MatricesAreTurned) {
  ThreadPool pool(3);
  test::on_every_target([&] {
    test::Random random(1);
    for (int i = 0; i < 30; ++i) {
      const Turning turning = random_turning(random, i == 0 ? 300 : 70);
      const std::vector<float> from = random.numbers(turning.count * turning.from_matrix_stride);
      std::vector<float> to(static_cast<size_t>(turning.count * turning.to_matrix_stride), 2);
      const std::vector<float> expected = turned(turning, from, to);
      turn(turning, from.data(), to.data(), &pool);
      ASSERT_TRUE(test::equal_bits(to, expected));
    }
  });
}

}  // namespace
}  // namespace pt2::kernels
