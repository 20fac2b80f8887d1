#include "ir/graph_place.h"

#include <fmt/format.h>

#include <charconv>

#include "base/printable.h"

namespace pt2 {
namespace {

// Removes `step` from the front of `text`; false if `text` does not start with it.
bool eat(std::string_view& text, std::string_view step) {
  if (!text.starts_with(step)) return false;
  text.remove_prefix(step.size());
  return true;
}

// Removes `step`, a number and "]" from the front. Returns the number.
std::optional<size_t> eat_index(std::string_view& text, std::string_view step) {
  std::string_view rest = text;
  size_t index = 0;
  if (!eat(rest, step)) return std::nullopt;
  const auto [end, code] = std::from_chars(rest.data(), rest.data() + rest.size(), index);
  if (code != std::errc() || end == rest.data() + rest.size() || *end != ']') return std::nullopt;
  text = rest.substr(static_cast<size_t>(end - rest.data()) + 1);
  return index;
}

// Removes ".inputs[1].arg.as_graph.graph" from the front, and returns the graph that is the node's
// argument there.
const Graph* eat_subgraph(const Graph& graph, const Node& node, std::string_view& text) {
  const auto input = eat_index(text, ".inputs[");
  if (!input || *input >= node.inputs.size()) return nullptr;
  const auto* id = node.inputs[*input].arg.get_if<SubgraphId>();
  return id != nullptr && eat(text, ".arg.as_graph.graph") ? &graph.subgraph(*id) : nullptr;
}

}  // namespace

std::string PlacedGraph::node_place(size_t position) const {
  return fmt::format("{}.nodes[{}]", place, position);
}
std::string PlacedGraph::input_place(size_t position, size_t input) const {
  return fmt::format("{}.nodes[{}].inputs[{}].arg", place, position, input);
}
std::string PlacedGraph::output_place(size_t position, size_t output) const {
  return fmt::format("{}.nodes[{}].outputs[{}]", place, position, output);
}

std::vector<PlacedGraph> placed_graphs(const Program& program) {
  std::vector<PlacedGraph> graphs{{&program.graph, ".graph_module.graph"}};
  for (size_t g = 0; g < graphs.size(); ++g) {
    const Graph& graph = *graphs[g].graph;
    if (graph.subgraphs().empty()) continue;
    size_t position = 0;
    for (NodeId id : graph.nodes()) {
      const Node& node = graph.node(id);
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        for_each_subgraph(node.inputs[i].arg, [&](SubgraphId subgraph) {
          graphs.push_back({&graph.subgraph(subgraph),
                            graphs[g].input_place(position, i) + ".as_graph.graph", &node, g});
        });
      }
      ++position;
    }
  }
  return graphs;
}

std::string node_name(const Graph& graph, const Node& node) {
  if (node.name) return *node.name;
  std::string name;
  for (const Argument& output : node.outputs)
    for_each_value(output, [&](ValueId id) {
      if (name.empty()) name = graph.value(id).name;
    });
  return name;
}

NodePlace describe_node(const Graph& graph, const Node& node) {
  constexpr size_t kMostBytes = 500;
  return {bounded(node_name(graph, node), kMostBytes), bounded(node.target, kMostBytes),
          bounded(module_path(node), kMostBytes), bounded(source_line(node), kMostBytes)};
}

const NodePlace& NodePlaces::find(std::string_view where) {
  static constexpr std::string_view kRoot = ".graph_module.graph.";
  const Graph* inner = nullptr;
  const Node* found = nullptr;
  if (const size_t root = where.find(kRoot); root != std::string_view::npos) {
    std::string_view rest = where.substr(root + kRoot.size() - 1);
    for (const Graph* graph = &program_.graph; graph != nullptr;) {
      const auto position = eat_index(rest, ".nodes[");
      if (!position || *position >= graph->node_count()) break;
      inner = graph;
      found = &graph->node(NodeId{static_cast<uint32_t>(*position)});
      graph = eat_subgraph(*graph, *found, rest);
    }
  }
  auto [entry, is_new] = described_.try_emplace(found);
  if (is_new && found != nullptr) entry->second = describe_node(*inner, *found);
  return entry->second;
}

std::string node_place(const Graph& graph, const Node& node) {
  std::string place = "%" + node_name(graph, node) + " (" + node.target + ")";
  if (const std::string line = source_line(node); !line.empty()) place += " at " + line;
  return place;
}

Error at_node(Error error, const Graph& graph, const Node& node) {
  if (!error.where.empty()) error.where.insert(0, " > ");
  return at(std::move(error), node_place(graph, node));
}

}  // namespace pt2
