// Ten thousand random edits on real graphs: the recorded definitions and uses of each value must
// match a recount, and the verifier must have no findings.
#include "pt2/ir/edit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "ir/structure.h"
#include "package/corpus.h"
#include "pt2/ir/type_text.h"
#include "pt2/ops/verify_operators.h"
#include "pt2/package.h"
#include "pt2/verify.h"

namespace pt2 {
namespace {

using UseKey = std::tuple<int64_t, uint32_t>;  // node (-1: graph output), index

UseKey key_of(const Use& use) {
  return {use.node ? static_cast<int64_t>(*use.node) : -1, use.index};
}

void expect_exact(const Graph& graph) {
  std::vector<std::vector<UseKey>> uses(graph.value_count());
  std::vector<Definition> definitions(graph.value_count());
  const auto count_uses = [&](const Argument& argument, UseKey key) {
    for_each_value(argument, [&](ValueId id) { uses[static_cast<size_t>(id)].push_back(key); });
  };
  for (uint32_t i = 0; i < graph.inputs().size(); ++i)
    for_each_value(graph.inputs()[i], [&](ValueId id) {
      definitions[static_cast<size_t>(id)] = {Definition::By::graph_input, {}, i};
    });
  size_t nodes = 0;
  for (NodeId id : graph.nodes()) {
    ++nodes;
    ASSERT_TRUE(graph.contains(id));
    const Node& node = graph.node(id);
    for (uint32_t i = 0; i < node.inputs.size(); ++i)
      count_uses(node.inputs[i].arg, {static_cast<int64_t>(id), i});
    uint32_t index = 0;
    for (const Argument& output : node.outputs)
      for_each_value(output, [&](ValueId value) {
        definitions[static_cast<size_t>(value)] = {Definition::By::node, id, index++};
      });
  }
  ASSERT_EQ(nodes, graph.nodes().size());
  for (uint32_t i = 0; i < graph.outputs().size(); ++i) count_uses(graph.outputs()[i], {-1, i});
  for (ValueId id : graph.values()) {
    const auto index = static_cast<size_t>(id);
    ASSERT_EQ(graph.find_value(graph.value(id).name), id);
    ASSERT_EQ(graph.value(id).definition, definitions[index]) << graph.value(id).name;
    std::vector<UseKey> found;
    for (const Use use : graph.uses(id)) found.push_back(key_of(use));
    std::ranges::sort(found);
    std::ranges::sort(uses[index]);
    ASSERT_EQ(found, uses[index]) << graph.value(id).name;
    ASSERT_EQ(found.size(), graph.uses(id).size());
  }
}

void expect_silent(const Program& program) {
  const Diagnostics findings =
      verify_program(program, "edited", Level::full, {.operators = check_operators});
  for (const Diagnostic& finding : findings.all()) ADD_FAILURE() << finding.line();
}

// True if one value can replace the other everywhere.
bool same_type(const Program& program, const GraphValue& a, const GraphValue& b) {
  const TensorMeta* left = a.tensor();
  const TensorMeta* right = b.tensor();
  if (left == nullptr || right == nullptr) return false;
  TensorMeta left_strides = *left, right_strides = *right;
  left_strides.sizes = left->strides;
  right_strides.sizes = right->strides;
  return type_text(program, *left) == type_text(program, *right) &&
         type_text(program, left_strides) == type_text(program, right_strides);
}

class RandomEdits {
 public:
  RandomEdits(Program& program, uint32_t seed) : program_(program), random_(seed) {}

  // Makes a random edit. False if this graph has no place for it.
  bool run_one() {
    switch (random_() % 6) {
      case 0:
        return insert();
      case 1:
        return erase();
      case 2:
        return replace();
      case 3:
        return rename();
      case 4:
        return move();
      default:
        return extract();
    }
  }

 private:
  Graph& graph() { return program_.graph; }
  template <class Range>
  auto any_of(const Range& range) {
    std::vector items(range.begin(), range.end());
    using Item = typename decltype(items)::value_type;
    return items.empty() ? std::optional<Item>()
                         : std::optional<Item>(items[random_() % items.size()]);
  }
  std::map<NodeId, size_t> positions() {
    std::map<NodeId, size_t> out;
    for (NodeId id : graph().nodes()) out.emplace(id, out.size());
    return out;
  }
  // Returns the number of nodes up to and including the value's definition; 0 for graph inputs.
  size_t defined_at(ValueId id, const std::map<NodeId, size_t>& positions) {
    const Definition& definition = graph().value(id).definition;
    return definition.by == Definition::By::node ? positions.at(definition.node) + 1 : 0;
  }

  // Inserts a copy of a node directly after it, with new values.
  bool insert() {
    const auto id = any_of(graph().nodes());
    if (!id) return false;
    Node copy = graph().node(*id);
    copy.name.reset();
    for (Argument& output : copy.outputs) {
      auto* value = output.get_if<ValueId>();
      if (value == nullptr) return false;
      GraphValue fresh{.name = graph().unused_name(graph().value(*value).name),
                       .meta = graph().value(*value).meta};
      *value = graph().add_value(std::move(fresh)).value();
    }
    graph().insert_node(std::move(copy), *id);
    return true;
  }

  bool erase() {
    std::vector<NodeId> dead;
    for (NodeId id : graph().nodes()) {
      bool used = false;
      for (const Argument& output : graph().node(id).outputs)
        for_each_value(output, [&](ValueId value) { used |= !graph().uses(value).empty(); });
      if (!used) {
        dead.push_back(id);
        continue;
      }
      EXPECT_FALSE(erase_node(program_, id));
    }
    const auto id = any_of(dead);
    return id && erase_node(program_, *id).has_value();
  }

  bool replace() {
    const auto value = any_of(graph().values());
    if (!value || graph().value(*value).tensor() == nullptr) return false;
    const auto where = positions();
    std::vector<ValueId> candidates;
    for (ValueId other : graph().values())
      if (other != *value && same_type(program_, graph().value(other), graph().value(*value)) &&
          graph().value(other).definition.by != Definition::By::nothing &&
          defined_at(other, where) <= defined_at(*value, where))
        candidates.push_back(other);
    const auto replacement = any_of(candidates);
    if (!replacement) return false;
    const size_t moved = graph().uses(*value).size() + graph().uses(*replacement).size();
    replace_all_uses(program_, *value, *replacement);
    EXPECT_EQ(graph().uses(*replacement).size(), moved);
    return true;
  }

  bool rename() {
    const auto value = any_of(graph().values());
    return value && rename_value(program_, *value, graph().unused_name("renamed")).has_value();
  }

  // Moves a node anywhere between the values it uses and its users.
  bool move() {
    const auto id = any_of(graph().nodes());
    if (!id) return false;
    const auto where = positions();
    size_t first = 0, last = where.size();
    for (const NamedArgument& input : graph().node(*id).inputs)
      for_each_value(input.arg,
                     [&](ValueId value) { first = std::max(first, defined_at(value, where)); });
    for (const Argument& output : graph().node(*id).outputs)
      for_each_value(output, [&](ValueId value) {
        for (const Use use : graph().uses(value))
          if (use.node) last = std::min(last, where.at(*use.node));
      });
    const size_t target = first + random_() % (last - first + 1);
    const std::vector order(graph().nodes().begin(), graph().nodes().end());
    graph().move_node(*id, target < order.size() ? std::optional(order[target]) : std::nullopt);
    return true;
  }

  // Extracts a random run of consecutive nodes as a nested graph. Every run can be extracted.
  bool extract() {
    const std::vector order(graph().nodes().begin(), graph().nodes().end());
    if (order.empty()) return false;
    const size_t start = random_() % order.size();
    const size_t count = 1 + random_() % (order.size() - start);
    const auto part = extract_graph(graph(), std::span(order).subspan(start, count));
    EXPECT_TRUE(part) << part.error().text();
    expect_exact(part->graph);
    Program alone;
    alone.graph = part->graph;
    Diagnostics findings;
    check_structure(alone, findings);
    EXPECT_TRUE(findings.empty());
    EXPECT_EQ(part->graph.nodes().size(), count);
    return true;
  }

  Program& program_;
  std::mt19937 random_;
};

TEST(Edit, RandomEditsKeepDefinitionsAndUsesExact) {
  size_t edits = 0;
  uint32_t seed = 1;
  while (edits < 10'000) {
    for (const corpus::File& file : corpus::files()) {
      if (file.release != "2.15.0" && file.release != "2.6.0") continue;
      SCOPED_TRACE(file.path);
      const auto package = Package::open(file.path);
      if (!package || package->models().size() != 1) continue;
      Program program = **package->program();
      const Program before = program;
      RandomEdits random(program, seed++);
      for (int i = 0; i < 60; ++i) edits += random.run_one();
      expect_exact(program.graph);
      expect_silent(program);
      expect_exact(before.graph);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Edit, WalkingGoesOnWhileNodesComeAndGo) {
  Graph graph;
  const auto value = [&](std::string name) {
    return graph.add_value({.name = std::move(name), .meta = TensorMeta{}}).value();
  };
  const ValueId x = value("x");
  graph.add_input(Argument(x));
  ValueId last = x;
  for (int i = 0; i < 10; ++i) {
    const ValueId out = value("v" + std::to_string(i));
    graph.add_node({.target = i % 2 ? "odd" : "even",
                    .inputs = {{.name = "self", .arg = Argument(last)}},
                    .outputs = {Argument(out)}});
    last = out;
  }
  graph.set_outputs({Argument(last)});
  std::vector<std::string> seen;
  for (NodeId id : graph.nodes()) {
    seen.push_back(graph.node(id).target);
    if (graph.node(id).target != "odd") continue;
    const ValueId out = *graph.node(id).outputs[0].get_if<ValueId>();
    graph.replace_all_uses(out, *graph.node(id).inputs[0].arg.get_if<ValueId>());
    ASSERT_TRUE(graph.erase_node(id));
  }
  EXPECT_EQ(seen.size(), 10u);
  EXPECT_EQ(graph.nodes().size(), 5u);
  expect_exact(graph);
}

TEST(Edit, OnlyWholePartsCanBeTakenOut) {
  Graph graph;
  std::vector<ValueId> values;
  std::vector<NodeId> nodes;
  for (int i = 0; i < 4; ++i) {
    values.push_back(
        graph.add_value({.name = std::string(1, char('a' + i)), .meta = TensorMeta{}}).value());
    if (i == 0) {
      graph.add_input(Argument(values[0]));
    } else {
      nodes.push_back(graph.add_node({.target = "t",
                                      .inputs = {{.name = "self", .arg = Argument(values[i - 1])}},
                                      .outputs = {Argument(values[i])}}));
    }
  }
  graph.set_outputs({Argument(values[3])});
  const auto whole = extract_graph(graph, nodes);
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->inputs, std::vector{values[0]});
  EXPECT_EQ(whole->outputs, std::vector{values[3]});
  const std::vector ends = {nodes[0], nodes[2]};
  const auto broken = extract_graph(graph, ends);
  ASSERT_FALSE(broken);
  EXPECT_NE(broken.error().message.find("'c' lies between"), std::string::npos);
}

}  // namespace
}  // namespace pt2
