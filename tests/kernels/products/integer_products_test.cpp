#include "kernels/products/integer_products.h"

#include "kernels/kernel_test.h"

namespace pt2::kernels {
namespace {

using test::Random;

void check(Random& random, int64_t rows, int64_t columns, int64_t depth, bool is_unsigned,
           ThreadPool* pool = nullptr) {
  IntegerProduct product{.rows = rows,
                         .columns = columns,
                         .depth = depth,
                         .is_unsigned = is_unsigned,
                         .left_stride = depth + random.whole(0, 3),
                         .right_stride = depth + random.whole(0, 3),
                         .out_stride = columns + random.whole(0, 3)};
  // A quarter of the levels has the largest magnitude, -128.
  const auto level = [&] {
    return static_cast<int8_t>(random.whole(0, 3) == 0 ? -128 : random.whole(-128, 127));
  };
  std::vector<int8_t> left(static_cast<size_t>(rows * product.left_stride)),
      right(static_cast<size_t>(columns * product.right_stride));
  for (int8_t& each : left) each = level();
  for (int8_t& each : right) each = level();
  std::vector<int32_t> out(static_cast<size_t>(rows * product.out_stride), 12345);
  product.left = left.data();
  product.right = right.data();
  product.out = out.data();
  multiply_integers(product, pool);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t n = 0; n < product.out_stride; ++n) {
      int64_t sum = n < columns ? 0 : 12345;
      for (int64_t k = 0; n < columns && k < depth; ++k) {
        const int8_t a = left[static_cast<size_t>(r * product.left_stride + k)];
        sum += (is_unsigned ? static_cast<uint8_t>(a) : a) *
               right[static_cast<size_t>(n * product.right_stride + k)];
      }
      ASSERT_EQ(out[static_cast<size_t>(r * product.out_stride + n)], sum)
          << r << " " << n << " of " << rows << " x " << columns << " x " << depth;
    }
}

TEST(IntegerProductTest, EqualsAPlainLoop) {
  test::on_every_target([] {
    Random random(1);
    for (int i = 0; i < 120; ++i)
      check(random, random.whole(1, 9), random.whole(1, 20),
            random.whole(0, i % 10 == 0 ? 3000 : 150), i % 2 == 0);
  });
}

TEST(IntegerProductTest, ThreadsShareTheColumns) {
  ThreadPool pool(3);
  test::on_every_target([&] {
    Random random(2);
    for (const int64_t columns : {1, 50, 131}) check(random, 40, columns, 150, true, &pool);
  });
}

}  // namespace
}  // namespace pt2::kernels
