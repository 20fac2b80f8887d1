#include "pt2/ir/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <type_traits>
#include <utility>

#include "base/check.h"
#include "base/hash/text_hash.h"
#include "ir/walk.h"

namespace pt2 {
namespace {

void replace_value(Argument& argument, ValueId value, ValueId replacement) {
  for_each_leaf(argument, [&](Argument& leaf) {
    if (auto* id = leaf.get_if<ValueId>(); id != nullptr && *id == value) *id = replacement;
  });
}

Error name_taken(std::string_view name) {
  return {ErrorCode::invalid, fmt::format("the graph already has a value called '{}'", name), {}};
}

// Rejects ids of other graphs and of erased items: using one is a mistake of the caller.
template <class Id>
void require(const Graph& graph, Id id, const char* function) {
  if (!graph.contains(id))
    misused(fmt::format("Graph::{} with {} {}, which the graph does not contain", function,
                        std::is_same_v<Id, NodeId> ? "node" : "value", static_cast<uint32_t>(id)));
}

// The same for the ids inside an argument.
void require_content(const Graph& graph, const Argument& argument) {
  for_each_value(argument, [&](ValueId id) {
    if (!graph.contains(id))
      misused(fmt::format("Graph got an argument with value {}, which the graph does not contain",
                          static_cast<uint32_t>(id)));
  });
  for_each_subgraph(argument, [&](SubgraphId id) {
    if (static_cast<size_t>(id) >= graph.subgraphs().size())
      misused(fmt::format("Graph got an argument with subgraph {}, but contains {}",
                          static_cast<uint32_t>(id), graph.subgraphs().size()));
  });
}

}  // namespace

std::string_view value_kind_name(ValueKind kind) {
  constexpr std::string_view kNames[] = {"tensor", "sym_int", "sym_float", "sym_bool",
                                         "custom_obj"};
  return kNames[static_cast<size_t>(kind)];
}

Graph::Graph() : name_key_(unforeseen_key(this)) {}
Graph::Graph(const Graph&) = default;
Graph::Graph(Graph&&) noexcept = default;
Graph& Graph::operator=(const Graph&) = default;
Graph& Graph::operator=(Graph&&) noexcept = default;
Graph::~Graph() = default;

bool Graph::contains(ValueId id) const {
  const auto index = static_cast<size_t>(id);
  return index < values_.size() && !value_uses_[index].erased;
}

bool Graph::contains(NodeId id) const {
  const auto index = static_cast<size_t>(id);
  return index < nodes_.size() && !links_[index].erased;
}

std::optional<ValueId> Graph::find_value(std::string_view value_name) const {
  if (slots_.empty()) return std::nullopt;
  const uint32_t found = slots_[find_slot(value_name)];
  return found == kNone ? std::nullopt : std::optional(ValueId{found});
}

// Returns the slot that holds the name, or the free slot where it belongs.
size_t Graph::find_slot(std::string_view value_name) const {
  const size_t mask = slots_.size() - 1;
  size_t slot = static_cast<size_t>(hash_text(value_name, name_key_)) & mask;
  while (slots_[slot] != kNone && values_[slots_[slot]].name != value_name)
    slot = (slot + 1) & mask;
  return slot;
}

// False if the name is taken. At most half of the slots are used.
bool Graph::index_value(std::string_view value_name, ValueId id) {
  if (2 * (indexed_ + 1) > slots_.size()) {
    const std::vector<uint32_t> known = std::exchange(
        slots_, std::vector<uint32_t>(std::max<size_t>(16, 2 * slots_.size()), kNone));
    for (const uint32_t each : known)
      if (each != kNone) slots_[find_slot(values_[each].name)] = each;
  }
  uint32_t& slot = slots_[find_slot(value_name)];
  if (slot != kNone) return false;
  slot = static_cast<uint32_t>(id);
  ++indexed_;
  return true;
}

void Graph::unindex_value(std::string_view value_name) {
  const size_t mask = slots_.size() - 1;
  size_t slot = find_slot(value_name);
  slots_[slot] = kNone;
  --indexed_;
  // Entries up to the next free slot may have been displaced by this slot; they are inserted again.
  for (slot = (slot + 1) & mask; slots_[slot] != kNone; slot = (slot + 1) & mask) {
    const uint32_t moved = std::exchange(slots_[slot], kNone);
    slots_[find_slot(values_[moved].name)] = moved;
  }
}

Result<ValueId> Graph::add_value(GraphValue value) {
  const auto id = static_cast<ValueId>(values_.size());
  if (!index_value(value.name, id)) return name_taken(value.name);
  value.definition = {};
  values_.push_back(std::move(value));
  value_uses_.emplace_back();
  return id;
}

std::string Graph::unused_name(std::string_view value_name) {
  std::string free(value_name);
  if (!find_value(free)) return free;
  size_t& number = last_number_[free];
  do free = fmt::format("{}_{}", value_name, ++number);
  while (find_value(free));
  return free;
}

Result<void> Graph::rename_value(ValueId id, std::string new_name) {
  require(*this, id, "rename_value");
  GraphValue& renamed = values_[static_cast<size_t>(id)];
  if (renamed.name == new_name) return {};
  if (find_value(new_name)) return name_taken(new_name);
  // In FX a value and the node that defines it have the same name.
  if (renamed.definition.by == Definition::By::node) {
    Node& node = nodes_[static_cast<size_t>(renamed.definition.node)];
    if (node.name == renamed.name) node.name = new_name;
  }
  unindex_value(renamed.name);
  renamed.name = std::move(new_name);
  index_value(renamed.name, id);
  return {};
}

void Graph::set_value_meta(ValueId id, decltype(GraphValue::meta) meta) {
  require(*this, id, "set_value_meta");
  values_[static_cast<size_t>(id)].meta = std::move(meta);
}

Result<void> Graph::erase_value(ValueId id) {
  require(*this, id, "erase_value");
  const GraphValue& erased = value(id);
  if (erased.definition.by != Definition::By::nothing || !uses(id).empty()) {
    return Error{ErrorCode::invalid,
                 fmt::format("'{}' is still defined or used; erase that first", erased.name),
                 {}};
  }
  forget_value(id);
  return {};
}

void Graph::forget_value(ValueId id) {
  GraphValue& erased = values_[static_cast<size_t>(id)];
  unindex_value(erased.name);
  erased = {};
  value_uses_[static_cast<size_t>(id)] = {.erased = true};
}

NodeId Graph::add_node(Node added) {
  const auto id = static_cast<NodeId>(nodes_.size());
  nodes_.push_back(std::move(added));
  links_.emplace_back();
  link(static_cast<uint32_t>(id), kNone);
  ++live_nodes_;
  define_outputs(id);
  add_node_uses(id);
  return id;
}

NodeId Graph::insert_node(Node added, NodeId before) {
  require(*this, before, "insert_node");
  const NodeId id = add_node(std::move(added));
  move_node(id, before);
  return id;
}

void Graph::move_node(NodeId id, std::optional<NodeId> before) {
  require(*this, id, "move_node");
  if (before) require(*this, *before, "move_node");
  if (before == id) return;
  unlink(static_cast<uint32_t>(id));
  link(static_cast<uint32_t>(id), before ? static_cast<uint32_t>(*before) : kNone);
}

Result<void> Graph::erase_node(NodeId id) {
  require(*this, id, "erase_node");
  std::vector<ValueId> defined;
  for (const Argument& output : node(id).outputs)
    for_each_value(output, [&](ValueId value_id) { defined.push_back(value_id); });
  for (ValueId value_id : defined) {
    for (const Use use : uses(value_id)) {
      if (use.node == id) continue;
      return Error{
          ErrorCode::invalid,
          fmt::format("'{}' is still used by {}; replace its uses first", value(value_id).name,
                      use.node ? fmt::format("a node of {}", node(*use.node).target)
                               : fmt::format("output {} of the graph", use.index)),
          {}};
    }
  }
  const auto index = static_cast<uint32_t>(id);
  drop_uses(links_[index].first_use);
  for (ValueId value_id : defined) {
    if (contains(value_id) && value(value_id).definition.node == id) forget_value(value_id);
  }
  unlink(index);
  links_[index].erased = true;
  --live_nodes_;
  nodes_[index] = {};
  return {};
}

void Graph::set_node_inputs(NodeId id, std::vector<NamedArgument> inputs) {
  require(*this, id, "set_node_inputs");
  drop_uses(links_[static_cast<size_t>(id)].first_use);
  nodes_[static_cast<size_t>(id)].inputs = std::move(inputs);
  add_node_uses(id);
}

void Graph::set_node_input(NodeId id, size_t index, Argument argument) {
  require(*this, id, "set_node_input");
  if (index >= node(id).inputs.size())
    misused(fmt::format("Graph::set_node_input of input {} of a node {} with {} inputs", index,
                        node(id).target, node(id).inputs.size()));
  drop_uses(links_[static_cast<size_t>(id)].first_use);
  nodes_[static_cast<size_t>(id)].inputs[index].arg = std::move(argument);
  add_node_uses(id);
}

void Graph::set_node_outputs(NodeId id, std::vector<Argument> outputs) {
  require(*this, id, "set_node_outputs");
  Node& changed = nodes_[static_cast<size_t>(id)];
  for (const Argument& output : changed.outputs) undefine(output, Definition::By::node, id);
  changed.outputs = std::move(outputs);
  define_outputs(id);
}

void Graph::set_node_target(NodeId id, std::string target) {
  require(*this, id, "set_node_target");
  nodes_[static_cast<size_t>(id)].target = std::move(target);
}

void Graph::set_node_single_return(NodeId id, std::optional<bool> is_single) {
  require(*this, id, "set_node_single_return");
  nodes_[static_cast<size_t>(id)].is_hop_single_tensor_return = is_single;
}

void Graph::set_node_name(NodeId id, std::optional<std::string> node_name) {
  require(*this, id, "set_node_name");
  nodes_[static_cast<size_t>(id)].name = std::move(node_name);
}

void Graph::set_node_metadata(NodeId id, Metadata metadata) {
  require(*this, id, "set_node_metadata");
  nodes_[static_cast<size_t>(id)].metadata = std::move(metadata);
}

void Graph::replace_all_uses(ValueId value, ValueId replacement) {
  require(*this, value, "replace_all_uses");
  require(*this, replacement, "replace_all_uses");
  if (value == replacement) return;
  const auto index = static_cast<size_t>(value);
  // All uses in an argument are replaced at once: a list may hold the value any number of times.
  const Argument* done = nullptr;
  while (value_uses_[index].first != kNone) {
    const uint32_t slot = value_uses_[index].first;
    const uint32_t user = use_slots_[slot].user;
    Argument& argument = user == kNone ? outputs_[use_slots_[slot].index]
                                       : nodes_[user].inputs[use_slots_[slot].index].arg;
    if (&argument != done) replace_value(argument, value, replacement);
    done = &argument;
    unlink_use(slot);
    append_use(slot, replacement);
  }
}

void Graph::add_input(Argument argument) {
  const Definition definition{.by = Definition::By::graph_input,
                              .node = {},
                              .index = static_cast<uint32_t>(inputs_.size())};
  require_content(*this, argument);
  for_each_value(argument,
                 [&](ValueId id) { values_[static_cast<size_t>(id)].definition = definition; });
  inputs_.push_back(std::move(argument));
}

void Graph::set_inputs(std::vector<Argument> inputs) {
  for (const Argument& input : inputs_) undefine(input, Definition::By::graph_input, {});
  inputs_.clear();
  for (Argument& input : inputs) add_input(std::move(input));
}

void Graph::add_output(Argument argument) {
  outputs_.push_back(std::move(argument));
  add_uses(outputs_.back(), kNone, static_cast<uint32_t>(outputs_.size() - 1), first_output_use_);
}

void Graph::set_outputs(std::vector<Argument> outputs) {
  drop_uses(first_output_use_);
  outputs_.clear();
  for (Argument& output : outputs) add_output(std::move(output));
  is_single_tensor_return &= outputs_.size() == 1;
}

SubgraphId Graph::add_subgraph(Graph graph) {
  subgraphs_.push_back(std::move(graph));
  return static_cast<SubgraphId>(subgraphs_.size() - 1);
}

void Graph::link(uint32_t node, uint32_t before) {
  NodeLinks& links = links_[node];
  links.next = before;
  links.previous = before == kNone ? last_node_ : links_[before].previous;
  (links.previous == kNone ? first_node_ : links_[links.previous].next) = node;
  (before == kNone ? last_node_ : links_[before].previous) = node;
}

// Keeps the erased node's `next`, so iterators at that node can continue.
void Graph::unlink(uint32_t node) {
  const NodeLinks& links = links_[node];
  (links.previous == kNone ? first_node_ : links_[links.previous].next) = links.next;
  (links.next == kNone ? last_node_ : links_[links.next].previous) = links.previous;
}

void Graph::define_outputs(NodeId id) {
  Definition definition{.by = Definition::By::node, .node = id, .index = 0};
  for (const Argument& output : node(id).outputs) {
    require_content(*this, output);
    for_each_value(output, [&](ValueId value_id) {
      values_[static_cast<size_t>(value_id)].definition = definition;
      ++definition.index;
    });
  }
}

void Graph::undefine(const Argument& argument, Definition::By by, NodeId node) {
  for_each_value(argument, [&](ValueId id) {
    Definition& definition = values_[static_cast<size_t>(id)].definition;
    if (definition.by == by && definition.node == node) definition = {};
  });
}

void Graph::add_uses(const Argument& argument, uint32_t user, uint32_t index,
                     uint32_t& first_of_user) {
  require_content(*this, argument);
  for_each_value(argument, [&](ValueId value) {
    uint32_t slot = free_use_;
    if (slot == kNone) {
      slot = static_cast<uint32_t>(use_slots_.size());
      use_slots_.emplace_back();
    } else {
      free_use_ = use_slots_[slot].next;
    }
    use_slots_[slot] = {.user = user, .index = index, .next_of_user = first_of_user};
    first_of_user = slot;
    append_use(slot, value);
  });
}

void Graph::drop_uses(uint32_t& first_of_user) {
  while (first_of_user != kNone) {
    const uint32_t slot = first_of_user;
    first_of_user = use_slots_[slot].next_of_user;
    unlink_use(slot);
    use_slots_[slot].next = free_use_;
    free_use_ = slot;
  }
}

void Graph::add_node_uses(NodeId id) {
  const auto index = static_cast<uint32_t>(id);
  const std::vector<NamedArgument>& inputs = nodes_[index].inputs;
  for (uint32_t i = 0; i < inputs.size(); ++i)
    add_uses(inputs[i].arg, index, i, links_[index].first_use);
}

void Graph::append_use(uint32_t slot, ValueId value) {
  ValueUses& uses = value_uses_[static_cast<size_t>(value)];
  use_slots_[slot].value = value;
  use_slots_[slot].previous = uses.last;
  use_slots_[slot].next = kNone;
  (uses.last == kNone ? uses.first : use_slots_[uses.last].next) = slot;
  uses.last = slot;
  ++uses.count;
}

void Graph::unlink_use(uint32_t slot) {
  const UseSlot& use = use_slots_[slot];
  ValueUses& uses = value_uses_[static_cast<size_t>(use.value)];
  (use.previous == kNone ? uses.first : use_slots_[use.previous].next) = use.next;
  (use.next == kNone ? uses.last : use_slots_[use.next].previous) = use.previous;
  --uses.count;
}

}  // namespace pt2
