// Follows torch/_export/verifier.py, _verify_exported_program_signature.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "analysis/program_checks.h"
#include "pt2/ir/pytree.h"

namespace pt2 {
namespace {

std::set<std::string> as_set(const std::vector<std::string>& names) {
  return {names.begin(), names.end()};
}

// The kind of graph value that a spec needs; nothing for constants.
std::optional<ValueKind> value_kind(ArgumentSpec::Kind kind) {
  switch (kind) {
    case ArgumentSpec::Kind::tensor:
    case ArgumentSpec::Kind::token:
      return ValueKind::tensor;
    case ArgumentSpec::Kind::sym_int:
      return ValueKind::sym_int;
    case ArgumentSpec::Kind::sym_float:
      return ValueKind::sym_float;
    case ArgumentSpec::Kind::sym_bool:
      return ValueKind::sym_bool;
    case ArgumentSpec::Kind::custom_obj:
      return ValueKind::custom_obj;
    case ArgumentSpec::Kind::constant:
      return std::nullopt;
  }
  return std::nullopt;
}

// The position of an output kind in the required order of outputs.
int output_rank(OutputKind kind) {
  switch (kind) {
    case OutputKind::token:
      return 0;
    case OutputKind::buffer_mutation:
    case OutputKind::parameter_mutation:
    case OutputKind::user_input_mutation:
      return 1;
    case OutputKind::user_output:
    case OutputKind::loss_output:
      return 2;
    case OutputKind::gradient_to_parameter:
    case OutputKind::gradient_to_user_input:
      return 3;
  }
  return 0;
}

// True if the spec is a tuple of a tuple and a dict: the positional and the keyword arguments.
bool is_arguments_form(const TreeSpec& spec) {
  return spec.type == "builtins.tuple" && spec.children.size() == 2 &&
         spec.children[0].type == "builtins.tuple" && spec.children[1].type == "builtins.dict";
}

class SignatureChecks {
 public:
  SignatureChecks(const Program& program, const ProgramPlace& place, Diagnostics& findings)
      : program_(program), place_(place), findings_(findings) {}

  void run() {
    const GraphSignature& signature = program_.signature;
    const bool inputs_match = check_names(
        signature.input_specs, program_.graph.inputs(), "input",
        {Rule::signature_input_count, Rule::signature_input_name, Rule::signature_input_kind});
    const bool outputs_match = check_names(
        signature.output_specs, program_.graph.outputs(), "output",
        {Rule::signature_output_count, Rule::signature_output_name, Rule::signature_output_kind});
    check_input_targets();
    check_output_targets();
    check_output_order();
    const ModuleCallSignature* root = program_.root_call();
    if (root == nullptr) return;
    if (inputs_match) check_tree(root->in_spec, "in_spec", "input", signature.user_inputs().size());
    if (outputs_match)
      check_tree(root->out_spec, "out_spec", "output", signature.user_outputs().size());
  }

 private:
  struct NameRules {
    Rule count, name, kind;
  };

  void add(Rule rule, std::string_view where, std::string text) {
    findings_.add(rule, fmt::format("{}.graph_module{}", place_.program, where), std::move(text));
  }

  // False if the counts differ: a missing or additional spec shifts all specs after it.
  template <class Spec>
  bool check_names(const std::vector<Spec>& specs, std::span<const Argument> arguments,
                   std::string_view what, NameRules rules) {
    if (specs.size() != arguments.size()) {
      add(rules.count, ".signature",
          fmt::format("found {} {} specs, expected {}, one for each graph {}", specs.size(), what,
                      arguments.size(), what));
      return false;
    }
    for (size_t i = 0; i < specs.size(); ++i) {
      const ArgumentSpec& spec = specs[i].arg;
      const ValueId* id = arguments[i].template get_if<ValueId>();
      const std::string found = spec.is_constant() ? "a constant" : "'" + spec.name + "'";
      const std::string expected = id ? "'" + program_.graph.value(*id).name + "'" : "a constant";
      if (found != expected) {
        add(rules.name, fmt::format(".signature.{}_specs[{}]", what, i),
            fmt::format("found {}, the graph's {} is {}", found, what, expected));
      } else if (id != nullptr) {
        check_kind(spec, program_.graph.value(*id), rules.kind,
                   fmt::format(".signature.{}_specs[{}]", what, i));
      }
    }
    return true;
  }

  void check_kind(const ArgumentSpec& spec, const GraphValue& value, Rule rule,
                  const std::string& where) {
    const auto expected = value_kind(spec.kind);
    if (expected && *expected != value.kind())
      add(rule, where,
          fmt::format("found a spec of a {}, '{}' is a {}", value_kind_name(*expected), value.name,
                      value_kind_name(value.kind())));
  }

  // Inputs of tied weights may share a name (2.5 to 2.7).
  void check_input_targets() {
    std::map<std::string_view, const InputSpec*> seen;
    const std::vector<InputSpec>& specs = program_.signature.input_specs;
    for (size_t i = 0; i < specs.size(); ++i) {
      const InputSpec& spec = specs[i];
      if (!spec.target) continue;
      const std::string where = fmt::format(".signature.input_specs[{}]", i);
      if (spec.target->empty())
        add(Rule::target_name, where,
            fmt::format("the {} has no name", input_kind_name(spec.kind)));
      const InputSpec& first = *seen.try_emplace(*spec.target, &spec).first->second;
      if (first.kind != spec.kind || first.persistent != spec.persistent)
        add(Rule::conflicting_target, where,
            fmt::format("{} and {} are called '{}'", input_kind_name(first.kind),
                        input_kind_name(spec.kind), *spec.target));
    }
  }

  void check_output_order() {
    int rank = 0;
    bool has_loss = false;
    std::set<std::pair<OutputKind, std::string>> mutated;
    const std::vector<OutputSpec>& specs = program_.signature.output_specs;
    for (size_t i = 0; i < specs.size(); ++i) {
      const OutputSpec& spec = specs[i];
      const std::string where = fmt::format(".signature.output_specs[{}]", i);
      const int found = output_rank(spec.kind);
      if (found < rank)
        add(Rule::signature_output_order, where,
            fmt::format("a {} comes after a {}", output_kind_name(spec.kind),
                        output_kind_name(specs[i - 1].kind)));
      rank = std::max(rank, found);
      if (spec.kind == OutputKind::loss_output && std::exchange(has_loss, true))
        add(Rule::loss_output, where, "found a second loss output");
      if (found == 1 && spec.target && !mutated.emplace(spec.kind, *spec.target).second)
        add(Rule::duplicate_mutation, where, fmt::format("'{}' is mutated twice", *spec.target));
    }
  }

  void check_output_targets() {
    const GraphSignature& signature = program_.signature;
    const auto parameters = as_set(signature.parameters()), buffers = as_set(signature.buffers());
    std::set<std::string> user_inputs;
    for (const ArgumentSpec& input : signature.user_inputs())
      if (input.kind == ArgumentSpec::Kind::tensor) user_inputs.insert(input.name);
    for (size_t i = 0; i < signature.output_specs.size(); ++i) {
      const OutputSpec& spec = signature.output_specs[i];
      const auto check = [&](const std::set<std::string>& names, std::string_view what) {
        if (spec.target && names.contains(*spec.target)) return;
        add(Rule::signature_target, fmt::format(".signature.output_specs[{}]", i),
            fmt::format("{} names '{}', which is no {}", output_kind_name(spec.kind),
                        spec.target.value_or(""), what));
      };
      switch (spec.kind) {
        case OutputKind::buffer_mutation:
          check(buffers, "buffer");
          break;
        case OutputKind::parameter_mutation:
        case OutputKind::gradient_to_parameter:
          check(parameters, "parameter");
          break;
        case OutputKind::user_input_mutation:
        case OutputKind::gradient_to_user_input:
          check(user_inputs, "user input that is a tensor");
          break;
        case OutputKind::user_output:
        case OutputKind::loss_output:
        case OutputKind::token:
          break;
      }
    }
  }

  void check_tree(const std::string& text, std::string_view field, std::string_view what,
                  size_t expected) {
    const std::string where = fmt::format(".module_call_graph[0].signature.{}", field);
    const auto spec = parse_tree_spec(text, program_.namedtuple_fields);
    if (!spec) return add(Rule::tree_spec_reads, where, spec.error().message);
    if (leaf_count(*spec) != expected) {
      add(Rule::tree_spec_leaves, where,
          fmt::format("found {} leaves, expected {}, one for each user {}", leaf_count(*spec),
                      expected, what));
    }
    // In version 1, the in_spec of a call without keyword arguments is that of the positional
    // arguments.
    if (field == "in_spec" && program_.schema_version.major > 1 && !is_arguments_form(*spec))
      add(Rule::in_spec_form, where, "found something other than a tuple of a tuple and a dict");
  }

  const Program& program_;
  const ProgramPlace& place_;
  Diagnostics& findings_;
};

}  // namespace

void check_signature(const Program& program, const ProgramPlace& place, Diagnostics& findings) {
  SignatureChecks(program, place, findings).run();
}

}  // namespace pt2
