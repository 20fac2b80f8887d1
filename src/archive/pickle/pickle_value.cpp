#include <algorithm>
#include <numeric>
#include <tuple>

#include "archive/pickle/pickle_graph.h"
#include "base/check.h"

namespace pt2 {
namespace {

constexpr std::string_view kKindNames[] = {
    "none",   "boolean", "integer",      "big_integer",  "floating", "complex",
    "string", "bytes",   "tuple",        "list",         "set",      "deque",
    "size",   "dict",    "ordered_dict", "default_dict", "tensor",   "storage",
    "dtype",  "device",  "constant",     "global",       "object",
};
static_assert(std::size(kKindNames) == static_cast<size_t>(PickleKind::object) + 1);

template <class T>
const T& payload(const PickleNode& node) {
  const T* value = std::get_if<T>(&node.payload);
  PT2_CHECK(value != nullptr);
  return *value;
}

const PickleObject* find_object(const PickleNode& node) {
  const auto* object = std::get_if<std::unique_ptr<PickleObject>>(&node.payload);
  return object == nullptr ? nullptr : object->get();
}

// Keys are equal if Python takes them for the same key of a dict; keys of other kinds equal only
// themselves.
using Key = std::tuple<PickleKind, int64_t, std::string_view>;
Key key_of(const PickleNode& node, PickleId id) {
  if (const auto* text = std::get_if<std::string>(&node.payload)) return {node.kind, 0, *text};
  if (const auto* number = std::get_if<int64_t>(&node.payload)) return {node.kind, *number, ""};
  if (const auto* truth = std::get_if<bool>(&node.payload)) return {node.kind, *truth, ""};
  if (node.kind == PickleKind::none) return {node.kind, 0, ""};
  return {PickleKind::object, id, ""};
}

// Returns for each value the first one that is the same key. Many places of many dicts may have one
// long text as their key, so texts are compared here once.
std::vector<PickleId> find_equal_keys(const std::vector<PickleNode>& nodes) {
  std::vector<PickleId> keys, equal(nodes.size());
  std::iota(equal.begin(), equal.end(), PickleId{0});
  for (const PickleNode& node : nodes) {
    if (!is_dict_kind(node.kind)) continue;
    const auto& items = std::get<PickleItems>(node.payload);
    for (size_t i = 0; i < items.size(); i += 2) keys.push_back(items[i]);
  }
  std::ranges::sort(keys);
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  const auto key_at = [&](PickleId id) { return key_of(nodes[id], id); };
  std::ranges::stable_sort(keys, {}, key_at);
  for (size_t i = 1; i < keys.size(); ++i)
    if (key_at(keys[i]) == key_at(keys[i - 1])) equal[keys[i]] = equal[keys[i - 1]];
  return equal;
}

void merge_duplicate_keys(const std::vector<PickleId>& equal, PickleItems& items) {
  const size_t count = items.size() / 2;
  const auto key_at = [&](size_t place) { return equal[items[2 * place]]; };
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, key_at);
  std::vector<bool> dropped(count, false);
  bool any = false;
  for (size_t i = 0, first = 0; i < count; ++i) {
    if (i == 0 || key_at(order[i]) != key_at(order[first])) {
      first = i;
      continue;
    }
    items[2 * order[first] + 1] = items[2 * order[i] + 1];
    any = dropped[order[i]] = true;
  }
  if (!any) return;
  PickleItems kept;
  for (size_t i = 0; i < count; ++i)
    if (!dropped[i]) kept.insert(kept.end(), {items[2 * i], items[2 * i + 1]});
  items = std::move(kept);
}

}  // namespace

void merge_duplicate_keys(PickleGraph& graph) {
  const std::vector<PickleId> equal = find_equal_keys(graph.nodes);
  for (PickleNode& node : graph.nodes)
    if (is_dict_kind(node.kind)) merge_duplicate_keys(equal, std::get<PickleItems>(node.payload));
}

std::string_view pickle_kind_name(PickleKind kind) { return kKindNames[static_cast<size_t>(kind)]; }

const PickleNode& PickleValue::node() const { return graph_->nodes[id_]; }
PickleKind PickleValue::kind() const { return node().kind; }
bool PickleValue::as_bool() const { return payload<bool>(node()); }
int64_t PickleValue::as_int() const { return payload<int64_t>(node()); }
bool PickleValue::is_dict() const { return is_dict_kind(kind()); }
bool PickleValue::is_sequence() const { return is_sequence_kind(kind()); }

double PickleValue::as_float() const {
  if (kind() == PickleKind::complex) return payload<std::complex<double>>(node()).real();
  return payload<double>(node());
}

double PickleValue::imaginary() const { return payload<std::complex<double>>(node()).imag(); }

std::string_view PickleValue::text() const {
  const PickleNode& value = node();
  if (const PickleObject* object = find_object(value)) return object->text;
  if (const auto* known = std::get_if<const KnownGlobal*>(&value.payload)) return (*known)->name;
  if (const auto* refused = std::get_if<uint32_t>(&value.payload))
    return graph_->refused[*refused].name;
  return payload<std::string>(value);
}

const PickleTensor& PickleValue::tensor() const {
  PT2_CHECK(kind() == PickleKind::tensor);
  return find_object(node())->tensor;
}

bool PickleValue::is_called() const {
  const PickleObject* object = find_object(node());
  return object != nullptr && object->called;
}

std::span<const uint32_t> PickleValue::items() const {
  if (const auto* items = std::get_if<PickleItems>(&node().payload)) return *items;
  if (const PickleObject* object = find_object(node())) return object->items;
  return {};
}

size_t PickleValue::size() const { return is_dict() ? 0 : items().size(); }

PickleValue PickleValue::operator[](size_t index) const {
  PT2_CHECK(index < size());
  return {graph_, items()[index]};
}

size_t PickleValue::dict_size() const { return is_dict() ? items().size() / 2 : 0; }

PickleValue PickleValue::key(size_t index) const {
  PT2_CHECK(index < dict_size());
  return {graph_, items()[2 * index]};
}

PickleValue PickleValue::value(size_t index) const {
  PT2_CHECK(index < dict_size());
  return {graph_, items()[2 * index + 1]};
}

PickleValue Pickle::root() const {
  PT2_CHECK(graph_ != nullptr);
  return {graph_.get(), graph_->root};
}

std::span<const RefusedGlobal> Pickle::refused() const {
  PT2_CHECK(graph_ != nullptr);
  return graph_->refused;
}

}  // namespace pt2
