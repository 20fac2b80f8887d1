// A plan refuses the calls that its operators refuse.
#include <gtest/gtest.h>

#include "base/memory_account.h"
#include "ops/random_calls.h"
#include "run/plan/plan_case.h"

namespace pt2::run {
namespace {

NamedArgument number_named(const std::string& name, double number) {
  return named(name, Argument(number));
}

Tensor as_dtype(const Tensor& tensor, Dtype dtype) {
  Tensor out = Tensor::zeros(dtype, tensor.sizes());
  ops::copy_elements(out, tensor);
  return out;
}

// A call that torch 2.15 refuses. `further` holds the arguments after self.
struct RefusedCall {
  std::string target;
  std::vector<NamedArgument> further{};
  Dtype dtype = Dtype::float32;
  Sizes sizes{2, 3};
};
bool fails_alike(const RefusedCall& call) {
  Case graph;
  const ValueId x = graph.input(call.sizes);
  graph.record(x, call.sizes, call.dtype);
  graph.fill(x, as_dtype(floats({2, 3}, {-2, 0, 1, 2, 3, -4})
                             .with_view(call.sizes, contiguous_strides(call.sizes), 0),
                         call.dtype));
  std::vector<NamedArgument> arguments{self(x)};
  for (const NamedArgument& each : call.further) arguments.push_back(each);
  for (NamedArgument& each : arguments) {
    if (each.name != "mask") continue;
    const ValueId mask = graph.input(call.sizes);
    graph.record(mask, call.sizes, Dtype::bool_);
    graph.fill(mask, Tensor::zeros(Dtype::bool_, call.sizes));
    each.arg = Argument(mask);
  }
  if (call.target.starts_with("upsample")) arguments[0].name = "input";
  const ValueId y = graph.call(call.target, std::move(arguments));
  graph.record(y, call.sizes, call.dtype);
  // The call must also be refused as part of a chain.
  const ValueId z = graph.call("neg.default", {self(y)});
  graph.record(z, call.sizes, call.dtype);
  graph.output(z);
  return graph.fails_alike();
}

TEST(PlanRefusals, ArgumentsThatOperatorsRefuse) {
  std::vector<RefusedCall> all{
      {"gelu.default", {named("approximate", Argument(std::string("L")))}},
      {"celu.default", {number_named("alpha", 1e-40)}},
      {"celu.default", {number_named("alpha", 0)}},
      {"elu.default", {number_named("alpha", 1e39)}},
      {"leaky_relu.default", {number_named("negative_slope", 1e39)}},
      {"softplus.default", {number_named("beta", 1), number_named("threshold", 1e39)}},
      {"softshrink.default", {number_named("lambd", 1e39)}},
      {"clamp_max.default", {number_named("max", 1e39)}},
      {"upsample_nearest2d.vec",
       {named("output_size", ints({4, 4})),
        named("scale_factors", Argument(ArgumentList{.kind = ListKind::floats,
                                                     .items = {Argument(2.0), Argument(2.0)}}))},
       Dtype::float32,
       {1, 1, 2, 3}}};
  for (const Dtype dtype : {Dtype::float16, Dtype::bfloat16, Dtype::float32}) {
    const double large = dtype == Dtype::float16 ? 1e9 : 1e39;
    for (const double value : {large, -large}) {
      all.push_back({"masked_fill.Scalar",
                     {named("mask", Argument(ValueId{})), number_named("value", value)},
                     dtype});
      all.push_back({"full_like.default", {number_named("fill_value", value)}, dtype});
      all.push_back({"constant_pad_nd.default",
                     {named("pad", ints({1, 1})), number_named("value", value)},
                     dtype});
      for (const char* target : {"add.Scalar", "sub.Scalar", "rsub.Scalar"})
        all.push_back({target, {number_named("other", 1), number_named("alpha", value)}, dtype});
      for (const char* target : {"hardtanh.default", "clamp.default"}) {
        const bool clamps = target[0] == 'c';
        all.push_back({target, {number_named(clamps ? "min" : "min_val", value)}, dtype});
      }
      all.push_back({"hardshrink.default", {number_named("lambd", value)}, dtype});
    }
  }
  for (const RefusedCall& call : all)
    EXPECT_TRUE(fails_alike(call)) << call.target << " of " << dtype_name(call.dtype);
}

// The plan cannot check such a number: it is an input tensor, not a constant argument.
TEST(PlanRefusals, NumbersOfACallThatOperatorsRefuse) {
  for (const double large : {1e9, 1e39}) {
    Case graph;
    const ValueId x = graph.input({3}), mask = graph.input({3}), number = graph.input({});
    graph.record(x, {3}, Dtype::float16);
    graph.fill(x, Tensor::zeros(Dtype::float16, {3}));
    graph.record(mask, {3}, Dtype::bool_);
    graph.fill(mask, Tensor::zeros(Dtype::bool_, {3}));
    graph.fill(number, Tensor::of<double>({}, {large}).as_wrapped_number());
    const ValueId y = graph.call("masked_fill.Scalar", {self(x), named("mask", Argument(mask)),
                                                        named("value", Argument(number))});
    graph.record(y, {3}, Dtype::float16);
    graph.output(y);
    EXPECT_TRUE(graph.fails_alike()) << large;
  }
}

// Makes graphs of one random call each.
class RandomNodes {
 public:
  // True if plan and operator both accept or both refuse the call. Nothing (nullopt) if no graph
  // can contain the call.
  std::optional<bool> agree(const ops::RecordedCall& call) {
    Case graph;
    const ops::Operator op = ops::find_operator(call.target);
    if (!op || op.signature().return_count == 0 || op.signature().is_mutable()) return std::nullopt;
    std::vector<NamedArgument> arguments;
    const Tensor* first = nullptr;
    for (size_t i = 0; i < call.arguments.size(); ++i) {
      const auto argument = argument_of(call.arguments[i], graph);
      if (!argument) return std::nullopt;
      arguments.push_back(named(std::string(op.signature().parameter_array[i].name), *argument));
      const auto* tensor = call.arguments[i].get_if<Tensor>();
      if (first == nullptr) first = tensor;
    }
    if (first == nullptr) return std::nullopt;
    const auto results = graph.calls(call.target, std::move(arguments), 1);
    graph.record(results[0], first->sizes(), first->dtype());
    graph.output(results[0]);
    return graph.agrees();
  }

 private:
  static std::optional<Argument> argument_of(const Value& value, Case& graph) {
    if (const auto* tensor = value.get_if<Tensor>()) {
      if (!tensor->defined() || tensor->numel() > 4096) return std::nullopt;
      const ValueId id = graph.input({});
      graph.record(id, tensor->sizes(), tensor->dtype());
      graph.fill(id, *tensor);
      return Argument(id);
    }
    if (const auto* flag = value.get_if<bool>()) return Argument(*flag);
    if (const auto* whole = value.get_if<int64_t>()) return Argument(*whole);
    if (const auto* real = value.get_if<double>()) return Argument(*real);
    if (const auto* text = value.get_if<std::string>()) return Argument(*text);
    if (const auto* dtype = value.get_if<Dtype>())
      return Argument(ScalarType{dtype_info(*dtype).schema_number});
    if (value.is_none()) return Argument(None{});
    const auto* list = value.get_if<Value::List>();
    if (list == nullptr) return std::nullopt;
    ArgumentList out{.kind = ListKind::ints, .items = {}};
    for (const Value& item : *list) {
      auto argument = argument_of(item, graph);
      if (!argument) return std::nullopt;
      if (item.is<Tensor>()) out.kind = ListKind::optional_tensors;
      if (item.is<double>()) out.kind = ListKind::floats;
      out.items.push_back(*std::move(argument));
    }
    return Argument(std::move(out));
  }
};

TEST(PlanRefusals, RandomCalls) {
  const char* const text = std::getenv("PT2_RANDOM_CALLS");
  const char* const seed = std::getenv("PT2_RANDOM_SEED");
  ops::RandomCalls calls(seed == nullptr ? 1 : std::strtoull(seed, nullptr, 10),
                         ops::read_recorded_folder(std::string(PT2_TEST_DATA) + "/ops"));
  size_t made = 0;
  for (int left = text == nullptr ? 3000 : std::atoi(text); left > 0; --left) {
    const ops::RecordedCall call = calls.next();
    // The budget stops calls that ask for results of many gigabytes.
    const MemoryAccount::Scope memory(std::make_shared<MemoryAccount>(uint64_t{1} << 26));
    const auto agrees = within_memory([&] { return Result(RandomNodes().agree(call)); });
    if (!agrees) continue;
    made += agrees->has_value();
    EXPECT_TRUE(agrees->value_or(true)) << ops::call_text(call);
  }
  EXPECT_GT(made, 100u);
}

}  // namespace
}  // namespace pt2::run
