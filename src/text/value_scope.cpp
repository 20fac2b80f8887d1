#include <fmt/format.h>

#include "ir/values/record.h"
#include "text/parser.h"

namespace pt2 {

std::optional<ValueId> ValueScope::add(const std::string& name, Meta meta, State state,
                                       size_t offset) {
  const auto known = graph.find_value(name);
  if (known && states_[static_cast<size_t>(*known)] != State::expected) {
    parsing_.reader.report(parsing_.reader.error_at(
        offset, ErrorCode::invalid, fmt::format("the value '{}' is defined twice", name)));
    return std::nullopt;
  }
  if (known) {
    graph.set_value_meta(*known, std::move(meta));
    states_[static_cast<size_t>(*known)] = state;
    return known;
  }
  GraphValue value;
  value.name = name;
  value.meta = std::move(meta);
  auto id = graph.add_value(std::move(value));
  if (!id) return std::nullopt;
  states_.push_back(state);
  return *id;
}

Argument ValueScope::use(const std::string& name, size_t offset) {
  const auto id = graph.find_value(name);
  const bool is_defined = id && states_[static_cast<size_t>(*id)] == State::defined;
  if (is_defined) return Argument(*id);
  parsing_.reader.report(parsing_.reader.error_at(
      offset, ErrorCode::invalid,
      fmt::format("found '{}', expected a value that is defined above", name)));
  return Argument(None{});
}

Argument ValueScope::define(const std::string& name, Meta meta, size_t offset) {
  const auto id = add(name, std::move(meta), State::pending, offset);
  if (!id) return Argument(None{});
  pending_.push_back(*id);
  return result_argument(graph, *id);
}

void ValueScope::finish() {
  for (const ValueId id : pending_) states_[static_cast<size_t>(id)] = State::defined;
  pending_.clear();
}

void ValueScope::define_by_nothing(const std::string& name, Meta meta, size_t offset) {
  add(name, std::move(meta), State::by_nothing, offset);
}

void ValueScope::expect(const std::string& name, size_t offset) {
  add(name, TensorMeta{}, State::expected, offset);
}

void ValueScope::check_all_defined(size_t offset) {
  for (const ValueId id : graph.values()) {
    if (states_[static_cast<size_t>(id)] != State::expected) continue;
    parsing_.reader.report(parsing_.reader.error_at(
        offset, ErrorCode::invalid,
        fmt::format("'{}' stands in order=[...], and nothing defines it", graph.value(id).name)));
    if (parsing_.reader.is_hopeless()) return;
  }
}

}  // namespace pt2
