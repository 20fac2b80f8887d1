#include "run/plan/repeated_node.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "run/plan/layout.h"
#include "run/plan/planner.h"

namespace pt2::run {
namespace {

void add_storages(const Value& value, std::vector<const Storage*>& storages) {
  if (const auto* list = value.get_if<Value::List>())
    for (const Value& item : *list) add_storages(item, storages);
  else if (const auto* tensor = value.get_if<Tensor>(); tensor != nullptr && tensor->defined())
    storages.push_back(tensor->storage().get());
}

// True if each result has a storage of its own.
bool are_apart(const std::vector<Value>& arguments, const std::vector<Value>& results) {
  std::vector<const Storage*> taken, made;
  for (const Value& argument : arguments) add_storages(argument, taken);
  for (const Value& result : results) add_storages(result, made);
  std::ranges::sort(made);
  return std::ranges::adjacent_find(made) == made.end() &&
         std::ranges::none_of(taken, [&](const Storage* storage) {
           return std::ranges::binary_search(made, storage);
         });
}

bool keeps(const Value& result) {
  if (const auto* list = result.get_if<Value::List>()) return std::ranges::all_of(*list, keeps);
  const auto* tensor = result.get_if<Tensor>();
  if (tensor == nullptr) return !result.is<Object>();
  return tensor->defined() && fills_block(*tensor);
}

uint64_t bytes_in(const Value& result) {
  uint64_t bytes = 0;
  if (const auto* list = result.get_if<Value::List>())
    for (const Value& item : *list) bytes += bytes_in(item);
  else if (const auto* tensor = result.get_if<Tensor>())
    bytes += tensor->storage()->size();
  return bytes;
}

bool put(const Tensor& from, const Tensor& to) {
  if (!from.defined() || from.dtype() != to.dtype() || from.sizes() != to.sizes() ||
      from.is_wrapped_number() != to.is_wrapped_number())
    return false;
  const auto bytes = static_cast<size_t>(to.nbytes());
  if (bytes == 0 || (from.raw_data() == to.raw_data() && from.strides() == to.strides()))
    return true;
  // Wrapped numbers must be equal: they may have become part of what follows.
  if (to.is_wrapped_number()) return std::memcmp(from.raw_data(), to.raw_data(), bytes) == 0;
  Tensor place = to;
  if (from.strides() == to.strides())
    std::memcpy(place.raw_data(), from.raw_data(), bytes);
  else if (to.is_contiguous())
    copy_to_contiguous(from, place.raw_data());
  else
    return false;
  return true;
}

bool put(const Value& from, const Value& to) {
  if (from.data.index() != to.data.index()) return false;
  if (const auto* tensor = to.get_if<Tensor>()) return put(*from.get_if<Tensor>(), *tensor);
  if (const auto* list = to.get_if<Value::List>())
    return std::ranges::equal(*from.get_if<Value::List>(), *list,
                              [](const Value& a, const Value& b) { return put(a, b); });
  return std::visit(
      [&](const auto& known) {
        using T = std::decay_t<decltype(known)>;
        if constexpr (std::same_as<T, double>)  // 0 and -0 are different numbers, too
          return std::bit_cast<uint64_t>(*from.get_if<T>()) == std::bit_cast<uint64_t>(known);
        else if constexpr (std::equality_comparable<T> && !std::same_as<T, Value::List>)
          return *from.get_if<T>() == known;
        else
          return false;
      },
      to.data);
}

}  // namespace

bool may_write_again(const BoundNode& node) {
  return node.higher_order == nullptr && node.batched.empty() && node.op &&
         node.op.custom == nullptr && node.op.form == ops::Operator::Form::in_place &&
         !node.op.def->may_draw;
}

bool may_repeat(const BoundNode& node) {
  if (!node.batched.empty()) return false;
  if (node.higher_order == nullptr) return computes_alone(node);
  if (node.op || node.subgraphs.empty() || may_write_to_arguments(node)) return false;
  const auto is_harmless = [](const BoundNode& inner) {
    const bool has_no_effect =
        inner.higher_order != nullptr && inner.higher_order->function == no_effect;
    return has_no_effect || may_repeat(inner);
  };
  return std::ranges::all_of(node.subgraphs, [&](const auto& subgraph) {
    return std::ranges::all_of(subgraph.second->nodes, is_harmless);
  });
}

std::optional<RepeatedNode> RepeatedNode::of(const BoundNode& node,
                                             const std::vector<Value>& values,
                                             const Executor& executor) {
  const bool writes = may_write_again(node);
  RepeatedNode out;
  out.node_ = &node;
  out.nested_ = executor.nested();
  auto arguments = Executor::arguments_of(node, values);
  if (!arguments) return std::nullopt;
  out.arguments_ = *std::move(arguments);
  if (writes) return out;
  for (const Argument& output : node.node->outputs) {
    auto result = evaluate_argument(output, values);
    if (!result || !keeps(*result)) return std::nullopt;
    out.results_.push_back(*std::move(result));
  }
  if (!are_apart(out.arguments_, out.results_)) return std::nullopt;
  return out;
}

bool RepeatedNode::run(Executor& counting) const {
  ops::Context context;
  context.max_tensor_bytes = counting.limits().max_tensor_bytes;
  Executor executor(context, counting.limits(), counting.cancellation());
  executor.run_nested_by(nested_);
  executor.count_from(counting);
  if (!executor.count_work(Executor::kNodeWork)) return false;
  const auto results = executor.compute_with(*node_, arguments_);
  counting.count_from(executor);
  if (!results || results->size() < results_.size()) return false;
  for (size_t i = 0; i < results_.size(); ++i)
    if (!put((*results)[i], results_[i])) return false;
  return true;
}

uint64_t RepeatedNode::bytes() const {
  uint64_t bytes = 0;
  for (const Value& result : results_) bytes += bytes_in(result);
  return bytes;
}

}  // namespace pt2::run
