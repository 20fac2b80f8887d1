// Products of complex64 matrices.
#include <limits>

#include "run/plan/plan_case.h"

namespace pt2::run {
namespace {

// How the elements of matrices lie in memory: contiguous rows, contiguous columns, or every other
// element.
enum class Strides : uint8_t { rows, columns, apart };
constexpr Strides kStrides[] = {Strides::rows, Strides::columns, Strides::apart};

class ProductCase : public Case {
 public:
  ValueId numbers(const Sizes& sizes) { return filled(input(sizes)); }
  ValueId known(const Sizes& sizes) { return filled(weight(sizes)); }
  ValueId numbers(Sizes sizes, Strides strides) {
    if (strides == Strides::apart) {
      sizes.push_back(2);
      return call("select.int", {self(numbers(sizes)), named("dim", Argument(int64_t{-1})),
                                 named("index", Argument(int64_t{1}))});
    }
    if (strides == Strides::rows || sizes.size() == 1) return numbers(sizes);
    std::swap(sizes.back(), sizes[sizes.size() - 2]);
    return call("transpose.int", {self(numbers(sizes)), named("dim0", Argument(int64_t{-1})),
                                  named("dim1", Argument(int64_t{-2}))});
  }

  // The test fails if kernels do not compute `products` products.
  void check_products(int64_t products) {
    check();
    EXPECT_EQ(std::ranges::count(kernels(), "batch_product"), products);
    EXPECT_TRUE(took_others());
  }

 private:
  ValueId filled(ValueId id) {
    make_complex(id, Dtype::complex64);
    return id;
  }
};

NamedArgument mat2(ValueId id) { return named("mat2", Argument(id)); }

TEST(PlanComplexProduct, MatricesOfAnyRanksAndStrides) {
  const std::pair<Sizes, Sizes> cases[] = {
      {{4, 7}, {7, 5}},
      {{1, 7}, {7, 5}},
      {{2, 7}, {7, 1}},
      {{1, 1}, {1, 1}},
      {{3, 1}, {1, 20}},
      {{40, 33}, {33, 50}},
      {{5, 9}, {9}},
      {{9}, {9, 5}},
      {{9}, {9, 1}},
      {{9}, {9}},
      {{2, 3, 9}, {9}},
      {{9}, {2, 9, 5}},
      {{4, 7}, {3, 7, 2}},
      {{3, 1, 4, 7}, {2, 7, 5}},
      {{2, 3, 20, 6}, {6, 30}},
      {{2, 30, 8, 16}, {1, 30, 16, 1}},
  };
  for (const auto& [left, right] : cases)
    for (const Strides left_strides : kStrides)
      for (const Strides right_strides : kStrides) {
        ProductCase graph;
        const ValueId a = graph.numbers(left, left_strides),
                      b = graph.numbers(right, right_strides);
        graph.output(graph.call("matmul.default", {self(a), other(b)}));
        graph.check_products(1);
      }
}

TEST(PlanComplexProduct, OperatorsOfFixedRanks) {
  ProductCase graph;
  const ValueId x = graph.numbers({6, 9}), y = graph.numbers({9, 4});
  graph.output(graph.call("mm.default", {self(x), mat2(y)}));
  graph.output(graph.call("mv.default", {self(x), named("vec", Argument(graph.numbers({9})))}));
  const ValueId same = graph.call("expand.default", {self(y), named("size", ints({3, 9, 4}))});
  graph.output(graph.call("bmm.default", {self(graph.numbers({3, 5, 9})), mat2(same)}));
  graph.output(graph.call("bmm.default", {self(graph.numbers({3, 1, 9})), mat2(same)}));
  graph.check_products(4);
}

// A neural operator multiplies the channels of each frequency by a matrix of its own, with weights
// [in, out, height, width].
TEST(PlanComplexProduct, WeightsOfFrequenciesBecomeRowMajorInThePlan) {
  for (const bool is_known : {false, true})
    for (const int64_t rows : {1, 2, 7}) {
      ProductCase graph;
      const Sizes sizes{3, 5, 2, 4};
      const ValueId weight = is_known ? graph.known(sizes) : graph.numbers(sizes);
      const ValueId across =
          graph.call("permute.default", {self(weight), named("dims", ints({2, 3, 0, 1}))});
      const ValueId matrices =
          graph.call("view.default", {self(across), named("size", ints({8, 3, 5}))});
      graph.output(graph.call("bmm.default", {self(graph.numbers({8, rows, 3})), mat2(matrices)}));
      graph.check_products(1);
      if (is_known) {
        EXPECT_EQ(graph.kernels(), Names{"batch_product"});
      }
    }
}

TEST(PlanComplexProduct, LayersWithBias) {
  for (const bool is_known : {false, true})
    for (const int64_t columns : {1, 5}) {
      ProductCase graph;
      const auto make = [&](const Sizes& sizes) {
        return is_known ? graph.known(sizes) : graph.numbers(sizes);
      };
      const ValueId weight = make({columns, 6}), bias = make({columns});
      for (const Sizes& sizes : {Sizes{6}, Sizes{1, 6}, Sizes{2, 3, 6}}) {
        const NamedArgument x = named("input", Argument(graph.numbers(sizes)));
        graph.output(graph.call("linear.default", {x, named("weight", Argument(weight))}));
        graph.output(graph.call("linear.default", {x, named("weight", Argument(weight)),
                                                   named("bias", Argument(bias))}));
      }
      const NamedArgument rows = named("mat1", Argument(graph.numbers({4, 6})));
      graph.output(graph.call("addmm.default", {self(bias), rows, mat2(make({6, columns}))}));
      graph.check_products(7);
    }
}

TEST(PlanComplexProduct, OtherSumsAreTheReferenceExecutors) {
  ProductCase graph;
  const NamedArgument rows = named("mat1", Argument(graph.numbers({4, 6}))),
                      columns = mat2(graph.numbers({6, 5}));
  // An addend that is no bias, and a factor.
  graph.output(graph.call("addmm.default", {self(graph.numbers({4, 5})), rows, columns}));
  graph.output(graph.call("addmm.default", {self(graph.numbers({5})), rows, columns,
                                            named("beta", Argument(int64_t{2}))}));
  EXPECT_EQ(graph.check(), (Names{"batch_product", "reference"}));
  EXPECT_EQ(graph.kernels(), Names(2, "reference"));
}

// (a + bi) (c + di) is (ac - bd) + (ad + bc) i, without further cases.
TEST(PlanComplexProduct, InfinitiesBecomeWhatTheFormulaSays) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const Strides strides : kStrides) {
    ProductCase graph;
    const ValueId x = graph.numbers({2, 2});
    graph.fill(x, Tensor::of<std::complex<float>>(
                      {2, 2}, {{kInfinity, 0}, {1, 2}, {1, -kInfinity}, {0, 1}}));
    graph.output(graph.call("mm.default", {self(x), mat2(graph.numbers({2, 3}, strides))}));
    graph.check_products(1);
  }
}

}  // namespace
}  // namespace pt2::run
