#include <fmt/format.h>

#include "analysis/program_checks.h"

namespace pt2 {
namespace {

// Where torch/_export/serde/serialize.py looks for operators: its own packages, and extensions
// ("#namespace:op").
bool names_operator(std::string_view target) {
  if (target.starts_with('#')) return target.find(':') != std::string_view::npos;
  for (std::string_view package : {"torch.", "_operator.", "math.", "builtins."}) {
    if (target.starts_with(package) && target.size() > package.size()) return true;
  }
  return false;
}

void check_graph(const Graph& graph, const std::string& place, Diagnostics& findings) {
  for (NodeId id : graph.nodes()) {
    const std::string& target = graph.node(id).target;
    if (names_operator(target)) continue;
    findings.add(
        Rule::unknown_operator_namespace,
        fmt::format("{}.nodes[{}].target", place, static_cast<uint32_t>(id)),
        fmt::format("found '{}', expected a name such as torch.ops.aten.add.Tensor", target));
  }
  for (const Graph& subgraph : graph.subgraphs())
    check_graph(subgraph, place + "." + subgraph.name, findings);
}

}  // namespace

void check_targets(const Program& program, const ProgramPlace& place, Diagnostics& findings) {
  check_graph(program.graph, place.program + ".graph_module.graph", findings);
}

}  // namespace pt2
