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
#include "pt2/ir/builder.h"

namespace pt2 {
namespace {

constexpr std::string_view kAlias = "torch.ops.aten.alias.default";
constexpr std::string_view kCopyInPlace = "torch.ops.aten.copy_.default";
constexpr std::string_view kWhere = "torch.ops.aten.where.self";
constexpr std::string_view kSelect = "torch.ops.aten.select.int";

// Limits the views of views that are followed, and the updates of one part.
constexpr size_t kMostInner = 8;
// Limits the visits of nodes and uses, for each node and value of the graph.
constexpr size_t kMostVisits = 16;

// A node that changes elements of a value, its input number `self`. It either has an operator that
// does so in place, or is a scatter: it replaces what a view shows by `part`.
struct Update {
  NodeId node{};
  size_t self = 0;
  std::string in_place{};               // the operator; empty for a scatter
  std::string view{};                   // the view's operator
  std::vector<NamedArgument> region{};  // the view's arguments after self
  ValueId part{};
  // The updates of the view of self that give the part, in their order: PyTorch writes
  // `view.copy_(x)` as the scatter of `copy(view, x)`. If there are none, the part is copied.
  std::vector<Update> inner{};
};

// True if the write is a copy. It reads all of its source before it writes: they may overlap.
bool is_copy(const Update& write) {
  return write.in_place.empty() || write.in_place == kCopyInPlace;
}

ValueId operand(const Graph& graph, const Update& update) {
  return *graph.node(update.node).inputs[update.self].arg.get_if<ValueId>();
}

// Returns the node that defines the argument, if it has this target; else null.
const Node* made_by(const Graph& graph, const Argument* argument, std::string_view target) {
  const auto* id = argument != nullptr ? argument->get_if<ValueId>() : nullptr;
  if (id == nullptr) return nullptr;
  const Node* node = find_maker(graph, *id);
  return node != nullptr && node->target == target && find_only_output(*node) != nullptr ? node
                                                                                         : nullptr;
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

// True if the node gives a view of its first argument that a scatter can write back.
bool is_view(const Node& node) {
  const ops::Operator op = ops::find_operator(node.target);
  return op && op.custom == nullptr && op.form == ops::Operator::Form::as_written &&
         !op.def->facts.scatter.empty() && find_only_output(node) != nullptr &&
         !node.inputs.empty();
}

// True if the node shows the same part of its argument as a call with the arguments of `region`.
bool shows(const Node& view, std::span<const NamedArgument> region) {
  return view.inputs.size() == region.size() + 1 &&
         std::ranges::all_of(region, [&](const NamedArgument& each) {
           return same_number(view.find_input(each.name), &each.arg);
         });
}

// True if the values are the same one, or the same views of the same one: functionalization makes
// the views of a value again where it writes them back.
bool same_views(const Graph& graph, const Argument& one, const Argument& other, size_t depth = 0) {
  const auto *first = one.get_if<ValueId>(), *second = other.get_if<ValueId>();
  if (first == nullptr || second == nullptr || depth > kMostInner) return false;
  if (*first == *second) return true;
  const Node *view = find_maker(graph, *first), *again = find_maker(graph, *second);
  return view != nullptr && again != nullptr && view->target == again->target && is_view(*view) &&
         is_view(*again) && shows(*view, std::span(again->inputs).subspan(1)) &&
         same_views(graph, view->inputs[0].arg, again->inputs[0].arg, depth + 1);
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
std::optional<Update> selected_update(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (find_only_output(node) == nullptr) return std::nullopt;
  const TensorMeta* whole = tensor_meta(graph, node.find_input("other"));
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
  const TensorMeta* changed = tensor_meta(graph, part);
  if (arange == nullptr || changed == nullptr || changed->dtype != whole->dtype ||
      result == nullptr || result->sizes != whole->sizes || !dim || !index || *dim < 0 ||
      static_cast<size_t>(*dim) >= whole->sizes.size())
    return std::nullopt;
  std::vector<SymInt> selected = whole->sizes;
  selected.erase(selected.begin() + *dim);
  if (changed->sizes != selected) return std::nullopt;  // `where` repeats it
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
  return Update{.node = id,
                .self = static_cast<size_t>(found - node.inputs.begin()),
                .view = std::string(kSelect),
                .region = {arg("dim", Argument(*dim)), arg("index", Argument(*index))},
                .part = *part->get_if<ValueId>()};
}

// Returns the operator of a node that computes its only result from its first argument, a value;
// none for other nodes.
ops::Operator computing_operator(const Node& node) {
  const ops::Operator op = ops::find_operator(node.target);
  const bool computes = op && op.custom == nullptr && op.form == ops::Operator::Form::as_written &&
                        !op.mutates() && !op.def->is_view() && find_only_output(node) != nullptr &&
                        node.inputs.size() >= 2 && node.target.starts_with(kAten) &&
                        node.inputs[0].arg.is<ValueId>() &&
                        node.inputs[0].name == op.signature().begin()->name;
  return computes ? op : ops::Operator();
}

// Returns the row of the view that the node writes back; null if it is no scatter.
const ops::OpDef* view_written_back(const Node& node) {
  std::string_view name = node.target;
  if (!name.starts_with(kAten)) return nullptr;
  name = name.substr(0, name.rfind('.')).substr(kAten.size());
  const ops::OpDef* view = view_of_scatter(name);
  return view != nullptr && computing_operator(node) ? view : nullptr;
}

// Returns the node as an update. Nothing if it is none, or if its result may have other sizes or
// another dtype than the operand.
std::optional<Update> update_of(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.target == kWhere) return selected_update(graph, id);
  Update update{.node = id};
  if (const ops::OpDef* view = view_written_back(node)) {
    if (tensor_meta(graph, node.inputs[1].arg) == nullptr) return std::nullopt;
    update.view = ops::target_of(*view->signature);
    update.part = *node.inputs[1].arg.get_if<ValueId>();
    update.region.assign(node.inputs.begin() + 2, node.inputs.end());
    return update;
  }
  const ops::Operator op = computing_operator(node);
  if (!op || op.def->change_boxed == nullptr) return std::nullopt;
  const size_t name_end = node.target.rfind('.');
  update.in_place = node.target.substr(0, name_end) + "_" + node.target.substr(name_end);
  const ops::Operator in_place = ops::find_operator(update.in_place);
  if (in_place.form != ops::Operator::Form::in_place || in_place.def != op.def) return std::nullopt;
  return update;
}

class Reinplacer {
 public:
  Reinplacer(Graph& graph, std::span<const NewValue> new_values)
      : graph_(graph),
        classes_(memory_classes(graph)),
        members_(classes_.size()),
        positions_(graph.node_count()),
        is_new_value_(graph.outputs().size()),
        visits_left_(kMostVisits * (graph.node_count() + graph.value_count())) {
    size_t position = 0;
    for (const NodeId id : graph.nodes()) positions_[static_cast<size_t>(id)] = position++;
    for (const ValueId id : graph.values()) members_[class_of(id)].push_back(id);
    for (const NewValue& each : new_values) is_new_value_[each.output] = true;
  }

  bool write_to_input(const NewValue& each) {
    const auto* value = graph_.outputs()[each.output].get_if<ValueId>();
    if (value == nullptr) return false;
    const auto is_input = [&](ValueId now) { return now == each.input; };
    return write_in_place(updates_to(*value, visits_left_, is_input), false);
  }

  // Writes the parts that the node and those before it replace to the value that they begin with.
  bool write_to_computed(NodeId last) {
    if (!replaced_.insert(last).second || !replaces_part(graph_, last)) return false;
    const auto is_start = [&](ValueId now) {
      const auto maker = maker_of(graph_, now);
      return !maker || !replaces_part(graph_, *maker);
    };
    std::vector<Update> updates =
        updates_to(only_output(graph_.node(last)), visits_left_, is_start);
    for (const Update& update : updates) replaced_.insert(update.node);
    // The first node copies what others hold, and the copy may be written to.
    if (!updates.empty() && !has_own_memory(operand(graph_, updates.front())))
      updates.erase(updates.begin());
    return write_in_place(std::move(updates), true);
  }

 private:
  // The writes to an input's memory in their order, and the classes of values that lie in the
  // memory, each with the number of writes that its values include.
  struct Writes {
    std::vector<const Update*> order;
    std::map<uint32_t, size_t> versions;
    std::unordered_set<NodeId> scatters;  // the nodes that become aliases and read nothing then
  };

  // The caller may get the new value of a computed value, which has memory of its own.
  bool write_in_place(std::vector<Update> updates, bool is_computed) {
    if (updates.empty()) return false;
    for (Update& update : updates) find_inner(update, 0);
    Writes writes;
    if (!add_class(operand(graph_, updates.front()), writes) || !collect(updates, writes) ||
        !may_write(writes, is_computed))
      return false;
    for (const auto& [memory, version] : writes.versions) taken_.insert(memory);
    for (const Update& update : updates) rewrite(update);
    return true;
  }

  // True if a node makes the value and nothing before it may lie in its memory.
  bool has_own_memory(ValueId value) const {
    const auto made = maker_of(graph_, value);
    return made && std::ranges::all_of(members_[class_of(value)], [&](ValueId each) {
             const auto other = maker_of(graph_, each);
             return other && position(*other) >= position(*made);
           });
  }

  // Returns the updates that lead from a value for which `is_start` holds to `value`, in their
  // order. Nothing (empty) if something else does, or if there are too many.
  template <class IsStart>
  std::vector<Update> updates_to(ValueId value, size_t most, const IsStart& is_start) {
    std::vector<Update> updates;
    while (!is_start(value)) {
      const auto maker = maker_of(graph_, value);
      if (!maker || updates.size() == most || !may_visit()) return {};
      std::optional<Update> update = update_of(graph_, *maker);
      if (!update) return {};
      value = operand(graph_, *update);
      updates.push_back(*std::move(update));
    }
    std::ranges::reverse(updates);
    return updates;
  }

  // Finds the updates of the view that an update writes back, and so on.
  void find_inner(Update& update, size_t depth) {
    if (update.view.empty() || depth == kMostInner) return;
    const Argument self(operand(graph_, update));
    const auto is_view_of_self = [&](ValueId value) {
      const Argument argument(value);
      const Node* view = made_by(graph_, &argument, update.view);
      return view != nullptr && shows(*view, update.region) &&
             same_views(graph_, view->inputs[0].arg, self);
    };
    update.inner = updates_to(update.part, kMostInner, is_view_of_self);
    for (Update& each : update.inner) find_inner(each, depth + 1);
  }

  // False if the graph has been searched for too long.
  bool may_visit() { return visits_left_ > 0 && --visits_left_ > 0; }

  uint32_t class_of(ValueId id) const { return classes_[static_cast<size_t>(id)]; }
  size_t position(NodeId id) const { return positions_[static_cast<size_t>(id)]; }

  // False if another input is written in the class, or another version of this one.
  bool add_class(ValueId value, Writes& writes) const {
    const uint32_t memory = class_of(value);
    return !taken_.contains(memory) && writes.versions.emplace(memory, writes.order.size()).second;
  }

  // Adds what the updates write. False if two values meet in one class, or if a part may not fit a
  // place that the call computes, or a part of such a place (`in_computed`): a scatter refuses it,
  // but a copy repeats it.
  bool collect(const std::vector<Update>& updates, Writes& writes, bool in_computed = false) const {
    for (const Update& update : updates) {
      const bool is_computed =
          in_computed || std::ranges::any_of(update.region, [](const NamedArgument& each) {
            return each.arg.is<ValueId>();
          });
      if (update.inner.empty()) {
        if (is_computed && !update.view.empty()) return false;
        writes.order.push_back(&update);
      } else {
        if (!collect(update.inner, writes, is_computed)) return false;
        writes.scatters.insert(update.node);
      }
      if (!add_class(only_output(graph_.node(update.node)), writes)) return false;
    }
    return true;
  }

  // True if nobody reads a value that a write replaces, or a view of it, after the write, and no
  // caller gets the memory of an input. To make a view is not to read.
  bool may_write(const Writes& writes, bool is_computed) {
    for (const auto& [memory, version] : writes.versions) {
      const Update* next = version < writes.order.size() ? writes.order[version] : nullptr;
      for (const ValueId id : members_[memory]) {
        if (!may_visit()) return false;
        for (const Use& use : graph_.uses(id)) {
          if (!may_visit()) return false;
          if (!use.node) {
            if (next != nullptr || !(is_computed || is_new_value_[use.index])) return false;
            continue;
          }
          if (next == nullptr) continue;
          if (*use.node == next->node
                  ? use.index != next->self && !is_copy(*next)
                  : position(*use.node) > position(next->node) &&
                        !writes.scatters.contains(*use.node) && !is_view(graph_.node(*use.node)))
            return false;
        }
      }
    }
    return true;
  }

  void rewrite(const Update& update) {
    if (update.view.empty()) {
      graph_.set_node_target(update.node, update.in_place);
      return;
    }
    for (const Update& each : update.inner) rewrite(each);
    if (update.inner.empty()) copy_to_view(update);
    // A value of its own, made after the write: unlike the input, it does not change later.
    become(graph_, update.node, kAlias, {arg("self", Argument(operand(graph_, update)))});
  }

  void copy_to_view(const Update& update) {
    const Node& node = graph_.node(update.node);
    TensorMeta meta = *graph_.value(update.part).tensor();
    meta.dtype = tensor_meta(graph_, node.inputs[update.self].arg)->dtype;
    meta.strides.clear();
    std::vector<NamedArgument> region{arg("self", node.inputs[update.self].arg)};
    region.insert(region.end(), update.region.begin(), update.region.end());
    NewNodes nodes(graph_, update.node);
    const ValueId view = nodes.call(update.view, "written", meta, std::move(region));
    nodes.call(kCopyInPlace, "copied", std::move(meta),
               {arg("self", Argument(view)), arg("src", Argument(update.part))});
    positions_.resize(graph_.node_count(), position(update.node));
  }

  Graph& graph_;
  // Of the graph before any change: the classes of memory, their values, and the nodes' places.
  std::vector<uint32_t> classes_;
  std::vector<std::vector<ValueId>> members_;
  std::vector<size_t> positions_;
  std::vector<bool> is_new_value_;  // of the graph's outputs
  std::set<uint32_t> taken_;        // classes that are written to now
  std::set<NodeId> replaced_;       // the nodes that were tried
  // Outputs of a hostile file may lead back through the same nodes many times.
  size_t visits_left_;
};

}  // namespace

bool reinplace(Graph& graph, std::span<const NewValue> new_values) {
  Reinplacer reinplacer(graph, new_values);
  bool changed = false;
  for (const NewValue& each : new_values) changed |= reinplacer.write_to_input(each);
  return changed;
}

bool replaces_part(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.target == kWhere) return selected_update(graph, id).has_value();
  return view_written_back(node) != nullptr && tensor_meta(graph, node.inputs[1].arg) != nullptr;
}

bool reinplace_parts(Graph& graph) {
  const auto in_order = graph.nodes();
  std::vector<NodeId> nodes(in_order.begin(), in_order.end());
  std::ranges::reverse(nodes);
  Reinplacer reinplacer(graph, {});
  bool changed = false;
  for (const NodeId id : nodes) changed |= reinplacer.write_to_computed(id);
  return changed;
}

}  // namespace pt2
