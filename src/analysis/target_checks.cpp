// Follows torch/_export/verifier.py, Verifier._check_graph_module.
#include <fmt/format.h>

#include "analysis/program_checks.h"
#include "ir/graph_place.h"
#include "ir/target.h"

namespace pt2 {
namespace {

// True if torch/_export/serde/serialize.py can find the operator: it searches its own packages, and
// extensions.
bool names_operator(std::string_view target) {
  if (target_form(target) == TargetForm::extension) return true;
  for (std::string_view package : {"torch.", "_operator.", "math.", "builtins."}) {
    if (target.starts_with(package) && target.size() > package.size()) return true;
  }
  return false;
}

template <class Check>
void for_each_target(const Program& program, const ProgramPlace& place, Check check) {
  for (const PlacedGraph& placed : placed_graphs(program)) {
    size_t position = 0;
    for (NodeId id : placed.graph->nodes()) {
      check(placed.graph->node(id).target,
            [&] { return fmt::format("{}{}.target", place.program, placed.node_place(position)); });
      ++position;
    }
  }
}

}  // namespace

void check_targets(const Program& program, const ProgramPlace& place, Diagnostics& findings) {
  for_each_target(program, place, [&](const std::string& target, auto where) {
    if (names_operator(target)) return;
    findings.add(
        Rule::unknown_operator_namespace, where(),
        fmt::format("found '{}', expected a name such as torch.ops.aten.add.Tensor", target));
  });
}

void check_dialect(const Program& program, const ProgramPlace& place, Diagnostics& findings) {
  const std::string_view dialect = program.dialect();
  for_each_target(program, place, [&](const std::string& target, auto where) {
    if (target_form(target) == TargetForm::function && !is_allowed_function(target)) {
      findings.add(Rule::forbidden_target, where(),
                   fmt::format("found the Python function '{}', expected an operator", target));
    }
    if (dialect != "TRAINING" && name_says_mutable(target)) {
      findings.add(Rule::not_functional, where(),
                   fmt::format("'{}' writes to its arguments, which the dialect {} forbids", target,
                               dialect));
    }
  });
}

}  // namespace pt2
