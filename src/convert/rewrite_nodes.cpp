// Rewrites of nodes: their targets, arguments and results.
#include <algorithm>
#include <iterator>

#include "convert/converter.h"
#include "convert/operator_history.h"
#include "ir/graph_place.h"
#include "ir/higher_order.h"
#include "ir/target.h"
#include "lower/arguments.h"
#include "ops/table.h"
#include "pt2/ir/edit.h"

namespace pt2 {
namespace {

// Calls `edit(Graph&, NodeId)` for each node of the program.
template <class Edit>
void for_each_node(Converter& converter, Edit&& edit) {
  for_each_graph(converter.program.graph, [&](Graph& graph) {
    for (NodeId id : graph.nodes()) edit(graph, id);
  });
}

bool is_higher_order(std::string_view target) {
  return target_form(target) == TargetForm::higher_order;
}

// A target that releases up to `until` spell `old_name`.
struct TargetName {
  int until;
  std::string_view old_name;
  std::string_view new_name;
};
constexpr TargetName kTargetNames[] = {
    // Old releases named higher-order operators by the module of their class (serialize_operator).
    {201, "torch.ops.map_impl", "torch.ops.higher_order.map_impl"},
    {204, "torch._higher_order_ops.wrap.wrap_with_set_grad_enabled",
     "torch.ops.higher_order.wrap_with_set_grad_enabled"},
    {204, "torch._higher_order_ops.auto_functionalize.auto_functionalized",
     "torch.ops.higher_order.auto_functionalized"},
    {204, "torch._higher_order_ops.effects.with_effects", "torch.ops.higher_order.with_effects"},
    // 2.7 saves math.trunc but cannot load it: deserialize_operator does not know module math. For
    // a SymFloat torch.sym_int computes the same (torch/__init__.py, sym_int).
    {207, "torch.sym_int", "math.trunc"},
};

// The rename is one-way: torch.sym_int covers more than math.trunc, and every release knows it.
bool is_equal_only_downwards(const TargetName& row) { return row.new_name == "math.trunc"; }

// Returns the kind that a reader infers from the parameter if the file records no kinds
// (serialize.py, deserialize_inputs, the branch for kind None).
ArgumentKind kind_of(const ops::Parameter& parameter) {
  // Python cannot pass an argument by name if the name is a Python keyword.
  const bool positional =
      (!parameter.has_default && !parameter.keyword_only) || parameter.name == "from";
  return positional ? ArgumentKind::positional : ArgumentKind::keyword;
}

std::optional<ArgumentKind> kind_of(const Node& node, const NamedArgument& input,
                                    const ops::Operator& op) {
  if (is_higher_order(node.target))
    return input.name.empty() ? ArgumentKind::positional : ArgumentKind::keyword;
  // Python functions take their arguments by position.
  if (target_form(node.target) == TargetForm::function) return ArgumentKind::positional;
  const ops::Parameter* parameter = op ? op.signature().find(input.name) : nullptr;
  return parameter ? std::optional(kind_of(*parameter)) : std::nullopt;
}

ArgumentList tensors(std::span<const NamedArgument> inputs) {
  ArgumentList list{.kind = ListKind::tensors};
  for (const NamedArgument& input : inputs) list.items.push_back(input.arg);
  return list;
}

bool are_values(std::span<const NamedArgument> inputs) {
  return std::ranges::all_of(inputs,
                             [](const NamedArgument& input) { return input.arg.is<ValueId>(); });
}

// Converts (graph, count, *operands) to (graph, mapped, others).
bool split_map_operands(std::vector<NamedArgument>& inputs) {
  if (inputs.size() < 2) return false;
  const auto* count = inputs[1].arg.get_if<int64_t>();
  const auto operands = std::span(inputs).subspan(2);
  if (count == nullptr || *count < 0 || static_cast<size_t>(*count) > operands.size() ||
      !are_values(operands))
    return false;
  const auto mapped = static_cast<size_t>(*count);
  NamedArgument first{.arg = Argument(tensors(operands.first(mapped)))};
  NamedArgument rest{.arg = Argument(tensors(operands.subspan(mapped)))};
  inputs.resize(1);
  inputs.push_back(std::move(first));
  inputs.push_back(std::move(rest));
  return true;
}

bool join_map_operands(std::vector<NamedArgument>& inputs) {
  if (inputs.size() != 3) return false;
  const auto* mapped = inputs[1].arg.get_if<ArgumentList>();
  const auto* others = inputs[2].arg.get_if<ArgumentList>();
  if (mapped == nullptr || others == nullptr || mapped->kind != ListKind::tensors ||
      others->kind != ListKind::tensors)
    return false;
  std::vector<NamedArgument> joined = {inputs[0]};
  joined.push_back({.arg = Argument(static_cast<int64_t>(mapped->items.size()))});
  for (const ArgumentList* list : {mapped, others})
    for (const Argument& item : list->items) joined.push_back({.arg = item});
  inputs = std::move(joined);
  return true;
}

// Returns the tensors of the only output, [as_tensors [...]]; null for other outputs.
const ArgumentList* only_list(const Node& node) {
  if (node.outputs.size() != 1) return nullptr;
  const auto* list = node.outputs[0].get_if<ArgumentList>();
  return list && list->kind == ListKind::tensors && !list->items.empty() ? list : nullptr;
}

bool are_tensors(const Graph& graph, std::span<const Argument> outputs) {
  return std::ranges::all_of(
      outputs, [&](const Argument& output) { return tensor_meta(graph, output) != nullptr; });
}

// Newer writers record in is_hop_single_tensor_return whether a single output is a value or a tuple
// of one value. Older writers write as_tensors for the tuple.
bool raise_results(Graph& graph, NodeId id, int from, int to) {
  const Node& node = graph.node(id);
  if (node.outputs.size() != 1 || node.is_hop_single_tensor_return) return false;
  const ArgumentList* list = only_list(node);
  if (list != nullptr && list->items.size() > 1) {
    if (from >= 300) return false;
    graph.set_node_outputs(id, std::vector<Argument>(list->items));
    return true;
  }
  if (to < 804) return false;
  if (list != nullptr) {
    graph.set_node_outputs(id, {Argument(list->items[0])});
    graph.set_node_single_return(id, false);
  } else {
    graph.set_node_single_return(id, node.outputs[0].is<ValueId>());
  }
  return true;
}

bool lower_results(Graph& graph, NodeId id, int to) {
  const Node& node = graph.node(id);
  const bool is_tuple = node.outputs.size() > 1 || node.is_hop_single_tensor_return == false;
  const bool has_list = node.outputs.size() == 1 || to < 300;
  const bool changes = node.is_hop_single_tensor_return.has_value();
  if (is_tuple && has_list && !node.outputs.empty() && are_tensors(graph, node.outputs)) {
    std::vector<Argument> items = node.outputs;
    graph.set_node_outputs(
        id, {Argument(ArgumentList{.kind = ListKind::tensors, .items = std::move(items)})});
    graph.set_node_single_return(id, std::nullopt);
    return true;
  }
  graph.set_node_single_return(id, std::nullopt);
  return changes;
}

// True if the call computes nothing and has no results.
bool is_empty_region(const Graph& graph, const Node& node) {
  const HigherOrderRow* row = find_higher_order_operator(node.target);
  if (row == nullptr || !row->has(HigherOrderRow::kSetsMode) || !node.outputs.empty()) return false;
  bool is_empty = true;
  for_each_callee(node, [&](SubgraphId id) {
    const Graph& region = graph.subgraph(id);
    is_empty &= region.nodes().empty() && region.outputs().empty();
  });
  return is_empty;
}

bool erase_empty_regions(Graph& graph) {
  bool changed = false;
  for (size_t i = 0; i < graph.subgraphs().size(); ++i)
    changed |= erase_empty_regions(graph.subgraph(SubgraphId{static_cast<uint32_t>(i)}));
  for (NodeId id : graph.nodes())
    if (is_empty_region(graph, graph.node(id))) changed |= static_cast<bool>(graph.erase_node(id));
  return changed;
}

// True if the call only asks for a dtype or a truth value. No node can use the answer if the result
// is not a value.
bool is_unanswered_query(const Node& node) {
  if (node.outputs.size() != 1 || !node.outputs[0].is<None>()) return false;
  const ops::Operator op = ops::find_operator(node.target);
  return op && op.signature().return_count == 1 && !op.signature().is_mutable() &&
         op.def->facts.undecomposed == ops::Undecomposed::gives_numbers;
}

// True if the recorded metadata already proves the argument `asserted` of _assert_tensor_metadata.
bool holds(const NamedArgument& asserted, const TensorMeta& meta) {
  if (asserted.arg.is<None>()) return true;
  if (asserted.name == "device") return device_argument(asserted.arg) == meta.device;
  const auto* layout = asserted.arg.get_if<Layout>();
  return layout != nullptr && asserted.name == "layout" && *layout == meta.layout;
}

// Converts an entry between "key:(path,type)" (2.1) and "key,path,type" (later releases).
std::string respell_stack(std::string_view stack, bool up) {
  std::string out;
  while (true) {
    const size_t end = stack.find(';');
    std::string entry(stack.substr(0, end));
    const size_t open = entry.find(":("), comma = entry.find(',');
    if (up && open != std::string::npos && entry.ends_with(')')) {
      entry = entry.substr(0, open) + "," + entry.substr(open + 2, entry.size() - open - 3);
    } else if (!up && comma != std::string::npos) {
      entry = entry.substr(0, comma) + ":(" + entry.substr(comma + 1) + ")";
    }
    out += (out.empty() ? "" : ";") + entry;
    if (end == std::string_view::npos) return out;
    stack.remove_prefix(end + 1);
  }
}

// Returns the stack without commas inside parentheses and brackets: a path through a slice of
// modules is "layers.slice(0, 2, None).0".
std::string without_inner_commas(std::string_view stack) {
  std::string out;
  int depth = 0;
  for (const char c : stack) {
    depth += static_cast<int>(c == '(' || c == '[') - static_cast<int>(c == ')' || c == ']');
    if (c != ',' || depth <= 0) out += c;
  }
  return out;
}

constexpr int kLastWithScanDim = 206;
enum class ScanChange : uint8_t { none, made, refused };

// From (graph, init, xs, dim, reverse, others) to (graph, init, xs, others).
ScanChange raise_scan(std::vector<NamedArgument>& inputs) {
  if (inputs.size() != 6) return ScanChange::none;
  const auto* dim = inputs[3].arg.get_if<int64_t>();
  const auto* reverse = inputs[4].arg.get_if<bool>();
  if (dim == nullptr || reverse == nullptr || *dim != 0 || *reverse) return ScanChange::refused;
  inputs.erase(inputs.begin() + 3, inputs.begin() + 5);
  return ScanChange::made;
}

// From (graph, xs, dim) to (graph, xs, others).
ScanChange raise_associative_scan(std::vector<NamedArgument>& inputs) {
  const auto* dim = inputs.size() != 3 ? nullptr : inputs[2].arg.get_if<int64_t>();
  if (dim == nullptr) return ScanChange::none;
  if (*dim != 0) return ScanChange::refused;
  inputs[2].arg = Argument(ArgumentList{.kind = ListKind::tensors});
  return ScanChange::made;
}

ScanChange lower_scan(std::vector<NamedArgument>& inputs, bool associative) {
  if (inputs.size() != (associative ? 3 : 4)) return ScanChange::none;
  if (!associative) {
    inputs.insert(inputs.begin() + 3, {{.arg = Argument(int64_t{0})}, {.arg = Argument(false)}});
    return ScanChange::made;
  }
  const auto* others = inputs[2].arg.get_if<ArgumentList>();
  if (others == nullptr || !others->items.empty()) return ScanChange::refused;
  inputs[2].arg = Argument(int64_t{0});
  return ScanChange::made;
}

}  // namespace

Result<void> rewrite_empty_regions(Converter& converter) {
  converter.changed = erase_empty_regions(converter.program.graph);
  return {};
}

Result<void> rewrite_unanswered_queries(Converter& converter) {
  constexpr int kFirstWithNone = 207;
  if (converter.target.release->number >= kFirstWithNone) return {};
  for_each_node(converter, [&](Graph& graph, NodeId id) {
    if (is_unanswered_query(graph.node(id)))
      converter.changed |= static_cast<bool>(graph.erase_node(id));
  });
  return {};
}

Result<void> rewrite_target_names(Converter& converter) {
  const int source = converter.source.number, target = converter.target.release->number;
  for_each_node(converter, [&](Graph& graph, NodeId id) {
    for (const TargetName& row : kTargetNames) {
      const bool up = source <= row.until && target > row.until && !is_equal_only_downwards(row);
      const bool down = target <= row.until;
      if (!up && !down) continue;
      if (graph.node(id).target != (up ? row.old_name : row.new_name)) continue;
      graph.set_node_target(id, std::string(up ? row.new_name : row.old_name));
      if (!up && is_equal_only_downwards(row)) {
        std::vector<NamedArgument> inputs = graph.node(id).inputs;
        for (NamedArgument& input : inputs) input.name = "a";  // math.trunc names it x
        graph.set_node_inputs(id, std::move(inputs));
      }
      converter.changed = true;
    }
  });
  return {};
}

Result<void> rewrite_argument_names(Converter& converter) {
  const int target = converter.target.release->number;
  for_each_node(converter, [&](Graph& graph, NodeId id) {
    const Node& node = graph.node(id);
    std::vector<NamedArgument> inputs = node.inputs;
    bool changed = false;
    for (NamedArgument& input : inputs) {
      const std::string_view name = argument_name_in(target, node.target, input.name);
      if (name == input.name) continue;
      input.name = name;
      changed = true;
    }
    if (!changed) return;
    graph.set_node_inputs(id, std::move(inputs));
    converter.changed = true;
  });
  return {};
}

Result<void> rewrite_metadata_assertions(Converter& converter) {
  constexpr std::string_view kAssert = "torch.ops.aten._assert_tensor_metadata.default";
  // Up to this release the kernel for traced tensors compares the device with "meta": the program
  // runs, but it can be neither decomposed nor exported again.
  constexpr int kLastWithMetaDevice = 207;
  const int release = converter.target.release->number;
  for_each_node(converter, [&](Graph& graph, NodeId id) {
    const Node& node = graph.node(id);
    const TensorMeta* meta =
        node.target == kAssert ? tensor_meta(graph, node.find_input("a")) : nullptr;
    if (meta == nullptr) return;
    std::vector<NamedArgument> inputs = node.inputs;
    const size_t count = std::erase_if(inputs, [&](const NamedArgument& input) {
      const Lifetime* lifetime = find_argument_lifetime(kAssert, input.name);
      const bool is_absent = lifetime != nullptr && !lifetime->includes(release);
      const bool is_misread = input.name == "device" && release <= kLastWithMetaDevice;
      return (is_absent || is_misread) && holds(input, *meta);
    });
    if (count == 0) return;
    graph.set_node_inputs(id, std::move(inputs));
    converter.changed = true;
  });
  return {};
}

Result<void> rewrite_map_operands(Converter& converter) {
  const bool up = converter.rises_to(300);
  if (!up && !converter.falls_below(300)) return {};
  for_each_node(converter, [&](Graph& graph, NodeId id) {
    if (last_part(graph.node(id).target) != "map_impl" || !is_higher_order(graph.node(id).target))
      return;
    std::vector<NamedArgument> inputs = graph.node(id).inputs;
    if (!(up ? split_map_operands(inputs) : join_map_operands(inputs))) return;
    graph.set_node_inputs(id, std::move(inputs));
    converter.changed = true;
  });
  return {};
}

Result<void> rewrite_scan_operands(Converter& converter) {
  const bool up = converter.source.number <= kLastWithScanDim;
  if (up == (converter.target.release->number <= kLastWithScanDim)) return {};
  for_each_node(converter, [&](Graph& graph, NodeId id) {
    const std::string& target = graph.node(id).target;
    const bool associative = target == "torch.ops.higher_order.associative_scan";
    if (!associative && target != "torch.ops.higher_order.scan") return;
    std::vector<NamedArgument> inputs = graph.node(id).inputs;
    const ScanChange change = !up           ? lower_scan(inputs, associative)
                              : associative ? raise_associative_scan(inputs)
                                            : raise_scan(inputs);
    if (change == ScanChange::none) return;
    if (change == ScanChange::refused) {
      converter.block(
          {.kind = BlockerKind::operator_argument,
           .text = up ? "a scan along another dim or backwards, and later releases only scan "
                        "forwards along dim 0"
                      : "an associative scan with additional inputs",
           .node = describe_node(graph, graph.node(id)),
           .first = up ? nullptr : find_release("2.7")});
      return;
    }
    graph.set_node_inputs(id, std::move(inputs));
    converter.changed = true;
  });
  return {};
}

Result<void> rewrite_higher_order_results(Converter& converter) {
  const int from = converter.from, to = converter.to;
  const bool up = converter.rises_to(804) || converter.rises_to(300);
  if (!up && !converter.falls_below(804) && !converter.falls_below(300)) return {};
  for_each_node(converter, [&](Graph& graph, NodeId id) {
    if (!is_higher_order(graph.node(id).target)) return;
    converter.changed |= up ? raise_results(graph, id, from, to) : lower_results(graph, id, to);
  });
  return {};
}

Result<void> rewrite_module_stacks(Converter& converter) {
  const bool up = converter.rises_to(200), down = converter.falls_below(200);
  // 2.2 ends the path at its first comma, and cannot load a stack whose path has one.
  const bool splits_at_commas = converter.to >= 200 && converter.to < 300;
  if (!up && !down && !splits_at_commas) return {};
  for_each_node(converter, [&](Graph& graph, NodeId id) {
    Metadata metadata = graph.node(id).metadata;
    for (auto& [key, text] : metadata) {
      if (key != "nn_module_stack" || text.empty()) continue;
      const std::string before = text;
      if (up || down) text = respell_stack(text, up);
      if (splits_at_commas) text = without_inner_commas(text);
      if (text == before) return;
      graph.set_node_metadata(id, std::move(metadata));
      converter.changed = true;
      return;
    }
  });
  return {};
}

Result<void> rewrite_absent_results(Converter& converter) {
  const bool up = converter.rises_to(300);
  if (!up && !converter.falls_below(300)) return {};
  for_each_node(converter, [&](Graph& graph, NodeId id) {
    const ops::Operator op = ops::find_operator(graph.node(id).target);
    if (!op || op.signature().return_count < 2) return;
    std::vector<Argument> outputs = graph.node(id).outputs;
    const size_t before = outputs.size();
    if (up) {
      // Only trailing results can be absent: a file cannot record the position of another absent
      // result.
      while (outputs.size() < op.signature().return_count) outputs.emplace_back(None{});
    } else {
      while (!outputs.empty() && outputs.back().is<None>()) outputs.pop_back();
    }
    if (outputs.size() == before) return;
    graph.set_node_outputs(id, std::move(outputs));
    converter.changed = true;
  });
  return {};
}

Result<void> rewrite_argument_kinds(Converter& converter) {
  const bool up = converter.rises_to(804);
  // Nodes that passes add have kinds whichever release wrote the file.
  if (!up && converter.to >= 804) return {};
  for_each_node(converter, [&](Graph& graph, NodeId id) {
    const Node& node = graph.node(id);
    const ops::Operator op = up ? ops::find_operator(node.target) : ops::Operator{};
    std::vector<NamedArgument> inputs = node.inputs;
    bool changed = false;
    for (NamedArgument& input : inputs) {
      const auto kind = up ? kind_of(node, input, op) : std::nullopt;
      changed |= input.kind != kind;
      input.kind = kind;
    }
    if (!changed) return;
    graph.set_node_inputs(id, std::move(inputs));
    converter.changed = true;
  });
  return {};
}

Result<void> rewrite_optional_tensors(Converter& converter) {
  for_each_node(converter, [&](Graph& graph, NodeId id) {
    for (size_t i = 0; i < graph.node(id).inputs.size(); ++i) {
      Argument argument = graph.node(id).inputs[i].arg;
      if (argument.wrapper != Argument::Wrapper::optional) continue;
      argument.wrapper = Argument::Wrapper::plain;
      graph.set_node_input(id, i, std::move(argument));
      converter.changed = true;
    }
  });
  return {};
}

Result<void> rewrite_storage_offsets(Converter& converter) {
  if (converter.target.release->has_storage_offsets) return {};
  for_each_graph(converter.program.graph, [&](Graph& graph) {
    for (ValueId id : graph.values()) {
      const TensorMeta* meta = graph.value(id).tensor();
      if (meta == nullptr || meta->storage_offset == 0) continue;
      TensorMeta changed = *meta;
      changed.storage_offset = SymInt(0);
      graph.set_value_meta(id, std::move(changed));
      converter.changed = true;
    }
  });
  return {};
}

Result<void> rewrite_names(Converter& converter) {
  Program& program = converter.program;
  converter.changed = leave_names_to_constants(program);
  if (converter.to < 816)
    for_each_node(converter, [&](Graph& graph, NodeId id) {
      if (!graph.node(id).name) return;
      graph.set_node_name(id, std::nullopt);
      converter.changed = true;
    });
  if (converter.to < 805 && !program.namedtuple_fields.empty()) {
    program.namedtuple_fields.clear();
    converter.changed = true;
  }
  if (converter.to < 801)
    for (ModuleCallEntry& entry : program.module_call_graph)
      if (entry.signature && entry.signature->forward_arg_names) {
        entry.signature->forward_arg_names.reset();
        converter.changed = true;
      }
  return {};
}

}  // namespace pt2
