#include "pt2/ir/canonicalize.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <queue>
#include <set>
#include <tuple>

#include "base/hash/text_hash.h"
#include "ir/walk.h"
#include "transform/content_hash.h"

namespace pt2 {
namespace {

using Names = std::set<std::string, std::less<>>;
using NameTable = TextMap<std::string, std::string>;

struct CanonicalGraph {
  Graph graph;
  NameTable new_names;
};

// Calls `visit(const Argument&)` for each leaf that torch.utils._pytree.tree_map visits: the
// elements of a list whose kind can refer to values, at any depth, or any other argument itself.
template <class Visit>
void for_each_tree_leaf(const Argument& argument, Visit&& visit) {
  const auto* list = argument.get_if<ArgumentList>();
  const auto refers = [](ListKind kind) {
    switch (kind) {
      case ListKind::tensors:
      case ListKind::sym_ints:
      case ListKind::sym_floats:
      case ListKind::sym_bools:
      case ListKind::optional_tensors:
      case ListKind::nested_tensors:
        return true;
      case ListKind::ints:
      case ListKind::floats:
      case ListKind::strings:
      case ListKind::bools:
      case ListKind::int_lists:
      case ListKind::float_lists:
        return false;
    }
    return false;
  };
  if (list == nullptr || !refers(list->kind)) return visit(argument);
  for (const Argument& item : list->items) for_each_tree_leaf(item, visit);
}

class Canonicalizer {
 public:
  Canonicalizer(const Graph& graph, std::span<const Argument> inputs,
                std::span<const Argument> outputs, const Names& constants,
                const Names& embedded_constants, TieBreak tie_break)
      : graph_(graph),
        inputs_(inputs),
        outputs_(outputs),
        constants_(constants),
        embedded_constants_(embedded_constants),
        tie_break_(tie_break) {}

  Result<CanonicalGraph> run() {
    PT2_TRY(const std::vector<NodeId> order, sorted_nodes());
    std::vector<std::pair<std::string, ValueId>> values = renamed_values(order);
    CanonicalGraph out;
    for (ValueId id : graph_.values())
      if (!names_.contains(id)) values.emplace_back(graph_.value(id).name, id);
    std::ranges::sort(values);
    ids_.resize(graph_.value_count());
    for (const auto& [name, id] : values) {
      PT2_TRY(const ValueId added,
              out.graph.add_value({.name = name, .meta = graph_.value(id).meta}));
      ids_[static_cast<size_t>(id)] = added;
      out.new_names.emplace(graph_.value(id).name, name);
    }
    PT2_TRY_VOID(copy_nodes(order, out.graph));
    for (const Argument& input : inputs_) out.graph.add_input(translated(input));
    for (const Argument& output : outputs_) out.graph.add_output(translated(output));
    out.graph.is_single_tensor_return = graph_.is_single_tensor_return;
    out.graph.name = graph_.name;
    return out;
  }

 private:
  using ArgumentRanks = std::vector<std::pair<std::string_view, std::vector<int64_t>>>;
  // Candidates are compared by these members, in this order.
  using Candidate = std::tuple<std::string_view, ArgumentRanks, uint64_t, size_t, NodeId>;

  Result<std::vector<NodeId>> sorted_nodes() {
    const auto count = graph_.node_count();
    std::vector<size_t> waits_for(count), position(count);
    std::vector<std::vector<NodeId>> users(count);
    size_t next_position = 0;
    for (NodeId id : graph_.nodes()) {
      position[static_cast<size_t>(id)] = next_position++;
      for (const NamedArgument& input : graph_.node(id).inputs) {
        for_each_value(input.arg, [&](ValueId value) {
          const Definition& definition = graph_.value(value).definition;
          if (definition.by != Definition::By::node || is_constant(value)) return;
          users[static_cast<size_t>(definition.node)].push_back(id);
          ++waits_for[static_cast<size_t>(id)];
        });
      }
    }
    rank_.assign(graph_.value_count(), -1);
    for (const Argument& input : inputs_) add_ranks(input);
    const std::vector<uint64_t> hashes = tie_break_ == TieBreak::content
                                             ? content_hashes(graph_, inputs_, outputs_)
                                             : std::vector<uint64_t>(count);
    std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> candidates;
    const auto add_candidate = [&](NodeId id) {
      const auto index = static_cast<size_t>(id);
      candidates.emplace(graph_.node(id).target, argument_ranks(graph_.node(id)), hashes[index],
                         position[index], id);
    };
    for (NodeId id : graph_.nodes())
      if (waits_for[static_cast<size_t>(id)] == 0) add_candidate(id);
    std::vector<NodeId> sorted;
    while (!candidates.empty()) {
      const NodeId id = std::get<NodeId>(candidates.top());
      candidates.pop();
      sorted.push_back(id);
      for (const Argument& output : graph_.node(id).outputs) add_ranks(output);
      for (NodeId user : users[static_cast<size_t>(id)])
        if (--waits_for[static_cast<size_t>(user)] == 0) add_candidate(user);
    }
    if (sorted.size() != graph_.nodes().size()) {
      return Error{ErrorCode::invalid,
                   fmt::format("{} nodes use one another in a circle",
                               graph_.nodes().size() - sorted.size()),
                   {}};
    }
    return sorted;
  }

  bool is_constant(ValueId id) const { return constants_.contains(graph_.value(id).name); }

  void add_ranks(const Argument& argument) {
    for_each_value(argument, [&](ValueId id) { rank_[static_cast<size_t>(id)] = next_rank_++; });
  }

  ArgumentRanks argument_ranks(const Node& node) const {
    ArgumentRanks out;
    for (const NamedArgument& input : node.inputs) {
      std::vector<int64_t> ranks;
      for_each_tree_leaf(input.arg, [&](const Argument& leaf) {
        const auto* id = leaf.get_if<ValueId>();
        ranks.push_back(id && !is_constant(*id) ? rank_[static_cast<size_t>(*id)] : -1);
      });
      out.emplace_back(input.name, std::move(ranks));
    }
    return out;
  }

  // Returns new names, numbered in the order of definition.
  std::vector<std::pair<std::string, ValueId>> renamed_values(const std::vector<NodeId>& order) {
    std::vector<std::pair<std::string, ValueId>> values;
    const auto rename = [&](const Argument& argument) {
      for_each_value(argument, [&](ValueId id) {
        // Schema 1 finds a constant by its value's name, so that name is kept.
        if (embedded_constants_.contains(graph_.value(id).name)) return;
        values.emplace_back(fmt::format("_{}", values.size()), id);
        names_.insert(id);
      });
    };
    for (const Argument& input : inputs_) rename(input);
    for (NodeId id : order)
      for (const Argument& output : graph_.node(id).outputs) rename(output);
    return values;
  }

  Result<void> copy_nodes(const std::vector<NodeId>& order, Graph& out) {
    // Counts only graphs that are an argument themselves, like PyTorch.
    size_t count = 0;
    for (NodeId id : order) {
      Node copy = graph_.node(id);
      for (NamedArgument& input : copy.inputs) {
        if (const auto* subgraph = input.arg.get_if<SubgraphId>()) {
          const Graph& nested = graph_.subgraph(*subgraph);
          Canonicalizer inner(nested, nested.inputs(), nested.outputs(), constants_,
                              embedded_constants_, tie_break_);
          PT2_TRY(CanonicalGraph canonical, inner.run());
          canonical.graph.name = fmt::format("_g{}", count++);
          input.arg = Argument(out.add_subgraph(std::move(canonical.graph)));
        } else {
          input.arg = translated(input.arg);
        }
        input.spelling = {};
      }
      for (Argument& output : copy.outputs) output = translated(output);
      copy.metadata.clear();
      if (tie_break_ == TieBreak::content) copy.name.reset();
      copy.spelling = {};
      out.add_node(std::move(copy));
    }
    return {};
  }

  Argument translated(Argument argument) const {
    for_each_leaf(argument, [&](Argument& leaf) {
      if (auto* id = leaf.get_if<ValueId>()) *id = ids_[static_cast<size_t>(*id)];
    });
    return argument;
  }

  const Graph& graph_;
  std::span<const Argument> inputs_, outputs_;
  const Names& constants_;
  const Names& embedded_constants_;
  TieBreak tie_break_;
  std::vector<int64_t> rank_;
  int64_t next_rank_ = 0;
  std::set<ValueId> names_;
  std::vector<ValueId> ids_;  // new ids, by old id
};

int input_rank(const InputSpec& spec) {
  switch (spec.kind) {
    case InputKind::token:
      return 0;
    case InputKind::parameter:
      return 1;
    case InputKind::buffer:
      return 2;
    case InputKind::constant_tensor:
      return 3;
    case InputKind::custom_obj:
      return 4;
    case InputKind::user_input:
      return spec.arg.is_constant() && !spec.arg.name.empty() ? 6 : 5;
  }
  return 5;
}

int output_rank(const OutputSpec& spec) {
  switch (spec.kind) {
    case OutputKind::token:
      return 0;
    case OutputKind::parameter_mutation:
      return 1;
    case OutputKind::buffer_mutation:
      return 2;
    case OutputKind::user_input_mutation:
      return 3;
    case OutputKind::user_output:
    case OutputKind::loss_output:
      return 4;
    case OutputKind::gradient_to_parameter:
      return 5;
    case OutputKind::gradient_to_user_input:
      return 6;
  }
  return 4;
}

// Within a kind, specs with their own name are sorted by it; other specs keep their order.
std::string sort_name(const InputSpec& spec) {
  if (spec.kind == InputKind::user_input)
    return input_rank(spec) == 6 ? spec.arg.name : std::string();
  return spec.target.value_or("");
}
std::string sort_name(const OutputSpec& spec) {
  switch (spec.kind) {
    case OutputKind::parameter_mutation:
    case OutputKind::buffer_mutation:
    case OutputKind::gradient_to_parameter:
      return spec.target.value_or("");
    default:
      return {};
  }
}

template <class Spec, class Rank>
Result<std::vector<size_t>> sorted_specs(const std::vector<Spec>& specs, size_t arguments,
                                         std::string_view what, Rank rank) {
  if (specs.size() != arguments) {
    return Error{ErrorCode::invalid,
                 fmt::format("found {} {} specs, expected {}, one for each graph {}", specs.size(),
                             what, arguments, what),
                 ".graph_module.signature"};
  }
  std::vector<std::tuple<int, std::string, size_t>> keys;
  for (size_t i = 0; i < specs.size(); ++i)
    keys.emplace_back(rank(specs[i]), sort_name(specs[i]), i);
  std::ranges::sort(keys);
  std::vector<size_t> order;
  for (const auto& key : keys) order.push_back(std::get<size_t>(key));
  return order;
}

template <class T>
std::vector<T> permuted(std::span<const T> items, const std::vector<size_t>& order) {
  std::vector<T> out;
  for (size_t index : order) out.push_back(items[index]);
  return out;
}

// Returns the names in ExportedProgram.constants; references to them do not affect the order.
Names constant_names(const GraphSignature& signature) {
  Names names;
  for (const InputSpec& spec : signature.input_specs) {
    const bool is_constant = spec.kind == InputKind::constant_tensor ||
                             spec.kind == InputKind::custom_obj ||
                             (spec.kind == InputKind::buffer && spec.persistent == false);
    if (is_constant && spec.target) names.insert(*spec.target);
  }
  return names;
}

void rename(std::string& name, const NameTable& new_names) {
  if (const auto found = new_names.find(name); found != new_names.end()) name = found->second;
}

void rename_signature(GraphSignature& signature, const NameTable& new_names) {
  for (InputSpec& spec : signature.input_specs)
    if (!spec.arg.is_constant()) rename(spec.arg.name, new_names);
  for (OutputSpec& spec : signature.output_specs) {
    if (!spec.arg.is_constant()) rename(spec.arg.name, new_names);
    const bool names_input = spec.kind == OutputKind::user_input_mutation ||
                             spec.kind == OutputKind::gradient_to_user_input;
    if (names_input && spec.target) rename(*spec.target, new_names);
  }
}

}  // namespace

Result<Program> canonicalize(const Program& program, TieBreak tie_break) {
  const GraphSignature& signature = program.signature;
  const Graph& graph = program.graph;
  PT2_TRY(const auto input_order,
          sorted_specs(signature.input_specs, graph.inputs().size(), "input", input_rank));
  PT2_TRY(const auto output_order,
          sorted_specs(signature.output_specs, graph.outputs().size(), "output", output_rank));
  const std::vector<Argument> inputs = permuted(graph.inputs(), input_order);
  const std::vector<Argument> outputs = permuted(graph.outputs(), output_order);
  const Names constants = constant_names(signature);
  Names embedded_constants;
  for (const EmbeddedConstant& constant : program.embedded_constants)
    embedded_constants.insert(constant.name);
  PT2_TRY(CanonicalGraph canonical,
          Canonicalizer(graph, inputs, outputs, constants, embedded_constants, tie_break).run());

  Program out;
  out.graph = std::move(canonical.graph);
  out.signature.input_specs = permuted(std::span(signature.input_specs), input_order);
  out.signature.output_specs = permuted(std::span(signature.output_specs), output_order);
  rename_signature(out.signature, canonical.new_names);
  out.range_constraints = program.range_constraints;
  std::ranges::stable_sort(out.range_constraints, {}, [](const RangeConstraint& range) {
    return std::string_view(range.key->text);
  });
  out.guards_code = program.guards_code;
  std::ranges::sort(out.guards_code);
  out.module_call_graph = program.module_call_graph;
  std::ranges::stable_sort(out.module_call_graph, {}, &ModuleCallEntry::fqn);
  out.embedded_constants = program.embedded_constants;
  out.schema_version = program.schema_version;
  out.torch_version = program.torch_version;
  out.verifiers = program.verifiers;
  out.opset_version = program.opset_version;
  std::ranges::stable_sort(out.opset_version, {}, &std::pair<std::string, int64_t>::first);
  out.expressions = program.expressions;
  return out;
}

}  // namespace pt2
