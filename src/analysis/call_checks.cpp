// module_call_graph: the root's tree specs, and the calls whose signatures were preserved
// (torch/_export/verifier.py, _verify_exported_program_module_call_graph;
// torch/export/unflatten.py).
#include <fmt/format.h>

#include <set>

#include "analysis/program_checks.h"
#include "pt2/ir/pytree.h"

namespace pt2 {
namespace {

class CallChecks {
 public:
  CallChecks(const Program& program, const ProgramPlace& place, Diagnostics& findings)
      : program_(program), place_(place), findings_(findings) {}

  void run() {
    const std::vector<ModuleCallEntry>& calls = program_.module_call_graph;
    if (calls.empty() || !calls[0].fqn.empty() || !calls[0].signature)
      add(Rule::root_call, "", "found no call of the root with a signature in front");
    std::set<std::string_view> names;
    for (size_t i = 0; i < calls.size(); ++i) {
      if (!names.insert(calls[i].fqn).second)
        add(Rule::duplicate_call, fmt::format("[{}].fqn", i),
            fmt::format("'{}' is called twice, expected '{}@1'", calls[i].fqn, calls[i].fqn));
      if (calls[i].signature) check_signature(*calls[i].signature, i);
    }
  }

 private:
  void add(Rule rule, const std::string& where, std::string text) {
    findings_.add(rule, fmt::format("{}.graph_module.module_call_graph{}", place_.program, where),
                  std::move(text));
  }

  void check_signature(const ModuleCallSignature& call, size_t index) {
    check_arguments(call.inputs, fmt::format("[{}].signature.inputs", index));
    check_arguments(call.outputs, fmt::format("[{}].signature.outputs", index));
    // check_signature checks the root's tree specs, which describe the user inputs and outputs.
    if (index == 0) return;
    check_tree(call.in_spec, fmt::format("[{}].signature.in_spec", index), call.inputs.size());
    check_tree(call.out_spec, fmt::format("[{}].signature.out_spec", index), call.outputs.size());
  }

  void check_arguments(const std::vector<ArgumentSpec>& arguments, const std::string& where) {
    for (size_t i = 0; i < arguments.size(); ++i) {
      const ArgumentSpec& argument = arguments[i];
      if (argument.is_constant() || argument.name.empty()) continue;
      if (!program_.graph.find_value(argument.name))
        add(Rule::call_argument, fmt::format("{}[{}]", where, i),
            fmt::format("the graph has no value '{}'", argument.name));
    }
  }

  void check_tree(const std::string& text, const std::string& where, size_t expected) {
    const auto spec = parse_tree_spec(text, program_.namedtuple_fields);
    if (!spec) return add(Rule::call_tree, where, spec.error().message);
    if (leaf_count(*spec) != expected)
      add(Rule::call_tree, where,
          fmt::format("found {} leaves, expected {}, one for each value", leaf_count(*spec),
                      expected));
  }

  const Program& program_;
  const ProgramPlace& place_;
  Diagnostics& findings_;
};

}  // namespace

void check_calls(const Program& program, const ProgramPlace& place, Diagnostics& findings) {
  CallChecks(program, place, findings).run();
}

}  // namespace pt2
