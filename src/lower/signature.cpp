#include "lower/signature.h"

#include <algorithm>
#include <string>
#include <unordered_map>

namespace pt2 {
namespace {

// The names of the results before a pass, and now.
using Renamed = std::unordered_map<std::string, std::string>;

// False when a value that the specs name is gone.
bool follow(std::vector<ArgumentSpec>& specs, const Graph& graph, const Renamed& renamed) {
  return std::ranges::all_of(specs, [&](ArgumentSpec& spec) {
    if (spec.is_constant() || graph.find_value(spec.name)) return true;
    const auto now = renamed.find(spec.name);
    if (now == renamed.end()) return false;
    spec.name = now->second;
    return true;
  });
}

}  // namespace

void rename_results(Program& program) {
  const Graph& graph = program.graph;
  std::vector<OutputSpec>& specs = program.signature.output_specs;
  const auto outputs = graph.outputs();
  Renamed renamed;
  for (size_t i = 0; i < std::min(specs.size(), outputs.size()); ++i)
    if (const auto* id = outputs[i].get_if<ValueId>()) {
      std::string& name = specs[i].arg.name;
      renamed.emplace(name, graph.value(*id).name);
      name = graph.value(*id).name;
    }
  for (ModuleCallEntry& entry : program.module_call_graph) {
    if (!entry.signature) continue;
    const bool kept = follow(entry.signature->inputs, graph, renamed) &
                      follow(entry.signature->outputs, graph, renamed);
    // The program's own call has nothing that a pass takes away.
    if (!kept && !entry.fqn.empty()) entry.signature.reset();
  }
}

}  // namespace pt2
