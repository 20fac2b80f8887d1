// A parameter that is a tensor subclass is replaced by those inner tensors that the program uses.
#include "run/subclass_parameters.h"

#include <gtest/gtest.h>

#include "run/graph_maker.h"

namespace pt2::run {
namespace {

constexpr char kAccess[] = "torch.ops.export.access_subclass_inner_tensor.default";

Payloads payloads() {
  Payloads out;
  out.add(PayloadTensor{.name = "w",
                        .missing = "tensor subclass without data of its own",
                        .is_parameter = true,
                        .parts = {floats({2}, {1, 2}), floats({2}, {10, 20})},
                        .part_names = {"a", "b"},
                        .class_name = "my.Pair"});
  return out;
}

Program program(GraphMaker maker) {
  Program out;
  out.graph = std::move(maker.graph);
  out.signature.input_specs = {
      {.kind = InputKind::parameter, .arg = {.name = "p_w"}, .target = "w"},
      {.kind = InputKind::user_input, .arg = {.name = "x"}}};
  return out;
}

TEST(SubclassParameters, AreTheirInnerTensors) {
  GraphMaker maker;
  const ValueId w = maker.input("p_w"), x = maker.input("x");
  const auto inner = [&](const char* name) {
    return maker.call(kAccess, {named("", w), named("", Argument(std::string(name)))});
  };
  const ValueId b = inner("b"), a = inner("a"), again = inner("b");
  const ValueId sum =
      maker.call("torch.ops.aten.add.Tensor", {named("self", b), named("other", x)});
  const ValueId product =
      maker.call("torch.ops.aten.mul.Tensor", {named("self", a), named("other", again)});
  maker.graph.set_outputs({Argument(sum), Argument(product)});
  const auto unwrapped = unwrap_subclasses(program(std::move(maker)), payloads());
  ASSERT_TRUE(unwrapped) << unwrapped.error().text();
  ASSERT_NE(*unwrapped, nullptr);
  const auto& specs = (*unwrapped)->program.signature.input_specs;
  ASSERT_EQ(specs.size(), 3u);
  std::vector<Value> inputs;
  for (const InputSpec& spec : specs)
    inputs.push_back(spec.target ? Value((*unwrapped)->inner.at(*spec.target))
                                 : Value(floats({2}, {100, 200})));
  const auto outputs = execute((*unwrapped)->program.graph, inputs);
  ASSERT_TRUE(outputs) << outputs.error().text();
  EXPECT_EQ(elements((*outputs)[0]), (std::vector<float>{110, 220}));
  EXPECT_EQ(elements((*outputs)[1]), (std::vector<float>{10, 40}));
}

TEST(SubclassParameters, AreRefusedWhereTheWholeIsUsed) {
  GraphMaker maker;
  const ValueId w = maker.input("p_w"), x = maker.input("x");
  maker.graph.set_outputs(
      {Argument(maker.call("torch.ops.aten.add.Tensor", {named("self", x), named("other", w)}))});
  const auto unwrapped = unwrap_subclasses(program(std::move(maker)), payloads());
  ASSERT_FALSE(unwrapped);
  EXPECT_EQ(unwrapped.error().code, ErrorCode::unsupported);
  EXPECT_NE(unwrapped.error().message.find("'w' is a my.Pair and is used by %v0"),
            std::string::npos);
}

TEST(SubclassParameters, HaveNoOtherInnerTensors) {
  GraphMaker maker;
  const ValueId w = maker.input("p_w");
  maker.input("x");
  maker.graph.set_outputs(
      {Argument(maker.call(kAccess, {named("", w), named("", Argument(std::string("c")))}))});
  const auto unwrapped = unwrap_subclasses(program(std::move(maker)), payloads());
  ASSERT_FALSE(unwrapped);
  EXPECT_EQ(unwrapped.error().code, ErrorCode::invalid);
}

TEST(SubclassParameters, LeaveOtherProgramsAlone) {
  GraphMaker maker;
  maker.input("p_w"), maker.input("x");
  const auto unwrapped = unwrap_subclasses(program(std::move(maker)), {});
  ASSERT_TRUE(unwrapped);
  EXPECT_EQ(*unwrapped, nullptr);
}

}  // namespace
}  // namespace pt2::run
