#include "pt2/program.h"

#include <fmt/format.h>

#include "ir/pytree.h"

namespace pt2 {
namespace {

// How an argument of forward is called, and the leaves it has.
struct Leaf {
  std::string name;
  bool is_keyword = false;
};

std::vector<std::string> graph_names(const std::vector<ArgumentSpec>& specs,
                                     std::string_view unnamed) {
  std::vector<std::string> names;
  for (const ArgumentSpec& spec : specs) {
    names.push_back(spec.name.empty() ? fmt::format("{}[{}]", unnamed, names.size()) : spec.name);
  }
  return names;
}

// The root is tuple(args, kwargs); 2.1 wrote args alone when there were no keyword arguments.
struct CallSpec {
  const TreeSpec* args = nullptr;
  const TreeSpec* kwargs = nullptr;
};
CallSpec split_call(const TreeSpec& root, int64_t schema_major) {
  const bool is_pair = root.type == "builtins.tuple" && root.children.size() == 2 &&
                       root.children[0].type == "builtins.tuple" &&
                       root.children[1].type == "builtins.dict";
  if (!is_pair && schema_major > 1) return {};
  return is_pair ? CallSpec{&root.children[0], &root.children[1]} : CallSpec{&root, nullptr};
}

std::vector<Leaf> name_leaves(const CallSpec& call,
                              const std::vector<std::string>* forward_arg_names,
                              const std::vector<std::string>& fallback) {
  std::vector<Leaf> leaves;
  for (size_t i = 0; i < call.args->children.size(); ++i) {
    const TreeSpec& arg = call.args->children[i];
    const bool has_name = forward_arg_names != nullptr && i < forward_arg_names->size();
    if (!has_name && arg.is_leaf() && leaves.size() < fallback.size()) {
      leaves.push_back({fallback[leaves.size()]});
      continue;
    }
    const std::string root = has_name ? (*forward_arg_names)[i] : fmt::format("args[{}]", i);
    for (std::string& name : leaf_names(arg, root)) leaves.push_back({std::move(name)});
  }
  if (call.kwargs == nullptr) return leaves;
  for (size_t i = 0; i < call.kwargs->children.size(); ++i) {
    std::string_view key = call.kwargs->accessors[i];
    if (key.starts_with('.')) key.remove_prefix(1);
    for (std::string& name : leaf_names(call.kwargs->children[i], key))
      leaves.push_back({std::move(name), true});
  }
  return leaves;
}

std::vector<Leaf> user_input_leaves(const Program& program) {
  const std::vector<std::string> fallback = graph_names(program.signature.user_inputs(), "inputs");
  std::vector<Leaf> leaves;
  const ModuleCallSignature* root = program.root_call();
  if (root != nullptr) {
    const auto spec = parse_treespec(root->in_spec, program.namedtuple_fields);
    const CallSpec call = spec ? split_call(*spec, program.schema_version.major) : CallSpec{};
    if (call.args != nullptr) {
      leaves = name_leaves(call, root->forward_arg_names ? &*root->forward_arg_names : nullptr,
                           fallback);
    }
  }
  if (leaves.size() == fallback.size()) return leaves;
  leaves.clear();
  for (const std::string& name : fallback) leaves.push_back({name});
  return leaves;
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

std::vector<std::string> user_input_names(const Program& program) {
  std::vector<std::string> names;
  for (Leaf& leaf : user_input_leaves(program)) names.push_back(std::move(leaf.name));
  return names;
}

std::vector<std::string> keyword_input_names(const Program& program) {
  std::vector<std::string> names;
  for (Leaf& leaf : user_input_leaves(program)) {
    if (leaf.is_keyword) names.push_back(std::move(leaf.name));
  }
  return names;
}

std::vector<std::string> user_output_names(const Program& program) {
  const std::vector<ArgumentSpec> outputs = program.signature.user_outputs();
  const ModuleCallSignature* root = program.root_call();
  if (root != nullptr) {
    const auto spec = parse_treespec(root->out_spec, program.namedtuple_fields);
    if (spec && leaf_count(*spec) == outputs.size()) {
      // The keys of a returned dict need no prefix to be understood.
      std::vector<std::string> names = leaf_names(*spec, "");
      for (std::string& name : names)
        name = name.starts_with('.') ? name.substr(1) : "output" + name;
      return names;
    }
  }
  return graph_names(outputs, "output");
}

}  // namespace pt2
