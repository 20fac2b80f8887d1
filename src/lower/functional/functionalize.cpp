#include "lower/functional/functionalize.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <ranges>
#include <set>
#include <utility>

#include "ir/graph_place.h"
#include "ir/target.h"
#include "lower/arguments.h"
#include "lower/forms.h"
#include "lower/functional/views.h"
#include "lower/functional/writes.h"

namespace pt2 {
namespace {

// A write through a view of views is done again on each of them.
constexpr size_t kDeepest = 64;
// The last two are the running statistics.
constexpr size_t kBatchNormResults = 5;
// It changes nothing that is computed.
constexpr std::string_view kDetachInPlace = "torch.ops.aten.detach_.default";

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
  // Whether a result may share memory with an input or with another result.
  bool shares_results() const { return shares_results_; }

 private:
  // A value of the original graph, and which value now stands for it.
  struct Tracked {
    ValueId current{};
    ValueId root{};                // whose memory it shows; itself for most
    ValueId parent{};              // what it is a view of
    std::optional<NodeId> node{};  // that makes the view
    size_t item = 0;               // which of the node's results it is
    View view{};
    size_t depth = 0;
    uint32_t seen = 0;  // the root's generation that `current` belongs to
    // Of a root: how often its memory was written to, and who may share it.
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

  // New nodes come before `before`, or at the end.
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

  // What the value is now, viewed again where its memory was written to since. Recursion is bounded
  // by kDeepest.
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
    if (changed) graph_.set_node_inputs(at_, std::move(inputs));
  }

  void visit() {
    const TargetForm form = target_form(node().target);
    if (form == TargetForm::higher_order) return visit_higher_order();
    if (form == TargetForm::function) return read_inputs();
    const ops::Operator op = ops::find_operator(node().target);
    const Write write = write_of(graph_, node(), op);
    switch (write.form) {
      case Write::Form::none:
        return visit_reader(op);
      case Write::Form::in_place:
        return visit_in_place(write);
      case Write::Form::batch_norm:
        return visit_batch_norm(write);
      case Write::Form::unknown:
        return fail(write.text);
    }
  }

  void visit_reader(const ops::Operator& op) {
    const Aliasing aliasing = aliasing_of(graph_, node(), op);
    if (aliasing.is_unclear) {
      mark_unclear();
    } else if (aliasing.view) {
      show(*aliasing.view);
    }
    read_inputs();
    if (node().target == kDetachInPlace)
      graph_.set_node_target(at_, "torch.ops.aten.detach.default");
  }

  // The argument where the value is the result of an in-place write to it; the value elsewhere.
  ValueId itself(ValueId id) const {
    const Tracked& each = tracked(id);
    return id != each.root && each.view.inverse == Inverse::same ? each.parent : id;
  }

  // Its results are views of one of its arguments.
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
    for (const Argument& output : node().outputs)
      for_each_value(output, [&](ValueId id) {
        if (graph_.value(id).tensor() != nullptr) tracked(id) = like;
        tracked(id).current = id;
        tracked(id).item = item++;
      });
    if (like.depth > kDeepest) tracked(like.root).unclear = "a view of many views";
  }

  // Its results may share memory with any of its arguments.
  void mark_unclear() {
    const auto mark = [&](ValueId id) {
      if (graph_.value(id).tensor() != nullptr) tracked(root_of(id)).unclear = node().target;
    };
    for (const NamedArgument& input : node().inputs) for_each_value(input.arg, mark);
    for (const Argument& output : node().outputs) for_each_value(output, mark);
  }

  void visit_higher_order() {
    bool shares = false;
    const RefuseInput refuse = [](ValueId) { return std::string("an input of a nested graph"); };
    for (const NamedArgument& input : node().inputs)
      for_each_subgraph(input.arg, [&](SubgraphId id) {
        Functionalizer nested(graph_.subgraph(id), refuse, failures_, budget_);
        nested.run();
        shares |= nested.shares_results();
      });
    if (shares) mark_unclear();
    read_inputs();
  }

  // Whether the memory may be written to; reports it where not.
  bool may_write(ValueId id) {
    if (budget_.is_spent()) {
      if (failures_.empty()) fail_beyond_budget();  // by a pass before this one
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
    const auto* result = node().outputs.size() == 1 ? node().outputs[0].get_if<ValueId>() : nullptr;
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
    const auto computed = dtype_of_result(graph_, node());
    if (!stored || !computed)
      return fail(
          fmt::format("{} writes, and no rule says what {} computes", target_, write.target));
    if (dtype_category(*computed) > dtype_category(*stored))
      return fail(
          fmt::format("{} writes numbers of a kind that its memory does not hold", target_));
    if (*computed != *stored) cast_result(value, *computed);
    const Tracked& shown = tracked(self);
    tracked(value) = {.current = value,
                      .root = shown.root,
                      .parent = self,
                      .view = {.inverse = Inverse::same},
                      .depth = shown.depth};
    store(value, value);
  }

  // The operator gives another dtype than that of the memory that it wrote to.
  void cast_result(ValueId value, Dtype computed) {
    TensorMeta meta = *graph_.value(value).tensor();
    const ScalarType stored =
        std::exchange(meta.dtype, ScalarType{dtype_info(computed).schema_number});
    const std::string name = graph_.unused_name(graph_.value(value).name);
    const ValueId uncast = graph_.add_value({.name = name, .meta = std::move(meta)}).value();
    graph_.set_node_outputs(at_, {Argument(uncast)});
    Node cast{.target = "torch.ops.aten._to_copy.default",
              .inputs = {{.name = "self", .arg = uncast}, {.name = "dtype", .arg = stored}},
              .outputs = {Argument(value)},
              .metadata = node().metadata};
    if (next_)
      graph_.insert_node(std::move(cast), *next_);
    else
      graph_.add_node(std::move(cast));
  }

  void visit_batch_norm(const Write& write) {
    if (node().outputs.size() > kBatchNormResults - 2)
      return fail(fmt::format("{} has more results than it gives", target_));
    std::vector<ValueId> statistics;
    for (const std::string_view name : {"running_mean", "running_var"}) {
      const Argument* argument = node().find_input(name);
      const auto* id = argument != nullptr ? argument->get_if<ValueId>() : nullptr;
      if (id == nullptr || graph_.value(*id).tensor() == nullptr)
        return fail(fmt::format("{} has no tensor as its {}", node().target, name));
      if (!may_write(*id)) return;
      statistics.push_back(*id);
    }
    read_inputs();
    std::vector<NamedArgument> inputs = node().inputs;
    std::erase_if(inputs, [](const NamedArgument& each) { return each.name == "cudnn_enabled"; });
    graph_.set_node_inputs(at_, std::move(inputs));
    graph_.set_node_target(at_, write.target);
    std::vector<Argument> outputs = node().outputs;
    const std::string name = node_name();
    while (outputs.size() < kBatchNormResults) {
      const TensorMeta& like = *graph_.value(statistics[(outputs.size() + 1) % 2]).tensor();
      GraphValue value{.name = graph_.unused_name(fmt::format("{}_{}", name, outputs.size())),
                       .meta = in_memory_of_its_own(like)};
      outputs.emplace_back(graph_.add_value(std::move(value)).value());
    }
    graph_.set_node_outputs(at_, outputs);
    for (size_t i = 0; i < statistics.size(); ++i)
      store(statistics[i], *outputs[kBatchNormResults - 2 + i].get_if<ValueId>());
  }

  std::string node_name() const {
    const auto* id = node().outputs.empty() ? nullptr : node().outputs[0].get_if<ValueId>();
    return id != nullptr ? graph_.value(*id).name : "batch_norm";
  }

  // From here on the memory that `id` shows holds `value`.
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

  // Views that nobody read again.
  void erase_unused() {
    std::set<ValueId> final_values;
    for (const FunctionalGraph::Mutation& each : mutations()) final_values.insert(each.value);
    for (const NodeId id : inserted_ | std::views::reverse) {
      const ValueId value = *graph_.node(id).outputs[0].get_if<ValueId>();
      // Nothing uses it, so that erasing cannot fail.
      if (graph_.uses(value).empty() && !final_values.contains(value)) (void)graph_.erase_node(id);
    }
  }

  Graph& graph_;
  const RefuseInput& refuse_;
  std::vector<UnfunctionalNode>& failures_;
  NodeBudget& budget_;
  std::vector<Tracked> values_;
  std::vector<NodeId> inserted_;
  NodeId at_{};
  std::string target_;  // the node's, as it was
  std::optional<NodeId> next_;
  size_t position_ = 0;
  bool shares_results_ = false;
};

}  // namespace

bool only_computes(const Graph& graph) {
  for (NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    if (target_form(node.target) != TargetForm::overload) continue;
    const ops::Operator op = ops::find_operator(node.target);
    if (write_of(graph, node, op).form != Write::Form::none || node.target == kDetachInPlace)
      return false;
  }
  return true;
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
