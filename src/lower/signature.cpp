#include "lower/signature.h"

#include <algorithm>
#include <string>

#include "base/hash/text_hash.h"

namespace pt2 {
namespace {

// Maps the names of results before a pass to their current names.
using Renamed = TextMap<std::string, std::string>;

// Updates the names in the specs. False if a value that the specs name no longer exists.
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
    // The program's own call (fqn empty) keeps its signature: passes do not remove its values.
    if (!kept && !entry.fqn.empty()) entry.signature.reset();
  }
}

}  // namespace pt2
