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

// By a plain loop; `to` has what lies between the rows.
template <class Element>
std::vector<Element> turned(const Turning& turning, const std::vector<Element>& from,
                            std::vector<Element> to) {
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

template <class Element>
void check_elements() {
  ThreadPool pool(3);
  test::Random random(2);
  for (int i = 0; i < 20; ++i) {
    const Turning turning = random_turning(random, i == 0 ? 300 : 70);
    std::vector<Element> from;
    for (int64_t k = 0; k < turning.count * turning.from_matrix_stride; ++k)
      from.push_back(
          static_cast<Element>(static_cast<uint64_t>(random.whole(0, 255)) * 0x0101010101010101));
    std::vector<Element> to(static_cast<size_t>(turning.count * turning.to_matrix_stride), 2);
    const std::vector<Element> expected = turned(turning, from, to);
    turn(turning, sizeof(Element), from.data(), to.data(), &pool);
    ASSERT_EQ(to, expected);
  }
}

TEST(LayoutsTest, MatricesOfElementsOfAnySizeAreTurned) {
  check_elements<uint8_t>();
  check_elements<uint16_t>();
  check_elements<uint32_t>();
  check_elements<uint64_t>();
}

}  // namespace
}  // namespace pt2::kernels
