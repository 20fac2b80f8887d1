#include <map>
#include <type_traits>

#include "archive/pickle/pickle_graph.h"
#include "base/check.h"
#include "pt2/format/pickle_write.h"

namespace pt2 {
namespace {

// Copies a graph of nodes, which may contain cycles, each node once. It uses a work list instead of
// recursion, which a hostile pickle could make deep.
class GraphCopy {
 public:
  GraphCopy(const PickleGraph& from, PickleGraph& to) : from_(from), to_(to) {}

  PickleId copy(PickleId root) {
    const PickleId copied = place_of(root);
    for (size_t i = 0; i < order_.size(); ++i) copy_node(order_[i]);
    return copied;
  }
  // The memory of the copies, about.
  uint64_t bytes() const { return bytes_; }

 private:
  PickleId place_of(PickleId id) {
    const auto [place, is_new] = places_.try_emplace(id, static_cast<PickleId>(to_.nodes.size()));
    if (is_new) {
      to_.nodes.emplace_back();
      order_.push_back(id);
    }
    return place->second;
  }

  PickleItems places_of(const PickleItems& ids) {
    PickleItems places;
    for (const PickleId id : ids) places.push_back(place_of(id));
    return places;
  }

  uint32_t place_of_refused(uint32_t index) {
    const auto [place, is_new] =
        refused_.try_emplace(index, static_cast<uint32_t>(to_.refused.size()));
    if (is_new) to_.refused.push_back(from_.refused[index]);
    return place->second;
  }

  void copy_node(PickleId id) {
    const PickleNode& node = from_.nodes[id];
    PickleNode made{.kind = node.kind, .payload = {}};
    bytes_ += sizeof(PickleNode);
    if (const auto* items = std::get_if<PickleItems>(&node.payload)) {
      bytes_ += items->size() * sizeof(PickleId);
      made.payload = places_of(*items);
    } else if (const auto* object = std::get_if<std::unique_ptr<PickleObject>>(&node.payload)) {
      auto copied = std::make_unique<PickleObject>(**object);
      copied->items = places_of(copied->items);
      bytes_ += sizeof(PickleObject) + copied->text.size() + copied->device.size() +
                copied->items.size() * sizeof(PickleId) +
                3 * copied->tensor.sizes.size() * sizeof(int64_t);
      made.payload = std::move(copied);
    } else if (const auto* refused = std::get_if<uint32_t>(&node.payload)) {
      made.payload = place_of_refused(*refused);
    } else {
      if (const auto* text = std::get_if<std::string>(&node.payload)) bytes_ += text->size();
      std::visit(
          [&](const auto& value) {
            if constexpr (std::is_copy_constructible_v<std::decay_t<decltype(value)>>)
              made.payload = value;
          },
          node.payload);
    }
    const PickleId place = places_.at(id);
    copy_extras(id, place);
    to_.nodes[place] = std::move(made);
  }

  void copy_extras(PickleId id, PickleId place) {
    const PickleExtras& extras = from_.extras;
    if (const auto found = extras.makings.find(id); found != extras.makings.end())
      to_.extras.makings[place] = {found->second.function, place_of(found->second.arguments)};
    if (const auto found = extras.states.find(id); found != extras.states.end())
      to_.extras.states[place] = place_of(found->second);
    if (const auto found = extras.arguments.find(id); found != extras.arguments.end())
      to_.extras.arguments[place] = places_of(found->second);
    if (extras.frozen.contains(id)) to_.extras.frozen.insert(place);
  }

  const PickleGraph& from_;
  PickleGraph& to_;
  std::map<PickleId, PickleId> places_;
  std::map<uint32_t, uint32_t> refused_;
  std::vector<PickleId> order_;
  uint64_t bytes_ = 0;
};

}  // namespace

PickleBuilder::PickleBuilder() : graph_(std::make_shared<PickleGraph>()) {}

template <class T>
PickleValue PickleBuilder::add(PickleKind kind, T payload) {
  graph_->nodes.push_back({kind, std::move(payload)});
  return {graph_.get(), static_cast<PickleId>(graph_->nodes.size() - 1)};
}

uint32_t PickleBuilder::own(const PickleValue& value) const {
  PT2_CHECK(value.graph_ == graph_.get());
  return value.id_;
}

PickleValue PickleBuilder::none() { return add(PickleKind::none, std::monostate()); }
PickleValue PickleBuilder::boolean(bool value) { return add(PickleKind::boolean, value); }
PickleValue PickleBuilder::integer(int64_t value) { return add(PickleKind::integer, value); }
PickleValue PickleBuilder::floating(double value) { return add(PickleKind::floating, value); }

PickleValue PickleBuilder::complex(double real, double imaginary) {
  return add(PickleKind::complex, std::complex<double>(real, imaginary));
}

PickleValue PickleBuilder::string(std::string utf8) {
  return add(PickleKind::string, std::move(utf8));
}

PickleValue PickleBuilder::bytes(std::string content) {
  return add(PickleKind::bytes, std::move(content));
}

PickleValue PickleBuilder::sequence(PickleKind kind, std::span<const PickleValue> items) {
  PT2_CHECK(is_sequence_kind(kind));
  PickleItems ids;
  for (const PickleValue& item : items) ids.push_back(own(item));
  return add(kind, std::move(ids));
}

PickleValue PickleBuilder::dict(PickleKind kind, std::span<const Pair> pairs) {
  PT2_CHECK(kind == PickleKind::dict || kind == PickleKind::ordered_dict);
  PickleItems ids;
  for (const auto& [key, value] : pairs) ids.insert(ids.end(), {own(key), own(value)});
  return add(kind, std::move(ids));
}

PickleValue PickleBuilder::tensor(PickleTensor value) {
  auto object = std::make_unique<PickleObject>();
  object->tensor = std::move(value);
  return add(PickleKind::tensor, std::move(object));
}

PickleValue PickleBuilder::call(std::string function, std::span<const PickleValue> arguments) {
  auto object = std::make_unique<PickleObject>();
  object->text = std::move(function);
  for (const PickleValue& argument : arguments) object->items.push_back(own(argument));
  object->arguments = object->items.size();
  object->called = true;
  return add(PickleKind::object, std::move(object));
}

PickleValue PickleBuilder::object(std::string class_name, const PickleValue& state) {
  auto object = std::make_unique<PickleObject>();
  object->text = std::move(class_name);
  object->items = {own(state)};
  object->arguments = object->state = 0;
  return add(PickleKind::object, std::move(object));
}

PickleValue PickleBuilder::copy(const PickleValue& value) {
  GraphCopy graph(*value.graph_, *graph_);
  const PickleId id = graph.copy(value.id_);
  copied_bytes_ += graph.bytes();
  return {graph_.get(), id};
}

Pickle PickleBuilder::finish(const PickleValue& root) {
  graph_->root = own(root);
  Pickle pickle;
  pickle.graph_ = std::exchange(graph_, std::make_shared<PickleGraph>());
  return pickle;
}

}  // namespace pt2
