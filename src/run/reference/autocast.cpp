#include "run/reference/autocast.h"

#include <algorithm>
#include <span>

#include "ops/pointwise/copying.h"
#include "run/reference/executor.h"

namespace pt2::run {
namespace {

bool is_eligible(const Value& value) {
  const auto* tensor = value.get_if<Tensor>();
  return tensor != nullptr && dtype_category(tensor->dtype()) == DtypeCategory::floating &&
         tensor->dtype() != Dtype::float64;
}

// Calls visit(Value&) for every tensor that autocast may cast, in lists too.
template <class Visit>
Result<void> for_each_eligible(std::vector<Value>& arguments, Visit&& visit) {
  for (Value& argument : arguments) {
    if (is_eligible(argument)) PT2_TRY_VOID(visit(argument));
    auto* list = argument.get_if<Value::List>();
    if (list == nullptr) continue;
    for (Value& item : *list)
      if (is_eligible(item)) PT2_TRY_VOID(visit(item));
  }
  return {};
}

Result<void> cast(std::vector<Value>& arguments, Dtype dtype) {
  return for_each_eligible(arguments, [&](Value& value) -> Result<void> {
    const Tensor& tensor = *value.get_if<Tensor>();
    if (tensor.dtype() == dtype) return {};
    PT2_TRY(Tensor converted, ops::copy_as(tensor, dtype, std::nullopt));
    value = Value(std::move(converted));
    return {};
  });
}

// at::autocast::promote_type: float32 as soon as one argument is.
Result<Dtype> widest(std::vector<Value>& arguments, Dtype lower) {
  Dtype out = lower;
  PT2_TRY_VOID(for_each_eligible(arguments, [&](Value& value) -> Result<void> {
    const Dtype dtype = value.get_if<Tensor>()->dtype();
    if (dtype == Dtype::float32) out = dtype;
    if (dtype != Dtype::float32 && dtype != lower)
      return ops::operator_error("found " + std::string(dtype_name(dtype)) + " in a region of " +
                                 std::string(dtype_name(lower)));
    return {};
  }));
  return out;
}

// The region that torch.autocast(device, dtype, enabled, cache_enabled, ...) opens within `around`.
Result<Autocast> autocast_of(const std::vector<Value>& arguments, const Autocast& around) {
  const auto* device = arguments.size() < 3 ? nullptr : arguments[0].get_if<std::string>();
  const auto* enabled = device == nullptr ? nullptr : arguments[2].get_if<bool>();
  if (enabled == nullptr)
    return ops::operator_error("autocast takes a device, a dtype and whether it is enabled");
  // Autocast for another device leaves the CPU's region as it is.
  if (*device != "cpu") return around;
  const auto* dtype = arguments[1].get_if<Dtype>();
  if (dtype == nullptr) return Autocast{*enabled};
  // PyTorch warns of any other dtype and computes without autocast (torch/amp/autocast_mode.py).
  const bool known = *dtype == Dtype::bfloat16 || *dtype == Dtype::float16;
  return Autocast{*enabled && known, known ? *dtype : Autocast{}.dtype};
}

Autocast current_autocast(Executor& executor) {
  return executor.autocasts().empty() ? Autocast{} : executor.autocasts().back();
}

}  // namespace

Result<void> apply_autocast(const Autocast& autocast, const ops::Operator& op,
                            std::vector<Value>& arguments) {
  if (!autocast.enabled || op.form != ops::Operator::Form::as_written) return {};
  switch (op.def->facts.autocast) {
    case ops::AutocastRule::as_given:
      return {};
    case ops::AutocastRule::lower_precision:
      return cast(arguments, autocast.dtype);
    case ops::AutocastRule::float32:
      return cast(arguments, Dtype::float32);
    case ops::AutocastRule::widest:
      break;
  }
  PT2_TRY(const Dtype dtype, widest(arguments, autocast.dtype));
  return cast(arguments, dtype);
}

// wrap_with_autocast(device, dtype, enabled, cache_enabled, graph, *operands).
Result<std::vector<Value>> wrap_with_autocast(Executor& executor, const BoundNode& node,
                                              std::vector<Value> arguments) {
  PT2_TRY(const Autocast autocast, autocast_of(arguments, current_autocast(executor)));
  executor.autocasts().push_back(autocast);
  PT2_TRY(std::vector<Value> results,
          run_subgraph(executor, node, 4, operands_from(node, std::move(arguments), 5)));
  executor.autocasts().pop_back();
  return results;
}

// torch.amp._enter_autocast(device, dtype, enabled, cache_enabled).
Result<std::vector<Value>> enter_autocast(Executor& executor, const BoundNode&,
                                          std::vector<Value> arguments) {
  PT2_TRY(const Autocast autocast, autocast_of(arguments, current_autocast(executor)));
  executor.autocasts().push_back(autocast);
  return std::vector<Value>{Value()};
}

// torch.amp._exit_autocast(mode).
Result<std::vector<Value>> exit_autocast(Executor& executor, const BoundNode&, std::vector<Value>) {
  if (executor.autocasts().empty())
    return ops::operator_error("an autocast region is left that was not entered");
  executor.autocasts().pop_back();
  return std::vector<Value>{Value()};
}

}  // namespace pt2::run
