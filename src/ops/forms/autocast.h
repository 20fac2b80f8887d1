// The casts that torch.autocast applies to arguments of operators on a CPU (ATen/autocast_mode.h).
// A region is the dtype of lower-precision operators; nullopt means that nothing is cast.
#ifndef PT2_OPS_FORMS_AUTOCAST_H
#define PT2_OPS_FORMS_AUTOCAST_H

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ops/emitter.h"
#include "ops/table.h"

namespace pt2::ops {

// The region that torch.autocast(device, dtype, enabled) opens within the region `around`.
std::optional<Dtype> autocast_region(std::optional<Dtype> around, std::string_view device,
                                     std::optional<Dtype> dtype, bool enabled);

// True if a region may cast tensors of this dtype.
inline bool is_autocast(Dtype dtype) {
  return dtype_category(dtype) == DtypeCategory::floating && dtype != Dtype::float64;
}

// The dtype to which a region casts the operator's castable arguments, whose dtypes are `dtypes`.
// Nothing (nullopt) if they are not cast. Error `invalid` if PyTorch refuses them.
Result<std::optional<Dtype>> autocast_dtype(const Operator& op, std::optional<Dtype> region,
                                            std::span<const Dtype> dtypes);

// True if the operator is in no list, but composed of others, which PyTorch casts one by one.
bool is_cast_in_steps(const Operator& op);
// True if the casts of such an operator's steps give results of other dtypes. Otherwise the
// operator is computed without them, which is more precise: a GRU keeps its fast kernel.
// `arguments` are bound; they may have no elements.
bool casts_change_dtypes(const Operator& op, Dtype region, std::span<const Value> arguments);

// Calls visit(Tensor&) for every tensor that a region may cast, including those in lists. Stops at
// the first error.
template <class Visit>
Result<void> for_each_autocast(std::span<Value> arguments, const Visit& visit) {
  for (Value& argument : arguments) {
    if (auto* list = argument.get_if<Value::List>()) PT2_TRY_VOID(for_each_autocast(*list, visit));
    auto* tensor = argument.get_if<Tensor>();
    if (tensor != nullptr && is_autocast(tensor->dtype())) PT2_TRY_VOID(visit(*tensor));
  }
  return {};
}

// Replaces the arguments that a region casts for the operator by cast(Tensor, Dtype).
template <class Cast>
Result<void> cast_arguments(std::optional<Dtype> region, const Operator& op,
                            std::span<Value> arguments, const Cast& cast) {
  std::vector<Dtype> dtypes;
  PT2_TRY_VOID(for_each_autocast(arguments, [&](const Tensor& tensor) -> Result<void> {
    dtypes.push_back(tensor.dtype());
    return {};
  }));
  PT2_TRY(const std::optional<Dtype> wanted, autocast_dtype(op, region, dtypes));
  if (!wanted) return {};
  return for_each_autocast(arguments, [&](Tensor& tensor) -> Result<void> {
    if (tensor.dtype() == *wanted) return {};
    PT2_TRY(tensor, cast(tensor, *wanted));
    return {};
  });
}

// Hands the steps of a formula on to another emitter, with the casts of a region before each.
class CastingEmitter final : public Emitter {
 public:
  CastingEmitter(Dtype region, Emitter& inner) : region_(region), inner_(inner) {}

  Result<std::vector<Value>> call(const Operator& op, std::span<const Value> arguments) override;
  bool requires_grad(const Tensor& tensor) const override { return inner_.requires_grad(tensor); }
  bool strides_vary() const override { return inner_.strides_vary(); }
  // True if a step so far had an operand cast.
  bool has_cast() const { return has_cast_; }

 private:
  const Dtype region_;
  Emitter& inner_;
  bool has_cast_ = false;
};

}  // namespace pt2::ops

#endif  // PT2_OPS_FORMS_AUTOCAST_H
