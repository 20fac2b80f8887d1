#include "archive/pickle/pickle_graph.h"
#include "base/check.h"
#include "pt2/pickle_write.h"

namespace pt2 {

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

Pickle PickleBuilder::finish(const PickleValue& root) {
  graph_->root = own(root);
  Pickle pickle;
  pickle.graph_ = std::exchange(graph_, std::make_shared<PickleGraph>());
  return pickle;
}

}  // namespace pt2
