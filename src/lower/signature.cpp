#include "lower/signature.h"

#include <algorithm>
#include <string>

#include "base/hash/text_hash.h"

namespace pt2 {

std::optional<OutputKind> mutation_of(InputKind kind) {
  switch (kind) {
    case InputKind::buffer:
      return OutputKind::buffer_mutation;
    case InputKind::parameter:
      return OutputKind::parameter_mutation;
    case InputKind::user_input:
      return OutputKind::user_input_mutation;
    case InputKind::constant_tensor:
    case InputKind::custom_obj:
    case InputKind::token:
      return std::nullopt;
  }
  return std::nullopt;
}

MutationTargets::MutationTargets(const GraphSignature& signature) {
  for (size_t i = 0; i < signature.input_specs.size(); ++i) {
    const InputSpec& spec = signature.input_specs[i];
    const std::optional<OutputKind> kind = mutation_of(spec.kind);
    if (!kind ||
        (spec.kind == InputKind::user_input && spec.arg.kind != ArgumentSpec::Kind::tensor))
      continue;
    if (spec.kind == InputKind::user_input)
      inputs_.emplace(std::pair(*kind, spec.arg.name), i);
    else if (spec.target)
      inputs_.emplace(std::pair(*kind, *spec.target), i);
  }
}

std::optional<size_t> MutationTargets::find(const OutputSpec& spec) const {
  if (!spec.target) return std::nullopt;
  const auto found = inputs_.find({spec.kind, *spec.target});
  return found == inputs_.end() ? std::nullopt : std::optional(found->second);
}
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
    const bool has_inputs = follow(entry.signature->inputs, graph, renamed);
    const bool has_outputs = follow(entry.signature->outputs, graph, renamed);
    // The program's own call (fqn empty) keeps its signature: passes do not remove its values.
    if (!(has_inputs && has_outputs) && !entry.fqn.empty()) entry.signature.reset();
  }
}

}  // namespace pt2
