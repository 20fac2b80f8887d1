#include "decode/cache_room.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <vector>

#include "ir/target.h"

namespace pt2::decode {
namespace {

// Operators whose result holds positions if an argument does: arange(count) + position.
constexpr std::string_view kKeepPositions[] = {
    "_to_copy", "add",    "add_",      "alias",   "arange",         "clone",
    "copy_",    "detach", "expand",    "reshape", "select",         "slice",
    "squeeze",  "to",     "unsqueeze", "view",    "lift_fresh_copy"};

bool keeps_positions(const Node& node) {
  return std::ranges::find(kKeepPositions, operator_name(node.target)) != std::end(kKeepPositions);
}

// Where a node writes to a tensor: the dimension, and the value with the places in it.
struct Write {
  size_t dim = 0;
  ValueId places{};
};

// Reads index_put(self, [None, places], values).
std::optional<Write> write_of_indices(const Argument* indices) {
  const auto* list = indices == nullptr ? nullptr : indices->get_if<ArgumentList>();
  if (list == nullptr) return std::nullopt;
  std::optional<Write> out;
  for (size_t dim = 0; dim < list->items.size(); ++dim) {
    const auto* places = list->items[dim].get_if<ValueId>();
    if (places == nullptr) continue;
    if (out) return std::nullopt;
    out = Write{dim, *places};
  }
  return out;
}

std::optional<Write> write_of(const Node& node, size_t rank) {
  const std::string_view name = operator_name(node.target);
  if (name == "index_put" || name == "index_put_")
    return write_of_indices(node.find_input("indices"));
  if (name != "index_copy" && name != "index_copy_") return std::nullopt;
  const Argument *dim = node.find_input("dim"), *index = node.find_input("index");
  const auto* number = dim == nullptr ? nullptr : dim->get_if<int64_t>();
  const auto* places = index == nullptr ? nullptr : index->get_if<ValueId>();
  if (number == nullptr || places == nullptr) return std::nullopt;
  const int64_t counted = *number < 0 ? *number + static_cast<int64_t>(rank) : *number;
  return counted < 0 ? std::nullopt : std::optional(Write{static_cast<size_t>(counted), *places});
}

// Returns the metadata of a graph input that is the first argument of the node; else null.
const TensorMeta* written_input(const Graph& graph, const Node& node) {
  const auto* self = node.inputs.empty() ? nullptr : node.inputs[0].arg.get_if<ValueId>();
  if (self == nullptr) return nullptr;
  const GraphValue& value = graph.value(*self);
  return value.definition.by == Definition::By::graph_input ? value.tensor() : nullptr;
}

}  // namespace

std::optional<int64_t> cache_room(const Graph& graph, std::span<const size_t> positions) {
  if (positions.empty()) return std::nullopt;
  std::vector<bool> holds_positions(graph.value_count());
  for (const size_t input : positions)
    for_each_value(graph.inputs()[input],
                   [&](ValueId id) { holds_positions[static_cast<size_t>(id)] = true; });
  std::optional<int64_t> room;
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    if (keeps_positions(node)) {
      bool holds = false;
      for (const NamedArgument& input : node.inputs)
        for_each_value(input.arg, [&](ValueId value) {
          holds = holds || holds_positions[static_cast<size_t>(value)];
        });
      for (const Argument& output : node.outputs)
        for_each_value(output,
                       [&](ValueId value) { holds_positions[static_cast<size_t>(value)] = holds; });
      continue;
    }
    const TensorMeta* written = written_input(graph, node);
    if (written == nullptr) continue;
    const std::optional<Write> write = write_of(node, written->sizes.size());
    if (!write || write->dim >= written->sizes.size() ||
        !holds_positions[static_cast<size_t>(write->places)])
      continue;
    const SymInt& size = written->sizes[write->dim];
    if (!size.is_symbolic()) room = std::min(room.value_or(size.literal()), size.literal());
  }
  return room;
}

}  // namespace pt2::decode
