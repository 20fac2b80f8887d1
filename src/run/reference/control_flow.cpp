// Branches and loops: torch/_higher_order_ops/{cond,while_loop,map,scan,associative_scan}.py.
#include <algorithm>
#include <iterator>

#include "base/memory_account.h"
#include "ops/compose.h"
#include "ops/loops.h"
#include "run/copy_of.h"
#include "run/reference/executor.h"

namespace pt2::run {
namespace {

Result<bool> truth(const Value& value) {
  if (const auto* boolean = value.get_if<bool>()) return *boolean;
  if (const auto* integer = value.get_if<int64_t>()) return *integer != 0;
  const auto* tensor = value.get_if<Tensor>();
  if (tensor == nullptr || tensor->numel() != 1)
    return ops::operator_error("a condition must be a bool or a tensor of one element, found " +
                               value.type_text());
  double element = 0;
  ops::load_elements<double>(tensor->raw_data(), 1, tensor->dtype(), 1, &element);
  return element != 0;
}

std::vector<Value> joined(std::vector<Value> first, const std::vector<Value>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

Value::List list_at(const std::vector<Value>& arguments, size_t position) {
  const auto* list =
      position < arguments.size() ? arguments[position].get_if<Value::List>() : nullptr;
  return list == nullptr ? Value::List() : *list;
}

// The elements that a loop iterates over: slice i of each tensor along `dim`.
class Elements {
 public:
  static Result<Elements> of(const Value::List& xs, int64_t dim) {
    Elements out;
    for (const Value& x : xs) {
      const auto* tensor = x.get_if<Tensor>();
      if (tensor == nullptr)
        return ops::operator_error("found " + x.type_text() + ", expected a tensor to go over");
      PT2_TRY(const int64_t at, ops::wrap_dim(dim, tensor->dim()));
      if (tensor->dim() == 0) return ops::operator_error("a tensor to go over has no dimension");
      if (!out.slices_.empty() && tensor->size(at) != out.count_)
        return ops::operator_error("tensors to go over have " + std::to_string(out.count_) +
                                   " and " + std::to_string(tensor->size(at)) + " elements");
      out.count_ = tensor->size(at);
      Sizes sizes = tensor->sizes(), strides = tensor->strides();
      sizes.erase(sizes.begin() + at);
      strides.erase(strides.begin() + at);
      out.slices_.push_back(
          {tensor->with_view(std::move(sizes), std::move(strides), tensor->storage_offset()),
           tensor->stride(at)});
    }
    return out;
  }
  // Error if there is no element: the results have the sizes of what is computed from one.
  static Result<Elements> at_least_one(const Value::List& xs, int64_t dim) {
    PT2_TRY(Elements out, of(xs, dim));
    if (out.count_ == 0) return ops::operator_error("there is no element to go over");
    return out;
  }

  int64_t count() const { return count_; }
  uint64_t tensor_count() const { return slices_.size(); }
  // An element of zeros.
  std::vector<Value> zero() const {
    std::vector<Value> out;
    for (const auto& [first, step] : slices_)
      out.emplace_back(Tensor::zeros(first.dtype(), first.sizes()));
    return out;
  }
  std::vector<Value> at(int64_t index) const {
    std::vector<Value> out;
    for (const auto& [first, step] : slices_)
      out.emplace_back(
          first.with_view(first.sizes(), first.strides(), first.storage_offset() + index * step));
    return out;
  }

 private:
  // The slices of one tensor. A negative dimension counts from the end of each tensor.
  struct Slices {
    Tensor first;
    int64_t step;  // from one slice to the next, in elements
  };
  std::vector<Slices> slices_;
  int64_t count_ = 0;
};

// Collects the results of all rounds and stacks them, one tensor per place in a round's list.
class Rounds {
 public:
  // Error when the round has a different number of results than earlier rounds.
  Result<void> add(std::vector<Value> results) {
    if (columns_.empty()) columns_.resize(results.size());
    if (results.size() != columns_.size())
      return ops::operator_error("found " + std::to_string(results.size()) +
                                 " results of a round, expected " +
                                 std::to_string(columns_.size()));
    held_.add(Executor::kKeptBytes * results.size());
    for (size_t i = 0; i < results.size(); ++i) columns_[i].push_back(std::move(results[i]));
    return {};
  }
  // Results that are None stay None.
  Result<std::vector<Value>> stack(int64_t dim = 0) {
    std::vector<Value> out;
    for (Value::List& column : columns_) {
      if (column.front().is_none()) {
        out.emplace_back();
        continue;
      }
      PT2_TRY(Tensor stacked,
              ops::apply(ops::aten<"stack.default">, {Value(std::move(column)), Value(dim)}));
      out.emplace_back(std::move(stacked));
    }
    return out;
  }

 private:
  MemoryCharge held_;
  std::vector<Value::List> columns_;
};

// while_loop(condition, body, carried, additional); up to 2.3 (condition, body, carried). `rounds`,
// unless null, collects the carried values of every round.
Result<std::vector<Value>> loop(Executor& executor, const BoundNode& node,
                                const std::vector<Value>& arguments, Rounds* rounds) {
  std::vector<Value> carried = list_at(arguments, 2);
  const Value::List additional = list_at(arguments, 3);
  const size_t count = carried.size();
  for (size_t round = 0;; ++round) {
    PT2_TRY(const std::vector<Value> condition,
            run_subgraph(executor, node, 0, joined(carried, additional)));
    if (condition.size() != 1) return ops::operator_error("a condition has one result");
    PT2_TRY(const bool more, truth(condition[0]));
    if (!more) {
      if (round == 0) std::ranges::transform(carried, carried.begin(), copy_of);
      if (round == 0 && rounds != nullptr) PT2_TRY_VOID(rounds->add(carried));
      return carried;
    }
    PT2_TRY_VOID(executor.count_iterations(1));
    PT2_TRY(carried, run_subgraph(executor, node, 1, joined(std::move(carried), additional)));
    if (carried.size() != count)
      return ops::operator_error("the body gives " + std::to_string(carried.size()) +
                                 " values, expected " + std::to_string(count));
    if (rounds != nullptr) PT2_TRY_VOID(rounds->add(carried));
  }
}

Error too_few_results(size_t found, size_t expected) {
  return ops::operator_error("the body gives " + std::to_string(found) +
                             " values, expected at least " + std::to_string(expected));
}

// Returns the results of a scan without elements: what it carries, and stacks of no rounds. The
// body computes one round with zeros, as generic_scan lets it, which tells their sizes and dtypes.
Result<std::vector<Value>> scan_nothing(Executor& executor, const BoundNode& node,
                                        const std::vector<Value>& carried, const Elements& elements,
                                        const Value::List& additional) {
  PT2_TRY(std::vector<Value> results,
          run_subgraph(executor, node, 0, joined(joined(carried, elements.zero()), additional)));
  if (results.size() < carried.size()) return too_few_results(results.size(), carried.size());
  for (size_t i = 0; i < results.size(); ++i) {
    const auto* tensor = results[i].get_if<Tensor>();
    if (i < carried.size()) {
      results[i] = copy_of(carried[i]);
    } else if (tensor != nullptr) {
      Sizes sizes = tensor->sizes();
      sizes.insert(sizes.begin(), 0);
      results[i] = Value(Tensor::zeros(tensor->dtype(), std::move(sizes)));
    } else {
      results[i] = Value();
    }
  }
  return results;
}

class Combine {
 public:
  Combine(Executor& executor, const BoundNode& node, Value::List additional)
      : executor_(executor), node_(node), additional_(std::move(additional)) {}

  Result<std::vector<Value>> operator()(std::vector<Value> left,
                                        const std::vector<Value>& right) const {
    return run_subgraph(executor_, node_, 0, joined(joined(std::move(left), right), additional_));
  }

  // Combines in the order of generic_associative_scan, so that sums round identically.
  Result<std::vector<std::vector<Value>>> scan(std::vector<std::vector<Value>> elements) const {
    const size_t count = elements.size();
    if (count < 2) return elements;
    std::vector<std::vector<Value>> pairs;
    for (size_t i = 0; i + 1 < count; i += 2) {
      PT2_TRY(std::vector<Value> pair, (*this)(elements[i], elements[i + 1]));
      pairs.push_back(std::move(pair));
    }
    PT2_TRY(const std::vector<std::vector<Value>> odd, scan(std::move(pairs)));
    for (size_t i = 1; i < count; ++i) {
      if (i % 2 == 1) {
        elements[i] = odd[i / 2];
      } else {
        PT2_TRY(elements[i], (*this)(odd[i / 2 - 1], elements[i]));
      }
    }
    return elements;
  }

 private:
  Executor& executor_;
  const BoundNode& node_;
  Value::List additional_;
};

}  // namespace

// The positions are those of the functions below.
const ArgumentList* lasting_operands(const BoundNode& node) {
  const std::vector<NamedArgument>& inputs = node.node->inputs;
  const HigherOrderFunction function = node.higher_order->function;
  size_t position = inputs.size();
  if (function == while_loop || function == while_loop_stack_output)
    position = 3;
  else if (function == cond && inputs.size() == 4)
    position = 3;
  else if (function == map_impl && inputs.size() > 1 && inputs[1].arg.is<ArgumentList>())
    position = 2;
  else if (function == scan && inputs.size() > 3)
    position = inputs[3].arg.is<int64_t>() ? 5 : 3;
  return position < inputs.size() ? inputs[position].arg.get_if<ArgumentList>() : nullptr;
}

// cond(predicate, true_graph, false_graph, operands).
Result<std::vector<Value>> cond(Executor& executor, const BoundNode& node,
                                std::vector<Value> arguments) {
  if (arguments.size() < 3) return ops::operator_error("cond takes a predicate and two graphs");
  PT2_TRY(const bool predicate, truth(arguments[0]));
  return run_subgraph(executor, node, predicate ? 1 : 2,
                      operands_from(node, std::move(arguments), 3));
}

Result<std::vector<Value>> while_loop(Executor& executor, const BoundNode& node,
                                      std::vector<Value> arguments) {
  return loop(executor, node, arguments, nullptr);
}

Result<std::vector<Value>> while_loop_stack_output(Executor& executor, const BoundNode& node,
                                                   std::vector<Value> arguments) {
  Rounds rounds;
  PT2_TRY_VOID(loop(executor, node, arguments, &rounds));
  return rounds.stack();
}

// map_impl(graph, xs, operands); up to 2.2 (graph, number of xs, *xs, *operands).
Result<std::vector<Value>> map_impl(Executor& executor, const BoundNode& node,
                                    std::vector<Value> arguments) {
  Value::List xs = list_at(arguments, 1);
  Value::List operands = list_at(arguments, 2);
  if (const auto* mapped = arguments.size() > 1 ? arguments[1].get_if<int64_t>() : nullptr) {
    const int64_t count = *mapped;
    operands = operands_from(node, std::move(arguments), 2);
    if (count < 0 || static_cast<uint64_t>(count) > operands.size())
      return ops::operator_error("there are not " + std::to_string(count) + " tensors to go over");
    xs.assign(operands.begin(), operands.begin() + count);
    operands.erase(operands.begin(), operands.begin() + count);
  }
  PT2_TRY(const Elements elements, Elements::at_least_one(xs, 0));
  PT2_TRY_VOID(executor.count_iterations(elements.count()));
  Rounds rounds;
  for (int64_t i = 0; i < elements.count(); ++i) {
    PT2_TRY(std::vector<Value> results,
            run_subgraph(executor, node, 0, joined(elements.at(i), operands)));
    PT2_TRY_VOID(rounds.add(std::move(results)));
  }
  return rounds.stack();
}

// scan(graph, carried, xs, additional); in 2.6 (graph, carried, xs, dim, reverse, additional).
Result<std::vector<Value>> scan(Executor& executor, const BoundNode& node,
                                std::vector<Value> arguments) {
  std::vector<Value> carried = list_at(arguments, 1);
  const Value::List xs = list_at(arguments, 2);
  const auto* dim = arguments.size() > 3 ? arguments[3].get_if<int64_t>() : nullptr;
  const auto* reverse = arguments.size() > 4 ? arguments[4].get_if<bool>() : nullptr;
  const Value::List additional = list_at(arguments, dim == nullptr ? 3 : 5);
  const bool backwards = reverse != nullptr && *reverse;
  if (xs.empty()) return carried;
  PT2_TRY(const Elements elements, Elements::of(xs, dim == nullptr ? 0 : *dim));
  if (elements.count() == 0) return scan_nothing(executor, node, carried, elements, additional);
  PT2_TRY_VOID(executor.count_iterations(elements.count()));
  MemoryCharge held;
  held.add(static_cast<uint64_t>(elements.count()) * sizeof(std::vector<Value>));
  std::vector<std::vector<Value>> emitted(static_cast<size_t>(elements.count()));
  for (int64_t i = 0; i < elements.count(); ++i) {
    const int64_t index = backwards ? elements.count() - 1 - i : i;
    const size_t count = carried.size();
    PT2_TRY(std::vector<Value> results,
            run_subgraph(executor, node, 0,
                         joined(joined(std::move(carried), elements.at(index)), additional)));
    if (results.size() < count) return too_few_results(results.size(), count);
    const auto first_emitted = results.begin() + static_cast<ptrdiff_t>(count);
    held.add(Executor::kKeptBytes * (results.size() - count));
    emitted[static_cast<size_t>(index)].assign(std::make_move_iterator(first_emitted),
                                               std::make_move_iterator(results.end()));
    results.erase(first_emitted, results.end());
    carried = std::move(results);
  }
  Rounds rounds;
  for (std::vector<Value>& values : emitted) PT2_TRY_VOID(rounds.add(std::move(values)));
  PT2_TRY(const std::vector<Value> stacked, rounds.stack());
  return joined(std::move(carried), stacked);
}

// associative_scan(graph, xs, additional); in 2.5 and 2.6 (graph, xs, dim).
Result<std::vector<Value>> associative_scan(Executor& executor, const BoundNode& node,
                                            std::vector<Value> arguments) {
  const auto* dim = arguments.size() > 2 ? arguments[2].get_if<int64_t>() : nullptr;
  const int64_t along = dim == nullptr ? 0 : *dim;
  PT2_TRY(const Elements elements, Elements::at_least_one(list_at(arguments, 1), along));
  PT2_TRY_VOID(executor.count_iterations(elements.count()));
  // Both halves of the tree of pairs are held at the same time.
  MemoryCharge held;
  held.add(2 * Executor::kKeptBytes * elements.tensor_count() *
           static_cast<uint64_t>(elements.count()));
  std::vector<std::vector<Value>> rounds;
  for (int64_t i = 0; i < elements.count(); ++i) rounds.push_back(elements.at(i));
  const Combine combine(executor, node, list_at(arguments, dim == nullptr ? 2 : 3));
  PT2_TRY(rounds, combine.scan(std::move(rounds)));
  Rounds scanned;
  for (std::vector<Value>& values : rounds) PT2_TRY_VOID(scanned.add(std::move(values)));
  return scanned.stack(along);
}

}  // namespace pt2::run
