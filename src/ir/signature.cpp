#include "pt2/ir/signature.h"

#include <fmt/format.h>

#include <algorithm>

namespace pt2 {
namespace {

constexpr std::string_view kInputKindNames[] = {"user_input",      "parameter",  "buffer",
                                                "constant_tensor", "custom_obj", "token"};
constexpr std::string_view kOutputKindNames[] = {"user_output",           "loss_output",
                                                 "buffer_mutation",       "parameter_mutation",
                                                 "gradient_to_parameter", "gradient_to_user_input",
                                                 "user_input_mutation",   "token"};

bool is_wanted(const InputSpec& spec, InputKind kind) {
  return spec.kind == kind && spec.target.has_value();
}

std::vector<std::string> targets(const std::vector<InputSpec>& specs, InputKind kind) {
  std::vector<std::string> found;
  for (const InputSpec& spec : specs) {
    if (is_wanted(spec, kind)) found.push_back(*spec.target);
  }
  return found;
}

template <class Spec, class Kind>
NameMap names_to_targets(const std::vector<Spec>& specs, Kind kind) {
  NameMap found;
  for (const Spec& spec : specs) {
    if (spec.kind == kind && spec.target && !spec.arg.is_constant())
      found.emplace_back(spec.arg.name, *spec.target);
  }
  return found;
}

template <class Spec, class Kind>
std::vector<std::string> names(const std::vector<Spec>& specs, Kind kind) {
  std::vector<std::string> found;
  for (const Spec& spec : specs) {
    if (spec.kind == kind) found.push_back(spec.arg.name);
  }
  return found;
}

template <class Spec>
std::string spec_line(const Spec& spec, std::string_view kind_name) {
  std::string kind(kind_name);
  std::ranges::transform(kind, kind.begin(),
                         [](char c) { return c == '_' ? c : char(c - 'a' + 'A'); });
  return fmt::format("{}: {}{}", spec.arg.name, kind,
                     spec.target ? fmt::format(" target='{}'", *spec.target) : "");
}

}  // namespace

ArgumentSpec spec_of(const Graph& graph, const Argument& argument) {
  using Kind = ArgumentSpec::Kind;
  constexpr Kind kOfValues[] = {Kind::tensor, Kind::sym_int, Kind::sym_float, Kind::sym_bool,
                                Kind::custom_obj};
  if (const auto* id = argument.get_if<ValueId>())
    return {.kind = kOfValues[static_cast<size_t>(graph.value(*id).kind())],
            .name = graph.value(*id).name};
  return {.kind = Kind::constant, .value = argument};
}

std::string placeholder_name(std::string_view prefix, std::string_view fqn) {
  std::string name = fmt::format("{}{}", prefix, fqn);
  for (char& c : name) {
    const bool is_word = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!is_word) c = '_';
  }
  return name;
}

std::string_view input_kind_name(InputKind kind) {
  return kInputKindNames[static_cast<size_t>(kind)];
}
std::string_view output_kind_name(OutputKind kind) {
  return kOutputKindNames[static_cast<size_t>(kind)];
}

std::vector<std::string> GraphSignature::parameters() const {
  return targets(input_specs, InputKind::parameter);
}
std::vector<std::string> GraphSignature::buffers() const {
  return targets(input_specs, InputKind::buffer);
}

std::vector<std::string> GraphSignature::non_persistent_buffers() const {
  std::vector<std::string> found;
  for (const InputSpec& spec : input_specs) {
    if (is_wanted(spec, InputKind::buffer) && spec.persistent == false)
      found.push_back(*spec.target);
  }
  return found;
}

std::vector<std::string> GraphSignature::lifted_tensor_constants() const {
  return targets(input_specs, InputKind::constant_tensor);
}
std::vector<std::string> GraphSignature::lifted_custom_objs() const {
  return targets(input_specs, InputKind::custom_obj);
}

std::vector<ArgumentSpec> GraphSignature::user_inputs() const {
  std::vector<ArgumentSpec> found;
  for (const InputSpec& spec : input_specs) {
    if (spec.kind == InputKind::user_input) found.push_back(spec.arg);
  }
  return found;
}

std::vector<ArgumentSpec> GraphSignature::user_outputs() const {
  std::vector<ArgumentSpec> found;
  for (const OutputSpec& spec : output_specs) {
    if (spec.kind == OutputKind::user_output || spec.kind == OutputKind::loss_output)
      found.push_back(spec.arg);
  }
  return found;
}

NameMap GraphSignature::inputs_to_parameters() const {
  return names_to_targets(input_specs, InputKind::parameter);
}
NameMap GraphSignature::inputs_to_buffers() const {
  return names_to_targets(input_specs, InputKind::buffer);
}
NameMap GraphSignature::inputs_to_lifted_tensor_constants() const {
  return names_to_targets(input_specs, InputKind::constant_tensor);
}
NameMap GraphSignature::inputs_to_lifted_custom_objs() const {
  return names_to_targets(input_specs, InputKind::custom_obj);
}
NameMap GraphSignature::buffers_to_mutate() const {
  return names_to_targets(output_specs, OutputKind::buffer_mutation);
}
NameMap GraphSignature::parameters_to_mutate() const {
  return names_to_targets(output_specs, OutputKind::parameter_mutation);
}
NameMap GraphSignature::user_inputs_to_mutate() const {
  return names_to_targets(output_specs, OutputKind::user_input_mutation);
}
std::vector<std::string> GraphSignature::input_tokens() const {
  return names(input_specs, InputKind::token);
}
std::vector<std::string> GraphSignature::output_tokens() const {
  return names(output_specs, OutputKind::token);
}

std::optional<BackwardSignature> GraphSignature::backward_signature() const {
  const std::vector<std::string> losses = names(output_specs, OutputKind::loss_output);
  if (losses.empty()) return std::nullopt;
  return BackwardSignature{names_to_targets(output_specs, OutputKind::gradient_to_parameter),
                           names_to_targets(output_specs, OutputKind::gradient_to_user_input),
                           losses.front()};
}

void GraphSignature::replace_all_uses(std::string_view old_name, std::string_view new_name) {
  const auto rename = [&](auto& specs) {
    for (auto& spec : specs) {
      if (!spec.arg.is_constant() && spec.arg.name == old_name) spec.arg.name = new_name;
    }
  };
  rename(input_specs);
  rename(output_specs);
}

std::string print(const InputSpec& spec) {
  std::string persistent;
  if (spec.persistent)
    persistent = fmt::format(" persistent={}", *spec.persistent ? "True" : "False");
  return spec_line(spec, input_kind_name(spec.kind)) + persistent;
}

std::string print(const OutputSpec& spec) { return spec_line(spec, output_kind_name(spec.kind)); }

std::string print(const GraphSignature& signature) {
  std::string text = "\n# inputs\n";
  for (const InputSpec& spec : signature.input_specs) text += print(spec) + "\n";
  text += "\n# outputs\n";
  for (const OutputSpec& spec : signature.output_specs) text += print(spec) + "\n";
  return text;
}

}  // namespace pt2
