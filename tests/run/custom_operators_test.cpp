// Operators registered by the caller: valid signatures, the errors for others, and the check that
// kernels return the declared types.
#include "pt2/ops/custom_operators.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "pt2/ops/operators.h"
#include "run/graph_maker.h"

namespace pt2::run {
namespace {

constexpr std::string_view kScale = "mylib::scale(Tensor x, float factor) -> Tensor";

Tensor scale(const Tensor& x, double factor) {
  Tensor out = x.contiguous().clone();
  for (int64_t i = 0; i < out.numel(); ++i) out.data<float>()[i] *= static_cast<float>(factor);
  return out;
}

Result<std::vector<Value>> execute_with(const CustomOperators& operators, const Graph& graph,
                                        std::vector<Value> inputs) {
  PT2_TRY(auto bound, bind_graph(graph, operators));
  ops::Context context;
  return Executor(context).run(*bound, std::move(inputs));
}

// Registers a kernel that always returns `results`.
CustomOperators answering(std::string_view schema, std::vector<Value> results) {
  CustomOperators operators;
  EXPECT_TRUE(operators.add_kernel(
      schema, [results](std::span<const Value>) { return Result<std::vector<Value>>(results); }));
  return operators;
}

std::string refusal(std::string_view schema) {
  CustomOperators operators;
  const auto added = operators.add_kernel(schema, [](std::span<const Value>) {
    return Result<std::vector<Value>>(std::vector<Value>());
  });
  EXPECT_TRUE(added || added.error().code == ErrorCode::argument);
  return added ? "" : added.error().text();
}

TEST(CustomOperators, RunInAProgram) {
  CustomOperators operators;
  ASSERT_TRUE(operators.add(kScale, scale));
  EXPECT_EQ(operators.targets(), std::vector<std::string>{"torch.ops.mylib.scale.default"});
  GraphMaker maker;
  const ValueId x = maker.input("x");
  const ValueId y =
      maker.call("torch.ops.mylib.scale.default", {named("x", x), named("factor", int64_t{3})});
  maker.graph.set_outputs({Argument(y)});
  EXPECT_FALSE(execute(maker.graph, {Value(floats({2}, {1, 2}))}));
  const auto outputs = execute_with(operators, maker.graph, {Value(floats({2}, {1, 2}))});
  ASSERT_TRUE(outputs) << outputs.error().text();
  EXPECT_EQ(elements((*outputs)[0]), (std::vector<float>{3, 6}));
}

TEST(CustomOperators, TakeEveryKindOfArgument) {
  CustomOperators operators;
  std::string seen;
  const auto kernel = [&seen](const std::vector<int64_t>& dims, const std::optional<Tensor>& bias,
                              const std::vector<std::optional<Tensor>>& tensors,
                              const std::string& mode, const std::vector<bool>& flags, Dtype dtype,
                              Scalar alpha, std::optional<double> p, MemoryFormat format,
                              const Device& device) -> std::tuple<std::vector<Tensor>, int64_t> {
    seen = std::to_string(dims.size()) + (bias ? " bias " : " no bias ") +
           std::to_string(tensors.size()) + " " + mode + " " + std::to_string(flags.size()) + " " +
           std::string(dtype_name(dtype)) + " " + std::to_string(alpha.to_double()) + " " +
           (p ? std::to_string(*p) : "none") + " " + std::to_string(static_cast<int>(format)) +
           " " + device.type;
    return {{*tensors[1]}, 7};
  };
  const auto added = operators.add(
      "mylib::all.variant(SymInt[2] dims, Tensor? bias, Tensor?[] tensors, *, str mode=\"a,b\", "
      "bool[] flags=[True, False], ScalarType dtype=float16, Scalar alpha=1., float? p=None, "
      "MemoryFormat format=contiguous_format, Device device='cpu') -> (Tensor[] parts, int count)",
      kernel);
  ASSERT_TRUE(added) << added.error().text();
  GraphMaker maker;
  const ValueId x = maker.input("x");
  maker.graph.add_node(
      {.target = "torch.ops.mylib.all.variant",
       .inputs = {named("dims", int64_t{4}), named("bias", None{}),
                  named("tensors",
                        ArgumentList{ListKind::optional_tensors, {Argument(None{}), Argument(x)}})},
       .outputs = {Argument(ArgumentList{ListKind::tensors, {Argument(maker.tensor("part"))}}),
                   Argument(*maker.graph.add_value(
                       {.name = "count", .meta = SymInt(int64_t{7}), .definition = {}}))}});
  maker.graph.set_outputs(
      {Argument(*maker.graph.find_value("part")), Argument(*maker.graph.find_value("count"))});
  const auto outputs = execute_with(operators, maker.graph, {Value(floats({}, {5}))});
  ASSERT_TRUE(outputs) << outputs.error().text();
  EXPECT_EQ(seen, "2 no bias 2 a,b 2 float16 1.000000 none 1 cpu");
  EXPECT_EQ(elements((*outputs)[0]), std::vector<float>{5});
  EXPECT_EQ(*(*outputs)[1].get_if<int64_t>(), 7);
}

TEST(CustomOperators, WriteToTheirArguments) {
  CustomOperators operators;
  ASSERT_TRUE(operators.add("mylib::add_one(Tensor(a!) out) -> ()",
                            [](Tensor out) { *out.data<float>() += 1; }));
  GraphMaker maker;
  const ValueId x = maker.input("x");
  maker.graph.add_node(
      {.target = "torch.ops.mylib.add_one.default", .inputs = {named("out", x)}, .outputs = {}});
  maker.graph.set_outputs({Argument(x)});
  const auto bound = bind_graph(maker.graph, operators);
  ASSERT_TRUE(bound);
  EXPECT_EQ(inputs_possibly_written(**bound), std::vector<bool>{true});
  const auto outputs = execute_with(operators, maker.graph, {Value(floats({1}, {1}))});
  ASSERT_TRUE(outputs) << outputs.error().text();
  EXPECT_EQ(elements((*outputs)[0]), std::vector<float>{2});
}

// PyTorch 2.15 writes call_torchbind, and with_effects around it after run_decompositions().
TEST(CustomOperators, AreMethodsOfObjects) {
  const std::string type = "__torch__.torch.classes.mine.Scaler";
  const std::string torchbind = "torch.ops.higher_order.call_torchbind";
  GraphMaker maker;
  const ValueId object = *maker.graph.add_value(
      {.name = "scaler", .meta = CustomObjectType{"scaler", type}, .definition = {}});
  maker.graph.add_input(Argument(object));
  const ValueId x = maker.input("x");
  const Argument name{std::string("apply")};
  const ValueId y = maker.call(
      torchbind, {named("", object), named("", name), named("", x), named("", int64_t{4})});
  const std::vector<ValueId> z = maker.calls("torch.ops.higher_order.with_effects",
                                             {named("", None{}), named("", OperatorName{torchbind}),
                                              named("", object), named("", name), named("", y)},
                                             2);
  maker.graph.set_outputs({Argument(y), Argument(z[1])});
  const auto missing = bind_graph(maker.graph);
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message.find("\n  " + type + ".apply (%v0"), std::string::npos)
      << missing.error().message;

  CustomOperators operators;
  ASSERT_TRUE(operators.add("apply(" + type + " self, Tensor x, int n=1) -> Tensor",
                            [](const Object& self, const Tensor& given, int64_t n) {
                              return scale(given,
                                           *self->state.get_if<double>() + static_cast<double>(n));
                            }));
  const Object scaler = std::make_shared<const ScriptObject>(ScriptObject{type, Value(2.0)});
  const auto outputs =
      execute_with(operators, maker.graph, {Value(scaler), Value(floats({2}, {1, 2}))});
  ASSERT_TRUE(outputs) << outputs.error().text();
  EXPECT_EQ(elements((*outputs)[0]), (std::vector<float>{6, 12}));
  EXPECT_EQ(elements((*outputs)[1]), (std::vector<float>{18, 36}));
}

TEST(CustomOperators, GoBeforeTheBuildsOwn) {
  CustomOperators operators;
  ASSERT_TRUE(operators.add("aten::relu(Tensor self) -> Tensor",
                            [](const Tensor& self) { return scale(self, 10); }));
  GraphMaker maker;
  const ValueId x = maker.input("x");
  maker.graph.set_outputs(
      {Argument(maker.call("torch.ops.aten.relu.default", {named("self", x)}))});
  const auto outputs = execute_with(operators, maker.graph, {Value(floats({1}, {-1}))});
  ASSERT_TRUE(outputs) << outputs.error().text();
  EXPECT_EQ(elements((*outputs)[0]), std::vector<float>{-10});
}

TEST(CustomOperators, AreListedWithTheBuildsOwn) {
  CustomOperators operators;
  ASSERT_TRUE(operators.add(kScale, scale));
  const std::vector<OperatorInfo> all = available_operators(operators);
  EXPECT_TRUE(std::ranges::is_sorted(all, {}, &OperatorInfo::target));
  const auto found = std::ranges::find(all, "torch.ops.mylib.scale.default", &OperatorInfo::target);
  ASSERT_NE(found, all.end());
  EXPECT_EQ(found->signature, kScale);
  EXPECT_EQ(found->origin, OperatorInfo::Origin::custom);
  const auto relu = std::ranges::find(all, "torch.ops.aten.relu.default", &OperatorInfo::target);
  ASSERT_NE(relu, all.end());
  EXPECT_EQ(relu->origin, OperatorInfo::Origin::build);
  EXPECT_EQ(available_operators().size() + 1, all.size());
}

TEST(CustomOperators, AreRefusedWithTheColumn) {
  struct Case {
    std::string_view schema;
    std::string_view message;
  };
  const Case cases[] = {
      {"", "column 1: expected a name in ''"},
      {"scale(Tensor x) -> Tensor", "column 1: found the name 'scale', expected NAMESPACE::NAME"},
      {"a::b::c() -> ()", "found the name 'a::b::c', expected NAMESPACE::NAME"},
      {"::b() -> ()", "expected NAMESPACE::NAME"},
      {"a::b", "column 5: expected '('"},
      {"a::b(Tensor x", "column 14: expected ',' or the end of the list"},
      {"a::b(Tensor) -> Tensor", "column 12: expected the name of a parameter"},
      {"a::b(Tensr x) -> Tensor", "column 6: found a type that is not supported here"},
      {"a::b(int[][] x) -> Tensor", "found a list of lists"},
      {"a::b(int[99999999999999999999] x) -> Tensor", "found a list size above 255"},
      {"a::b(int x, int x) -> Tensor", "column 17: found a name twice"},
      {"a::b(*, int x, *, int y) -> Tensor", "column 17: found '*' twice"},
      {"a::b(Tensor(a! x) -> Tensor", "expected the name of a parameter"},
      {"a::b(Tensor(a!", "column 15: expected ')'"},
      {"a::b(int x=) -> Tensor", "column 12: expected a default"},
      {"a::b(int x=[1", "column 14: expected the end of the default"},
      {"a::b(str x=\"a) -> Tensor", "expected the end of the default"},
      {"a::b(int x=one) -> Tensor", "the default 'one' of 'x' is no int"},
      {"a::b(int x=1.5) -> Tensor", "argument 'x': found float 1.5, expected int"},
      {"a::b(float x=1e999) -> Tensor", "the default '1e999' of 'x' is no float"},
      {"a::b(Tensor x=1) -> Tensor", "the default '1' of 'x' is no Tensor"},
      {"a::b(int[] x=[1, True, z]) -> Tensor", "of 'x' is no int[]"},
      {"a::b(ScalarType x=float33) -> Tensor", "the default 'float33' of 'x' is no ScalarType"},
      {"a::b(int x)", "column 12: expected '->'"},
      {"a::b(int x) -> ", "column 16: found a type that is not supported here"},
      {"a::b(int x) -> (int", "expected ',' or the end of the list"},
      {"a::b(int x) -> int more here", "column 25: expected nothing more"},
      {"a::b(int \x1b[31m) -> int",
       "expected the name of a parameter in 'a::b(int \\x1b[31m) -> int'"},
  };
  for (const Case& test : cases)
    EXPECT_NE(refusal(test.schema).find(test.message), std::string::npos)
        << test.schema << "\n  found    " << refusal(test.schema) << "\n  expected "
        << test.message;
  std::string many = "a::b(";
  for (int i = 0; i < 65; ++i) many += (i ? ", int p" : "int p") + std::to_string(i);
  EXPECT_NE(refusal(many + ") -> ()").find("more parameters than are supported"),
            std::string::npos);
}

TEST(CustomOperators, HaveFunctions) {
  CustomOperators operators;
  using Function = Tensor (*)(const Tensor&, double);
  EXPECT_FALSE(operators.add(kScale, Function(nullptr)));
  EXPECT_FALSE(operators.add(kScale, std::function<Tensor(const Tensor&, double)>()));
  const auto refused = operators.add_kernel(kScale, CustomOperators::Kernel());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::argument);
  EXPECT_TRUE(operators.empty());
  EXPECT_TRUE(operators.add(kScale, Function(scale)));
  using Sure = Tensor (*)(const Tensor&, double) noexcept;
  const Sure same = [](const Tensor& x, double) noexcept { return x; };
  EXPECT_TRUE(operators.add("mylib::same(Tensor x, float y) -> Tensor", same));
  EXPECT_TRUE(operators.add("mylib::same.out(Tensor x, float y) -> Tensor",
                            [](const Tensor& x, double) noexcept { return x; }));
}

TEST(CustomOperators, AreRegisteredOnce) {
  CustomOperators operators;
  ASSERT_TRUE(operators.add(kScale, scale));
  const auto again = operators.add(kScale, scale);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().message,
            "the operator 'torch.ops.mylib.scale.default' is registered twice");
  EXPECT_FALSE(operators.add_kernel("a::b() -> ()", nullptr));
}

TEST(CustomOperators, HaveTheTypesOfTheirSignature) {
  CustomOperators operators;
  const auto message = [&](std::string_view schema, auto function) {
    const auto added = operators.add(schema, function);
    return added ? "" : added.error().message;
  };
  EXPECT_EQ(message("a::b(Tensor x) -> Tensor", scale),
            "the function has 2 parameters, not 1, its signature is 'a::b(Tensor x) -> Tensor'");
  EXPECT_EQ(message("a::b(Tensor x, float? y) -> Tensor", scale),
            "the function has float as parameter 1, not float?, its signature is 'a::b(Tensor x, "
            "float? y) -> Tensor'");
  EXPECT_EQ(message("a::b(Tensor x, float y) -> Tensor[]", scale),
            "the function has Tensor as result 0, not Tensor[], its signature is 'a::b(Tensor x, "
            "float y) -> Tensor[]'");
  EXPECT_EQ(message("a::b(Tensor x, float y) -> ()", scale),
            "the function has 1 results, not 0, its signature is 'a::b(Tensor x, float y) -> ()'");
}

TEST(CustomOperators, KernelsAreHeldToTheirSignature) {
  const Value x{floats({1}, {1})};
  const auto message = [&](std::string_view schema, std::vector<Value> results) {
    const CustomOperators operators = answering(schema, std::move(results));
    const auto done = ops::call_custom(*operators.find(operators.targets()[0]), {});
    return done ? "" : done.error().message;
  };
  EXPECT_EQ(message("a::b() -> Tensor", {x}), "");
  EXPECT_EQ(message("a::b() -> Tensor", {}),
            "the kernel of a::b returned 0 values, its signature is 'a::b() -> Tensor'");
  EXPECT_EQ(message("a::b() -> Tensor", {Value(1.5)}),
            "the kernel of a::b returned float 1.5 as result 0, its signature is 'a::b() -> "
            "Tensor'");
  EXPECT_NE(message("a::b() -> Tensor", {Value(Tensor())}), "");
  EXPECT_NE(message("a::b() -> Tensor", {Value()}), "");
  EXPECT_EQ(message("a::b() -> Tensor?", {Value()}), "");
  EXPECT_EQ(message("a::b() -> (Tensor[], int)", {Value(Value::List{x}), Value(int64_t{1})}), "");
  EXPECT_NE(message("a::b() -> Tensor[]", {Value(Value::List{x, Value()})}), "");
  EXPECT_NE(message("a::b() -> int", {Value(1.5)}), "");
}

TEST(CustomOperators, KernelsAreHeldToWhatTheProgramRecords) {
  GraphMaker maker;
  maker.graph.add_node(
      {.target = "torch.ops.a.b.default",
       .inputs = {},
       .outputs = {Argument(*maker.graph.add_value(
           {.name = "y",
            .meta = TensorMeta{.dtype = ScalarType{dtype_info(Dtype::float32).schema_number},
                               .sizes = {SymInt(int64_t{2})}},
            .definition = {}}))}});
  const auto message = [&](Tensor result) {
    const auto done =
        execute_with(answering("a::b() -> Tensor", {Value(std::move(result))}), maker.graph, {});
    return done ? "" : done.error().text();
  };
  EXPECT_EQ(message(Tensor::zeros(Dtype::float32, {2})), "");
  EXPECT_EQ(
      message(Tensor::zeros(Dtype::float64, {2})),
      "%y (torch.ops.a.b.default): the kernel returned f64[2], the program has 'y' as f32[2]");
  EXPECT_NE(message(Tensor::zeros(Dtype::float32, {3})), "");
  EXPECT_NE(message(Tensor::zeros(Dtype::float32, {2, 1})), "");
}

// Any text is read as a signature or refused, without reading out of bounds.
TEST(CustomOperators, AnyTextIsReadInBounds) {
  const std::string seed =
      "a::b.c(Tensor(a!)[] x, int[2]? y=[0, 1], *, str mode=\"a,b\", "
      "__torch__.torch.classes.a.B z) -> (Tensor(a!), int?)";
  EXPECT_EQ(refusal(seed), "");
  for (size_t length = 0; length < seed.size(); ++length)
    EXPECT_NE(refusal(seed.substr(0, length)), "");
  std::mt19937 random(1);
  const std::string alphabet = "()[]*!?=,.:'\" ->aTensoritbl0\xff";
  for (int round = 0; round < 20000; ++round) {
    std::string text = seed;
    for (int edits = 1 + static_cast<int>(random() % 4); edits > 0; --edits) {
      const size_t at = random() % text.size();
      if (random() % 2)
        text[at] = alphabet[random() % alphabet.size()];
      else
        text.erase(at, 1 + random() % 3);
    }
    refusal(text);
  }
}

}  // namespace
}  // namespace pt2::run
