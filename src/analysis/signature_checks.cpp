// After torch/_export/verifier.py, _verify_exported_program_signature.
#include <fmt/format.h>

#include <set>

#include "analysis/program_checks.h"
#include "pt2/pytree.h"

namespace pt2 {
namespace {

std::set<std::string> as_set(const std::vector<std::string>& names) {
  return {names.begin(), names.end()};
}

class SignatureChecks {
 public:
  SignatureChecks(const Program& program, const ProgramPlace& place, Diagnostics& findings)
      : program_(program), place_(place), findings_(findings) {}

  void run() {
    const GraphSignature& signature = program_.signature;
    check_names(signature.input_specs, program_.graph.inputs(), "input",
                Rule::signature_input_count, Rule::signature_input_name);
    check_names(signature.output_specs, program_.graph.outputs(), "output",
                Rule::signature_output_count, Rule::signature_output_name);
    check_targets();
    if (const ModuleCallSignature* root = program_.root_call()) {
      check_tree(root->in_spec, "in_spec", "input", signature.user_inputs().size());
      check_tree(root->out_spec, "out_spec", "output", signature.user_outputs().size());
    }
  }

 private:
  void add(Rule rule, std::string_view where, std::string text) {
    findings_.add(rule, fmt::format("{}.graph_module{}", place_.program, where), std::move(text));
  }

  template <class Spec>
  void check_names(const std::vector<Spec>& specs, std::span<const Argument> arguments,
                   std::string_view what, Rule count_rule, Rule name_rule) {
    if (specs.size() != arguments.size()) {
      add(count_rule, ".signature",
          fmt::format("found {} {} specs for {} graph {}s", specs.size(), what, arguments.size(),
                      what));
    }
    // With one too few or too many, all that follow are shifted.
    if (specs.size() != arguments.size()) return;
    for (size_t i = 0; i < specs.size(); ++i) {
      const ArgumentSpec& spec = specs[i].arg;
      const ValueId* id = arguments[i].template get_if<ValueId>();
      const std::string found = spec.is_constant() ? "a constant" : "'" + spec.name + "'";
      const std::string expected = id ? "'" + program_.graph.value(*id).name + "'" : "a constant";
      if (found != expected) {
        add(name_rule, fmt::format(".signature.{}_specs[{}]", what, i),
            fmt::format("found {}, the graph's {} is {}", found, what, expected));
      }
    }
  }

  void check_targets() {
    const GraphSignature& signature = program_.signature;
    const auto parameters = as_set(signature.parameters()), buffers = as_set(signature.buffers());
    std::set<std::string> user_inputs;
    for (const ArgumentSpec& input : signature.user_inputs()) user_inputs.insert(input.name);
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
          check(user_inputs, "user input");
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
          fmt::format("found {} leaves for {} user {}s", leaf_count(*spec), expected, what));
    }
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
