#include "lower/functional/functionalize.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "ir/graph_place.h"
#include "ir/target.h"
#include "lower/arguments.h"
#include "lower/functional/views.h"
#include "lower/functional/writes.h"
#include "lower/new_nodes.h"

namespace pt2 {
namespace {

// The maximum depth of a chain of views: a write through a view is repeated at every level.
constexpr size_t kDeepest = 64;

class Functionalizer {
 public:
  Functionalizer(Graph& graph, const RefuseInput& refuse, std::vector<UnfunctionalNode>& failures,
                 NodeBudget& budget)
      : graph_(graph),
        refuse_(refuse),
        failures_(failures),
        budget_(budget),
        values_(graph.value_count()) {}

  void run() {
    for (ValueId id : graph_.values()) make_root(id);
    const std::vector<NodeId> nodes(graph_.nodes().begin(), graph_.nodes().end());
    for (position_ = 0; position_ < nodes.size(); ++position_) {
      at_ = nodes[position_];
      target_ = node().target;
      next_ = position_ + 1 < nodes.size() ? std::optional(nodes[position_ + 1]) : std::nullopt;
      visit();
    }
    std::vector<Argument> outputs(graph_.outputs().begin(), graph_.outputs().end());
    std::set<ValueId> roots;
    for (Argument& output : outputs) {
      for_each_value(output, [&](ValueId id) {
        const Tracked& root = tracked(root_of(id));
        shares_results_ |=
            is_input(root.root) || !root.unclear.empty() || !roots.insert(root.root).second;
      });
      replace_values(output, std::nullopt);
    }
    graph_.set_outputs(std::move(outputs));
    erase_unused();
  }

  std::vector<FunctionalGraph::Mutation> mutations() const {
    std::vector<FunctionalGraph::Mutation> out;
    for (const Argument& input : graph_.inputs())
      for_each_value(input, [&](ValueId id) {
        const Tracked& each = tracked(id);
        if (each.generation > 0) out.push_back({id, each.current});
      });
    return out;
  }
  // True if a result may share memory with an input or with another result.
  bool shares_results() const { return shares_results_; }

 private:
  // A value of the original graph, and the value that now stands for it.
  struct Tracked {
    ValueId current{};
    ValueId root{};    // the value that owns the memory; for most values the value itself
    ValueId parent{};  // the value that this is a view of
    std::optional<NodeId> node{};  // the node that makes the view
    size_t item = 0;               // the number of the value among the node's results
    View view{};
    size_t depth = 0;
    uint32_t seen = 0;  // the root's generation at which `current` was valid
    // Roots only: the number of writes to the memory, and the target of a node that may alias it.
    uint32_t generation = 0;
    std::string unclear{};
  };

  Tracked& tracked(ValueId id) { return values_[static_cast<size_t>(id)]; }
  const Tracked& tracked(ValueId id) const { return values_[static_cast<size_t>(id)]; }
  ValueId root_of(ValueId id) const { return tracked(id).root; }
  bool is_input(ValueId id) const {
    return graph_.value(id).definition.by == Definition::By::graph_input;
  }

  void make_root(ValueId id) {
    Tracked& each = tracked(id);
    each = {.current = id, .root = id, .parent = id};
  }

  void fail(std::string text) {
    NodePlace place = describe_node(graph_, node());
    place.target = target_;
    failures_.push_back({&graph_, position_, std::move(place), std::move(text)});
  }
  void fail_beyond_budget() {
    fail(fmt::format("{} takes part in more writes through views than {} nodes can do", target_,
                     budget_.most()));
  }
  const Node& node() const { return graph_.node(at_); }

  // Inserts a node before `before`, or at the end of the graph. Returns its only result.
  ValueId insert(Node added, TensorMeta meta, std::string_view name, NodeId from,
                 std::optional<NodeId> before) {
    const ValueId value =
        graph_.add_value({.name = graph_.unused_name(name), .meta = std::move(meta)}).value();
    added.outputs = {Argument(value)};
    added.metadata = graph_.node(from).metadata;
    if (!budget_.is_spent() && !budget_.take(weight_of(graph_, added))) fail_beyond_budget();
    inserted_.push_back(before ? graph_.insert_node(std::move(added), *before)
                               : graph_.add_node(std::move(added)));
    return value;
  }

  // Returns the current value of `id`. Views are applied again if their memory was written to
  // since. kDeepest bounds the recursion.
  ValueId read(ValueId id, std::optional<NodeId> before) {
    const Tracked each = tracked(id);
    const uint32_t generation = tracked(each.root).generation;
    if (each.seen == generation || budget_.is_spent()) return each.current;
    ValueId current = read(each.parent, before);
    if (each.view.inverse != Inverse::same) {
      auto again = view_again(graph_, graph_.node(*each.node), each.view, each.item, current);
      if (!again) {
        fail(
            fmt::format("{} cannot be viewed again after a write", graph_.node(*each.node).target));
        return each.current;
      }
      const GraphValue& value = graph_.value(id);
      current = insert(*std::move(again), *value.tensor(), value.name, *each.node, before);
    }
    tracked(id).current = current;
    tracked(id).seen = generation;
    return current;
  }

  bool replace_values(Argument& argument, std::optional<NodeId> before) {
    bool changed = false;
    for_each_leaf(argument, [&](Argument& leaf) {
      auto* id = leaf.get_if<ValueId>();
      if (id == nullptr) return;
      const ValueId current = read(*id, before);
      changed |= current != *id;
      *id = current;
    });
    return changed;
  }

  void read_inputs() {
    std::vector<NamedArgument> inputs = node().inputs;
    bool changed = false;
    for (NamedArgument& input : inputs) changed |= replace_values(input.arg, at_);
    if (reads_written_memory())
      if (const auto target = copying_form(node().target, inputs)) {
        graph_.set_node_target(at_, *target);
        changed = true;
      }
    if (changed) graph_.set_node_inputs(at_, std::move(inputs));
  }

  void visit() {
    const TargetForm form = target_form(node().target);
    if (form == TargetForm::higher_order) return visit_higher_order();
    // The effect of writes is unknown in graphs that are arguments of such a node.
    bool has_graphs = false;
    for_each_callee(node(), [&](SubgraphId) { has_graphs = true; });
    if (has_graphs) return fail(fmt::format("{} takes no graphs", node().target));
    if (form == TargetForm::function) return read_inputs();
    const ops::Operator op = ops::find_operator(node().target);
    const Write write = write_of(graph_, node(), op);
    switch (write.form) {
      case Write::Form::none:
        return visit_reader(op);
      case Write::Form::view:
        graph_.set_node_target(at_, write.target);
        return visit_reader(ops::find_operator(write.target));
      case Write::Form::in_place:
        return visit_in_place(write);
      case Write::Form::updates:
        return visit_updates(write);
      case Write::Form::unknown:
        return fail(write.text);
    }
  }

  // True if an argument lies in memory that was written to. Its new value lies in other memory,
  // with strides of its own.
  bool reads_written_memory() const {
    return any_operand(node(), [&](ValueId id) { return tracked(root_of(id)).generation > 0; });
  }

  void visit_reader(const ops::Operator& op) {
    const bool looks_at_strides = op && !op.custom && op.def->facts.looks_at_strides;
    if (looks_at_strides && reads_written_memory())
      return fail(fmt::format("{} depends on the strides of memory that was written to before",
                              node().target));
    const Aliasing aliasing = aliasing_of(graph_, node(), op);
    if (aliasing.is_unclear) {
      mark_unclear();
    } else if (aliasing.view) {
      show(*aliasing.view);
    }
    read_inputs();
  }

  // Returns the written argument if `id` is the result of an in-place write, else `id`.
  ValueId itself(ValueId id) const {
    const Tracked& each = tracked(id);
    return id != each.root && each.view.inverse == Inverse::same ? each.parent : id;
  }

  // Tracks the node's results as views of one of its arguments.
  void show(const View& view) {
    const auto* argument = node().inputs[view.input].arg.get_if<ValueId>();
    if (argument == nullptr || graph_.value(*argument).tensor() == nullptr) return mark_unclear();
    const ValueId parent = itself(*argument);
    const Tracked& shown = tracked(parent);
    const Tracked like{.root = shown.root,
                       .parent = parent,
                       .node = at_,
                       .view = view,
                       .depth = shown.depth + 1,
                       .seen = tracked(shown.root).generation};
    size_t item = 0;
    for_each_result(node(), [&](ValueId id) {
      if (graph_.value(id).tensor() != nullptr) tracked(id) = like;
      tracked(id).current = id;
      tracked(id).item = item++;
    });
    if (like.depth > kDeepest) tracked(like.root).unclear = "a view of many views";
  }

  // Marks all arguments and results of the node: its results may share memory with any argument.
  void mark_unclear() {
    const auto mark = [&](ValueId id) {
      if (graph_.value(id).tensor() != nullptr) tracked(root_of(id)).unclear = node().target;
    };
    for_each_operand(node(), mark);
    for_each_result(node(), mark);
  }

  void visit_higher_order() {
    bool shares = false;
    const RefuseInput refuse = [](ValueId) { return std::string("an input of a nested graph"); };
    for_each_callee(node(), [&](SubgraphId id) {
      Functionalizer nested(graph_.subgraph(id), refuse, failures_, budget_);
      nested.run();
      shares |= nested.shares_results();
    });
    if (shares) mark_unclear();
    read_inputs();
  }

  // True if the memory may be written to; otherwise reports a failure.
  bool may_write(ValueId id) {
    if (budget_.is_spent()) {
      if (failures_.empty()) fail_beyond_budget();  // an earlier pass has spent the budget
      return false;
    }
    const Tracked& root = tracked(root_of(id));
    if (!root.unclear.empty()) {
      fail(fmt::format("{} writes to memory that a result of {} may share", node().target,
                       root.unclear));
      return false;
    }
    const std::string reason = is_input(root.root) && refuse_ ? refuse_(root.root) : "";
    if (!reason.empty()) fail(fmt::format("{} writes to {}", node().target, reason));
    return reason.empty();
  }

  void visit_in_place(const Write& write) {
    const auto* written = node().inputs[write.input].arg.get_if<ValueId>();
    const ValueId* result = find_only_output(node());
    if (written == nullptr || result == nullptr || graph_.value(*written).tensor() == nullptr)
      return fail(fmt::format("{} writes to something that is not a tensor", node().target));
    if (!may_write(*written)) return;
    const ValueId self = itself(*written), value = *result;
    read_inputs();
    std::vector<NamedArgument> inputs = node().inputs;
    for (size_t i = 0; i < inputs.size(); ++i)
      if (const auto renamed = write.names.find(inputs[i].name); renamed != write.names.end())
        inputs[i].name = renamed->second;
    graph_.set_node_inputs(at_, std::move(inputs));
    graph_.set_node_target(at_, write.target);
    graph_.set_value_meta(value, in_memory_of_its_own(*graph_.value(self).tensor()));
    const auto stored = graph_.value(self).tensor()->dtype.dtype();
    const auto computed = dtypes_of_results(graph_, node());
    if (!stored || !computed || computed->size() != 1) return fail_without_rule(write);
    if (!fit_result(value, *stored, computed->front())) return;
    const Tracked& shown = tracked(self);
    tracked(value) = {.current = value,
                      .root = shown.root,
                      .parent = self,
                      .view = {.inverse = Inverse::same},
                      .depth = shown.depth};
    store(value, value);
  }

  void fail_without_rule(const Write& write) {
    fail(fmt::format("{} writes, and no rule says what {} computes", target_, write.target));
  }

  // Casts a result to the dtype of the written memory. Reports a failure if that is not possible.
  bool fit_result(ValueId value, Dtype stored, Dtype computed) {
    const bool fits = dtype_category(computed) <= dtype_category(stored);
    if (!fits)
      fail(fmt::format("{} writes numbers of a kind that its memory does not hold", target_));
    if (fits && computed != stored) cast_result(value, computed);
    return fits;
  }
  // Inserts a cast after the node: its operator computes another dtype than that of the written
  // memory.
  void cast_result(ValueId value, Dtype computed) {
    TensorMeta meta = *graph_.value(value).tensor();
    const ScalarType stored =
        std::exchange(meta.dtype, ScalarType{dtype_info(computed).schema_number});
    const std::string name = graph_.unused_name(graph_.value(value).name);
    const ValueId uncast = graph_.add_value({.name = name, .meta = std::move(meta)}).value();
    std::vector<Argument> outputs = node().outputs;
    for (Argument& output : outputs)
      for_each_leaf(output, [&](Argument& leaf) {
        auto* id = leaf.get_if<ValueId>();
        if (id != nullptr && *id == value) *id = uncast;
      });
    graph_.set_node_outputs(at_, std::move(outputs));
    Node cast{.target = "torch.ops.aten._to_copy.default",
              .inputs = {{.name = "self", .arg = uncast}, {.name = "dtype", .arg = stored}},
              .outputs = {Argument(value)},
              .metadata = node().metadata};
    if (next_)
      graph_.insert_node(std::move(cast), *next_);
    else
      graph_.add_node(std::move(cast));
  }

  // Returns the tensors of an argument that is a tensor or a list of tensors; nothing for other
  // arguments.
  std::optional<std::vector<ValueId>> tensors_of(std::string_view name) const {
    const Argument* argument = node().find_input(name);
    if (argument == nullptr || (!argument->is<ValueId>() && !argument->is<ArgumentList>()))
      return std::nullopt;
    std::vector<ValueId> out;
    bool is_all = true;
    for_each_value(*argument, [&](ValueId id) {
      is_all = is_all && graph_.value(id).tensor() != nullptr;
      out.push_back(id);
    });
    return is_all ? std::optional(out) : std::nullopt;
  }

  // True if the node reads memory after it writes there, or writes there twice. Item i of a list is
  // processed together with item i of the other lists, and a tensor outside of lists with every
  // item.
  bool depends_on_its_writes(const Write& write) const {
    constexpr size_t kNoList = SIZE_MAX;
    using Place = std::pair<const NamedArgument*, size_t>;
    const auto for_each_place = [&](const auto& visit) {
      for (const NamedArgument& input : node().inputs) {
        size_t item = 0;
        const bool is_list = input.arg.is<ArgumentList>();
        for_each_value(input.arg, [&](ValueId id) {
          if (graph_.value(id).tensor() == nullptr) return;
          visit(root_of(id), Place(&input, is_list ? item++ : kNoList));
        });
      }
    };
    std::map<ValueId, Place> written;
    bool found = false;
    for_each_place([&](ValueId root, const Place& place) {
      if (std::ranges::find(write.written, place.first->name) != write.written.end())
        found |= !written.emplace(root, place).second;
    });
    for_each_place([&](ValueId root, const Place& place) {
      const auto write_there = written.find(root);
      if (write_there == written.end() || write_there->second == place) return;
      const auto& [argument, item] = write_there->second;
      const auto* list = argument->arg.get_if<ArgumentList>();
      found |= list != nullptr && list->items.size() > 1 && place.second > item;
    });
    return found;
  }

  void visit_updates(const Write& write) {
    std::vector<std::vector<ValueId>> written;
    for (const std::string& name : write.written) {
      auto tensors = tensors_of(name);
      if (!tensors) return fail(fmt::format("{} has no tensor as its {}", node().target, name));
      written.push_back(*std::move(tensors));
      for (const ValueId id : written.back())
        if (!may_write(id)) return;
    }
    if (depends_on_its_writes(write))
      return fail(fmt::format("{} uses memory after it wrote there", node().target));
    const ops::Operator functional = ops::find_operator(write.target);
    const size_t own_results = functional.signature().return_count - written.size();
    if (node().outputs.size() > own_results)
      return fail(fmt::format("{} has more results than it gives", target_));
    read_inputs();
    std::vector<NamedArgument> inputs = node().inputs;
    std::vector<Argument> outputs = node().outputs;
    const std::string name = node_name();
    const auto add_result = [&](ValueId like) {
      GraphValue value{.name = graph_.unused_name(fmt::format("{}_{}", name, outputs.size())),
                       .meta = in_memory_of_its_own(*graph_.value(like).tensor())};
      return graph_.add_value(std::move(value)).value();
    };
    // The statistics of the batch, which only the functional form returns.
    while (outputs.size() < own_results) {
      const std::vector<ValueId>& like = written[(outputs.size() + 1) % written.size()];
      if (like.empty()) return fail(fmt::format("{} has fewer results than it gives", target_));
      outputs.emplace_back(add_result(like[0]));
    }
    std::vector<std::pair<ValueId, ValueId>> updates;
    for (size_t i = 0; i < written.size(); ++i) {
      ArgumentList list;
      for (const ValueId id : written[i]) {
        updates.emplace_back(id, add_result(id));
        list.items.emplace_back(updates.back().second);
      }
      const bool is_list = node().find_input(write.written[i])->is<ArgumentList>();
      outputs.push_back(is_list ? Argument(std::move(list)) : list.items[0]);
    }
    std::erase_if(inputs, [&](const NamedArgument& each) {
      return functional.signature().find(each.name) == nullptr;
    });
    graph_.set_node_inputs(at_, std::move(inputs));
    graph_.set_node_target(at_, write.target);
    if (node().name && outputs.size() > 1) {
      if (!node_names_) node_names_.emplace(graph_);
      graph_.set_node_name(at_, node_names_->unused(operator_name(write.target)));
    }
    graph_.set_node_outputs(at_, std::move(outputs));
    store_updates(write, updates);
  }

  // `updates` are pairs of a written value and its new value. The new values are the node's last
  // results.
  void store_updates(const Write& write, std::span<const std::pair<ValueId, ValueId>> updates) {
    const auto computed = dtypes_of_results(graph_, node());
    if (!computed || computed->size() < updates.size()) return fail_without_rule(write);
    for (size_t i = 0; i < updates.size(); ++i) {
      const auto& [id, value] = updates[i];
      const auto stored = graph_.value(id).tensor()->dtype.dtype();
      if (!stored) return fail_without_rule(write);
      if (!fit_result(value, *stored, (*computed)[computed->size() - updates.size() + i])) return;
    }
    for (const auto& [id, value] : updates) store(id, value);
  }

  std::string node_name() const {
    const auto* id = node().outputs.empty() ? nullptr : node().outputs[0].get_if<ValueId>();
    return id != nullptr ? graph_.value(*id).name : "written";
  }

  // Records that the memory that `id` views now holds `value`.
  void store(ValueId id, ValueId value) {
    std::vector<ValueId> chain = {id};
    while (true) {
      const Tracked each = tracked(id);
      tracked(id).current = value;
      if (id == each.root) break;
      if (each.view.inverse != Inverse::same) {
        const ValueId whole = read(each.parent, next_);
        auto back = write_back(graph_, graph_.node(*each.node), each.view, each.item, whole, value);
        if (!back)
          return fail(fmt::format("{} writes through {}, which no operator does", target_,
                                  graph_.node(*each.node).target));
        value = insert(*std::move(back), in_memory_of_its_own(*graph_.value(whole).tensor()),
                       graph_.value(each.parent).name, at_, next_);
      }
      id = each.parent;
      chain.push_back(id);
    }
    const uint32_t generation = ++tracked(id).generation;
    for (const ValueId each : chain) tracked(each).seen = generation;
  }

  // Erases inserted nodes whose results have no uses.
  void erase_unused() {
    std::set<ValueId> final_values;
    for (const FunctionalGraph::Mutation& each : mutations()) final_values.insert(each.value);
    std::for_each(inserted_.rbegin(), inserted_.rend(), [&](NodeId id) {
      const ValueId value = *graph_.node(id).outputs[0].get_if<ValueId>();
      // Erasing cannot fail, because the value has no uses.
      if (graph_.uses(value).empty() && !final_values.contains(value)) (void)graph_.erase_node(id);
    });
  }

  Graph& graph_;
  const RefuseInput& refuse_;
  std::vector<UnfunctionalNode>& failures_;
  NodeBudget& budget_;
  std::vector<Tracked> values_;
  std::vector<NodeId> inserted_;
  NodeId at_{};
  std::string target_;  // the node's target before the rewriting
  std::optional<NodeId> next_;
  std::optional<NodeNames> node_names_;
  size_t position_ = 0;
  bool shares_results_ = false;
};

}  // namespace

bool only_computes(const Graph& graph) {
  return !any_node(graph, [&](const Node& node) {
    return target_form(node.target) == TargetForm::overload &&
           write_of(graph, node, ops::find_operator(node.target)).form != Write::Form::none;
  });
}

bool is_functional(const Graph& graph) { return has_form(graph, Form::functional); }

FunctionalGraph functionalize(Graph& graph, const RefuseInput& refuse, NodeBudget& budget) {
  FunctionalGraph out;
  Functionalizer functionalizer(graph, refuse, out.failures, budget);
  functionalizer.run();
  out.mutations = functionalizer.mutations();
  return out;
}

}  // namespace pt2
