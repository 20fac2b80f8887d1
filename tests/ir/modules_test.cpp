#include "pt2/ir/modules.h"

#include <gtest/gtest.h>

namespace pt2 {
namespace {

Program make_program(int64_t major, const std::vector<std::string>& stacks) {
  Program program;
  program.schema_version.major = major;
  for (const std::string& stack : stacks) {
    Node node{.target = "torch.ops.aten.relu.default"};
    if (!stack.empty()) node.metadata = {{"nn_module_stack", stack}};
    program.graph.add_node(std::move(node));
  }
  return program;
}

void add_parameter(Program& program, const std::string& target,
                   InputKind kind = InputKind::parameter) {
  program.signature.input_specs.push_back({.kind = kind, .target = target});
}

// Returns each call of a module with its runs of nodes, as "a: 0-3 5-6".
std::vector<std::string> calls(const ModuleHierarchy& hierarchy) {
  std::vector<std::string> out;
  for (size_t i = 0; i < hierarchy.modules.size(); ++i)
    for (const ModuleCall& call : hierarchy.modules[i].calls) {
      out.push_back(hierarchy.call_name(i, call) + ":");
      for (const NodeRun& run : call.runs)
        out.back() += " " + std::to_string(run.begin) + "-" + std::to_string(run.end);
    }
  return out;
}

using Strings = std::vector<std::string>;

const std::string kRoot = "L__self__,,m.Model";

// The module stacks that torch 2.15 writes for a(x) * k, a(x), m(x) for each m in b, and a.fc(x).
TEST(Modules, CallsAreNumberedAsTheFileNumbersThem) {
  const Program program =
      make_program(8, {
                          kRoot + ";L__self__a,a,m.Inner;L__self__a.fc,a.fc,Linear",
                          kRoot + ";L__self__a,a,m.Inner;L__self__a.act,a.act,ReLU",
                          kRoot,
                          kRoot + ";L__self__a@1,a,m.Inner;L__self__a.fc@1,a.fc,Linear",
                          kRoot + ";L__self__a@1,a,m.Inner;L__self__a.act@1,a.act,ReLU",
                          kRoot + ";L__self__b.0,b.0,m.Inner",
                          kRoot + ";L__self__b.1,b.1,m.Inner",
                          kRoot + ";L__self__a.fc@2,a.fc,Linear",
                          kRoot + ";L__self__b.0,b.0,m.Inner",
                      });
  const ModuleHierarchy hierarchy = module_hierarchy(program);
  EXPECT_EQ(calls(hierarchy),
            (Strings{": 0-9", "a: 0-2", "a@1: 3-5", "a.fc: 0-1", "a.fc@1: 3-4", "a.fc@2: 7-8",
                     "a.act: 1-2", "a.act@1: 4-5", "b.0: 5-6 8-9", "b.1: 6-7"}));
  const size_t a = *hierarchy.find("a");
  EXPECT_EQ(hierarchy.modules[a].type, "m.Inner");
  EXPECT_EQ(hierarchy.modules[a].nodes, 4u);
  EXPECT_EQ(hierarchy.modules[*hierarchy.find("a.fc")].nodes, 3u);
  EXPECT_EQ(hierarchy.modules[0].type, "m.Model");
  EXPECT_EQ(hierarchy.modules[0].nodes, 9u);
  // A ModuleList is never called.
  EXPECT_TRUE(hierarchy.modules[*hierarchy.find("b")].calls.empty());
  EXPECT_EQ(hierarchy.modules[*hierarchy.find("b")].children.size(), 2u);
  EXPECT_FALSE(hierarchy.find("a.nothing"));
  EXPECT_EQ(hierarchy.find(""), 0u);
}

TEST(Modules, OldFilesDoNotNumberCalls) {
  const std::string shared = kRoot + ";L__self___shared,shared,Linear";
  const Program program = make_program(7, {shared, kRoot, shared, shared});
  EXPECT_EQ(calls(module_hierarchy(program)), (Strings{": 0-4", "shared: 0-1", "shared@1: 2-4"}));
}

TEST(Modules, NodesWithoutAStackStayInTheirCall) {
  const std::string fc = kRoot + ";fc,fc,Linear";
  EXPECT_EQ(calls(module_hierarchy(make_program(8, {"", fc, "", kRoot}))),
            (Strings{": 0-4", "fc: 1-3"}));
  const std::string hook = "_empty_nn_module_stack_from_metadata_hook";
  EXPECT_EQ(
      calls(module_hierarchy(make_program(8, {fc, hook + "," + hook + "," + hook, fc, kRoot}))),
      (Strings{": 0-4", "fc: 0-3"}));
  // 2.1 writes no module stack for nodes of the root.
  const std::string old = "L__self___fc:(L['self'].fc,torch.nn.modules.linear.Linear)";
  EXPECT_EQ(calls(module_hierarchy(make_program(1, {old, "", old}))),
            (Strings{": 0-3", "fc: 0-1", "fc@1: 2-3"}));
}

TEST(Modules, OwnTheTensorsOfTheirName) {
  Program program = make_program(8, {kRoot + ";layers.0,layers.0,Linear"});
  add_parameter(program, "layers.0.weight");
  add_parameter(program, "scale", InputKind::buffer);
  add_parameter(program, "unused.deep.bias");
  const ModuleHierarchy hierarchy = module_hierarchy(program);
  EXPECT_EQ(hierarchy.modules[*hierarchy.find("layers.0")].inputs, std::vector<size_t>{0});
  EXPECT_EQ(hierarchy.modules[0].inputs, std::vector<size_t>{1});
  EXPECT_EQ(hierarchy.modules[*hierarchy.find("unused.deep")].inputs, std::vector<size_t>{2});

  Program old = make_program(1, {"L__self___fc:(L['self'].layers[0],Linear)"});
  add_parameter(old, "L__self___fc.weight");
  add_parameter(old, "L__self___count", InputKind::buffer);
  const ModuleHierarchy of_old = module_hierarchy(old);
  EXPECT_EQ(of_old.modules[*of_old.find("layers.0")].inputs, std::vector<size_t>{0});
  EXPECT_EQ(of_old.modules[0].inputs, std::vector<size_t>{1});
}

TEST(Modules, KnowThePreservedSignatures) {
  Program program =
      make_program(8, {kRoot + ";inner,inner,m.Inner", kRoot + ";inner@1,inner,m.Inner"});
  program.module_call_graph = {{"", ModuleCallSignature{}},
                               {"first", std::nullopt},
                               {"inner", std::nullopt},
                               {"inner@1", ModuleCallSignature{}},
                               {"gone@2", ModuleCallSignature{}}};
  const ModuleHierarchy hierarchy = module_hierarchy(program);
  EXPECT_EQ(calls(hierarchy), (Strings{": 0-2", "inner: 0-1", "inner@1: 1-2", "gone@2:"}));
  EXPECT_EQ(hierarchy.modules[1].name, "first");
  const Module& inner = hierarchy.modules[*hierarchy.find("inner")];
  EXPECT_FALSE(inner.calls[0].entry);
  EXPECT_EQ(inner.calls[1].entry, 3u);
  EXPECT_EQ(hierarchy.modules[0].calls[0].entry, 0u);
}

TEST(Modules, DamagedStacksAreCutWhereTheyBreak) {
  const Program program = make_program(8, {"no commas", kRoot + ";x,x,X;y,y,Y",
                                           kRoot + ";L['self'],L['self'],m.Model;z,z,Z", ";;;"});
  EXPECT_EQ(calls(module_hierarchy(program)), (Strings{": 0-4", "x: 1-2", "z: 2-3"}));

  std::string deep = "a";
  for (int i = 0; i < 100'000; ++i) deep += ".a";
  const ModuleHierarchy bounded = module_hierarchy(make_program(8, {kRoot + ";k," + deep + ",T"}));
  EXPECT_LE(bounded.modules.size(), 200u);
}

TEST(Modules, NodesOfNestedGraphsCount) {
  Program program = make_program(8, {});
  const Program branch = make_program(8, {kRoot + ";fc,fc,Linear", ""});
  const SubgraphId id = program.graph.add_subgraph(branch.graph);
  program.graph.add_node({.target = "torch.ops.higher_order.cond",
                          .inputs = {{"", Argument(id), std::nullopt}},
                          .metadata = {{"nn_module_stack", kRoot + ";gate,gate,Gate"}}});
  const ModuleHierarchy hierarchy = module_hierarchy(program);
  EXPECT_EQ(hierarchy.modules[0].nodes, 3u);
  EXPECT_EQ(hierarchy.modules[*hierarchy.find("fc")].nodes, 1u);
  EXPECT_EQ(hierarchy.modules[*hierarchy.find("gate")].nodes, 2u);
  EXPECT_EQ(calls(hierarchy), (Strings{": 0-1", "gate: 0-1"}));
}

}  // namespace
}  // namespace pt2
