#include "pt2/ir/program.h"

#include <fmt/format.h>

#include <optional>

namespace pt2 {
namespace {

std::vector<std::string> graph_names(const std::vector<ArgumentSpec>& specs,
                                     std::string_view unnamed) {
  std::vector<std::string> names;
  for (const ArgumentSpec& spec : specs) {
    names.push_back(spec.name.empty() ? fmt::format("{}[{}]", unnamed, names.size()) : spec.name);
  }
  return names;
}

// The root of a call's spec is tuple(args, kwargs); 2.1 wrote args alone for calls without keyword
// arguments.
struct CallSpec {
  TreeSpec* args = nullptr;
  TreeSpec* kwargs = nullptr;
};
CallSpec split_call(TreeSpec& root, int64_t schema_major) {
  const bool is_pair = root.kind == TreeKind::tuple && root.children.size() == 2 &&
                       root.children[0].kind == TreeKind::tuple &&
                       root.children[1].kind == TreeKind::dict;
  if (!is_pair && schema_major > 1) return {};
  return is_pair ? CallSpec{&root.children[0], &root.children[1]} : CallSpec{&root, nullptr};
}

std::vector<CallArgument> name_arguments(const CallSpec& call,
                                         const std::vector<std::string>* forward_arg_names,
                                         const std::vector<std::string>& fallback) {
  std::vector<CallArgument> arguments;
  size_t leaves = 0;
  for (TreeSpec& spec : call.args->children) {
    const size_t i = arguments.size();
    std::string name = fmt::format("args[{}]", i);
    if (forward_arg_names != nullptr && i < forward_arg_names->size())
      name = (*forward_arg_names)[i];
    else if (spec.is_leaf() && leaves < fallback.size())
      name = fallback[leaves];
    leaves += leaf_count(spec);
    arguments.push_back({std::move(name), std::move(spec)});
  }
  if (call.kwargs == nullptr) return arguments;
  for (size_t i = 0; i < call.kwargs->children.size(); ++i) {
    std::string name = child_path(*call.kwargs, i);
    if (name.starts_with('.')) name.erase(0, 1);
    arguments.push_back({std::move(name), std::move(call.kwargs->children[i]), true});
  }
  return arguments;
}

size_t leaf_count(const std::vector<CallArgument>& arguments) {
  size_t count = 0;
  for (const CallArgument& argument : arguments) count += leaf_count(argument.spec);
  return count;
}

// Returns the program's own spec of the result; nullopt if it does not fit the signature.
std::optional<TreeSpec> own_result_spec(const Program& program, size_t outputs) {
  const ModuleCallSignature* root = program.root_call();
  if (root == nullptr) return std::nullopt;
  auto spec = parse_tree_spec(root->out_spec, program.namedtuple_fields);
  if (!spec || leaf_count(*spec) != outputs) return std::nullopt;
  return *std::move(spec);
}

}  // namespace

const ModuleCallSignature* Program::root_call() const {
  for (const ModuleCallEntry& entry : module_call_graph) {
    if (entry.fqn.empty() && entry.signature) return &*entry.signature;
  }
  return nullptr;
}

std::string_view Program::dialect() const {
  return verifiers.empty() || verifiers[0].empty() ? std::string_view("ATEN") : verifiers[0];
}

std::vector<CallArgument> call_arguments(const Program& program) {
  const std::vector<std::string> fallback = graph_names(program.signature.user_inputs(), "inputs");
  const ModuleCallSignature* root = program.root_call();
  std::vector<CallArgument> arguments;
  if (root != nullptr) {
    auto spec = parse_tree_spec(root->in_spec, program.namedtuple_fields);
    const CallSpec call = spec ? split_call(*spec, program.schema_version.major) : CallSpec{};
    if (call.args != nullptr) {
      arguments = name_arguments(
          call, root->forward_arg_names ? &*root->forward_arg_names : nullptr, fallback);
    }
  }
  if (leaf_count(arguments) == fallback.size()) return arguments;
  arguments.clear();
  for (const std::string& name : fallback) arguments.push_back({name});
  return arguments;
}

TreeSpec result_spec(const Program& program) {
  const size_t outputs = program.signature.user_outputs().size();
  if (auto spec = own_result_spec(program, outputs)) return *std::move(spec);
  return make_tuple_spec(std::vector<TreeSpec>(outputs));
}

std::vector<std::string> user_input_names(const Program& program) {
  std::vector<std::string> names;
  for (const CallArgument& argument : call_arguments(program))
    for (std::string& name : leaf_paths(argument.spec, argument.name))
      names.push_back(std::move(name));
  return names;
}

std::vector<std::string> keyword_input_names(const Program& program) {
  std::vector<std::string> names;
  for (const CallArgument& argument : call_arguments(program)) {
    if (!argument.is_keyword) continue;
    for (std::string& name : leaf_paths(argument.spec, argument.name))
      names.push_back(std::move(name));
  }
  return names;
}

std::vector<std::string> user_output_names(const Program& program) {
  const std::vector<ArgumentSpec> outputs = program.signature.user_outputs();
  const std::optional<TreeSpec> spec = own_result_spec(program, outputs.size());
  if (!spec) return graph_names(outputs, "output");
  // The keys of a returned dict are clear without the prefix "output".
  std::vector<std::string> names = leaf_paths(*spec, "");
  for (std::string& name : names) name = name.starts_with('.') ? name.substr(1) : "output" + name;
  return names;
}

std::vector<std::string> graph_output_names(const Program& program) {
  const std::vector<std::string> results = user_output_names(program);
  size_t result = 0;
  std::vector<std::string> names;
  for (const OutputSpec& spec : program.signature.output_specs) {
    std::string& name = names.emplace_back();
    switch (spec.kind) {
      case OutputKind::user_output:
        name = result < results.size() ? results[result] : spec.arg.name;
        ++result;
        break;
      case OutputKind::loss_output:
        name = "loss";
        ++result;
        break;
      case OutputKind::gradient_to_parameter:
      case OutputKind::gradient_to_user_input:
        name = spec.target ? "grad." + *spec.target : spec.arg.name;
        break;
      case OutputKind::buffer_mutation:
      case OutputKind::parameter_mutation:
      case OutputKind::user_input_mutation:
      case OutputKind::token:
        break;
    }
  }
  return names;
}

const RangeConstraint* find_range(const Program& program, Expr size) {
  for (const RangeConstraint& constraint : program.range_constraints)
    if (constraint.key != nullptr && constraint.key->expr == size) return &constraint;
  return nullptr;
}

}  // namespace pt2
