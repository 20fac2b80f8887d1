#include "run/calling_convention.h"

#include <algorithm>

#include "base/hash/text_hash.h"
#include "base/printable.h"
#include "ir/values/constant_value.h"
#include "lower/signature.h"
#include "pt2/ir/type_text.h"
#include "run/bound_graph.h"

namespace pt2::run {
namespace {

using Role = GraphOutput::Role;

ModelValue describe(const Program& program, const ArgumentSpec& spec, const std::string& name) {
  const auto id = program.graph.find_value(spec.name);
  return {name, type_text(program, spec), id ? program.graph.value(*id).tensor() : nullptr, false};
}

GraphOutput role_of(const OutputSpec& spec, const MutationTargets& targets) {
  switch (spec.kind) {
    case OutputKind::user_output:
    case OutputKind::loss_output:
      return {Role::result};
    case OutputKind::gradient_to_parameter:
    case OutputKind::gradient_to_user_input:
      return {Role::gradient};
    case OutputKind::buffer_mutation:
    case OutputKind::parameter_mutation:
    case OutputKind::user_input_mutation:
      return {Role::mutation, targets.find(spec), spec.target.value_or("")};
    case OutputKind::token:
      return {};
  }
  return {};
}

std::string plain_name(std::string_view name) {
  constexpr std::string_view kDynamoPrefix = "L__self___";
  if (name.starts_with(kDynamoPrefix)) name.remove_prefix(kDynamoPrefix.size());
  std::string out(name);
  std::ranges::replace(out, '.', '_');
  return out;
}

std::optional<size_t> find_in(const auto& index, std::string_view name) {
  const auto found = index.find(name);
  return found == index.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace

CallingConvention::CallingConvention(const Program& program)
    : arguments(call_arguments(program)), result(result_spec(program)), conditions(program) {
  const GraphSignature& signature = program.signature;
  const std::vector<std::string> keywords = keyword_input_names(program);
  const TextSet<std::string_view> is_keyword(keywords.begin(), keywords.end());
  for (size_t i = 0; i < signature.input_specs.size(); ++i) {
    const InputSpec& spec = signature.input_specs[i];
    if (spec.target) {
      states_.emplace(*spec.target, i);
      recorded_states_.emplace(plain_name(*spec.target), i);
    }
    states_.emplace(spec.arg.name, i);
    if (spec.kind != InputKind::user_input) continue;
    inputs.push_back(describe(program, spec.arg, conditions.names()[inputs.size()]));
    inputs.back().is_keyword = is_keyword.contains(inputs.back().name);
    input_positions.push_back(i);
    constants.emplace_back();
    if (!spec.arg.is_constant()) continue;
    if (auto constant = constant_value(spec.arg.value)) constants.back() = *std::move(constant);
  }
  const MutationTargets targets(signature);
  const std::vector<std::string> names = graph_output_names(program);
  for (size_t i = 0; i < signature.output_specs.size(); ++i) {
    const OutputSpec& spec = signature.output_specs[i];
    graph_outputs.push_back(role_of(spec, targets));
    if (graph_outputs.back().is_callers()) outputs.push_back(describe(program, spec.arg, names[i]));
  }
}

std::optional<size_t> CallingConvention::find_state(std::string_view name) const {
  return find_in(states_, name);
}

std::optional<size_t> CallingConvention::find_recorded_state(std::string_view name) const {
  return find_in(recorded_states_, plain_name(name));
}

Error wrong_input_count(const CallingConvention& convention, size_t found) {
  std::string text =
      "found " + std::to_string(found) + " inputs, expected " +
      (convention.inputs.empty() ? "none" : std::to_string(convention.inputs.size()) + ":");
  for (const ModelValue& input : convention.inputs)
    text += "\n  " + printable_line(input.name + ": " + input.type);
  return {ErrorCode::argument, std::move(text), ""};
}

}  // namespace pt2::run
