#include "lower/functional/reinplace.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ir/target.h"
#include "lower/arguments.h"
#include "lower/new_nodes.h"
#include "lower/written_memory.h"
#include "ops/table.h"

namespace pt2 {
namespace {

constexpr std::string_view kAlias = "torch.ops.aten.alias.default";
constexpr std::string_view kCopy = "torch.ops.aten.copy.default";
constexpr std::string_view kCopyInPlace = "torch.ops.aten.copy_.default";
constexpr std::string_view kSelect = "torch.ops.aten.select.int";

// Limits the views of views that are followed, and the updates of one part.
constexpr size_t kMostInner = 8;

// A node that changes a part of a value, its input number `self`. It either has an operator that
// does so in place, or is a scatter: it replaces what a view shows by `part`.
struct PartialUpdate {
  NodeId node{};
  size_t self = 0;
  std::string in_place{};               // the operator; empty for a scatter
  std::string view{};                   // the view's operator
  std::vector<NamedArgument> region{};  // the view's arguments after self
  ValueId part{};
  // The updates of the view of self that give the part, in their order. If there are none, the part
  // is copied to the view.
  std::vector<PartialUpdate> inner{};
};

ValueId operand(const Graph& graph, const PartialUpdate& update) {
  return *graph.node(update.node).inputs[update.self].arg.get_if<ValueId>();
}

// Returns the node that defines the argument, if it has this target; else null.
const Node* made_by(const Graph& graph, const Argument* argument, std::string_view target) {
  const auto* id = argument != nullptr ? argument->get_if<ValueId>() : nullptr;
  if (id == nullptr) return nullptr;
  const Definition& definition = graph.value(*id).definition;
  if (definition.by != Definition::By::node) return nullptr;
  const Node& node = graph.node(definition.node);
  return node.target == target && node.outputs.size() == 1 ? &node : nullptr;
}

// True if both are the same integer, the same value or omitted.
bool same_number(const Argument* one, const Argument* other) {
  const bool has_one = one != nullptr && !one->is<None>();
  if (!has_one || other == nullptr) return !has_one && (other == nullptr || other->is<None>());
  const auto* integer = one->get_if<int64_t>();
  const auto* value = one->get_if<ValueId>();
  if (integer != nullptr) return other->is<int64_t>() && *other->get_if<int64_t>() == *integer;
  return value != nullptr && other->is<ValueId>() && *other->get_if<ValueId>() == *value;
}

// Returns the row of the view that `scatter` writes back ("slice" for "slice_scatter"); null if
// there is none.
const ops::OpDef* view_of_scatter(std::string_view scatter) {
  static const std::map<std::string_view, const ops::OpDef*> kViews = [] {
    std::map<std::string_view, const ops::OpDef*> views;
    for (const ops::Family& family : ops::families())
      for (const ops::OpDef& row : family.rows)
        if (!row.facts.scatter.empty()) views.emplace(row.facts.scatter, &row);
    return views;
  }();
  const auto found = kViews.find(scatter);
  return found != kViews.end() ? found->second : nullptr;
}

// Returns the arguments that PyTorch's decomposition of select_scatter had:
// where(arange(size).view(1, -1, 1) == index, part.unsqueeze(1), self)
// (torch/_refs/__init__.py, select_scatter).
std::optional<PartialUpdate> selected_update(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.outputs.size() != 1) return std::nullopt;
  const Argument* self = node.find_input("other");
  const TensorMeta* whole = self != nullptr ? tensor_meta(graph, *self) : nullptr;
  const Node* equal = made_by(graph, node.find_input("condition"), "torch.ops.aten.eq.Scalar");
  const Argument* source = node.find_input("self");
  if (const Node* expand = made_by(graph, source, "torch.ops.aten.expand.default"))
    source = expand->find_input("self");
  const Node* unsqueeze = made_by(graph, source, "torch.ops.aten.unsqueeze.default");
  if (whole == nullptr || equal == nullptr || unsqueeze == nullptr) return std::nullopt;
  const Node* view = made_by(graph, equal->find_input("self"), "torch.ops.aten.view.default");
  const Node* arange = view == nullptr ? nullptr
                                       : made_by(graph, view->find_input("self"),
                                                 "torch.ops.aten.arange.start_step");
  const Argument* part = unsqueeze->find_input("self");
  const std::optional<int64_t> dim = literal(*unsqueeze, "dim", std::nullopt),
                               index = literal(*equal, "other", std::nullopt);
  const TensorMeta* result = tensor_meta(graph, node.outputs[0]);
  const TensorMeta* changed = part != nullptr ? tensor_meta(graph, *part) : nullptr;
  if (arange == nullptr || changed == nullptr || changed->dtype != whole->dtype ||
      result == nullptr || result->sizes != whole->sizes ||
      changed->sizes.size() + 1 != whole->sizes.size() || !dim || !index || *dim < 0 ||
      static_cast<size_t>(*dim) >= whole->sizes.size())
    return std::nullopt;
  const SymInt& size = whole->sizes[static_cast<size_t>(*dim)];
  if (size.is_symbolic() || *index < 0 || *index >= size.literal() ||
      literal(*arange, "start", std::nullopt) != 0 || literal(*arange, "step", 1) != 1 ||
      literal(*arange, "end", std::nullopt) != size.literal())
    return std::nullopt;
  // The positions lie along the dimension. The record of their view has this size there.
  const TensorMeta* mask = graph.value(only_output(*view)).tensor();
  if (mask == nullptr || mask->sizes.size() != whole->sizes.size()) return std::nullopt;
  for (size_t i = 0; i < mask->sizes.size(); ++i)
    if (mask->sizes[i].is_symbolic() ||
        mask->sizes[i].literal() != (i == static_cast<size_t>(*dim) ? size.literal() : 1))
      return std::nullopt;
  const auto found = std::ranges::find(node.inputs, "other", &NamedArgument::name);
  return PartialUpdate{
      .node = id,
      .self = static_cast<size_t>(found - node.inputs.begin()),
      .view = std::string(kSelect),
      .region = {positional("dim", Argument(*dim)), positional("index", Argument(*index))},
      .part = *part->get_if<ValueId>()};
}

// Returns the node as an update. Nothing if it is none, or if its result may have other sizes or
// another dtype than the operand.
std::optional<PartialUpdate> partial_update(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.target == "torch.ops.aten.where.self") return selected_update(graph, id);
  const ops::Operator op = ops::find_operator(node.target);
  if (!op || op.custom != nullptr || op.form != ops::Operator::Form::as_written || op.mutates() ||
      op.def->is_view() || op.def->rule != &ops::kAddress<ops::like_first> ||
      node.outputs.size() != 1 || node.inputs.size() < 2 || !node.target.starts_with(kAten) ||
      !node.inputs[0].arg.is<ValueId>() || node.inputs[0].name != op.signature().begin()->name)
    return std::nullopt;
  PartialUpdate update{.node = id};
  const size_t name_end = node.target.rfind('.');
  const std::string_view name = std::string_view(node.target).substr(0, name_end);
  if (const ops::OpDef* view = view_of_scatter(name.substr(kAten.size()))) {
    if (tensor_meta(graph, node.inputs[1].arg) == nullptr) return std::nullopt;
    update.view = ops::target_of(*view->signature);
    update.part = *node.inputs[1].arg.get_if<ValueId>();
    update.region.assign(node.inputs.begin() + 2, node.inputs.end());
    return update;
  }
  update.in_place = std::string(name) + "_" + node.target.substr(name_end);
  const ops::Operator in_place = ops::find_operator(update.in_place);
  if (in_place.form != ops::Operator::Form::in_place || in_place.def != op.def) return std::nullopt;
  return update;
}

// Returns the updates that lead from a value for which `is_start` holds to `value`, in their order.
// Nothing (empty) if something else does, or if there are too many.
template <class IsStart>
std::vector<PartialUpdate> updates_to(const Graph& graph, ValueId value, size_t most,
                                      const IsStart& is_start) {
  std::vector<PartialUpdate> updates;
  while (!is_start(value)) {
    const Definition& definition = graph.value(value).definition;
    if (definition.by != Definition::By::node || updates.size() == most) return {};
    std::optional<PartialUpdate> update = partial_update(graph, definition.node);
    if (!update) return {};
    value = operand(graph, *update);
    updates.push_back(*std::move(update));
  }
  std::ranges::reverse(updates);
  return updates;
}

// Finds the updates of the view that an update writes back, and so on.
void find_inner(const Graph& graph, PartialUpdate& update, size_t depth) {
  if (update.view.empty() || depth == kMostInner) return;
  const ValueId self = operand(graph, update);
  const auto is_view_of_self = [&](ValueId value) {
    const Argument argument(value);
    const Node* view = made_by(graph, &argument, update.view);
    return view != nullptr && view->inputs.size() == update.region.size() + 1 &&
           view->inputs[0].arg.is<ValueId>() && *view->inputs[0].arg.get_if<ValueId>() == self &&
           std::ranges::all_of(update.region, [&](const NamedArgument& each) {
             return same_number(view->find_input(each.name), &each.arg);
           });
  };
  update.inner = updates_to(graph, update.part, kMostInner, is_view_of_self);
  for (PartialUpdate& each : update.inner) find_inner(graph, each, depth + 1);
}

class Reinplacer {
 public:
  Reinplacer(Graph& graph, std::span<const NewValue> new_values)
      : graph_(graph),
        classes_(memory_classes(graph)),
        members_(classes_.size()),
        positions_(graph.node_count()),
        is_new_value_(graph.outputs().size()),
        was_functional_(!writes(graph)),
        updates_left_(2 * graph.node_count()) {
    size_t position = 0;
    for (const NodeId id : graph.nodes()) positions_[static_cast<size_t>(id)] = position++;
    for (const ValueId id : graph.values()) members_[class_of(id)].push_back(id);
    for (const NewValue& each : new_values) is_new_value_[each.output] = true;
  }

  bool write_in_place(const NewValue& each) {
    const auto* value = graph_.outputs()[each.output].get_if<ValueId>();
    if (value == nullptr) return false;
    std::vector<PartialUpdate> updates =
        updates_to(graph_, *value, updates_left_, [&](ValueId now) { return now == each.input; });
    if (updates.empty()) return false;
    updates_left_ -= updates.size();
    for (PartialUpdate& update : updates) find_inner(graph_, update, 0);
    Writes writes;
    if (!add_class(each.input, writes) || !collect(updates, writes) || !may_write(writes))
      return false;
    for (const auto& [memory, version] : writes.versions) taken_.insert(memory);
    for (const PartialUpdate& update : updates) rewrite(update);
    return true;
  }

 private:
  // The writes to an input's memory in their order, and the classes of values that lie in the
  // memory, each with the number of writes that its values include.
  struct Writes {
    std::vector<const PartialUpdate*> order;
    std::map<uint32_t, size_t> versions;
    std::unordered_set<NodeId> scatters;  // the nodes that become aliases and read nothing then
  };

  uint32_t class_of(ValueId id) const { return classes_[static_cast<size_t>(id)]; }
  size_t position(NodeId id) const { return positions_[static_cast<size_t>(id)]; }

  // False if another input is written in the class, or another version of this one.
  bool add_class(ValueId value, Writes& writes) const {
    const uint32_t memory = class_of(value);
    return !taken_.contains(memory) && writes.versions.emplace(memory, writes.order.size()).second;
  }

  // Adds what the updates write. False if two values meet in one class.
  bool collect(const std::vector<PartialUpdate>& updates, Writes& writes) const {
    for (const PartialUpdate& update : updates) {
      if (update.inner.empty())
        writes.order.push_back(&update);
      else if (!collect(update.inner, writes))
        return false;
      if (!update.view.empty()) writes.scatters.insert(update.node);
      if (!add_class(only_output(graph_.node(update.node)), writes)) return false;
    }
    return true;
  }

  // True if nobody reads a value that a write replaces, or a view of it, after the write, and no
  // caller gets the memory.
  bool may_write(const Writes& writes) const {
    for (const auto& [memory, version] : writes.versions) {
      const PartialUpdate* next = version < writes.order.size() ? writes.order[version] : nullptr;
      for (const ValueId id : members_[memory])
        for (const Use& use : graph_.uses(id)) {
          if (!use.node) {
            if (next != nullptr || !is_new_value_[use.index]) return false;
            continue;
          }
          if (next == nullptr) continue;
          if (*use.node == next->node ? use.index != next->self
                                      : position(*use.node) > position(next->node) &&
                                            !writes.scatters.contains(*use.node))
            return false;
        }
    }
    return true;
  }

  void rewrite(const PartialUpdate& update) {
    if (update.view.empty()) {
      graph_.set_node_target(update.node, update.in_place);
      return;
    }
    for (const PartialUpdate& each : update.inner) rewrite(each);
    if (update.inner.empty()) copy_to_view(update);
    // A value of its own, made after the write: unlike the input, it does not change later.
    std::vector<ValueId> operands;
    for (const NamedArgument& input : graph_.node(update.node).inputs)
      for_each_value(input.arg, [&](ValueId id) { operands.push_back(id); });
    become(graph_, update.node, kAlias, {positional("self", Argument(operand(graph_, update)))});
    for (const ValueId id : operands) erase_unused(id);
  }

  void copy_to_view(const PartialUpdate& update) {
    const Node& node = graph_.node(update.node);
    TensorMeta meta = *graph_.value(update.part).tensor();
    meta.strides.clear();
    std::vector<NamedArgument> region{positional("self", node.inputs[update.self].arg)};
    region.insert(region.end(), update.region.begin(), update.region.end());
    const Argument source(source_of(update.part));
    NewNodes nodes(graph_, update.node);
    const ValueId view = nodes.call(update.view, "written", meta, std::move(region));
    nodes.call(kCopyInPlace, "copied", std::move(meta),
               {positional("self", Argument(view)), positional("src", source)});
    positions_.resize(graph_.node_count(), position(update.node));
  }

  // Returns what the part was copied from, if it is a copy: PyTorch writes `view.copy_(source)` as
  // the scatter of `copy(view, source)`, whose elements are those of the source. The source must
  // not change between the two.
  ValueId source_of(ValueId part) const {
    const Argument argument(part);
    const Node* copy = was_functional_ ? made_by(graph_, &argument, kCopy) : nullptr;
    const Argument* source = copy != nullptr ? copy->find_input("src") : nullptr;
    const auto* id = source != nullptr ? source->get_if<ValueId>() : nullptr;
    return id != nullptr && !taken_.contains(class_of(*id)) ? *id : part;
  }

  // Erases the node that makes the value, and those that make its operands, if nobody uses them.
  // The scatter was their only user.
  void erase_unused(ValueId value) {
    std::vector<ValueId> unused{value};
    while (!unused.empty()) {
      const ValueId id = unused.back();
      unused.pop_back();
      if (!graph_.contains(id) || !graph_.uses(id).empty()) continue;
      const Definition definition = graph_.value(id).definition;
      if (definition.by != Definition::By::node) continue;
      const Node& node = graph_.node(definition.node);
      const ops::Operator op = ops::find_operator(node.target);
      if (!op || op.custom != nullptr || op.mutates() || op.may_draw() || node.outputs.size() != 1)
        continue;
      for (const NamedArgument& input : node.inputs)
        for_each_value(input.arg, [&](ValueId each) { unused.push_back(each); });
      graph_.erase_node(definition.node).value();
    }
  }

  Graph& graph_;
  // Of the graph before any change: the classes of memory, their values, and the nodes' places.
  std::vector<uint32_t> classes_;
  std::vector<std::vector<ValueId>> members_;
  std::vector<size_t> positions_;
  std::vector<bool> is_new_value_;  // of the graph's outputs
  bool was_functional_;
  std::set<uint32_t> taken_;  // classes that are written to now
  // Values of a hostile file may lead back through the same nodes many times.
  size_t updates_left_ = 0;
};

}  // namespace

bool reinplace(Graph& graph, std::span<const NewValue> new_values) {
  Reinplacer reinplacer(graph, new_values);
  bool changed = false;
  for (const NewValue& each : new_values) changed |= reinplacer.write_in_place(each);
  return changed;
}

}  // namespace pt2
