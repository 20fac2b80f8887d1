#include "lower/decompose/recorder.h"

#include "ops/bind.h"
#include "ops/compose.h"

namespace pt2 {
namespace {

// Calls `visit` for each tensor that autocast may cast to another dtype (ATen/autocast_mode.h).
template <class Visit>
Result<void> for_each_cast(std::vector<Value>& arguments, Dtype wanted, const Visit& visit) {
  for (Value& argument : arguments) {
    if (auto* list = argument.get_if<Value::List>())
      PT2_TRY_VOID(for_each_cast(*list, wanted, visit));
    auto* tensor = argument.get_if<Tensor>();
    if (tensor != nullptr && dtype_category(tensor->dtype()) == DtypeCategory::floating &&
        tensor->dtype() != Dtype::float64 && tensor->dtype() != wanted)
      PT2_TRY_VOID(visit(*tensor));
  }
  return {};
}

// The dtype to which autocast casts the arguments of an operator; nothing where it leaves them
// alone.
std::optional<Dtype> cast_dtype(const ops::Operator& op, std::optional<Dtype> region,
                                std::vector<Value>& arguments) {
  using ops::AutocastRule;
  const AutocastRule rule = op.def->facts.autocast;
  if (!region || rule == AutocastRule::as_given || op.form != ops::Operator::Form::as_written)
    return std::nullopt;
  if (rule == AutocastRule::float32) return Dtype::float32;
  bool is_wide = false;
  if (rule == AutocastRule::widest)
    for_each_cast(arguments, *region, [&](Tensor& tensor) -> Result<void> {
      is_wide = is_wide || tensor.dtype() == Dtype::float32;
      return {};
    }).value();
  return is_wide ? Dtype::float32 : region;
}

}  // namespace

std::string written_target(const ops::Operator& op) {
  std::string target = target_of(*op.def->signature);
  if (op.form == ops::Operator::Form::in_place) target.insert(target.rfind('.'), "_");
  if (op.form == ops::Operator::Form::copy) target.insert(target.rfind('.'), "_copy");
  return target;
}

Result<std::vector<Value>> Recorder::expand(const ops::Operator& op, std::vector<Value> bound) {
  const auto wanted = is_cast_ ? std::nullopt : cast_dtype(op, autocast_, bound);
  if (!wanted) return op.def->write_boxed(*op.def, *this, bound);
  PT2_TRY_VOID(for_each_cast(bound, *wanted, [&](Tensor& tensor) -> Result<void> {
    PT2_TRY(tensor, (*this)(ops::aten<"_to_copy.default">, {tensor, *wanted}));
    return {};
  }));
  is_cast_ = true;
  auto results = op.def->write_boxed(*op.def, *this, bound);
  is_cast_ = false;
  return results;
}

bool Recorder::requires_grad(const Tensor& tensor) const {
  return with_gradients_.contains(term_of(tensor));
}

void Recorder::number(Value& value, bool requires_grad) {
  if (auto* list = value.get_if<Value::List>())
    for (Value& item : *list) number(item, requires_grad);
  auto* tensor = value.get_if<Tensor>();
  if (tensor == nullptr || tensor->defined()) return;
  *tensor = tensor->with_view(tensor->sizes(), tensor->strides(), ++last_);
  if (requires_grad) with_gradients_.insert(last_);
}

Result<std::vector<Value>> Recorder::call(const ops::Operator& op,
                                          std::span<const Value> arguments) {
  PT2_TRY(std::vector<Value> bound, ops::bind_in_order(op.signature(), arguments));
  if (expands_(op)) {
    if (op.form == ops::Operator::Form::as_written && op.def->formula != nullptr)
      return expand(op, std::move(bound));
    return Error{ErrorCode::unsupported,
                 "its formula takes " + written_target(op) +
                     ", which may not stay and has no formula itself",
                 ""};
  }
  // The rule must see the dtypes that the region's casts will give the operator at run time.
  std::vector<Value> seen = bound;
  if (const auto wanted = cast_dtype(op, autocast_, seen))
    PT2_TRY_VOID(for_each_cast(seen, *wanted, [&](Tensor& tensor) -> Result<void> {
      if (is_cast_)
        return Error{
            ErrorCode::unsupported,
            "the operators that it is made of would compute in another dtype inside autocast", ""};
      tensor = Tensor::without_elements(*wanted, tensor.sizes())
                   .with_view(tensor.sizes(), tensor.strides(), tensor.storage_offset());
      return {};
    }));
  PT2_TRY(std::vector<Value> results, infer(op, seen));
  bool has_gradients = false;
  for (const Value& argument : bound)
    for_each_tensor(argument, [&](const Tensor& each) {
      has_gradients = has_gradients || requires_grad(each);
    });
  for (Value& result : results) number(result, has_gradients);
  bound.resize(arguments.size());
  calls_.push_back({&op, std::move(bound), results});
  return results;
}

Result<std::vector<Value>> Recorder::infer(const ops::Operator& op,
                                           const std::vector<Value>& bound) {
  const std::string_view name = op.def->signature->name;
  const auto* tensor = bound[0].get_if<Tensor>();
  const auto of_sizes = [&](Dtype dtype, Sizes sizes) {
    return std::vector<Value>{Value(Tensor::without_elements(dtype, std::move(sizes)))};
  };
  if (data_size_ && tensor != nullptr && name == "aten::nonzero")
    return of_sizes(Dtype::int64, {*data_size_, tensor->dim()});
  if (data_size_ && tensor != nullptr && name == "aten::repeat_interleave" && bound[1].is_none())
    return of_sizes(tensor->dtype(), {*data_size_});
  return ops::Inferrer::call(op, bound);
}

}  // namespace pt2
