#include "lower/decompose/recorder.h"

#include "ops/bind.h"
#include "ops/compose.h"

namespace pt2 {
std::string written_target(const ops::Operator& op) {
  std::string target = target_of(*op.def->signature);
  if (op.form == ops::Operator::Form::in_place) target.insert(target.rfind('.'), "_");
  if (op.form == ops::Operator::Form::copy) target.insert(target.rfind('.'), "_copy");
  return target;
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
    return Error{ErrorCode::unsupported, "its formula takes " + written_target(op) +
                                             ", which may not stay and has no formula itself"};
  }
  PT2_TRY(std::vector<Value> results, infer(op, bound));
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
  // The number of elements comes from the file and is not validated yet.
  const auto of_sizes = [&](Dtype dtype, Sizes sizes) -> Result<std::vector<Value>> {
    if (!checked_numel(sizes))
      return ops::operator_error("a result of sizes " + ops::sizes_text(sizes) + " cannot be");
    depends_on_elements_ = true;
    return std::vector<Value>{Value(Tensor::without_elements(dtype, std::move(sizes)))};
  };
  if (data_size_ && tensor != nullptr && name == "aten::nonzero")
    return of_sizes(Dtype::int64, {*data_size_, tensor->dim()});
  if (data_size_ && tensor != nullptr && name == "aten::repeat_interleave" && bound[1].is_none())
    return of_sizes(tensor->dtype(), {*data_size_});
  return ops::Inferrer::call(op, bound);
}

}  // namespace pt2
