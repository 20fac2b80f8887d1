#include "ops/forms/autocast.h"

#include <algorithm>

#include "ops/bind.h"
#include "ops/compose.h"
#include "ops/meta.h"

namespace pt2::ops {
namespace {

bool have_equal_dtypes(const Value& a, const Value& b) {
  const auto *items = a.get_if<Value::List>(), *others = b.get_if<Value::List>();
  if (items != nullptr && others != nullptr)
    return std::ranges::equal(*items, *others, have_equal_dtypes);
  const auto *tensor = a.get_if<Tensor>(), *other = b.get_if<Tensor>();
  return tensor == nullptr || other == nullptr || tensor->dtype() == other->dtype();
}

}  // namespace

std::optional<Dtype> autocast_region(std::optional<Dtype> around, std::string_view device,
                                     std::optional<Dtype> dtype, bool enabled) {
  // Autocast for another device does not change the CPU's region.
  if (device != "cpu") return around;
  if (!enabled) return std::nullopt;
  if (!dtype) return Dtype::bfloat16;
  // For any other dtype, PyTorch warns and computes without autocast (torch/amp/autocast_mode.py).
  const bool known = *dtype == Dtype::bfloat16 || *dtype == Dtype::float16;
  return known ? dtype : std::nullopt;
}

Result<std::optional<Dtype>> autocast_dtype(const Operator& op, std::optional<Dtype> region,
                                            std::span<const Dtype> dtypes) {
  if (!region || op.form != Operator::Form::as_written) return std::optional<Dtype>();
  switch (op.def->facts.autocast) {
    case AutocastRule::as_given:
      return std::optional<Dtype>();
    case AutocastRule::lower_precision:
      return region;
    case AutocastRule::float32:
      return std::optional(Dtype::float32);
    case AutocastRule::widest:
      break;
  }
  // at::autocast::promote_type: float32 if any argument is float32.
  for (const Dtype dtype : dtypes)
    if (dtype != Dtype::float32 && dtype != *region)
      return operator_error("found " + std::string(dtype_name(dtype)) + " in a region of " +
                            std::string(dtype_name(*region)));
  return std::ranges::find(dtypes, Dtype::float32) != dtypes.end() ? std::optional(Dtype::float32)
                                                                   : region;
}

bool is_cast_in_steps(const Operator& op) {
  return op.form == Operator::Form::as_written && op.def->formula != nullptr &&
         op.def->facts.autocast == AutocastRule::as_given;
}

bool casts_change_dtypes(const Operator& op, Dtype region, std::span<const Value> arguments) {
  if (!is_cast_in_steps(op)) return false;
  Inferrer inferrer;
  CastingEmitter emitter(region, inferrer);
  const auto cast = op.def->write_boxed(*op.def, emitter, arguments);
  if (!cast || !emitter.has_cast()) return false;
  // Operands of different dtypes may be refused if nothing casts them.
  const auto exact = op.def->write_boxed(*op.def, inferrer, arguments);
  return !exact || !std::ranges::equal(*cast, *exact, have_equal_dtypes);
}

Result<std::vector<Value>> CastingEmitter::call(const Operator& op,
                                                std::span<const Value> arguments) {
  PT2_TRY(std::vector<Value> bound, bind_in_order(op.signature(), arguments));
  PT2_TRY_VOID(cast_arguments(region_, op, bound, [&](const Tensor& tensor, Dtype dtype) {
    has_cast_ = true;
    return inner_(aten<"_to_copy.default">, {tensor, dtype});
  }));
  if (is_cast_in_steps(op)) return op.def->write_boxed(*op.def, *this, bound);
  return inner_.call(op, std::span<const Value>(bound).first(arguments.size()));
}

}  // namespace pt2::ops
