// The structure of forward derivatives. tests/data/corpus/2.15.0/forward_derivatives.pt2 compares
// the values of the formulas with PyTorch.
#include "lower/forward_derivatives.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace pt2 {
namespace {

constexpr const char* kFunctorch = "torch._functorch.predispatch.";

class Maker {
 public:
  ValueId value(const std::string& name) {
    return graph.add_value({.name = name, .meta = TensorMeta{}}).value();
  }
  ValueId input(const std::string& name) {
    const ValueId id = value(name);
    graph.add_input(Argument(id));
    return id;
  }
  ValueId node(const std::string& target, const std::string& result,
               std::vector<NamedArgument> inputs) {
    const ValueId id = value(result);
    graph.add_node({.target = target, .inputs = std::move(inputs), .outputs = {Argument(id)}});
    return id;
  }
  void functorch(const std::string& name) { graph.add_node({.target = kFunctorch + name}); }
  ValueId dual(ValueId primal, ValueId tangent, const std::string& name) {
    return node(std::string(kFunctorch) + "_make_dual", name,
                {{.arg = Argument(primal)}, {.arg = Argument(tangent)}});
  }
  ValueId tangent(ValueId of, const std::string& name) {
    const ValueId primal = value(name + "_primal"), result = value(name);
    graph.add_node({.target = std::string(kFunctorch) + "_unpack_dual",
                    .inputs = {{.arg = Argument(of)}},
                    .outputs = {Argument(primal), Argument(result)}});
    return result;
  }

  Graph graph;
};

Result<std::optional<Graph>> lowered(const Graph& graph, uint64_t most = 100) {
  NodeBudget budget(most);
  return lower_forward_derivatives(graph, budget);
}

std::vector<std::string> targets(const Graph& graph) {
  std::vector<std::string> out;
  for (NodeId id : graph.nodes()) out.push_back(graph.node(id).target);
  return out;
}

Result<std::optional<Graph>> lower_unary(const std::string& target,
                                         std::vector<NamedArgument> others = {}) {
  Maker maker;
  const ValueId x = maker.input("x"), dx = maker.input("dx");
  maker.functorch("_jvp_increment_nesting");
  others.insert(others.begin(), {.name = "self", .arg = Argument(maker.dual(x, dx, "dual"))});
  const ValueId y = maker.node(target, "y", std::move(others));
  const ValueId dy = maker.tangent(y, "dy");
  maker.functorch("_jvp_decrement_nesting");
  maker.graph.add_output(Argument(dy));
  return lowered(maker.graph);
}

TEST(ForwardDerivative, TangentsBecomeNodes) {
  const auto found = lower_unary("torch.ops.aten.exp.default");
  ASSERT_TRUE(found) << found.error().text();
  ASSERT_TRUE(*found);
  EXPECT_EQ(targets(**found),
            (std::vector<std::string>{"torch.ops.aten.exp.default", "torch.ops.aten.mul.Tensor"}));
  EXPECT_EQ((*found)->inputs().size(), 2u);
}

// A comparison selects dx or 0. A product with 0 would be NaN for an infinite dx.
TEST(ForwardDerivative, BoundsChooseTangents) {
  const auto has = [](const Result<std::optional<Graph>>& found, std::string_view target) {
    return found && *found && std::ranges::count(targets(**found), target) > 0;
  };
  EXPECT_TRUE(has(lower_unary("torch.ops.aten.relu.default"), "torch.ops.aten.le.Scalar"));
  EXPECT_TRUE(has(lower_unary("torch.ops.aten.hardtanh.default"), "torch.ops.aten.le.Scalar"));
  EXPECT_TRUE(has(lower_unary("torch.ops.aten.hardtanh.default"), "torch.ops.aten.ge.Scalar"));
  EXPECT_TRUE(
      has(lower_unary("torch.ops.aten.clamp_min.default", {{.name = "min", .arg = Argument(0.5)}}),
          "torch.ops.aten.gt.Scalar"));
  EXPECT_TRUE(
      has(lower_unary("torch.ops.aten.clamp_max.default", {{.name = "max", .arg = Argument(0.5)}}),
          "torch.ops.aten.lt.Scalar"));
  // NaN is above 0 for elu, but below it for leaky_relu (ATen/native/cpu/Activation.cpp).
  EXPECT_TRUE(has(lower_unary("torch.ops.aten.elu.default"), "torch.ops.aten.le.Scalar"));
  EXPECT_TRUE(has(lower_unary("torch.ops.aten.leaky_relu.default"), "torch.ops.aten.gt.Scalar"));
}

TEST(ForwardDerivative, RulesNameTheNode) {
  const auto refused = lower_unary("torch.ops.aten.amax.default");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().where, "%y (torch.ops.aten.amax.default)");
}

TEST(ForwardDerivative, ChosenElementsBringTheirTangents) {
  const std::string gather = "torch.ops.aten.gather.default";
  for (const std::string target : {"torch.ops.aten.sort.stable", "torch.ops.aten.topk.default",
                                   "torch.ops.aten.mode.default", "torch.ops.aten.nanmedian.dim"}) {
    Maker maker;
    const ValueId x = maker.input("x"), dx = maker.input("dx");
    maker.functorch("_jvp_increment_nesting");
    const ValueId dual = maker.dual(x, dx, "dual");
    const ValueId y = maker.value("y"), indices = maker.value("indices");
    maker.graph.add_node({.target = target,
                          .inputs = {{.name = "self", .arg = Argument(dual)}},
                          .outputs = {Argument(y), Argument(indices)}});
    const ValueId dy = maker.tangent(y, "dy");
    maker.functorch("_jvp_decrement_nesting");
    maker.graph.add_output(Argument(dy));
    const auto found = lowered(maker.graph);
    ASSERT_TRUE(found) << found.error().text();
    EXPECT_EQ(std::ranges::count(targets(**found), gather), 1) << target;
  }
}

TEST(ForwardDerivative, GraphsWithoutDualNumbersAreLeftAlone) {
  Maker maker;
  const ValueId x = maker.input("x");
  maker.graph.add_output(Argument(
      maker.node("torch.ops.aten.exp.default", "y", {{.name = "self", .arg = Argument(x)}})));
  const auto found = lowered(maker.graph);
  ASSERT_TRUE(found);
  EXPECT_FALSE(*found);
}

TEST(ForwardDerivative, UnknownOperatorsAreNamed) {
  const auto found = lower_unary("torch.ops.aten.erfinv.default");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::unsupported);
  EXPECT_NE(found.error().text().find("%y (torch.ops.aten.erfinv.default)"), std::string::npos);
}

TEST(ForwardDerivative, WhatIsNoDualNumberIsRefused) {
  Maker maker;
  const ValueId x = maker.input("x");
  maker.node(std::string(kFunctorch) + "_make_dual", "dual", {{.arg = Argument(x)}});
  const auto missing = lowered(maker.graph);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::invalid);

  Maker escaping;
  const ValueId y = escaping.input("y");
  escaping.graph.add_output(Argument(escaping.dual(y, y, "dual")));
  EXPECT_FALSE(lowered(escaping.graph));
}

TEST(ForwardDerivative, LevelsAreBounded) {
  Maker maker;
  ValueId x = maker.input("x");
  for (int level = 0; level < 40; ++level) {
    maker.functorch("_jvp_increment_nesting");
    x = maker.dual(x, x, "dual" + std::to_string(level));
  }
  const auto found = lowered(maker.graph);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::limit);
}

// A file may use any argument names, or omit arguments.
TEST(ForwardDerivative, MissingOperandsAreNamed) {
  const auto lower = [](const std::string& target, const std::string& name) {
    Maker maker;
    const ValueId x = maker.input("x"), dx = maker.input("dx");
    const ValueId dual = maker.dual(x, dx, "dual");
    const ValueId y = maker.node(target, "y", {{.name = name, .arg = Argument(dual)}});
    maker.graph.add_output(Argument(maker.tangent(y, "dy")));
    NodeBudget budget;
    return lower_forward_derivatives(maker.graph, budget);
  };
  for (const char* target : {"torch.ops.aten.exp.default", "torch.ops.aten.softmax.int",
                             "torch.ops.aten._log_softmax.default", "torch.ops.aten.addmm.default",
                             "torch.ops.aten.div.Tensor", "torch.ops.aten.pow.Tensor_Scalar",
                             "torch.ops.aten.pow.Tensor_Tensor", "torch.ops.aten.pow.Scalar",
                             "torch.ops.aten.logsumexp.default", "torch.ops.aten.amax.default",
                             "torch.ops.aten.layer_norm.default", "torch.ops.aten.atan2.default",
                             "torch.ops.aten.maximum.default", "torch.ops.aten.hypot.default",
                             "torch.ops.aten.linalg_inv.default"})
    for (const char* name : {"input", "self", ""}) {
      if (std::string(target) == "torch.ops.aten.exp.default" && std::string(name) == "self")
        continue;
      EXPECT_FALSE(lower(target, name)) << target << " " << name;
    }
}

// PyTorch refuses them, and a long chain of them would exhaust the stack.
TEST(ForwardDerivative, DualNumbersOfTheirOwnLevelAreRefused) {
  for (const bool in_tangent : {false, true}) {
    Maker maker;
    const ValueId x = maker.input("x"), dx = maker.input("dx"), dual = maker.dual(x, dx, "dual");
    const ValueId again = in_tangent ? maker.dual(x, dual, "again") : maker.dual(dual, dx, "again");
    const ValueId y =
        maker.node("torch.ops.aten.sin.default", "y", {{.name = "self", .arg = Argument(again)}});
    maker.graph.add_output(Argument(maker.tangent(y, "dy")));
    const auto found = lowered(maker.graph);
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, ErrorCode::invalid);
  }
}

// Each level multiplies the calls of the formulas.
TEST(ForwardDerivative, CallsAreBounded) {
  Maker maker;
  ValueId x = maker.input("x");
  for (int level = 0; level < 8; ++level) {
    maker.functorch("_jvp_increment_nesting");
    x = maker.dual(x, x, "dual" + std::to_string(level));
  }
  for (const char* name : {"a", "b", "c", "d"})
    x = maker.node("torch.ops.aten.sin.default", name, {{.name = "self", .arg = Argument(x)}});
  maker.graph.add_output(Argument(maker.tangent(x, "dd")));
  const auto found = lowered(maker.graph, UINT64_MAX);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::limit);
  EXPECT_NE(found.error().message.find("operators"), std::string::npos) << found.error().message;
}

// torch.func.jvp with has_aux=True unwraps a dual number without unpacking it.
TEST(ForwardDerivative, WhatIsUnwrappedHasNoTangent) {
  Maker maker;
  const ValueId x = maker.input("x"), dx = maker.input("dx");
  maker.functorch("_jvp_increment_nesting");
  const ValueId dual = maker.dual(x, dx, "dual");
  const ValueId y =
      maker.node("torch.ops.aten.cos.default", "y", {{.name = "self", .arg = Argument(dual)}});
  const ValueId aux = maker.node(std::string(kFunctorch) + "_unwrap_for_grad", "aux",
                                 {{.arg = Argument(y)}, {.arg = Argument(int64_t{1})}});
  maker.functorch("_jvp_decrement_nesting");
  const ValueId z =
      maker.node("torch.ops.aten.neg.default", "z", {{.name = "self", .arg = Argument(aux)}});
  maker.graph.add_output(Argument(aux));
  maker.graph.add_output(Argument(z));
  const auto found = lowered(maker.graph);
  ASSERT_TRUE(found) << found.error().text();
  ASSERT_TRUE(*found);
  EXPECT_EQ((*found)->outputs().size(), 2u);
  // The tangent of y is computed, though nobody asks for it; that of z would be another node.
  EXPECT_EQ(targets(**found), (std::vector<std::string>{
                                  "torch.ops.aten.cos.default",
                                  "torch.ops.aten.sin.default",
                                  "torch.ops.aten.neg.default",
                                  "torch.ops.aten.mul.Tensor",
                                  "torch.ops.aten.neg.default",
                              }));
}

}  // namespace
}  // namespace pt2
