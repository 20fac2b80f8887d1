#include "run/reference/vmap.h"

#include <algorithm>
#include <iterator>
#include <unordered_set>

#include "base/memory_account.h"
#include "base/platform.h"
#include "ir/graph_place.h"
#include "ir/target.h"
#include "ir/walk.h"
#include "ops/checks.h"
#include "ops/loops.h"
#include "run/reference/executor.h"

namespace pt2::run {
namespace {

using Levels = std::vector<int64_t>;

Levels united(const Levels& a, const Levels& b) {
  Levels out;
  std::ranges::set_union(a, b, std::back_inserter(out));
  return out;
}

Result<int64_t> level_at(const BoundNode& node, size_t position) {
  const auto* level = position < node.arguments.size()
                          ? node.arguments[position].constant.get_if<int64_t>()
                          : nullptr;
  if (level == nullptr) return ops::operator_error("found no level, expected an int");
  return *level;
}

bool calls(const BoundNode& node, HigherOrderFunction function) {
  return node.higher_order != nullptr && node.higher_order->function == function;
}

class LevelFinder {
 public:
  explicit LevelFinder(BoundGraph& graph) : graph_(graph), levels_(graph.graph->value_count()) {}

  Result<void> run() {
    if (std::ranges::none_of(graph_.nodes, changes_levels)) return {};
    for (BoundNode& node : graph_.nodes) {
      note_randomness(*node.node);
      Result<Levels> results = visit(node);
      if (!results) return at_node(std::move(results).error(), *graph_.graph, *node.node);
      for_each_result(*node.node, [&](ValueId id) { levels_[static_cast<size_t>(id)] = *results; });
    }
    return {};
  }

 private:
  static bool changes_levels(const BoundNode& node) {
    return calls(node, add_batch_dim) || calls(node, remove_batch_dim);
  }

  // Returns the levels of the node's results.
  Result<Levels> visit(BoundNode& node) {
    // Passes that replace the regions of torch.vmap find such nodes in regions only.
    if (changes_levels(node) && randomness_.empty())
      return ops::operator_error("no region of torch.vmap is open here");
    std::vector<BatchedValue> batched;
    std::unordered_set<ValueId> seen;
    for_each_operand(*node.node, [&](ValueId id) {
      const Levels& levels = levels_[static_cast<size_t>(id)];
      if (levels.empty() || !seen.insert(id).second) return;
      node.levels = united(node.levels, levels);
      batched.push_back({id, levels});
    });
    if (calls(node, add_batch_dim)) {
      PT2_TRY(const int64_t level, level_at(node, 2));
      if (std::ranges::find(node.levels, level) != node.levels.end())
        return ops::operator_error("there is a batch dimension of this level already");
      // Each value of the graph has a list of its levels, which are dimensions of a tensor.
      PT2_TRY_VOID(ops::check_real_rank(std::ssize(node.levels) + 1));
      return united(node.levels, {level});
    }
    if (calls(node, remove_batch_dim)) {
      PT2_TRY(const int64_t level, level_at(node, 1));
      Levels left = node.levels;
      std::erase(left, level);
      return left;
    }
    node.batched = std::move(batched);
    PT2_TRY_VOID(check_writes(node));
    PT2_TRY_VOID(check_offset(node));
    PT2_TRY_VOID(check_draws(node));
    return node.levels;
  }

  // vmap raises: "inplace arithmetic(self, *extra_args) is not possible because there exists a
  // Tensor `other` in extra_args that has more elements than `self`".
  Result<void> check_writes(const BoundNode& node) const {
    if (!node.op || node.higher_order != nullptr || !node.op.mutates()) return {};
    for (size_t i = 0; i < node.arguments.size(); ++i) {
      const bool written = node.op.signature().parameter_array[i].mutated ||
                           (node.op.form == ops::Operator::Form::in_place && i == 0);
      if (!written || node.arguments[i].dynamic == nullptr) continue;
      bool whole = true;
      for_each_value(*node.arguments[i].dynamic, [&](ValueId id) {
        whole = whole && levels_[static_cast<size_t>(id)] == node.levels;
      });
      if (!whole)
        return ops::operator_error("a tensor without batch dimension is written to inside vmap");
    }
    return {};
  }

  // vmap counts the storage offset of as_strided from each element's own first place
  // (aten/src/ATen/functorch/BatchRulesViews.cpp); here it counts from the start of the storage.
  static Result<void> check_offset(const BoundNode& node) {
    const Argument* offset = node.node->find_input("storage_offset");
    if (offset == nullptr || offset->is<None>() || node.batched.empty()) return {};
    return Error{ErrorCode::unsupported, "a storage offset inside vmap", ""};
  }

  // _vmap_increment_nesting(size, randomness), _vmap_decrement_nesting().
  void note_randomness(const Node& node) {
    const std::string_view name = last_part(node.target);
    if (name == "_vmap_increment_nesting") {
      const auto* randomness =
          node.inputs.size() < 2 ? nullptr : node.inputs[1].arg.get_if<std::string>();
      randomness_.push_back(randomness == nullptr ? "" : *randomness);
    } else if (name == "_vmap_decrement_nesting" && !randomness_.empty()) {
      randomness_.pop_back();
    }
  }

  // An operator with batched operands runs once per element, any other operator once. Checks that
  // the numbers drawn that way match the `randomness` of the open regions.
  Result<void> check_draws(const BoundNode& node) const {
    const std::string_view wrong = node.batched.empty() ? "different" : "same";
    if (std::ranges::find(randomness_, wrong) == randomness_.end() || !node.op ||
        !node.op.may_draw() || is_evaluating(node))
      return {};
    return Error{ErrorCode::unsupported,
                 "random numbers in a vmap with randomness='" + std::string(wrong) +
                     (node.batched.empty() ? "' of tensors without a batch dimension"
                                           : "' of tensors with a batch dimension"),
                 ""};
  }

  static bool is_evaluating(const BoundNode& node) {
    const Argument* train = node.node->find_input("train");
    const bool* trains = train == nullptr ? nullptr : train->get_if<bool>();
    return trains != nullptr && !*trains;
  }

  BoundGraph& graph_;
  std::vector<Levels> levels_;
  std::vector<std::string> randomness_;  // of the open regions, innermost last
};

// An index in several dimensions; the last dimension advances first.
class Position {
 public:
  explicit Position(Sizes sizes) : sizes_(std::move(sizes)), index_(sizes_.size()) {}
  void advance() {
    for (size_t dim = sizes_.size(); dim-- > 0;) {
      if (++index_[dim] < sizes_[dim]) return;
      index_[dim] = 0;
    }
  }
  int64_t operator[](size_t dim) const { return index_[dim]; }

 private:
  Sizes sizes_;
  Sizes index_;
};

Sizes from(const Sizes& sizes, size_t first) {
  return {sizes.begin() + static_cast<ptrdiff_t>(first), sizes.end()};
}

// Returns the slice of a batched tensor at one position of the batch.
Tensor slice(const Tensor& tensor, const Levels& own, const Levels& all, const Position& position) {
  int64_t offset = tensor.storage_offset();
  for (size_t i = 0; i < own.size(); ++i) {
    const auto level = std::ranges::find(all, own[i]) - all.begin();
    offset += position[static_cast<size_t>(level)] * tensor.strides()[i];
  }
  return tensor.with_view(from(tensor.sizes(), own.size()), from(tensor.strides(), own.size()),
                          offset);
}

// Returns the strides of the batch dimensions if all slices are evenly spaced in one storage, like
// the slices of a view or of an in-place result.
std::optional<Sizes> common_strides(const std::vector<Tensor>& slices, const Sizes& batch) {
  const Tensor& first = slices.front();
  Sizes strides(batch.size(), 0);
  size_t step = 1;
  for (size_t dim = batch.size(); dim-- > 0; step *= static_cast<size_t>(batch[dim]))
    if (batch[dim] > 1) strides[dim] = slices[step].storage_offset() - first.storage_offset();
  Position position(batch);
  for (const Tensor& each : slices) {
    int64_t offset = first.storage_offset();
    for (size_t dim = 0; dim < batch.size(); ++dim) offset += position[dim] * strides[dim];
    position.advance();
    if (each.storage() != first.storage() || each.strides() != first.strides() ||
        each.storage_offset() != offset)
      return std::nullopt;
  }
  if (std::ranges::any_of(strides, [](int64_t stride) { return stride < 0; })) return std::nullopt;
  return strides;
}

Sizes joined(Sizes first, const Sizes& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

Result<Value> stack_tensors(const std::vector<Tensor>& slices, const Sizes& batch) {
  const Tensor& first = slices.front();
  for (const Tensor& each : slices)
    if (each.sizes() != first.sizes() || each.dtype() != first.dtype())
      return ops::operator_error("results of vmap differ in size: " + first.type_text() + " and " +
                                 each.type_text());
  Sizes sizes = joined(batch, first.sizes());
  const bool empty = std::ranges::find(batch, 0) != batch.end();
  if (!empty)
    if (const std::optional<Sizes> strides = common_strides(slices, batch))
      return Value(first.with_view(std::move(sizes), joined(*strides, first.strides()),
                                   first.storage_offset()));
  PT2_TRY(Tensor out, ops::allocate({first.dtype(), std::move(sizes)}));
  if (empty) return Value(std::move(out));
  for (size_t i = 0; i < slices.size(); ++i) {
    Tensor place = out.with_view(first.sizes(), contiguous_strides(first.sizes()),
                                 static_cast<int64_t>(i) * first.numel());
    ops::copy_elements(place, slices[i]);
  }
  return Value(std::move(out));
}

// Stacks one result of all batch elements into one value.
Result<Value> stack_values(const std::vector<Value>& slices, const Sizes& batch) {
  if (slices.front().is<Tensor>()) {
    std::vector<Tensor> tensors;
    for (const Value& each : slices) {
      const auto* tensor = each.get_if<Tensor>();
      if (tensor == nullptr) return ops::operator_error("results of vmap differ in kind");
      tensors.push_back(*tensor);
    }
    return stack_tensors(tensors, batch);
  }
  if (const auto* list = slices.front().get_if<Value::List>()) {
    Value::List out;
    for (size_t i = 0; i < list->size(); ++i) {
      std::vector<Value> column;
      for (const Value& each : slices) {
        const auto* items = each.get_if<Value::List>();
        if (items == nullptr || items->size() != list->size())
          return ops::operator_error("results of vmap differ in number");
        column.push_back((*items)[i]);
      }
      PT2_TRY(Value item, stack_values(column, batch));
      out.push_back(std::move(item));
    }
    return Value(std::move(out));
  }
  // A size or a flag is the same for every element.
  return slices.front();
}

Result<Sizes> batch_sizes(const BoundNode& node, const std::vector<Value>& values) {
  Sizes batch(node.levels.size(), -1);
  for (const BatchedValue& input : node.batched) {
    const auto* tensor = values[static_cast<size_t>(input.value)].get_if<Tensor>();
    if (tensor == nullptr) continue;
    if (tensor->sizes().size() < input.levels.size())
      return ops::operator_error("found " + tensor->type_text() + ", expected a batch dimension");
    for (size_t i = 0; i < input.levels.size(); ++i) {
      int64_t& size = batch[static_cast<size_t>(std::ranges::find(node.levels, input.levels[i]) -
                                                node.levels.begin())];
      if (size >= 0 && size != tensor->sizes()[i])
        return ops::operator_error("found batches of " + std::to_string(size) + " and " +
                                   std::to_string(tensor->sizes()[i]) + ", expected one size");
      size = tensor->sizes()[i];
    }
  }
  for (int64_t& size : batch) size = size < 0 ? 1 : size;
  return batch;
}

// Returns the batched tensor among the arguments. Its batch dimensions come first; adding or
// removing a batch dimension keeps the order of the others.
Result<const Tensor*> batch_tensor(const BoundNode& node, const std::vector<Value>& arguments,
                                   size_t count, size_t levels) {
  const auto* tensor = arguments.size() < count ? nullptr : arguments[0].get_if<Tensor>();
  if (tensor == nullptr || tensor->sizes().size() < levels)
    return ops::operator_error("found no batched tensor, expected one for " + node.node->target);
  return tensor;
}

Tensor moved_dim(const Tensor& tensor, int64_t source, int64_t destination) {
  Sizes sizes = tensor.sizes();
  Sizes strides = tensor.strides();
  for (Sizes* list : {&sizes, &strides}) {
    const int64_t moved = (*list)[static_cast<size_t>(source)];
    list->erase(list->begin() + source);
    list->insert(list->begin() + destination, moved);
  }
  return tensor.with_view(std::move(sizes), std::move(strides), tensor.storage_offset());
}

}  // namespace

Result<void> find_batched_values(BoundGraph& graph) { return LevelFinder(graph).run(); }

Result<std::vector<Value>> compute_batched(Executor& executor, const BoundNode& node,
                                           std::vector<Value>& values) {
  PT2_TRY(const Sizes batch, batch_sizes(node, values));
  const auto total = checked_numel(batch);
  if (!total) return ops::operator_error("a batch is too large");
  PT2_TRY_VOID(executor.count_iterations(*total));
  // Each round costs as much as a node, plus slicing its operands and stacking its results.
  const uint64_t parts = 1 + node.batched.size() + node.node->outputs.size();
  PT2_TRY_VOID(executor.count_work(
      saturating_product(static_cast<uint64_t>(*total), Executor::kNodeWork * parts)));
  std::vector<Value> whole;
  for (const BatchedValue& input : node.batched)
    whole.push_back(values[static_cast<size_t>(input.value)]);
  MemoryCharge held;
  std::vector<std::vector<Value>> columns;
  Position position(batch);
  // An empty batch runs once, on zeros, to find the sizes of its results.
  for (int64_t round = 0; round < std::max<int64_t>(*total, 1); ++round, position.advance()) {
    for (size_t i = 0; i < node.batched.size(); ++i) {
      const BatchedValue& input = node.batched[i];
      const auto* tensor = whole[i].get_if<Tensor>();
      if (tensor == nullptr) continue;
      Tensor part = *total > 0 ? slice(*tensor, input.levels, node.levels, position) : Tensor();
      if (*total == 0) {
        PT2_TRY(part, ops::allocate({tensor->dtype(), from(tensor->sizes(), input.levels.size())}));
      }
      values[static_cast<size_t>(input.value)] = Value(std::move(part));
    }
    PT2_TRY(std::vector<Value> results, executor.compute(node, values));
    if (round == 0) columns.resize(results.size());
    if (results.size() != columns.size())
      return ops::operator_error("results of vmap differ in number");
    held.add(Executor::kKeptBytes * results.size());
    for (size_t i = 0; i < results.size(); ++i) columns[i].push_back(std::move(results[i]));
  }
  for (size_t i = 0; i < node.batched.size(); ++i)
    values[static_cast<size_t>(node.batched[i].value)] = std::move(whole[i]);
  std::vector<Value> out;
  for (const std::vector<Value>& column : columns) {
    PT2_TRY(Value value, stack_values(column, batch));
    out.push_back(std::move(value));
  }
  return out;
}

// _add_batch_dim(tensor, dim, level).
Result<std::vector<Value>> add_batch_dim(Executor&, const BoundNode& node,
                                         std::vector<Value> arguments) {
  const auto levels = static_cast<int64_t>(node.levels.size());
  PT2_TRY(const Tensor* tensor, batch_tensor(node, arguments, 3, node.levels.size()));
  const auto* dim = arguments[1].get_if<int64_t>();
  if (dim == nullptr || tensor->dim() == levels)
    return ops::operator_error("found no dimension to go over");
  PT2_TRY(const int64_t source, ops::wrap_dim(*dim, tensor->dim() - levels));
  PT2_TRY(const int64_t level, level_at(node, 2));
  const auto place = std::ranges::lower_bound(node.levels, level) - node.levels.begin();
  return std::vector<Value>{Value(moved_dim(*tensor, levels + source, place))};
}

// _remove_batch_dim(tensor, level, batch_size, dim).
Result<std::vector<Value>> remove_batch_dim(Executor&, const BoundNode& node,
                                            std::vector<Value> arguments) {
  PT2_TRY(const Tensor* tensor, batch_tensor(node, arguments, 4, node.levels.size()));
  const auto* size = arguments[2].get_if<int64_t>();
  const auto* dim = arguments[3].get_if<int64_t>();
  if (size == nullptr || *size < 0 || dim == nullptr)
    return ops::operator_error("found no size of the batch or no dimension for it");
  PT2_TRY(const int64_t level, level_at(node, 1));
  auto levels = static_cast<int64_t>(node.levels.size());
  const auto found = std::ranges::find(node.levels, level);
  Tensor whole = *tensor;
  int64_t source = found - node.levels.begin();
  if (found == node.levels.end()) {
    // The function does not depend on the batch: every element has the same result.
    source = 0;
    Sizes sizes = joined({*size}, whole.sizes());
    if (!checked_numel(sizes)) return ops::operator_error("a batch is too large");
    whole = whole.with_view(std::move(sizes), joined({0}, whole.strides()), whole.storage_offset());
  } else {
    --levels;
  }
  PT2_TRY(const int64_t destination, ops::wrap_dim(*dim, whole.dim() - levels));
  return std::vector<Value>{Value(moved_dim(whole, source, levels + destination))};
}

}  // namespace pt2::run
