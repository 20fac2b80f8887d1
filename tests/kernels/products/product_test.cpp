#include "kernels/products/product.h"

#include "kernels/kernel_test.h"

namespace pt2::kernels {
namespace {

using test::Random;

double activated(Activation activation, double x) {
  const double relu6 = std::min(std::max(x + 3, 0.0), 6.0);
  switch (activation) {
    case Activation::none:
      return x;
    case Activation::relu:
      return std::max(x, 0.0);
    case Activation::relu6:
      return std::min(std::max(x, 0.0), 6.0);
    case Activation::sigmoid:
      return 1 / (1 + std::exp(-x));
    case Activation::tanh:
      return std::tanh(x);
    case Activation::silu:
      return x / (1 + std::exp(-x));
    case Activation::gelu:
      return x / 2 * (1 + std::erf(x / std::sqrt(2.0)));
    case Activation::gelu_tanh:
      return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case Activation::hardsigmoid:
      return relu6 / 6;
    case Activation::hardswish:
      return x * relu6 / 6;
  }
  return 0;
}

// A product of random sizes and strides, and its result by a plain loop in double.
struct Case {
  Product product;
  bool turned = false;  // the right operand is [columns, depth]
  int64_t right_stride = 0;
  std::vector<float> left, right, packed, bias, addend, out;

  Case(Random& random, int64_t rows, int64_t columns, int64_t depth) {
    product.rows = rows;
    product.columns = columns;
    product.depth = depth;
    product.left_stride = depth + random.whole(0, 3);
    product.out_stride = columns + random.whole(0, 3);
    turned = random.whole(0, 1) == 1;
    right_stride = (turned ? depth : columns) + random.whole(0, 3);
    left = random.numbers(rows * product.left_stride);
    right = random.numbers((turned ? columns : depth) * right_stride);
    out = random.numbers(rows * product.out_stride);
    product.left = left.data();
    product.out = out.data();
    product.epilogue.activation = static_cast<Activation>(random.whole(0, 9));
    if (random.whole(0, 1) == 1) {
      bias = random.numbers(columns);
      product.epilogue.bias = bias.data();
    }
    if (random.whole(0, 2) == 0) {
      product.epilogue.addend_stride = columns + random.whole(0, 3);
      addend = random.numbers(rows * product.epilogue.addend_stride);
      product.epilogue.addend = addend.data();
    }
  }

  void pack(ThreadPool* pool = nullptr) {
    packed.assign(static_cast<size_t>(packed_size(product.depth, product.columns)), NAN);
    pack_right(right.data(),
               {.depth = product.depth,
                .columns = product.columns,
                .depth_stride = turned ? 1 : right_stride,
                .column_stride = turned ? right_stride : 1},
               packed.data(), pool);
    product.packed = packed.data();
  }

  double sum(int64_t row, int64_t column, double& magnitude) const {
    double total = 0;
    const auto add = [&](double term) {
      total += term;
      magnitude += std::abs(term);
    };
    for (int64_t k = 0; k < product.depth; ++k)
      add(double{left[static_cast<size_t>(row * product.left_stride + k)]} *
          right[static_cast<size_t>(turned ? column * right_stride + k
                                           : k * right_stride + column)]);
    if (!bias.empty()) add(bias[static_cast<size_t>(column)]);
    if (!addend.empty())
      add(addend[static_cast<size_t>(row * product.epilogue.addend_stride + column)]);
    return total;
  }

  // Compares `out` with the plain loop. Elements between its rows must be as in `before`.
  void check(const std::vector<float>& before) const {
    for (int64_t row = 0; row < product.rows; ++row)
      for (int64_t i = 0; i < product.out_stride; ++i) {
        const auto at = static_cast<size_t>(row * product.out_stride + i);
        if (i >= product.columns) {
          ASSERT_EQ(out[at], before[at]) << "between rows, " << row << " " << i;
          continue;
        }
        double magnitude = 0.5;
        const double expected = activated(product.epilogue.activation, sum(row, i, magnitude));
        ASSERT_TRUE(test::close_to(out[at], expected, magnitude * 1e-6))
            << "row " << row << " column " << i << " of " << product.rows << "x" << product.columns
            << "x" << product.depth << ": " << out[at] << ", expected " << expected;
      }
  }
};

TEST(ProductTest, EqualsAPlainLoop) {
  test::on_every_target([] {
    Random random(1);
    for (int i = 0; i < 150; ++i) {
      Case plain(random, random.whole(1, 40), random.whole(1, 80),
                 random.whole(0, i % 10 == 0 ? 700 : 60));
      plain.pack();
      const std::vector<float> before = plain.out;
      multiply_packed(plain.product);
      plain.check(before);
    }
  });
}

TEST(ProductTest, ManyColumnsAreTakenInBlocks) {
  test::on_every_target([] {
    Random random(2);
    Case plain(random, 33, 1100, 300);
    plain.pack();
    const std::vector<float> before = plain.out;
    multiply_packed(plain.product);
    plain.check(before);
  });
}

TEST(ProductTest, EqualToTheBitForAnyNumberOfThreads) {
  ThreadPool two(2);
  ThreadPool three(3);
  test::on_every_target([&] {
    Random random(3);
    for (int i = 0; i < 12; ++i) {
      Case plain(random, random.whole(1, 300), random.whole(1, 700), random.whole(200, 400));
      const std::vector<float> before = plain.out;
      plain.pack();
      multiply_packed(plain.product);
      const std::vector<float> alone = plain.out;
      for (ThreadPool* pool : {&two, &three}) {
        plain.out = before;
        plain.pack(pool);
        multiply_packed(plain.product, pool);
        ASSERT_TRUE(test::equal_bits(plain.out, alone));
      }
    }
  });
}

TEST(ProductTest, AddsToWhatIsThere) {
  test::on_every_target([] {
    Random random(4);
    Case plain(random, 20, 50, 600);
    plain.pack();
    const std::vector<float> before = plain.out;
    plain.addend = before;
    plain.product.epilogue.addend = plain.out.data();
    plain.product.epilogue.addend_stride = plain.product.out_stride;
    multiply_packed(plain.product);
    plain.check(before);
  });
}

// As where a residual branch changes a large value by little. Each of four blocks of depth adds
// less than half of the distance between floats there.
TEST(ProductTest, ALargeAddendIsRoundedOnce) {
  test::on_every_target([] {
    Random random(8);
    constexpr float kLarge = 16384, kStep = 1.0f / 512;
    Case plain(random, 20, 50, 1024);
    plain.product.epilogue = {};
    std::fill(plain.left.begin(), plain.left.end(), 1.0f);
    std::fill(plain.right.begin(), plain.right.end(), 0.4f * kStep / 256);
    plain.addend.assign(20 * 50, kLarge);
    plain.product.epilogue.addend = plain.addend.data();
    plain.product.epilogue.addend_stride = 50;
    plain.pack();
    multiply_packed(plain.product);
    for (int64_t row = 0; row < 20; ++row)
      for (int64_t column = 0; column < 50; ++column)
        ASSERT_EQ(plain.out[static_cast<size_t>(row * plain.product.out_stride + column)],
                  kLarge + 2 * kStep);
  });
}

TEST(ProductTest, TakesPartOfAPackedOperand) {
  test::on_every_target([] {
    Random random(7);
    for (int i = 0; i < 30; ++i) {
      Case plain(random, 5, random.whole(2, 150), random.whole(2, 40));
      plain.pack();
      plain.product.packed_depth = plain.product.depth;
      plain.product.packed_columns = plain.product.columns;
      plain.product.depth = random.whole(1, plain.product.depth);
      plain.product.columns = random.whole(1, plain.product.columns);
      const std::vector<float> before = plain.out;
      multiply_packed(plain.product);
      plain.check(before);
    }
  });
}

TEST(ProductTest, NotANumberSurvivesActivations) {
  test::on_every_target([] {
    Random random(5);
    for (int activation = 0; activation < 10; ++activation) {
      Case plain(random, 3, 20, 5);
      plain.left[0] = NAN;
      plain.product.epilogue.activation = static_cast<Activation>(activation);
      plain.pack();
      multiply_packed(plain.product);
      for (int64_t i = 0; i < 20; ++i) ASSERT_TRUE(std::isnan(plain.out[static_cast<size_t>(i)]));
    }
  });
}

TEST(ProductTest, RightOperandsArePackedPieceByPiece) {
  test::on_every_target([] {
    Random random(6);
    for (int i = 0; i < 20; ++i) {
      Case plain(random, 1, random.whole(1, 70), random.whole(2, 50));
      plain.pack();
      std::vector<float> pieces(plain.packed.size(), NAN);
      const int64_t middle = random.whole(1, plain.product.depth - 1);
      Packing packing{.depth = plain.product.depth,
                      .columns = plain.product.columns,
                      .depth_stride = plain.turned ? 1 : plain.right_stride,
                      .column_stride = plain.turned ? plain.right_stride : 1,
                      .count = middle};
      pack_right(plain.right.data(), packing, pieces.data());
      packing.first_depth = middle;
      packing.count = plain.product.depth - middle;
      pack_right(plain.right.data() + middle * packing.depth_stride, packing, pieces.data());
      ASSERT_TRUE(test::equal_bits(pieces, plain.packed));
    }
  });
}

}  // namespace
}  // namespace pt2::kernels
