#include "pt2/ir/edit_program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include "base/text.h"
#include "change/sizes.h"
#include "ir/graph_place.h"
#include "ir/values/record.h"
#include "lower/arguments.h"
#include "lower/signature.h"
#include "lower/written_memory.h"
#include "ops/bind.h"
#include "ops/table.h"
#include "pt2/ir/builder.h"
#include "pt2/ir/edit.h"
#include "pt2/ir/modules.h"
#include "pt2/ir/program_text.h"

namespace pt2 {
namespace {

// Names that the code which torch.fx generates of a program uses itself (torch/fx/graph.py,
// _custom_builtins and CodeGen). A value with such a name would hide what they stand for.
constexpr std::string_view kNamesOfGeneratedCode[] = {"self", "torch",    "device",    "inf",
                                                      "nan",  "NoneType", "fx_pytree", "pytree"};

Error taken(std::string_view name, std::string_view what) {
  return {ErrorCode::argument, fmt::format("the name '{}' is taken: {}", name, what)};
}

Error misfit() {
  return {ErrorCode::invalid, "the signature does not fit the graph; see 'pt2 verify'"};
}

Result<void> check_name(const Program& program, std::string_view name) {
  if (!is_identifier(name))
    return Error{ErrorCode::argument,
                 fmt::format("found the name '{}', expected a Python identifier", name)};
  if (std::ranges::find(kNamesOfGeneratedCode, name) != std::end(kNamesOfGeneratedCode))
    return taken(name, "PyTorch's code for a program uses it");
  if (program.graph.find_value(name)) return taken(name, "the program has a value of this name");
  for (const InputSpec& spec : program.signature.input_specs)
    if (spec.arg.is_constant() && spec.arg.name == name)
      return taken(name, "a constant among the inputs has it");
  return {};
}

ModuleCallSignature* root_signature(Program& program) {
  for (ModuleCallEntry& entry : program.module_call_graph)
    if (entry.fqn.empty() && entry.signature) return &*entry.signature;
  return nullptr;
}

bool is_gradient(OutputKind kind) {
  return kind == OutputKind::gradient_to_parameter || kind == OutputKind::gradient_to_user_input;
}

ArgumentSpec spec_of(const Graph& graph, ValueId id) {
  ArgumentSpec spec = pt2::spec_of(graph, Argument(id));
  if (const auto* object = std::get_if<CustomObjectType>(&graph.value(id).meta))
    spec.class_fqn = object->class_fqn;
  return spec;
}

// PyTorch writes a program that returns a truth value, but cannot load it.
Result<void> check_result(const GraphValue& value) {
  if (value.kind() != ValueKind::sym_bool) return {};
  return Error{ErrorCode::unsupported,
               fmt::format("'{}' is a truth value, and PyTorch loads no program that returns one",
                           value.name)};
}

class Extractor {
 public:
  explicit Extractor(Program& program) : program_(program), graph_(program.graph) {}

  Result<void> run(std::span<const std::string> from, std::span<const std::string> to) {
    if (program_.signature.input_specs.size() != graph_.inputs().size()) return misfit();
    std::vector<ValueId> starts, ends;
    const UserInputs inputs(program_);
    for (const std::string& name : from) {
      auto value = inputs.find(name);
      if (!value) value = find_named_value(program_, name);
      if (!value) return std::move(value).error();
      starts.push_back(*value);
    }
    for (const std::string& name : to) {
      PT2_TRY(const ValueId value, find_named_value(program_, name));
      PT2_TRY_VOID(check_result(graph_.value(value)));
      ends.push_back(value);
    }
    if (ends.empty())
      return Error{ErrorCode::argument,
                   "found no values that the part computes, expected one or more (--to VALUE)"};
    PT2_TRY_VOID(find_needed(starts, ends));
    PT2_TRY_VOID(check_levels());
    PT2_TRY_VOID(check_writes(starts));
    return rebuild(starts, ends);
  }

 private:
  Result<void> find_needed(const std::vector<ValueId>& starts, const std::vector<ValueId>& ends) {
    std::set<ValueId> given(starts.begin(), starts.end());
    std::vector<ValueId> open(ends);
    while (!open.empty()) {
      const ValueId value = open.back();
      open.pop_back();
      if (!reached_.insert(value).second || given.contains(value)) continue;
      const auto maker = maker_of(graph_, value);
      if (!maker || !nodes_.insert(*maker).second) continue;
      for_each_operand(graph_.node(*maker), [&](ValueId used) { open.push_back(used); });
    }
    for (const ValueId start : starts) {
      if (const auto maker = maker_of(graph_, start); maker && nodes_.contains(*maker))
        return Error{ErrorCode::argument,
                     fmt::format("the part needs another result of the node that computes '{}': "
                                 "name that as well",
                                 graph_.value(start).name)};
      if (reached_.contains(start)) continue;
      return Error{ErrorCode::argument,
                   fmt::format("'{}' is not needed to compute the values of --to",
                               graph_.value(start).name)};
    }
    return {};
  }

  // A part with a piece of a vmap or jvp is refused. The nodes that begin and end a level give no
  // values, so no value of the part needs them, and they would be missing.
  Result<void> check_levels() const {
    for (const NodeId id : nodes_)
      if (graph_.node(id).target.starts_with("torch._functorch.predispatch."))
        return at_node({ErrorCode::unsupported,
                        "the part has a piece of a vmap or jvp; cut it out of what pt2 decompose "
                        "writes, which has none"},
                       graph_, graph_.node(id));
    return {};
  }

  // A node outside of the part must not change memory that a node of the part reads.
  Result<void> check_writes(const std::vector<ValueId>& starts) const {
    if (!writes(graph_)) return {};
    constexpr size_t kNever = SIZE_MAX;
    const std::vector<uint32_t> classes = memory_classes(graph_);
    const auto class_of = [&](ValueId id) { return classes[static_cast<size_t>(id)]; };
    // By memory class: when the part first holds the memory, and when it last reads it.
    std::vector<size_t> held_from(classes.size(), kNever), used_until(classes.size(), 0);
    std::map<NodeId, size_t> places;
    for (const NodeId id : graph_.nodes()) places.emplace(id, places.size() + 1);
    const auto hold = [&](ValueId id) {
      const auto maker = maker_of(graph_, id);
      const size_t place = maker ? places.at(*maker) : 0;
      held_from[class_of(id)] = std::min(held_from[class_of(id)], place);
    };
    for (const ValueId start : starts) hold(start);
    for (const ValueId id : reached_) {
      const auto maker = maker_of(graph_, id);
      if (!maker || nodes_.contains(*maker)) hold(id);
    }
    for (const NodeId id : nodes_)
      for_each_operand(graph_.node(id), [&](ValueId used) {
        used_until[class_of(used)] = std::max(used_until[class_of(used)], places.at(id));
      });
    for (const auto& [id, place] : places) {
      if (nodes_.contains(id)) continue;
      for (const ValueId written : written_values(graph_, graph_.node(id)))
        if (held_from[class_of(written)] < place && place < used_until[class_of(written)])
          return at_node({ErrorCode::unsupported,
                          "the part reads memory that this node writes to, but does not hold the "
                          "node; cut it out of what pt2 decompose writes, which has "
                          "no such nodes"},
                         graph_, graph_.node(id));
    }
    return {};
  }

  Result<void> rebuild(const std::vector<ValueId>& starts, const std::vector<ValueId>& ends) {
    std::vector<Argument> inputs;
    std::vector<InputSpec> specs;
    std::vector<std::string> names;
    const auto& old_specs = program_.signature.input_specs;
    const std::set<ValueId> given(starts.begin(), starts.end());
    for (size_t i = 0; i < old_specs.size(); ++i) {
      const auto* id = graph_.inputs()[i].get_if<ValueId>();
      const bool is_user = old_specs[i].kind == InputKind::user_input;
      if (id == nullptr || !reached_.contains(*id) || given.contains(*id)) continue;
      if (is_user) continue;
      inputs.push_back(graph_.inputs()[i]);
      specs.push_back(old_specs[i]);
    }
    const auto add_user = [&](ValueId id) {
      const bool tensor = graph_.value(id).kind() == ValueKind::tensor;
      inputs.push_back(tensor ? Argument(id) : result_argument(graph_, id));
      specs.push_back({.kind = InputKind::user_input, .arg = spec_of(graph_, id)});
      names.push_back(graph_.value(id).name);
    };
    for (const ValueId start : starts) add_user(start);
    for (size_t i = 0; i < old_specs.size(); ++i) {
      const auto* id = graph_.inputs()[i].get_if<ValueId>();
      if (id != nullptr && old_specs[i].kind == InputKind::user_input && reached_.contains(*id) &&
          !given.contains(*id))
        add_user(*id);
    }
    replace_outputs(ends);
    PT2_TRY_VOID(erase_the_rest(given));
    graph_.set_inputs(std::move(inputs));
    program_.signature.input_specs = std::move(specs);
    erase_unused_values();
    make_root_call(names, ends.size());
    program_.guards_code.clear();  // guards may name inputs that are gone
    return {};
  }

  void replace_outputs(const std::vector<ValueId>& ends) {
    std::vector<Argument> outputs;
    program_.signature.output_specs.clear();
    for (const ValueId end : ends) {
      outputs.push_back(result_argument(graph_, end));
      program_.signature.output_specs.push_back(
          {.kind = OutputKind::user_output, .arg = spec_of(graph_, end)});
    }
    graph_.set_outputs(std::move(outputs));
    graph_.is_single_tensor_return = false;
  }

  // Erases from the last node to the first, so that no erased value has uses. Also erases the node
  // of a value that becomes an input.
  Result<void> erase_the_rest(const std::set<ValueId>& given) {
    std::vector<NodeId> order(graph_.nodes().begin(), graph_.nodes().end());
    std::ranges::reverse(order);
    for (const NodeId id : order) {
      if (nodes_.contains(id)) continue;
      bool gives = false;
      std::vector<Argument> others;
      for_each_result(graph_.node(id), [&](ValueId value) {
        gives = gives || given.contains(value);
        if (!given.contains(value)) others.emplace_back(value);
      });
      if (gives) graph_.set_node_outputs(id, std::move(others));
      PT2_TRY_VOID(graph_.erase_node(id));
    }
    return {};
  }

  void erase_unused_values() {
    std::vector<ValueId> unused;
    for (const ValueId id : graph_.values())
      if (graph_.value(id).definition.by == Definition::By::nothing && graph_.uses(id).empty())
        unused.push_back(id);
    for (const ValueId id : unused) graph_.erase_value(id).value();
  }

  void make_root_call(const std::vector<std::string>& names, size_t results) {
    const TreeSpec in = make_tuple_spec(
        {make_tuple_spec(std::vector<TreeSpec>(names.size())), make_dict_spec({}, {})});
    const bool had_names = root_signature(program_) != nullptr &&
                           root_signature(program_)->forward_arg_names.has_value();
    ModuleCallSignature call{
        .in_spec = print_tree_spec(in),
        .out_spec = print_tree_spec(make_tuple_spec(std::vector<TreeSpec>(results)))};
    if (had_names) call.forward_arg_names = names;
    program_.module_call_graph = {{.fqn = "", .signature = std::move(call)}};
  }

  Program& program_;
  Graph& graph_;
  std::set<ValueId> reached_;
  std::set<NodeId> nodes_;
};

// PyTorch copies the new value of an input into its memory before the results are read
// (torch/export/_unlift.py, _insert_copy_for_mutations).
Result<void> check_not_replaced(const Program& program, std::span<const ValueId> values) {
  const MutationTargets targets(program.signature);
  struct NewValue {
    std::string_view input, name;
  };
  std::map<ValueId, NewValue> new_values;  // by the input that gets it
  for (const OutputSpec& spec : program.signature.output_specs)
    if (const auto target = targets.find(spec)) {
      const std::string& name = program.signature.input_specs[*target].arg.name;
      if (const auto input = program.graph.find_value(name))
        new_values.emplace(*input, NewValue{name, spec.arg.name});
    }
  if (new_values.empty()) return {};
  const std::vector<uint32_t> classes = memory_classes(program.graph);
  std::map<uint32_t, NewValue> replaced;  // by memory class
  for (const auto& [input, value] : new_values)
    replaced.emplace(classes[static_cast<size_t>(input)], value);
  for (const ValueId value : values)
    if (const auto found = replaced.find(classes[static_cast<size_t>(value)]);
        found != replaced.end())
      return Error{
          ErrorCode::unsupported,
          fmt::format("'{}' cannot be a result: the memory of '{}' holds the new value "
                      "'{}' when results are read; expose that",
                      program.graph.value(value).name, found->second.input, found->second.name)};
  return {};
}

// Results are read at the end, so no node may write to their memory after they were computed.
Result<void> check_not_written_later(const Graph& graph, std::span<const ValueId> values) {
  if (!writes(graph)) return {};
  const std::vector<uint32_t> classes = memory_classes(graph);
  const auto class_of = [&](ValueId id) { return classes[static_cast<size_t>(id)]; };
  std::map<uint32_t, ValueId> computed;  // by memory class
  std::multimap<NodeId, ValueId> waiting;
  for (const ValueId value : values) {
    if (const auto maker = maker_of(graph, value))
      waiting.emplace(*maker, value);
    else
      computed.emplace(class_of(value), value);
  }
  for (const NodeId id : graph.nodes()) {
    if (!computed.empty())
      for (const ValueId written : written_values(graph, graph.node(id)))
        if (const auto found = computed.find(class_of(written)); found != computed.end())
          return at_node({ErrorCode::unsupported,
                          fmt::format("the node writes to the memory of '{}' after that was "
                                      "computed; edit what pt2 decompose writes, "
                                      "which has no such nodes",
                                      graph.value(found->second).name)},
                         graph, graph.node(id));
    const auto [first, last] = waiting.equal_range(id);
    for (auto each = first; each != last; ++each)
      computed.emplace(class_of(each->second), each->second);
  }
  return {};
}

// Returns for each node id whether the call of a module contains the node.
Result<std::vector<bool>> nodes_of_call(const Program& program, std::string_view name) {
  const ModuleHierarchy hierarchy = module_hierarchy(program);
  for (size_t i = 0; i < hierarchy.modules.size(); ++i)
    for (const ModuleCall& call : hierarchy.modules[i].calls) {
      if (name.empty() || hierarchy.call_name(i, call) != name) continue;
      const std::vector<NodeId> order(program.graph.nodes().begin(), program.graph.nodes().end());
      std::vector<bool> out(program.graph.node_count());
      for (const NodeRun& run : call.runs)
        for (size_t place = run.begin; place < std::min(run.end, order.size()); ++place)
          out[static_cast<size_t>(order[place])] = true;
      return out;
    }
  return Error{
      ErrorCode::argument,
      fmt::format("there is no module '{}' that has nodes; 'pt2 info --modules' lists them", name)};
}

struct Cut {
  std::vector<std::string> from, to;
};

// Returns the values that the nodes of a module take from other nodes, without weights, and the
// values that other nodes take from them.
Result<Cut> cut_of(const Program& program, std::string_view module) {
  const Graph& graph = program.graph;
  if (program.signature.input_specs.size() != graph.inputs().size()) return misfit();
  PT2_TRY(const std::vector<bool> is_inside, nodes_of_call(program, module));
  std::set<ValueId> weights;
  for (size_t i = 0; i < graph.inputs().size(); ++i)
    if (program.signature.input_specs[i].kind != InputKind::user_input)
      for_each_value(graph.inputs()[i], [&](ValueId id) { weights.insert(id); });
  const auto is_made_inside = [&](ValueId id) {
    const auto maker = maker_of(graph, id);
    return maker && is_inside[static_cast<size_t>(*maker)];
  };
  // A value is taken from outside or made inside, so it is in at most one of the lists.
  std::set<ValueId> known;
  const auto add = [&](std::vector<std::string>& names, ValueId id) {
    if (known.insert(id).second) names.push_back(graph.value(id).name);
  };
  Cut cut;
  for (const NodeId id : graph.nodes())
    for_each_operand(graph.node(id), [&](ValueId used) {
      if (is_inside[static_cast<size_t>(id)] && !is_made_inside(used) && !weights.contains(used))
        add(cut.from, used);
      if (!is_inside[static_cast<size_t>(id)] && is_made_inside(used)) add(cut.to, used);
    });
  for (const Argument& output : graph.outputs())
    for_each_value(output, [&](ValueId id) {
      if (is_made_inside(id)) add(cut.to, id);
    });
  return cut;
}

// Arguments of an operator that is in no table cannot be checked against its signature, so a
// constant must be of the same kind as the old argument.
bool is_of_kind(const Argument& argument, const Argument& old) {
  const auto *list = argument.get_if<ArgumentList>(), *old_list = old.get_if<ArgumentList>();
  if (list != nullptr && old_list != nullptr) return list->kind == old_list->kind;
  return old.is<None>() || old.is<ValueId>() || argument.variant.index() == old.variant.index();
}

// Converts integers to floats where the old argument has floats.
void take_floats(Argument& argument, const Argument& old) {
  const auto* whole = argument.get_if<int64_t>();
  if (whole != nullptr && old.is<double>()) argument = Argument(static_cast<double>(*whole));
  auto* list = argument.get_if<ArgumentList>();
  const auto* old_list = old.get_if<ArgumentList>();
  if (list == nullptr || old_list == nullptr) return;
  if (list->items.empty()) list->kind = old_list->kind;
  if (old_list->kind != ListKind::floats || list->kind != ListKind::ints) return;
  list->kind = ListKind::floats;
  for (Argument& item : list->items) take_floats(item, Argument(0.0));
}

// Text needs no quotes if the old argument is text.
Result<Argument> read_argument(const Program& program, const Argument& old, std::string_view text) {
  if (old.is<std::string>() && text != "none" && !text.starts_with('"'))
    return Argument(std::string(text));
  PT2_TRY(Argument argument, parse_constant(text, program.schema_version));
  take_floats(argument, old);
  return argument;
}

// Returns an argument that the node leaves at its default, with a constant of its kind. Nothing for
// tensors, and if the operator has no such argument.
std::optional<NamedArgument> omitted_argument(const Node& node, std::string_view name) {
  const ops::Operator op = ops::find_operator(node.target);
  const ops::Parameter* parameter = op ? op.signature().find(name) : nullptr;
  const bool are_named = std::ranges::none_of(
      node.inputs, [](const NamedArgument& input) { return input.name.empty(); });
  if (parameter == nullptr || !are_named || parameter->type.base == ops::BaseType::tensor)
    return std::nullopt;
  Argument constant;
  if (parameter->type.base == ops::BaseType::string) constant = Argument(std::string());
  if (parameter->type.base == ops::BaseType::number) constant = Argument(0.0);
  return parameter->keyword_only ? kwarg(std::string(name), std::move(constant))
                                 : arg(std::string(name), std::move(constant));
}

// Guards use the caller's names of inputs, L['x'].
void rename_in_guards(Program& program, std::string_view old_name, std::string_view name) {
  for (const char quote : {'\'', '"'}) {
    const std::string from = fmt::format("L[{0}{1}{0}]", quote, old_name);
    const std::string to = fmt::format("L[{0}{1}{0}]", quote, name);
    for (std::string& guard : program.guards_code)
      for (size_t at = guard.find(from); at != guard.npos; at = guard.find(from, at + to.size()))
        guard.replace(at, from.size(), to);
  }
}

// If a dict holds the leaf of a result, the key is the result's name.
Result<void> rename_key(TreeSpec& spec, size_t leaf, std::string_view name) {
  for (size_t i = 0; i < spec.children.size(); ++i) {
    TreeSpec& child = spec.children[i];
    const size_t count = leaf_count(child);
    if (leaf >= count) {
      leaf -= count;
      continue;
    }
    if (!child.is_leaf()) return rename_key(child, leaf, name);
    if (spec.keys.empty()) return {};
    if (spec.kind != TreeKind::dict && spec.kind != TreeKind::ordered_dict)
      return Error{
          ErrorCode::unsupported,
          fmt::format("the result is a field of a {}, which cannot be renamed", spec.type)};
    if (std::ranges::find(spec.keys, TreeKey(std::string(name))) != spec.keys.end())
      return taken(name, "the result has this key");
    spec.keys[i] = TreeKey(std::string(name));
    spec.context = make_dict_spec(spec.keys, spec.children).context;
    return {};
  }
  return {};
}

// True if the argument is a device, or names one as text for an operator that takes a device.
bool takes_device(const Node& node, size_t position) {
  const NamedArgument& input = node.inputs[position];
  if (input.arg.is<Device>()) return true;
  const ops::Operator op = ops::find_operator(node.target);
  if (!op || !device_argument(input.arg)) return false;
  const auto index = ops::parameter_index(op.signature(), input.name, position);
  return index && op.signature().parameter_array[*index].type.base == ops::BaseType::device;
}

}  // namespace

Result<void> rename_input(Program& program, std::string_view input, std::string_view name) {
  PT2_TRY(const ValueId id, find_input_value(program, input));
  PT2_TRY_VOID(check_name(program, name));
  const std::vector<CallArgument> arguments = call_arguments(program);
  ModuleCallSignature* root = root_signature(program);
  const auto is_it = [&](const CallArgument& argument) {
    return argument.name == input || argument.name == program.graph.value(id).name;
  };
  for (const CallArgument& argument : arguments) {
    if (argument.name == name && !is_it(argument)) return taken(name, "an argument has it");
    const std::vector<std::string> parts = leaf_paths(argument.spec, argument.name);
    if (!argument.spec.is_leaf() && std::ranges::find(parts, input) != parts.end())
      return Error{ErrorCode::unsupported,
                   fmt::format("input '{}' is a part of argument '{}', whose parts cannot be "
                               "renamed",
                               input, argument.name)};
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!is_it(arguments[i]) || !arguments[i].spec.is_leaf()) continue;
    if (arguments[i].is_keyword)
      return Error{ErrorCode::unsupported,
                   fmt::format("input '{}' is a keyword argument, which cannot be renamed", input)};
    if (root != nullptr && root->forward_arg_names && i < root->forward_arg_names->size())
      (*root->forward_arg_names)[i] = name;
    rename_in_guards(program, arguments[i].name, name);
  }
  return rename_value(program, id, std::string(name));
}

Result<void> rename_output(Program& program, std::string_view output, std::string_view name) {
  PT2_TRY_VOID(check_name(program, name));
  std::vector<std::string> names = graph_output_names(program);
  const std::vector<OutputSpec>& specs = program.signature.output_specs;
  size_t position = 0, result = 0;  // among what callers get, and among the leaves of the result
  for (size_t i = 0; i < specs.size(); ++i) {
    if (names[i].empty()) continue;
    const bool is_result = !is_gradient(specs[i].kind);
    if (names[i] == output || specs[i].arg.name == output || std::to_string(position) == output) {
      PT2_TRY(const ValueId id, find_named_value(program, specs[i].arg.name));
      TreeSpec spec = result_spec(program);
      if (is_result) PT2_TRY_VOID(rename_key(spec, result, name));
      if (ModuleCallSignature* root = root_signature(program); root != nullptr && is_result)
        root->out_spec = print_tree_spec(spec);
      return rename_value(program, id, std::string(name));
    }
    ++position;
    result += is_result ? 1 : 0;
  }
  std::erase(names, "");
  return Error{ErrorCode::argument, fmt::format("there is no output '{}'; the program returns: {}",
                                                output, fmt::join(names, ", "))};
}

Result<void> extract(Program& program, std::span<const std::string> from,
                     std::span<const std::string> to) {
  Program changed = program;
  PT2_TRY_VOID(Extractor(changed).run(from, to));
  program = std::move(changed);
  return {};
}

Result<void> extract_module(Program& program, std::string_view module) {
  PT2_TRY(const Cut cut, cut_of(program, module));
  return extract(program, cut.from, cut.to);
}

Result<void> add_output(Program& program, std::string_view value) {
  const std::string name(value);
  return add_outputs(program, {&name, 1});
}

Result<void> add_outputs(Program& program, std::span<const std::string> values) {
  std::vector<ValueId> ids;
  for (const std::string& value : values) {
    PT2_TRY(const ValueId id, find_named_value(program, value));
    PT2_TRY_VOID(check_result(program.graph.value(id)));
    ids.push_back(id);
  }
  PT2_TRY_VOID(check_not_written_later(program.graph, ids));
  PT2_TRY_VOID(check_not_replaced(program, ids));
  TreeSpec spec = result_spec(program);
  if (spec.is_leaf()) spec = make_tuple_spec({spec});
  if (spec.type != make_tuple_spec({}).type && spec.type != make_list_spec({}).type)
    return Error{
        ErrorCode::unsupported,
        fmt::format("found a result of type {}, expected a tensor, a tuple or a list: no other can "
                    "hold one more value",
                    spec.type)};
  spec.children.resize(spec.children.size() + ids.size());
  auto& specs = program.signature.output_specs;
  // Results come after what is written, also if there are none yet, and before gradients.
  const auto last = std::ranges::find_if(
      specs.rbegin(), specs.rend(), [](const OutputSpec& each) { return !is_gradient(each.kind); });
  const auto place = specs.rend() - last;
  std::vector<Argument> outputs(program.graph.outputs().begin(), program.graph.outputs().end());
  if (static_cast<size_t>(place) > outputs.size()) return misfit();
  std::vector<Argument> new_outputs;
  std::vector<OutputSpec> new_specs;
  for (const ValueId id : ids) {
    new_outputs.push_back(result_argument(program.graph, id));
    new_specs.push_back({.kind = OutputKind::user_output, .arg = spec_of(program.graph, id)});
  }
  outputs.insert(outputs.begin() + place, new_outputs.begin(), new_outputs.end());
  specs.insert(specs.begin() + place, new_specs.begin(), new_specs.end());
  program.graph.set_outputs(std::move(outputs));
  if (ModuleCallSignature* root = root_signature(program)) {
    root->out_spec = print_tree_spec(spec);
    root->outputs.clear();
    root->inputs.clear();
  }
  return {};
}

Result<void> set_argument(Program& program, std::string_view place, std::string_view text) {
  const size_t dot = place.rfind('.');
  if (dot == place.npos)
    return Error{ErrorCode::argument,
                 fmt::format("found '{}', expected VALUE.ARGUMENT, such as add.other", place)};
  PT2_TRY(const ValueId id, find_named_value(program, place.substr(0, dot)));
  const auto maker = maker_of(program.graph, id);
  if (!maker)
    return Error{ErrorCode::argument, fmt::format("'{}' is an input, and only nodes have arguments",
                                                  place.substr(0, dot))};
  const Node& node = program.graph.node(*maker);
  const std::string_view name = place.substr(dot + 1);
  std::vector<NamedArgument> inputs = node.inputs;
  auto found = std::ranges::find(inputs, name, &NamedArgument::name);
  if (auto omitted = omitted_argument(node, name); omitted && found == inputs.end())
    found = inputs.insert(found, *std::move(omitted));
  if (name.empty() || found == inputs.end()) {
    std::vector<std::string> names;
    for (const NamedArgument& input : node.inputs)
      if (!input.name.empty()) names.push_back(input.name);
    if (const ops::Operator op = ops::find_operator(node.target); op && !names.empty())
      for (const ops::Parameter& parameter : op.signature())
        if (node.find_input(parameter.name) == nullptr) names.emplace_back(parameter.name);
    return Error{ErrorCode::argument,
                 names.empty() ? "the node has no arguments with names"
                               : fmt::format("the node has no argument '{}'; it has: {}", name,
                                             fmt::join(names, ", ")),
                 std::string(place)};
  }
  Result<Argument> argument = read_argument(program, found->arg, text);
  const auto* value = found->arg.get_if<ValueId>();
  const bool is_tensor = value != nullptr && program.graph.value(*value).tensor() != nullptr;
  if (argument && is_tensor && !argument->is<None>())
    return Error{
        ErrorCode::argument,
        fmt::format("found '{}', expected none: the argument is a tensor, which can only be "
                    "left out",
                    text),
        std::string(place)};
  if (!argument)
    return Error{ErrorCode::argument,
                 fmt::format("'{}' cannot be read: {}", text, argument.error().message),
                 std::string(place)};
  if (!ops::find_operator(node.target) && !is_of_kind(*argument, found->arg))
    return Error{ErrorCode::argument,
                 fmt::format("found '{}', expected a constant of the kind that the argument has "
                             "now, because {} is not known to this version",
                             text, node.target),
                 std::string(place)};
  found->arg = *std::move(argument);
  program.graph.set_node_inputs(*maker, std::move(inputs));
  return {};
}

void set_device(Program& program, const Device& device) {
  for_each_graph(program.graph, [&](Graph& graph) {
    for (const ValueId id : graph.values()) {
      const TensorMeta* meta = graph.value(id).tensor();
      if (meta == nullptr || meta->device == device) continue;
      TensorMeta moved = *meta;
      moved.device = device;
      graph.set_value_meta(id, std::move(moved));
    }
    for (const NodeId id : graph.nodes())
      for (size_t i = 0; i < graph.node(id).inputs.size(); ++i)
        if (takes_device(graph.node(id), i)) graph.set_node_input(id, i, Argument(device));
  });
}

}  // namespace pt2
