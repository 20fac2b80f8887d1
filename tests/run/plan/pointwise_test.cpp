// Plans of pointwise operators: which nodes become one step, and that steps compute the same.
#include <limits>

#include "run/plan/plan_case.h"

namespace pt2::run {
namespace {

NamedArgument whole(std::string name, int64_t number) {
  return named(std::move(name), Argument(number));
}

NamedArgument other_number(double number) { return named("other", Argument(number)); }

TEST(PlanPointwise, AChainIsOneStep) {
  // GPT-2's GELU.
  Case graph;
  const ValueId x = graph.input({3, 5, 40});
  const ValueId cube = graph.call("pow.Tensor_Scalar", {self(x), named("exponent", Argument(3.0))});
  const ValueId scaled = graph.call("mul.Tensor", {self(cube), other_number(0.044715)});
  const ValueId sum = graph.call("add.Tensor", {self(x), other(scaled)});
  const ValueId inner = graph.call("mul.Tensor", {self(sum), other_number(0.7978845608)});
  const ValueId tanh = graph.call("tanh.default", {self(inner)});
  const ValueId shifted = graph.call("add.Tensor", {self(tanh), other_number(1.0)});
  const ValueId half = graph.call("mul.Tensor", {self(x), other_number(0.5)});
  graph.output(graph.call("mul.Tensor", {self(half), other(shifted)}));
  EXPECT_EQ(graph.check(), Names{"pointwise_chain"});
}

TEST(PlanPointwise, OperandsAreBroadcast) {
  // Rotary embedding: x cos + y sin, with heads before positions.
  Case graph;
  const ValueId x = graph.input({2, 5, 3, 8}), y = graph.input({2, 3, 5, 8});
  const ValueId turned =
      graph.call("permute.default", {self(x), named("dims", ints({0, 2, 1, 3}))});
  const ValueId cosine = graph.input({5, 8}), sine = graph.input({2, 1, 5, 8});
  const ValueId a = graph.call("mul.Tensor", {self(turned), other(cosine)});
  const ValueId b = graph.call("mul.Tensor", {self(y), other(sine)});
  const ValueId c = graph.call("add.Tensor", {self(a), other(b)});
  graph.output(graph.call("div.Tensor", {self(c), other(graph.input({2, 1, 1, 1}))}));
  EXPECT_EQ(graph.check(), (Names{"reference", "pointwise_chain"}));
}

TEST(PlanPointwise, OperandsThatLieAcrossAreTurned) {
  Case graph;
  const ValueId x = graph.input({7, 6});
  const ValueId turned = graph.call("permute.default", {self(x), named("dims", ints({1, 0}))});
  const ValueId a = graph.call("exp.default", {self(turned)});
  graph.output(graph.call("sub.Tensor", {self(graph.input({6, 7})), other(a)}));
  EXPECT_EQ(graph.check(), (Names{"reference", "pointwise_chain"}));
}

TEST(PlanPointwise, ResultsThatOthersNeedAreKept) {
  Case graph;
  const ValueId x = graph.input({4, 9});
  const ValueId a = graph.call("exp.default", {self(x)});
  const ValueId b = graph.call("neg.default", {self(a)});
  graph.output(a);
  graph.output(graph.call("relu.default", {self(b)}));
  EXPECT_EQ(graph.check(), (Names{"pointwise", "pointwise_chain"}));
}

TEST(PlanPointwise, NumbersAndBounds) {
  Case graph;
  const ValueId x = graph.input({3, 11});
  const ValueId a = graph.call("rsub.Scalar", {self(x), other_number(2.5)});
  graph.output(a);
  graph.output(graph.call("clamp.default",
                          {self(a), named("min", Argument(1.75)), named("max", Argument(3.0))}));
  graph.output(graph.call("pow.Tensor_Scalar", {self(a), named("exponent", Argument(int64_t{2}))}));
  graph.output(graph.call("add.Scalar", {self(a), other_number(4), named("alpha", Argument(0.5))}));
  EXPECT_EQ(graph.check(), (Names{"pointwise_chain", "pointwise_chain", "pointwise", "pointwise"}));
}

TEST(PlanPointwise, ActivationsOfSeveralFunctions) {
  Case graph;
  const ValueId x = graph.input({5, 33});
  const auto apply = [&](const std::string& target, std::vector<NamedArgument> rest = {}) {
    rest.insert(rest.begin(), self(x));
    graph.output(graph.call(target, std::move(rest)));
  };
  apply("leaky_relu.default");
  apply("leaky_relu.default", {named("negative_slope", Argument(0.2))});
  apply("elu.default");
  apply("elu.default", {named("alpha", Argument(1.67)), named("scale", Argument(1.05))});
  apply("mish.default");
  apply("log_sigmoid.default");
  EXPECT_EQ(graph.check(), Names(6, "pointwise_chain"));
}

TEST(PlanPointwise, ZerosKeepTheirSigns) {
  Case graph;
  const ValueId x = graph.input({2});
  graph.fill(x, Tensor::of<float>({2}, {0.0f, -0.0f}));
  for (const char* target : {"elu.default", "selu.default", "expm1.default", "log1p.default"})
    graph.output(graph.call("reciprocal.default", {self(graph.call(target, {self(x)}))}));
  EXPECT_EQ(graph.check(), Names(4, "pointwise_chain"));
}

TEST(PlanPointwise, TheLogarithmOfASigmoidOf1IsNotNegative) {
  Case graph;
  const ValueId x = graph.input({2});
  graph.fill(x, Tensor::of<float>({2}, {500.0f, -500.0f}));
  graph.output(
      graph.call("reciprocal.default", {self(graph.call("log_sigmoid.default", {self(x)}))}));
  EXPECT_EQ(graph.check(), Names{"pointwise_chain"});
}

// The branch that does not apply gives 0; times infinity it would be NaN.
TEST(PlanPointwise, InfiniteFactorsAreLeftToTheReference) {
  Case graph;
  const ValueId x = graph.input({5, 33});
  constexpr double kEnd = std::numeric_limits<double>::infinity();
  graph.output(graph.call("elu.default", {self(x), named("input_scale", Argument(kEnd))}));
  EXPECT_EQ(graph.check(), Names{"reference"});
}

TEST(PlanPointwise, FunctionsThatStandAlone) {
  Case graph;
  const ValueId x = graph.input({5, 33});
  for (const char* target : {"softplus.default", "expm1.default", "log1p.default"})
    graph.output(graph.call(target, {self(x)}));
  graph.output(graph.call("log.default", {self(graph.call("exp.default", {self(x)}))}));
  // The softplus kernel is for the default threshold only.
  graph.output(graph.call("softplus.default", {self(x), named("threshold", Argument(1.0))}));
  graph.output(graph.call("leaky_relu.default", {self(x), named("negative_slope", Argument(0.0))}));
  EXPECT_EQ(graph.check(), (Names{"pointwise", "pointwise", "pointwise", "pointwise_chain",
                                  "reference", "pointwise_chain"}));
}

// Slices, broadcast operands and transposed operands.
TEST(PlanPointwise, OperandsMayHaveAnyStrides) {
  Case graph;
  const ValueId x = graph.input({4, 6, 10});
  const ValueId slice = graph.call(
      "slice.Tensor", {self(x), named("dim", Argument(int64_t{2})),
                       named("start", Argument(int64_t{1})), named("end", Argument(int64_t{7}))});
  const ValueId every = graph.call("slice.Tensor", {self(x), named("dim", Argument(int64_t{2})),
                                                    named("step", Argument(int64_t{2}))});
  const ValueId across = graph.call("permute.default", {self(x), named("dims", ints({2, 0, 1}))});
  for (const ValueId view : {slice, every, across}) {
    graph.output(graph.call("neg.default", {self(view)}));
    graph.output(graph.call("sin.default", {self(view)}));
  }
  graph.output(graph.call("mul.Tensor", {self(slice), other(graph.input({6, 6}))}));
  graph.output(graph.call("add.Tensor", {self(graph.input({10, 4, 6})), other(across)}));
  graph.output(graph.call("sub.Tensor", {self(across), other(graph.input({4, 6}))}));
  Names expected(3, "reference");
  expected.insert(expected.end(), 9, "pointwise");
  EXPECT_EQ(graph.check(), expected);
  EXPECT_TRUE(graph.was_recorded() && graph.took_others());
}

TEST(PlanPointwise, ImagesStayAsTheyLie) {
  Case graph;
  const ValueId x = graph.input({2, 3, 6, 5});
  const ValueId a = graph.call(
      "conv2d.default",
      {named("input", Argument(x)), named("weight", Argument(graph.weight({4, 3, 1, 1})))});
  const ValueId b = graph.call("exp.default", {self(graph.input({2, 4, 6, 5}))});
  const ValueId c = graph.call("mul.Tensor", {self(a), other(b)});
  const ValueId d = graph.call("mul.Tensor", {self(c), other(graph.weight({4, 1, 1}))});
  graph.output(graph.call("sigmoid.default", {self(d)}));
  EXPECT_EQ(graph.check(), (Names{"convolution", "pointwise_chain"}));
}

// The program records dtypes, as real programs do.
TEST(PlanPointwise, ConditionsAndCounters) {
  Case graph;
  const ValueId x = graph.input({3, 4}), y = graph.input({4}), count = graph.input({2, 3});
  graph.fill(count, Tensor::of<int64_t>({2, 3}, {1, 2, 3, -4, 5, 6}));
  graph.record(x, {3, 4}, Dtype::float32);
  graph.record(count, {2, 3}, Dtype::int64);
  const auto make = [&](const std::string& target, std::vector<NamedArgument> arguments,
                        Dtype dtype, const Sizes& sizes) {
    const ValueId id = graph.call(target, std::move(arguments));
    graph.record(id, sizes, dtype);
    return id;
  };
  const ValueId below = make("lt.Tensor", {self(x), other(y)}, Dtype::bool_, {3, 4});
  const ValueId large = make("gt.Scalar", {self(x), other_number(-0.25)}, Dtype::bool_, {3, 4});
  const ValueId all =
      make("logical_and.default", {self(below), other(large)}, Dtype::bool_, {3, 4});
  const ValueId none = make("bitwise_not.default", {self(all)}, Dtype::bool_, {3, 4});
  const ValueId next =
      make("add.Tensor", {self(count), named("other", Argument(int64_t{2}))}, Dtype::int64, {2, 3});
  const ValueId product = make("mul.Tensor", {self(next), other(count)}, Dtype::int64, {2, 3});
  const ValueId same = make("eq.Scalar", {self(product), named("other", Argument(int64_t{3}))},
                            Dtype::bool_, {2, 3});
  const auto as_floats = [&](ValueId id) {
    graph.output(graph.call(
        "_to_copy.default",
        {self(id),
         named("dtype", Argument(ScalarType{dtype_info(Dtype::float32).schema_number}))}));
  };
  as_floats(none);
  as_floats(product);
  as_floats(same);
  Names expected{"pointwise_chain", "pointwise", "pointwise", "pointwise"};
  expected.insert(expected.end(), 3, "reference");
  EXPECT_EQ(graph.check(), expected);
  EXPECT_TRUE(graph.was_recorded());
}

// Returns ordinary and special numbers. Tests use rows of 37: no multiple of a vector's width.
Tensor special_numbers(Dtype dtype, const Sizes& sizes) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::vector<float> numbers{0.0f, -0.0f, NAN,   kInfinity, -kInfinity, 1,
                             -1,   0.5f,  -0.5f, 2,         30,         -3};
  for (int64_t i = static_cast<int64_t>(numbers.size()); i < checked_numel(sizes).value(); ++i)
    numbers.push_back(std::sin(static_cast<float>(i)) * 2);
  numbers.resize(static_cast<size_t>(checked_numel(sizes).value()));
  Tensor out = Tensor::zeros(dtype, sizes);
  ops::copy_elements(out, floats(sizes, numbers));
  return out;
}

TEST(PlanPointwise, FunctionsOfEveryPrecision) {
  using enum Dtype;
  for (const Dtype dtype : {float32, float64, bfloat16, float16}) {
    Case graph;
    const Sizes sizes{37};
    const ValueId x = graph.input(sizes), y = graph.input(sizes), z = graph.input({1});
    graph.fill(x, special_numbers(dtype, sizes));
    graph.fill(y, special_numbers(dtype, sizes));
    graph.fill(z, special_numbers(dtype, {1}));
    for (const ValueId each : {x, y}) graph.record(each, sizes, dtype);
    graph.record(z, {1}, dtype);
    const auto output = [&](const std::string& target, std::vector<NamedArgument> arguments,
                            Dtype to) {
      const ValueId id = graph.call(target, std::move(arguments));
      graph.record(id, sizes, to);
      graph.output(id);
      return id;
    };
    for (const char* name :
         {"exp",        "log",        "log1p",      "expm1",     "sin",        "cos",   "tan",
          "tanh",       "sigmoid",    "silu",       "erf",       "erfc",       "asin",  "acos",
          "atan",       "sinh",       "cosh",       "asinh",     "acosh",      "atanh", "log2",
          "exp2",       "log10",      "sqrt",       "frac",      "round",      "sign",  "sgn",
          "relu",       "selu",       "celu",       "elu",       "gelu",       "mish",  "abs",
          "floor",      "neg",        "logit",      "deg2rad",   "softplus",   "rsqrt", "trunc",
          "softshrink", "hardshrink", "leaky_relu", "hardswish", "nan_to_num", "sinc",  "rrelu",
          "erfinv"})
      output(std::string(name) + ".default", {self(x)}, dtype);
    for (const char* name : {"maximum", "minimum", "fmax", "fmin", "atan2", "hypot", "logaddexp",
                             "logaddexp2", "floor_divide"})
      output(std::string(name) + ".default", {self(x), other(y)}, dtype);
    for (const char* name : {"add", "mul", "div", "remainder", "fmod", "copysign"})
      output(std::string(name) + ".Tensor", {self(x), other(z)}, dtype);
    for (const char* name : {"remainder.Scalar", "fmod.Scalar", "add.Scalar", "div.Scalar"})
      output(name, {self(x), other_number(0.3)}, dtype);
    output("pow.Tensor_Scalar", {self(x), named("exponent", Argument(2.2))}, dtype);
    output("pow.Tensor_Tensor", {self(x), named("exponent", Argument(y))}, dtype);
    output("pow.Scalar", {named("self", Argument(0.7)), named("exponent", Argument(x))}, dtype);
    for (const char* mode : {"floor", "trunc"})
      output("div.Tensor_mode",
             {self(x), other(y), named("rounding_mode", Argument(std::string(mode)))}, dtype);
    output("threshold.default",
           {self(x), named("threshold", Argument(0.1)), named("value", Argument(20.0))}, dtype);
    output("lerp.Tensor", {self(x), named("end", Argument(y)), named("weight", Argument(z))},
           dtype);
    output("clamp.Tensor", {self(x), named("min", Argument(z)), named("max", Argument(y))}, dtype);
    const auto gradient = [&](const std::string& name, const std::string& of,
                              std::vector<NamedArgument> rest = {}) {
      rest.insert(rest.begin(), {named("grad_output", Argument(y)), named(of, Argument(x))});
      output(name + "_backward.default", std::move(rest), dtype);
    };
    for (const char* name : {"sigmoid", "tanh"}) gradient(name, "output");
    for (const char* name : {"silu", "mish", "gelu", "hardsigmoid", "hardswish"})
      gradient(name, "self");
    gradient("gelu", "self", {named("approximate", Argument(std::string("tanh")))});
    gradient("hardtanh", "self",
             {named("min_val", Argument(-0.3)), named("max_val", Argument(0.7))});
    gradient("softshrink", "self", {named("lambd", Argument(0.5))});
    for (const double bound : {0.0, 0.3})
      gradient("threshold", "self", {named("threshold", Argument(bound))});
    gradient("softplus", "self",
             {named("beta", Argument(1.5)), named("threshold", Argument(20.0))});
    gradient("log_sigmoid", "self", {named("buffer", Argument(x))});
    gradient("mse_loss", "self", {named("target", Argument(z)), whole("reduction", 1)});
    for (const bool is_result : {false, true}) {
      gradient(
          "leaky_relu", "self",
          {named("negative_slope", Argument(0.2)), named("self_is_result", Argument(is_result))});
      gradient("elu", "self_or_result",
               {named("alpha", Argument(1.3)), named("scale", Argument(0.9)),
                named("input_scale", Argument(0.7)), named("is_result", Argument(is_result))});
    }
    for (const char* name : {"isnan", "isinf", "isfinite", "logical_not", "signbit"})
      output(std::string(name) + ".default", {self(x)}, bool_);
    output("special_ndtr.default", {self(x)}, dtype);
    for (const int64_t decimals : {0, 2, -1})
      output("round.decimals", {self(x), whole("decimals", decimals)}, dtype);
    const ValueId below = output("le.Scalar", {self(x), other_number(0.1)}, bool_);
    output("where.self", {named("condition", Argument(below)), self(y), other(z)}, dtype);
    output("masked_fill.Scalar",
           {self(x), named("mask", Argument(below)), named("value", Argument(0.1))}, dtype);
    const Names names = graph.check();
    EXPECT_EQ(std::ranges::count(names, "reference"), 0) << dtype_info(dtype).name;
    EXPECT_TRUE(graph.was_recorded());
  }
}

// A float64 value that is converted to float32 and back must lose its last bits.
TEST(PlanPointwise, ChainsComputeInOnePrecision) {
  using enum Dtype;
  Case graph;
  const Sizes sizes{5, 13};
  const ValueId x = graph.input(sizes);
  graph.fill(x, special_numbers(float64, sizes));
  graph.record(x, sizes, float64);
  const auto make = [&](const std::string& target, std::vector<NamedArgument> arguments, Dtype to) {
    if (target == "to.dtype")
      arguments.push_back(named("dtype", Argument(ScalarType{dtype_info(to).schema_number})));
    const ValueId id = graph.call(target, std::move(arguments));
    graph.record(id, sizes, to);
    return id;
  };
  const ValueId third = make("div.Tensor", {self(x), other_number(3)}, float64);
  const ValueId single = make("to.dtype", {self(third)}, float32);
  const ValueId back = make("to.dtype", {self(single)}, float64);
  graph.output(make("mul.Tensor", {self(back), other_number(1e9)}, float64));
  const ValueId is_large = make("gt.Scalar", {self(x), other_number(0.25)}, bool_);
  const ValueId is_small = make("lt.Scalar", {self(x), other_number(1.5)}, bool_);
  const ValueId both = make("logical_and.default", {self(is_large), other(is_small)}, bool_);
  graph.output(
      make("where.self", {named("condition", Argument(both)), self(x), other(back)}, float64));
  const Names names = graph.check();
  EXPECT_EQ(names,
            (Names{"pointwise_chain", "pointwise_chain", "pointwise_chain", "pointwise_chain"}));
  EXPECT_TRUE(graph.was_recorded());
}

// The layout of a test's integers: contiguous, transposed, or with gaps between them.
enum class Lying : uint8_t { in_order, turned, apart };

// Operands for all integer operators: numbers of sizes [3, 37] and [37], and shift counts of sizes
// [3, 1], which start at -1.
class WholeNumbersCase {
 public:
  WholeNumbersCase(Dtype dtype, Lying lying) : dtype_(dtype) {
    const Sizes lying_sizes = lying == Lying::in_order ? Sizes{3, 37}
                              : lying == Lying::turned ? Sizes{37, 3}
                                                       : Sizes{3, 74};
    x_ = input(lying_sizes, 37);
    y_ = input({37}, 91);
    counts_ = input({3, 1}, dtype == Dtype::uint8 ? 5 : 4, dtype == Dtype::uint8 ? 0 : -1);
    if (lying == Lying::in_order) return;
    x_ = lying == Lying::turned
             ? graph.call("permute.default", {self(x_), named("dims", ints({1, 0}))})
             : graph.call("slice.Tensor", {self(x_), named("dim", Argument(int64_t{1})),
                                           named("step", Argument(int64_t{2}))});
    graph.record(x_, sizes_, dtype);
  }
  void make(const std::string& target, std::vector<NamedArgument> arguments, Dtype to) {
    arguments.insert(arguments.begin(), self(x_));
    const ValueId id = graph.call(target, std::move(arguments));
    graph.record(id, sizes_, to);
    graph.output(id);
    ++made;
  }
  void make(const std::string& target, std::vector<NamedArgument> arguments = {}) {
    make(target, std::move(arguments), dtype_);
  }
  ValueId row() const { return y_; }
  ValueId counts() const { return counts_; }

  Case graph;
  size_t made = 0;

 private:
  ValueId input(const Sizes& sizes, int factor, std::optional<int> least = std::nullopt) {
    const ValueId id = graph.input(sizes);
    std::vector<float> numbers(static_cast<size_t>(checked_numel(sizes).value()));
    const int start = least.value_or(dtype_ == Dtype::uint8 ? 0 : -128);
    for (size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = static_cast<float>(static_cast<int>(i) * factor % 256 + start);
    Tensor elements = Tensor::zeros(dtype_, sizes);
    ops::copy_elements(elements, floats(sizes, numbers));
    graph.fill(id, std::move(elements));
    graph.record(id, sizes, dtype_);
    return id;
  }

  Dtype dtype_;
  Sizes sizes_{3, 37};
  ValueId x_, y_, counts_;
};

TEST(PlanPointwise, WholeNumbersAreRows) {
  using enum Dtype;
  for (const Dtype dtype : {int64, int32, int8, uint8})
    for (const Lying lying : {Lying::in_order, Lying::turned, Lying::apart}) {
      WholeNumbersCase numbers(dtype, lying);
      const ValueId y = numbers.row(), counts = numbers.counts();
      for (const char* name : {"maximum.default", "minimum.default", "bitwise_and.Tensor",
                               "bitwise_or.Tensor", "__xor__.Tensor", "rsub.Tensor"})
        numbers.make(name, {other(y)});
      for (const char* name : {"lt.Tensor", "ge.Tensor", "eq.Tensor", "ne.Tensor",
                               "logical_and.default", "logical_or.default", "logical_xor.default"})
        numbers.make(name, {other(y)}, bool_);
      for (const char* name : {"bitwise_left_shift.Tensor", "bitwise_right_shift.Tensor",
                               "__lshift__.Tensor", "__rshift__.Tensor"})
        numbers.make(name, {other(counts)});
      for (const char* name :
           {"relu.default", "neg.default", "abs.default", "sign.default", "bitwise_not.default"})
        numbers.make(name);
      numbers.make("logical_not.default", {}, bool_);
      numbers.make("gt.Scalar", {whole("other", 5)}, bool_);
      // Elements of 8 bits cannot be 300.
      numbers.make("lt.Scalar", {whole("other", 300)}, bool_);
      for (const char* name : {"bitwise_and.Scalar", "rsub.Scalar", "__rshift__.Scalar",
                               "bitwise_left_shift.Tensor_Scalar"})
        numbers.make(name, {whole("other", 3)});
      numbers.make("clamp.default", {whole("min", 7), whole("max", 90)});
      numbers.make("clamp.default", {whole("max", 90)});
      numbers.make("clamp.Tensor", {named("min", Argument(y)), named("max", Argument(counts))});
      numbers.make("clamp_min.default", {whole("min", 7)});
      for (const Dtype to : {int64, int32, int8, uint8, bool_})
        if (to != dtype)
          numbers.make("to.dtype",
                       {named("dtype", Argument(ScalarType{dtype_info(to).schema_number}))}, to);
      Names expected(lying == Lying::in_order ? 0 : 1, "reference");
      expected.insert(expected.end(), numbers.made, "pointwise");
      EXPECT_EQ(numbers.graph.check(), expected);
      EXPECT_TRUE(numbers.graph.was_recorded());
    }
}

TEST(PlanPointwise, WholeNumbersBecomeFloats) {
  using enum Dtype;
  for (const Dtype dtype : {int64, int32, int8, uint8}) {
    WholeNumbersCase numbers(dtype, Lying::in_order);
    for (const char* name :
         {"sigmoid.default", "sqrt.default", "exp.default", "erf.default", "tanh.default"})
      numbers.make(name, {}, float32);
    numbers.make("div.Tensor", {other(numbers.row())}, float32);
    numbers.make("div.Tensor", {whole("other", 3)}, float32);
    EXPECT_EQ(numbers.graph.check(), Names(numbers.made, "pointwise_chain"));
    EXPECT_TRUE(numbers.graph.was_recorded());
  }
}

// Integer values inside a chain stay exact: the chain must not compute them as float32.
TEST(PlanPointwise, NumbersThatBecomeWholeOnTheWay) {
  using enum Dtype;
  Case graph;
  const Sizes sizes{3};
  const ValueId x = graph.input(sizes), y = graph.input(sizes);
  Tensor wholes = Tensor::zeros(int64, sizes);
  wholes.data<int64_t>()[0] = (int64_t{1} << 24) + 1;
  wholes.data<int64_t>()[1] = (int64_t{5} << 32) - 3;
  graph.fill(x, std::move(wholes));
  graph.record(x, sizes, int64);
  graph.fill(y, floats(sizes, {2.75f, -1.5f, 0}));
  graph.record(y, sizes, float32);
  const auto cast = [&](ValueId value, Dtype to) {
    const ValueId id = graph.call(
        "to.dtype",
        {self(value), named("dtype", Argument(ScalarType{dtype_info(to).schema_number}))});
    graph.record(id, sizes, to);
    return id;
  };
  for (const Dtype dtype : {int32, uint8}) {
    const ValueId last_bits =
        graph.call("bitwise_and.Scalar", {self(cast(x, dtype)), whole("other", 127)});
    graph.record(last_bits, sizes, dtype);
    graph.output(cast(last_bits, float32));
    graph.output(cast(cast(cast(x, dtype), int8), float32));
  }
  for (const Dtype dtype : {int64, int8, bool_}) {
    const ValueId scaled = graph.call("mul.Tensor", {self(y), other_number(1.5)});
    graph.record(scaled, sizes, float32);
    graph.output(cast(cast(scaled, dtype), float32));
  }
  graph.check();
}

TEST(PlanPointwise, ShortWholeNumbers) {
  for (const Dtype dtype : {Dtype::int32, Dtype::int8, Dtype::uint8}) {
    Case graph;
    const ValueId x = graph.input({3, 4});
    Tensor elements = Tensor::zeros(dtype, {3, 4});
    ops::copy_elements(elements, floats({3, 4}, {1, 2, 3, 4, 5, 60, 70, 80, 90, 100, 110, 120}));
    graph.fill(x, std::move(elements));
    graph.record(x, {3, 4}, dtype);
    const auto make = [&](const std::string& target, const Argument& operand) {
      const ValueId id = graph.call(target, {self(x), named("other", operand)});
      graph.record(id, {3, 4}, dtype);
      graph.output(graph.call(
          "_to_copy.default",
          {self(id),
           named("dtype", Argument(ScalarType{dtype_info(Dtype::float32).schema_number}))}));
    };
    make("mul.Tensor", Argument(x));
    make("sub.Tensor", Argument(int64_t{100}));
    // Narrower dtypes cannot hold 300.
    if (dtype == Dtype::int32) make("add.Tensor", Argument(int64_t{300}));
    Names names = graph.check();
    std::erase(names, "reference");
    EXPECT_EQ(names, Names(dtype == Dtype::int32 ? 3 : 2, "pointwise"));
  }
}

TEST(PlanPointwise, ElementsAreChosenByMasks) {
  Case graph;
  const ValueId x = graph.input({2, 3, 4}), y = graph.input({3, 1}), mask = graph.input({3, 4});
  Tensor flags = Tensor::zeros(Dtype::bool_, {3, 4});
  for (int i = 0; i < 12; ++i) flags.data<bool>()[i] = i % 5 < 2;
  graph.fill(mask, flags);
  const ValueId turned = graph.call("permute.default", {self(x), named("dims", ints({0, 1, 2}))});
  const NamedArgument condition = named("condition", Argument(mask));
  graph.output(graph.call("where.self", {condition, self(turned), other(y)}));
  graph.output(graph.call("where.self", {condition, self(y), other(graph.weight({}))}));
  graph.output(graph.call("where.ScalarOther", {condition, self(x), other_number(0.5)}));
  graph.output(graph.call("where.ScalarSelf", {condition, named("self", Argument(2.5)), other(x)}));
  graph.output(graph.call("masked_fill.Scalar", {self(x), named("mask", Argument(mask)),
                                                 named("value", Argument(-1e30))}));
  Names expected{"reference"};
  expected.insert(expected.end(), 5, "pointwise");
  EXPECT_EQ(graph.check(), expected);
  EXPECT_TRUE(graph.was_recorded() && graph.took_others());
}

TEST(PlanPointwise, ElementsOfAnySizeAreChosen) {
  for (const Dtype dtype : {Dtype::int8, Dtype::bool_, Dtype::bfloat16, Dtype::float64}) {
    Case graph;
    const ValueId x = graph.input({3, 4}), y = graph.input({3, 4}), mask = graph.input({3, 4});
    for (const ValueId id : {x, y, mask}) {
      Tensor elements = Tensor::zeros(id == mask ? Dtype::bool_ : dtype, {3, 4});
      std::vector<float> numbers(12);
      for (size_t i = 0; i < 12; ++i) numbers[i] = static_cast<float>((i + (id == y)) % 3);
      ops::copy_elements(elements, floats({3, 4}, numbers));
      graph.fill(id, std::move(elements));
    }
    const auto output = [&](ValueId id) {
      graph.output(graph.call(
          "_to_copy.default",
          {self(id),
           named("dtype", Argument(ScalarType{dtype_info(Dtype::float32).schema_number}))}));
    };
    output(graph.call("where.self", {named("condition", Argument(mask)), self(x), other(y)}));
    for (const Argument& value : {Argument(int64_t{2}), Argument(2.5), Argument(int64_t{-1})})
      output(graph.call("masked_fill.Scalar",
                        {self(x), named("mask", Argument(mask)), named("value", value)}));
    EXPECT_EQ(graph.check()[0], "pointwise");
  }
}

// Elements of other dtypes are converted according to the recorded dtypes.
TEST(PlanPointwise, OtherElementsBecomeFloatsAndBack) {
  using enum Dtype;
  for (const Dtype dtype : {bool_, uint8, int8, int32, int64}) {
    Case graph;
    const Sizes sizes{5, 12};
    const ValueId x = graph.input(sizes), y = graph.input({12});
    graph.record(y, {12}, float32);
    std::vector<float> numbers(60);
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i * 7 % 128);
    Tensor elements = Tensor::zeros(dtype, sizes);
    ops::copy_elements(elements, floats(sizes, numbers));
    graph.fill(x, std::move(elements));
    graph.record(x, sizes, dtype);
    const auto make = [&](const std::string& target, std::vector<NamedArgument> arguments,
                          Dtype to) {
      if (target == "to.dtype")
        arguments.push_back(named("dtype", Argument(ScalarType{dtype_info(to).schema_number})));
      const ValueId id = graph.call(target, std::move(arguments));
      graph.record(id, sizes, to);
      return id;
    };
    const ValueId scaled = make(
        "div.Tensor", {self(make("to.dtype", {self(x)}, float32)), other_number(25.5)}, float32);
    const ValueId moved = make("sub.Tensor", {self(scaled), other(y)}, float32);
    graph.output(moved);
    const ValueId whole = make("to.dtype", {self(moved)}, int64);
    const ValueId flag = make("to.dtype", {self(x)}, bool_);
    graph.output(graph.call("mul.Tensor", {self(whole), other_number(0.5)}));
    graph.output(graph.call("mul.Tensor", {self(flag), other_number(0.5)}));
    const Names names = graph.check();
    EXPECT_EQ(names[0], "pointwise_chain");
    EXPECT_EQ(std::ranges::count(names, "pointwise_chain"), 2);
    EXPECT_TRUE(graph.was_recorded());
  }
}

TEST(PlanPointwise, WaysBetweenTwoEnds) {
  for (const double weight : {-2.0, 0.0, 0.3, 0.5, 0.9, 2.0}) {
    Case graph;
    const ValueId x = graph.input({3, 8}), end = graph.input({8});
    // An infinite end shows from which end lerp interpolates.
    Tensor ends = Tensor::zeros(Dtype::float32, {8});
    ends.data<float>()[3] = INFINITY;
    graph.fill(end, std::move(ends));
    graph.output(graph.call(
        "lerp.Scalar", {self(x), named("end", Argument(end)), named("weight", Argument(weight))}));
    EXPECT_EQ(graph.check(), Names{"pointwise_chain"});
  }
}

TEST(PlanPointwise, SoftplusOfDoublesHasAThreshold) {
  Case graph;
  const ValueId x = graph.input({4});
  const std::vector<double> numbers{-3, 19.5, 20.5, 25};
  graph.fill(x, Tensor::from<double>(Dtype::float64, {4}, numbers));
  graph.record(x, {4}, Dtype::float64);
  const ValueId y = graph.call("softplus.default", {self(x)});
  graph.record(y, {4}, Dtype::float64);
  graph.output(y);
  EXPECT_EQ(graph.check(), Names{"pointwise_chain"});
}

// 14 gradients take 252 instructions; the sines before them would make that 258.
TEST(PlanPointwise, AChainOfManyInstructionsIsTwoSteps) {
  Case graph;
  const ValueId x = graph.input({4});
  ValueId gradient = graph.input({4});
  const auto next = [&](const std::string& name, std::vector<NamedArgument> arguments) {
    gradient = graph.call(name, std::move(arguments));
    graph.record(gradient, {4}, Dtype::float32);
  };
  for (int i = 0; i < 6; ++i) next("sin.default", {self(gradient)});
  for (int i = 0; i < 14; ++i)
    next("gelu_backward.default", {named("grad_output", Argument(gradient)), self(x),
                                   named("approximate", Argument(std::string("tanh")))});
  graph.output(gradient);
  EXPECT_EQ(graph.check(), (Names{"pointwise_chain", "pointwise_chain"}));
}

TEST(PlanPointwise, NumbersBesideDoublesAreDoubles) {
  Case graph;
  const ValueId x = graph.input({4}), y = graph.input({});
  constexpr double numbers[] = {-1.5, 0.1, 2.0, 1e9};
  graph.fill(x, Tensor::from<double>(Dtype::float64, {4}, numbers));
  graph.record(x, {4}, Dtype::float64);
  graph.fill(y, Tensor::from<double>(Dtype::float64, {}, std::span(numbers).subspan(1, 1)));
  graph.record(y, {}, Dtype::float64);
  const ValueId number = graph.call("item.default", {self(y)});
  graph.record_number(number);
  const ValueId product = graph.call("mul.Tensor", {self(x), other(number)});
  graph.record(product, {4}, Dtype::float64);
  graph.output(product);
  EXPECT_EQ(graph.check(), (Names{"reference", "pointwise_chain"}));
}

TEST(PlanPointwise, AnglesAndRests) {
  Case graph;
  const ValueId x = graph.input({3, 8}), y = graph.weight({8}, 0.1f);
  for (const char* name : {"atan.default", "sign.default", "trunc.default"})
    graph.output(graph.call(name, {self(x)}));
  for (const char* name : {"atan2.default", "remainder.Tensor", "fmod.Tensor"})
    graph.output(graph.call(name, {self(x), other(y)}));
  graph.output(graph.call("remainder.Scalar", {self(x), other_number(0.3)}));
  EXPECT_EQ(graph.check(), Names(7, "pointwise"));
}

TEST(PlanPointwise, CopiesLieInOrder) {
  Case graph;
  const Sizes sizes{2, 7, 5, 3};
  for (const std::vector<int64_t>& order :
       {std::vector<int64_t>{0, 1, 3, 2}, {0, 2, 3, 1}, {3, 1, 0, 2}, {0, 1, 2, 3}}) {
    const ValueId turned =
        graph.call("permute.default", {self(graph.input(sizes)), named("dims", ints(order))});
    graph.output(graph.call("clone.default", {self(turned)}));
    graph.output(graph.call("contiguous.default", {self(turned)}));
  }
  Names expected;
  for (int i = 0; i < 4; ++i) expected.insert(expected.end(), {"reference", "copy", "copy"});
  EXPECT_EQ(graph.check(), expected);
}

// A mask times values, pixel positions divided by image sizes: PyTorch converts integers to float32
// first.
TEST(PlanPointwise, WholeNumbersBesideFloatsBecomeFloats) {
  const auto steps_of = [](const std::string& target, Tensor whole, bool is_first) {
    Case graph;
    const Sizes sizes{4, 3};
    const Dtype dtype = whole.dtype();
    const ValueId x = graph.input(sizes), number = graph.input({3});
    graph.record(x, sizes, Dtype::float32);
    graph.record(number, {3}, dtype);
    graph.fill(number, std::move(whole));
    std::vector<NamedArgument> operands{self(is_first ? number : x), other(is_first ? x : number)};
    const ValueId out = graph.call(target, std::move(operands));
    graph.record(out, sizes, Dtype::float32);
    graph.output(out);
    Names names = graph.check();
    EXPECT_TRUE(graph.was_recorded());
    return names;
  };
  const Names chain{"pointwise_chain"};
  const Tensor places = Tensor::of<int64_t>({3}, {16777217, -2, 3});
  for (const char* target : {"add.Tensor", "mul.Tensor", "div.Tensor", "sub.Tensor"})
    for (const bool is_first : {false, true}) EXPECT_EQ(steps_of(target, places, is_first), chain);
  EXPECT_EQ(steps_of("maximum.default", Tensor::of<int32_t>({3}, {0, -1, 1}), false), chain);
  Tensor mask = Tensor::zeros(Dtype::bool_, {3});
  mask.raw_data()[1] = std::byte{1};
  EXPECT_EQ(steps_of("mul.Tensor", mask, false), chain);

  // Subtraction of bools is an error in both engines.
  Case graph;
  const ValueId x = graph.input({3}), flag = graph.input({3});
  graph.record(x, {3}, Dtype::float32);
  graph.record(flag, {3}, Dtype::bool_);
  graph.fill(flag, mask);
  const ValueId out = graph.call("sub.Tensor", {self(x), other(flag)});
  graph.record(out, {3}, Dtype::float32);
  graph.output(out);
  EXPECT_TRUE(graph.fails_alike());
}

TEST(PlanPointwise, WholeNumbersAreComputedByTheReference) {
  Case graph;
  const ValueId x = graph.input({6});
  Tensor whole = Tensor::of<int64_t>({6}, {1, 2, 3, -4, 5, 6});
  graph.fill(x, whole);
  const ValueId a = graph.call("mul.Tensor", {self(x), named("other", Argument(int64_t{3}))});
  const ValueId b = graph.call("add.Tensor", {self(a), named("other", Argument(int64_t{1}))});
  graph.output(graph.call("mul.Tensor", {self(b), other_number(0.5)}));
  graph.check();
}

// Bitwise operators refuse float operands, whatever dtype the program records.
TEST(PlanPointwise, BitsOfFloatsAreRefused) {
  for (const char* target : {"bitwise_or.Scalar", "bitwise_and.Tensor", "bitwise_not.default"}) {
    SCOPED_TRACE(target);
    Case graph;
    const ValueId x = graph.input({3, 4});
    std::vector<NamedArgument> arguments{self(x)};
    if (std::string_view(target).ends_with("Scalar"))
      arguments.push_back(named("other", Argument(int64_t{0})));
    if (std::string_view(target).ends_with("Tensor")) arguments.push_back(other(x));
    const ValueId result = graph.call(target, std::move(arguments));
    graph.record(result, {3, 4}, Dtype::bool_);
    graph.output(result);
    EXPECT_TRUE(graph.fails_alike());
  }
}

}  // namespace
}  // namespace pt2::run
