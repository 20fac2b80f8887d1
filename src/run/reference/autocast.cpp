#include "run/reference/autocast.h"

#include "ops/forms/autocast.h"
#include "ops/pointwise/copying.h"
#include "run/reference/executor.h"

namespace pt2::run {
namespace {

// Opens the region of torch.autocast(device, dtype, enabled, cache_enabled, ...).
Result<void> open_region(Executor& executor, const std::vector<Value>& arguments) {
  const auto* device = arguments.size() < 3 ? nullptr : arguments[0].get_if<std::string>();
  const auto* enabled = device == nullptr ? nullptr : arguments[2].get_if<bool>();
  if (enabled == nullptr)
    return ops::operator_error("autocast takes a device, a dtype and whether it is enabled");
  const auto* dtype = arguments[1].get_if<Dtype>();
  const auto around = executor.autocasts().empty() ? std::nullopt : executor.autocasts().back();
  executor.autocasts().push_back(ops::autocast_region(
      around, *device, dtype == nullptr ? std::nullopt : std::optional(*dtype), *enabled));
  return {};
}

}  // namespace

Result<void> apply_autocast(std::optional<Dtype> region, const ops::Operator& op,
                            std::vector<Value>& arguments) {
  return ops::cast_arguments(region, op, arguments, [](const Tensor& tensor, Dtype dtype) {
    return ops::copy_as(tensor, dtype, std::nullopt);
  });
}

// wrap_with_autocast(device, dtype, enabled, cache_enabled, graph, *operands).
Result<std::vector<Value>> wrap_with_autocast(Executor& executor, const BoundNode& node,
                                              std::vector<Value> arguments) {
  PT2_TRY_VOID(open_region(executor, arguments));
  PT2_TRY(std::vector<Value> results,
          run_subgraph(executor, node, 4, operands_from(node, std::move(arguments), 5)));
  executor.autocasts().pop_back();
  return results;
}

// torch.amp._enter_autocast(device, dtype, enabled, cache_enabled).
Result<std::vector<Value>> enter_autocast(Executor& executor, const BoundNode&,
                                          std::vector<Value> arguments) {
  PT2_TRY_VOID(open_region(executor, arguments));
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
