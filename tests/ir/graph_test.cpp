#include "pt2/ir/graph.h"

#include <gtest/gtest.h>

#include "ir/node_origins.h"
#include "pt2/ir/signature.h"

namespace pt2 {
namespace {

Node with_metadata(std::string key, std::string value) {
  Node node;
  node.metadata = {{std::move(key), std::move(value)}};
  return node;
}

TEST(Graph, SourceLineIsTheInnermostOfAPerson) {
  const std::pair<const char*, const char*> kCases[] = {
      {"  File \"/srv/model.py\", line 12, in forward\n    return self.fc(x)\n", "model.py:12"},
      {"File \"a.py\", line 3, in f\n  g(x)\nFile \"b.py\", line 45, in g\n  x + 1", "b.py:45"},
      {"File \"a.py\", line 3, in f\n  g(x)\nFile \"<eval_with_key>.24\", line 6, in forward\n  y",
       "a.py:3"},
      {"NoneType: None\n", ""},
      {"File \"broken", ""},
      {"", ""},
  };
  for (const auto& [trace, expected] : kCases) {
    Node node = with_metadata("stack_trace", trace);
    EXPECT_EQ(source_line(node), expected) << trace;
    node.metadata = brief_metadata(std::move(node.metadata));
    EXPECT_EQ(source_line(node), expected) << trace;
  }
  EXPECT_EQ(source_line(Node()), "");
}

TEST(Graph, ModuleStacksFollowTheirBrackets) {
  struct Case {
    const char* text;
    size_t entries;
    const char* path;
  };
  const Case kCases[] = {
      {"L__self__,,m.Model;L__self___lin,lin,torch.nn.modules.linear.Linear", 2, "lin"},
      {"L__self__,,m.Model", 1, ""},
      {"fn_0,getattr(L['fn'], '0'),torch.nn.modules.linear.Linear", 1, "getattr(L['fn'], '0')"},
      {"L__self___fc:(L['self'].fc,torch.nn.modules.linear.Linear)", 1, "fc"},
      {"a,L['self'].layers[0],m.Layer", 1, "layers[0]"},
  };
  for (const Case& c : kCases) {
    Node node = with_metadata("nn_module_stack", c.text);
    node.metadata.emplace_back("torch_fn", "relu_1;function.relu");
    node.metadata = brief_metadata(std::move(node.metadata));
    EXPECT_EQ(node.metadata.size(), 1u);
    const auto stack = module_stack(node);
    ASSERT_TRUE(stack) << c.text;
    EXPECT_EQ(stack->size(), c.entries) << c.text;
    EXPECT_EQ(module_path(node), c.path);
  }
  EXPECT_EQ(module_stack(with_metadata("nn_module_stack", "a,b")).error().code,
            ErrorCode::malformed);
  EXPECT_TRUE(module_stack(Node())->empty());
  EXPECT_EQ(module_path(with_metadata("nn_module_stack", "a,b")), "");
}

TEST(Graph, KnowsWhoDefinesAndWhoUses) {
  Graph graph;
  const auto add = [&graph](const char* name) {
    GraphValue value;
    value.name = name;
    value.meta = TensorMeta{};
    return graph.add_value(std::move(value)).value();
  };
  const ValueId x = add("x"), left = add("left"), right = add("right");
  EXPECT_EQ(graph.find_value("left"), left);
  EXPECT_FALSE(graph.find_value("nowhere"));
  GraphValue again;
  again.name = "x";
  EXPECT_EQ(graph.add_value(again).error().code, ErrorCode::invalid);

  graph.add_input(Argument(x));
  Node split;
  split.target = "torch.ops.aten.split.Tensor";
  split.inputs = {{"self", Argument(x), {}},
                  {"again", Argument(ArgumentList{ListKind::tensors, {Argument(x)}}), {}}};
  split.outputs = {Argument(ArgumentList{ListKind::tensors, {Argument(left), Argument(right)}})};
  const NodeId node = graph.add_node(split);
  graph.set_outputs({Argument(right)});

  EXPECT_EQ(graph.value(x).definition.by, Definition::By::graph_input);
  EXPECT_EQ(graph.value(right).definition.by, Definition::By::node);
  EXPECT_EQ(graph.value(right).definition.node, node);
  EXPECT_EQ(graph.value(right).definition.index, 1u);
  const auto uses = graph.uses(x);
  EXPECT_EQ(std::vector<Use>(uses.begin(), uses.end()), (std::vector<Use>{{node, 0}, {node, 1}}));
  EXPECT_TRUE(graph.uses(left).empty());
  EXPECT_EQ(*graph.uses(right).begin(), (Use{std::nullopt, 0}));

  const Graph copy = graph;
  EXPECT_EQ(copy.find_value("right"), right);
  EXPECT_EQ(copy.node(node).find_input("self")->get_if<ValueId>() != nullptr, true);
}

TEST(Graph, SaysWhoseMistakeAnUnknownIdIs) {
  Graph graph;
  const ValueId x = *graph.add_value({.name = "x", .meta = TensorMeta{}, .definition = {}});
  const NodeId node = graph.add_node({.target = "f", .inputs = {}, .outputs = {Argument(x)}});
  EXPECT_DEATH(graph.set_node_input(node, 17, Argument(x)),
               "wrong use: Graph::set_node_input of input 17 of a node f with 0 inputs");
  EXPECT_DEATH((void)graph.insert_node({.target = "g"}, NodeId{500}),
               "wrong use: Graph::insert_node with node 500, which the graph does not contain");
  EXPECT_DEATH(graph.replace_all_uses(x, ValueId{9}),
               "wrong use: Graph::replace_all_uses with value 9");
  const Argument unknown(ValueId{9});
  const char* const problem = "wrong use: Graph got an argument with value 9, which the graph does";
  EXPECT_DEATH((void)graph.add_node({.target = "g", .inputs = {{.name = "", .arg = unknown}}}),
               problem);
  EXPECT_DEATH((void)graph.add_node({.target = "g", .inputs = {}, .outputs = {unknown}}), problem);
  EXPECT_DEATH(graph.add_input(unknown), problem);
  EXPECT_DEATH(graph.add_output(unknown), problem);
  EXPECT_DEATH(graph.add_output(Argument(SubgraphId{0})),
               "wrong use: Graph got an argument with subgraph 0, but contains 0");
  ASSERT_TRUE(graph.erase_node(node));
  EXPECT_DEATH((void)graph.erase_node(node), "wrong use: Graph::erase_node with node 0");
}

TEST(Signature, DerivedPropertiesFollowTheSpecs) {
  const auto input = [](InputKind kind, std::string name, std::optional<std::string> target = {},
                        std::optional<bool> persistent = {}) {
    return InputSpec{kind, {.name = std::move(name)}, std::move(target), persistent};
  };
  const auto output = [](OutputKind kind, std::string name,
                         std::optional<std::string> target = {}) {
    return OutputSpec{kind, {.name = std::move(name)}, std::move(target)};
  };
  GraphSignature signature;
  signature.input_specs = {input(InputKind::token, "token"),
                           input(InputKind::parameter, "p_w", "w"),
                           input(InputKind::buffer, "b_n", "n", true),
                           input(InputKind::buffer, "b_t", "t", false),
                           input(InputKind::constant_tensor, "c_c", "c"),
                           input(InputKind::custom_obj, "obj_o", "o"),
                           input(InputKind::user_input, "x")};
  signature.output_specs = {output(OutputKind::token, "token_1"),
                            output(OutputKind::buffer_mutation, "add", "n"),
                            output(OutputKind::parameter_mutation, "add_1", "w"),
                            output(OutputKind::user_input_mutation, "add_2", "x"),
                            output(OutputKind::loss_output, "loss"),
                            output(OutputKind::user_output, "y"),
                            output(OutputKind::gradient_to_parameter, "g", "w"),
                            output(OutputKind::gradient_to_user_input, "h", "x")};
  using Names = std::vector<std::string>;
  EXPECT_EQ(signature.parameters(), Names{"w"});
  EXPECT_EQ(signature.buffers(), (Names{"n", "t"}));
  EXPECT_EQ(signature.non_persistent_buffers(), Names{"t"});
  EXPECT_EQ(signature.lifted_tensor_constants(), Names{"c"});
  EXPECT_EQ(signature.lifted_custom_objs(), Names{"o"});
  EXPECT_EQ(signature.input_tokens(), Names{"token"});
  EXPECT_EQ(signature.output_tokens(), Names{"token_1"});
  EXPECT_EQ(signature.inputs_to_parameters(), (NameMap{{"p_w", "w"}}));
  EXPECT_EQ(signature.inputs_to_buffers(), (NameMap{{"b_n", "n"}, {"b_t", "t"}}));
  EXPECT_EQ(signature.inputs_to_lifted_tensor_constants(), (NameMap{{"c_c", "c"}}));
  EXPECT_EQ(signature.inputs_to_lifted_custom_objs(), (NameMap{{"obj_o", "o"}}));
  EXPECT_EQ(signature.buffers_to_mutate(), (NameMap{{"add", "n"}}));
  EXPECT_EQ(signature.parameters_to_mutate(), (NameMap{{"add_1", "w"}}));
  EXPECT_EQ(signature.user_inputs_to_mutate(), (NameMap{{"add_2", "x"}}));
  ASSERT_EQ(signature.user_outputs().size(), 2u);
  EXPECT_EQ(signature.user_outputs()[0].name, "loss");
  const auto backward = signature.backward_signature();
  ASSERT_TRUE(backward);
  EXPECT_EQ(backward->loss_output, "loss");
  EXPECT_EQ(backward->gradients_to_parameters, (NameMap{{"g", "w"}}));
  EXPECT_EQ(backward->gradients_to_user_inputs, (NameMap{{"h", "x"}}));

  EXPECT_EQ(print(signature.input_specs[2]), "b_n: BUFFER target='n' persistent=True");
  EXPECT_EQ(print(signature.output_specs[0]), "token_1: TOKEN");
  EXPECT_TRUE(print(signature).starts_with("\n# inputs\ntoken: TOKEN\n"));

  signature.replace_all_uses("x", "renamed");
  EXPECT_EQ(signature.user_inputs()[0].name, "renamed");
  EXPECT_EQ(signature.input_specs[1].arg.name, "p_w");
}

}  // namespace
}  // namespace pt2
