#include "pt2/operators.h"

#include <algorithm>
#include <map>

#include "ir/graph_place.h"
#include "ops/table.h"
#include "run/bound_graph.h"

namespace pt2 {
namespace {

constexpr int kMaxGraphDepth = 64;

void collect(const Graph& graph, int depth,
             std::map<std::string, std::vector<OperatorCall>>& calls) {
  if (depth > kMaxGraphDepth) return;
  for (NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    calls[node.target].push_back({node_name(graph, node), source_line(node), module_path(node)});
  }
  for (const Graph& subgraph : graph.subgraphs()) collect(subgraph, depth + 1, calls);
}

void name_arguments(Graph& graph, int depth) {
  if (depth > kMaxGraphDepth) return;
  for (NodeId id : graph.nodes()) {
    const ops::Operator op = ops::find_operator(graph.node(id).target);
    if (!op) continue;
    std::vector<NamedArgument> inputs = graph.node(id).inputs;
    for (size_t i = 0; i < inputs.size() && i < op.signature().parameter_count; ++i)
      if (inputs[i].name.empty()) inputs[i].name = op.signature().parameter_array[i].name;
    graph.set_node_inputs(id, std::move(inputs));
  }
  for (size_t i = 0; i < graph.subgraphs().size(); ++i)
    name_arguments(graph.subgraph(static_cast<SubgraphId>(i)), depth + 1);
}

}  // namespace

void name_positional_arguments(Program& program) { name_arguments(program.graph, 0); }

bool has_kernel(std::string_view target) {
  return run::find_higher_order(target) != nullptr || static_cast<bool>(ops::find_operator(target));
}

std::string_view signature_text(std::string_view target) {
  const ops::Operator op = ops::find_operator(target);
  return op ? op.signature().text : std::string_view();
}

std::vector<std::string> all_targets() {
  std::vector<std::string> out = run::higher_order_targets();
  for (std::span<const ops::OpDef> family : ops::families())
    for (const ops::OpDef& def : family) out.push_back(ops::target_of(*def.signature));
  std::ranges::sort(out);
  return out;
}

std::vector<OperatorUse> operators_used(const Program& program) {
  std::map<std::string, std::vector<OperatorCall>> calls;
  collect(program.graph, 0, calls);
  std::vector<OperatorUse> out;
  for (auto& [target, places] : calls)
    out.push_back({target, has_kernel(target), std::move(places)});
  std::ranges::stable_sort(out, [](const OperatorUse& a, const OperatorUse& b) {
    return a.calls.size() > b.calls.size();
  });
  return out;
}

}  // namespace pt2
