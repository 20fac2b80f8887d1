// Plans of programs with complex numbers.
#include <array>

#include "run/plan/plan_case.h"

namespace pt2::run {
namespace {

constexpr Dtype kDtypes[] = {Dtype::complex64, Dtype::complex128};

// Graphs whose values all have the same sizes.
class ComplexCase : public Case {
 public:
  ComplexCase(Dtype dtype, Sizes sizes) : dtype_(dtype), sizes_(std::move(sizes)) {}

  ValueId numbers() { return numbers(sizes_); }
  ValueId numbers(const Sizes& sizes) {
    const ValueId id = input(sizes);
    make_complex(id, dtype_);
    return id;
  }
  ValueId reals() {
    const ValueId id = input(sizes_);
    make_halves(id, real_dtype(dtype_));
    return id;
  }
  ValueId compute(const std::string& target, std::vector<NamedArgument> arguments) {
    return recorded(call(target, std::move(arguments)), dtype_);
  }
  ValueId compute_reals(const std::string& target, std::vector<NamedArgument> arguments) {
    return recorded(call(target, std::move(arguments)), real_dtype(dtype_));
  }

  // Returns the kernels of the steps, which are "reference" where steps decline.
  Names computed() {
    check();
    return kernels();
  }

 private:
  ValueId recorded(ValueId id, Dtype dtype) {
    record(id, sizes_, dtype);
    return id;
  }

  Dtype dtype_;
  Sizes sizes_;
};

TEST(PlanComplex, AChainIsOneStep) {
  for (const Dtype dtype : kDtypes) {
    ComplexCase graph(dtype, {3, 5, 40});
    const ValueId a = graph.numbers(), b = graph.numbers(), x = graph.reals();
    const ValueId turned = graph.compute("_conj.default", {self(a)});
    const ValueId product = graph.compute("mul.Tensor", {self(turned), other(b)});
    const ValueId scaled = graph.compute("mul.Tensor", {self(product), other(x)});
    const ValueId sum =
        graph.compute("add.Tensor", {self(scaled), other(a), named("alpha", Argument(0.5))});
    const ValueId difference =
        graph.compute("sub.Tensor", {self(sum), named("other", Argument(2.0))});
    graph.output(graph.compute("neg.default", {self(difference)}));
    EXPECT_EQ(graph.computed(), Names{"pointwise_chain"});
  }
}

TEST(PlanComplex, PartsAreReadInPlace) {
  for (const Dtype dtype : kDtypes) {
    ComplexCase graph(dtype, {7, 33});
    const ValueId z = graph.numbers();
    const ValueId real = graph.compute_reals("real.default", {self(z)});
    const ValueId imaginary = graph.compute_reals("imag.default", {self(z)});
    const ValueId a = graph.compute_reals("tanh.default", {self(real)});
    const ValueId b = graph.compute_reals("tanh.default", {self(imaginary)});
    graph.output(
        graph.compute("complex.default", {named("real", Argument(a)), named("imag", Argument(b))}));
    EXPECT_EQ(graph.computed(), Names{"pointwise_chain"});
  }
}

TEST(PlanComplex, OnlyThePartThatIsUsedIsComputed) {
  for (const char* const target :
       {"real.default", "imag.default", "abs.default", "angle.default"}) {
    ComplexCase graph(Dtype::complex64, {4, 600});
    const ValueId product =
        graph.compute("mul.Tensor", {self(graph.numbers()), other(graph.numbers())});
    const ValueId part = graph.compute_reals(target, {self(product)});
    graph.output(graph.compute_reals("exp.default", {self(part)}));
    EXPECT_EQ(graph.computed(), Names{"pointwise_chain"}) << target;
  }
}

TEST(PlanComplex, SingleNodesAreSteps) {
  for (const Dtype dtype : kDtypes)
    for (const Sizes& sizes : {Sizes{2, 3, 5}, Sizes{1, 1}, Sizes{1200}}) {
      const auto check = [&](const char* target, const auto& make) {
        ComplexCase graph(dtype, sizes);
        graph.output(make(graph, target));
        EXPECT_EQ(graph.computed(), Names{"pointwise_chain"}) << target;
      };
      const auto of_one = [](ComplexCase& graph, const char* target) {
        return graph.compute(target, {self(graph.numbers())});
      };
      const auto real_of_one = [](ComplexCase& graph, const char* target) {
        return graph.compute_reals(target, {self(graph.numbers())});
      };
      const auto of_reals = [](ComplexCase& graph, const char* target) {
        const bool is_polar = std::string_view(target).starts_with("polar");
        return graph.compute(target, {named(is_polar ? "abs" : "real", Argument(graph.reals())),
                                      named(is_polar ? "angle" : "imag", Argument(graph.reals()))});
      };
      const auto by_number = [](ComplexCase& graph, const char* target) {
        return graph.compute(target, {self(graph.numbers()), named("other", Argument(4.0))});
      };
      for (const char* target : {"neg.default", "_conj.default", "conj_physical.default",
                                 "exp.default", "square.default"})
        check(target, of_one);
      for (const char* target : {"abs.default", "angle.default"}) check(target, real_of_one);
      for (const char* target : {"complex.default", "polar.default"}) check(target, of_reals);
      for (const char* target : {"mul.Tensor", "div.Tensor", "add.Tensor", "rsub.Scalar"})
        check(target, by_number);
    }
}

TEST(PlanComplex, SumsAndProductsOfTwoNeedNoChain) {
  for (const Dtype dtype : kDtypes)
    for (const char* const target : {"add.Tensor", "sub.Tensor", "mul.Tensor"})
      for (const auto& [a, b] : {std::pair<Sizes, Sizes>{{7, 300}, {7, 300}},
                                 {{2, 3, 1100}, {3, 1}},
                                 {{5, 4}, {2, 5, 1}},
                                 {{1}, {1}}}) {
        ComplexCase graph(dtype, *ops::broadcast_sizes(std::array{a, b}));
        graph.output(graph.compute(target, {self(graph.numbers(a)), other(graph.numbers(b))}));
        EXPECT_EQ(graph.computed(), Names{"pointwise"}) << target;
      }
}

TEST(PlanComplex, ViewsAndQuotientsAreLeftToTheReference) {
  ComplexCase real(Dtype::complex64, {3, 4});
  real.output(real.compute_reals("real.default", {self(real.numbers())}));
  EXPECT_EQ(real.computed(), Names{"reference"});
  ComplexCase quotient(Dtype::complex64, {3, 4});
  quotient.output(
      quotient.compute("div.Tensor", {self(quotient.numbers()), other(quotient.numbers())}));
  EXPECT_EQ(quotient.computed(), Names{"reference"});
}

TEST(PlanComplex, QuotientsOfInfinitiesAndZeros) {
  const double parts[] = {0.0, -1.5, HUGE_VAL, NAN};
  const double divisors[] = {0.0, -0.0, 2.0, -HUGE_VAL, NAN};
  std::vector<std::complex<double>> numbers;
  for (const double real : parts)
    for (const double imaginary : parts) numbers.emplace_back(real, imaginary);
  const auto count = static_cast<int64_t>(numbers.size());
  const auto of_dtype = [](Dtype dtype, const Tensor& tensor) {
    Tensor out = Tensor::zeros(dtype, tensor.sizes());
    ops::copy_elements(out, tensor);
    return out;
  };
  for (const Dtype dtype : kDtypes) {
    ComplexCase graph(dtype, {count, 5});
    const ValueId z = graph.numbers({count, 1}), x = graph.input({5});
    graph.fill(z, of_dtype(dtype, Tensor::from<std::complex<double>>(Dtype::complex128, {count, 1},
                                                                     numbers)));
    graph.record(x, {5}, real_dtype(dtype));
    graph.fill(x, of_dtype(real_dtype(dtype),
                           Tensor::of<double>({5}, {divisors[0], divisors[1], divisors[2],
                                                    divisors[3], divisors[4]})));
    const ValueId quotient = graph.compute("div.Tensor", {self(z), other(x)});
    graph.output(graph.compute("neg.default", {self(quotient)}));
    EXPECT_EQ(graph.computed(), Names{"pointwise_chain"});
    for (const double divisor : divisors) {
      ComplexCase by_number(dtype, {count});
      const ValueId top = by_number.numbers();
      by_number.fill(top, of_dtype(dtype, Tensor::from<std::complex<double>>(Dtype::complex128,
                                                                             {count}, numbers)));
      by_number.output(
          by_number.compute("div.Tensor", {self(top), named("other", Argument(divisor))}));
      EXPECT_EQ(by_number.computed(), Names{"pointwise_chain"}) << divisor;
    }
  }
}

TEST(PlanComplex, OperandsAreBroadcastAndTurned) {
  for (const Dtype dtype : kDtypes) {
    ComplexCase graph(dtype, {6, 4, 5});
    const ValueId row = graph.numbers({5}), one = graph.numbers({1, 4, 1}),
                  across = graph.numbers({5, 4, 6});
    const ValueId turned =
        graph.call("permute.default", {self(across), named("dims", ints({2, 1, 0}))});
    graph.record(turned, {6, 4, 5}, dtype);
    const ValueId sum = graph.compute("add.Tensor", {self(turned), other(row)});
    graph.output(graph.compute("mul.Tensor", {self(sum), other(one)}));
    EXPECT_EQ(graph.computed(), (Names{"reference", "pointwise_chain"}));
  }
}

TEST(PlanComplex, ElementsAreChosen) {
  ComplexCase graph(Dtype::complex64, {9, 30});
  const ValueId z = graph.numbers();
  const ValueId real = graph.compute_reals("real.default", {self(z)});
  const ValueId mask = graph.call("gt.Scalar", {self(real), named("other", Argument(0.0))});
  graph.record(mask, {9, 30}, Dtype::bool_);
  const ValueId product = graph.compute("mul.Tensor", {self(z), other(z)});
  graph.output(
      graph.compute("where.self", {named("condition", Argument(mask)), self(product), other(z)}));
  EXPECT_EQ(graph.computed(), Names{"pointwise_chain"});
}

// The first part is an operand with the number of the instruction that makes the last half.
TEST(PlanComplex, HalvesBeforeAComplexNumberAreRounded) {
  const Sizes sizes{6, 30};
  ComplexCase graph(Dtype::complex64, sizes);
  const auto halves = [&] {
    const ValueId id = graph.input(sizes);
    graph.make_halves(id, Dtype::float16);
    return id;
  };
  const auto compute_halves = [&](const std::string& target, std::vector<NamedArgument> arguments) {
    const ValueId id = graph.call(target, std::move(arguments));
    graph.record(id, sizes, Dtype::float16);
    return id;
  };
  const ValueId x = halves(), y = halves(), z = halves(), real = graph.reals();
  const ValueId two = compute_halves("mul.Tensor", {self(x), other(y)});
  const ValueId three = compute_halves("mul.Tensor", {self(two), other(z)});
  const ValueId bent = compute_halves("tanh.default", {self(three)});
  const ValueId square = compute_halves("mul.Tensor", {self(bent), other(bent)});
  const ValueId wide = graph.compute_reals(
      "to.dtype", {self(square),
                   named("dtype", Argument(ScalarType{dtype_info(Dtype::float32).schema_number}))});
  graph.output(graph.compute("complex.default",
                             {named("real", Argument(real)), named("imag", Argument(wide))}));
  EXPECT_EQ(graph.computed(), Names{"pointwise_chain"});
}

// The phase of -1 is pi or -pi, as the number of elements decides.
TEST(PlanComplex, NegatedRealsHaveThePhaseThatTheReferenceGives) {
  for (const int64_t count : {7, 8}) {
    ComplexCase graph(Dtype::complex64, {count});
    const ValueId z = graph.numbers();
    const std::vector<std::complex<float>> ones(static_cast<size_t>(count), 1);
    graph.fill(z, Tensor::from<std::complex<float>>(Dtype::complex64, {count}, ones));
    const ValueId negated = graph.compute("neg.default", {self(z)});
    graph.output(graph.compute_reals("angle.default", {self(negated)}));
    EXPECT_EQ(graph.computed(), Names{"pointwise_chain"});
  }
}

// The program records complex results of real numbers.
TEST(PlanComplex, RecordsThatOperatorsContradictAreNotTrusted) {
  for (const char* const target : {"mul.Tensor", "add.Tensor", "sub.Tensor"}) {
    ComplexCase graph(Dtype::complex64, {5, 8});
    const ValueId made = graph.compute(target, {self(graph.reals()), other(graph.reals())});
    graph.output(graph.compute("neg.default", {self(made)}));
    const Names kernels = graph.computed();
    EXPECT_EQ(std::ranges::count(kernels, "pointwise_chain"), 0) << target;
  }
  for (const char* const target : {"exp.default", "neg.default", "square.default"}) {
    ComplexCase graph(Dtype::complex64, {5, 8});
    graph.output(graph.compute(target, {self(graph.reals())}));
    graph.check();
  }
}

// The process would stop if such a stride were doubled.
TEST(PlanComplex, TheStrideOfASingleRowMayBeHuge) {
  const Sizes sizes{1, 3};
  ComplexCase graph(Dtype::complex64, sizes);
  const ValueId known = graph.weight(sizes);
  graph.record(known, sizes, Dtype::complex64);
  using Number = std::complex<float>;
  const Tensor numbers = Tensor::of<Number>(sizes, {Number(1, 2), Number(-3, 4), Number(0, -1)});
  graph.fill(known, *Tensor::view_of(numbers.storage(), Dtype::complex64, sizes,
                                     {(int64_t{1} << 57) - 100, 1}, 0));
  const ValueId product = graph.compute("mul.Tensor", {self(graph.numbers()), other(known)});
  graph.output(graph.compute("neg.default", {self(product)}));
  EXPECT_EQ(graph.computed(), Names{"pointwise_chain"});
}

}  // namespace
}  // namespace pt2::run
