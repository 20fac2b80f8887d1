#include "ops/emitter.h"

#include <algorithm>

#include "base/check.h"
#include "base/memory_account.h"
#include "ops/bind.h"
#include "ops/checks.h"
#include "ops/table.h"

namespace pt2::ops {
namespace {

Result<std::vector<Value>> given(std::initializer_list<Operand> operands) {
  std::vector<Value> out;
  out.reserve(operands.size());
  for (const Operand& operand : operands) {
    PT2_TRY(Value value, operand.value());
    out.push_back(std::move(value));
  }
  return out;
}

Value without_elements(Meta meta) {
  Tensor tensor = Tensor::without_elements(meta.dtype, std::move(meta.sizes));
  if (meta.strides.empty()) return Value(std::move(tensor));
  return Value(tensor.with_view(tensor.sizes(), std::move(meta.strides), 0));
}

}  // namespace

Result<std::vector<Value>> Emitter::all(Handle handle, std::initializer_list<Operand> arguments) {
  PT2_TRY(const std::vector<Value> values, given(arguments));
  return call(handle(), values);
}

Result<Tensor> Emitter::operator()(Handle handle, std::initializer_list<Operand> arguments) {
  PT2_TRY(std::vector<Value> results, all(handle, arguments));
  PT2_CHECK(!results.empty() && results[0].is<Tensor>());
  return *std::move(results[0].get_if<Tensor>());
}

Result<std::vector<Tensor>> Emitter::pieces(Handle handle,
                                            std::initializer_list<Operand> arguments) {
  PT2_TRY(const std::vector<Value> results, all(handle, arguments));
  PT2_CHECK(results.size() == 1 && results[0].is<Value::List>());
  return unbox<std::vector<Tensor>>(results[0]);
}

Result<std::vector<Value>> Runner::call(const Operator& op, std::span<const Value> arguments) {
  PT2_TRY(const std::vector<Value> bound, bind_in_order(op.signature(), arguments));
  // The cost of finding operands and creating results.
  constexpr uint64_t kOperator = 512;
  MemoryAccount::count_work(kOperator);
  return ops::call(op, context_, bound);
}

Result<std::vector<Value>> Inferrer::call(const Operator& op, std::span<const Value> arguments) {
  PT2_TRY(const std::vector<Value> bound, bind_in_order(op.signature(), arguments));
  const OpDef& def = *op.def;
  if (op.form == Operator::Form::in_place) return std::vector<Value>{bound[0]};
  if (op.form == Operator::Form::as_written && def.has_rule()) return infer_values(def, bound);
  const bool is_copy = op.form == Operator::Form::copy;
  if ((op.form == Operator::Form::as_written || is_copy) && def.looks_at_sizes_alone()) {
    Context context;
    PT2_TRY(std::vector<Value> out, def.compute(context, bound));
    for (Value& value : out) {
      const auto* tensor = value.get_if<Tensor>();
      if (tensor == nullptr) continue;
      PT2_TRY_VOID(check_real_rank(tensor->dim()));
      if (is_copy) value = Value(Tensor::without_elements(tensor->dtype(), tensor->sizes()));
    }
    return out;
  }
  if (op.form == Operator::Form::as_written && def.is_predictable())
    return infer_values(def, bound);
  return Error{ErrorCode::unsupported,
               "the operator " + std::string(def.signature->name) + " has no shape rule", ""};
}

Result<std::vector<Value>> run_formula(const OpDef& def, Context& context,
                                       std::span<const Value> arguments) {
  Runner runner(context);
  return def.write_boxed(def, runner, arguments);
}

Result<std::vector<Meta>> infer_formula(const OpDef& def, std::span<const Value> arguments) {
  Inferrer inferrer;
  PT2_TRY(const std::vector<Value> results, def.write_boxed(def, inferrer, arguments));
  std::vector<Meta> metas;
  for (const Value& result : results) {
    const auto* tensor = result.get_if<Tensor>();
    if (tensor == nullptr) return Error{ErrorCode::unsupported, "a result is not a tensor", ""};
    metas.emplace_back(tensor->dtype(), tensor->sizes(), tensor->strides());
  }
  return metas;
}

Result<std::vector<Value>> infer_values(const OpDef& def, std::span<const Value> arguments) {
  if (!def.has_rule()) {
    Inferrer inferrer;
    return def.write_boxed(def, inferrer, arguments);
  }
  PT2_TRY(std::vector<Meta> metas, def.infer(arguments));
  std::vector<Value> out;
  for (Meta& meta : metas) {
    // A formula may add one dim for each number of a list.
    PT2_TRY_VOID(check_real_rank(std::ssize(meta.sizes)));
    if (!checked_numel(meta.sizes))
      return operator_error("a result of sizes " + sizes_text(meta.sizes) +
                            " has more elements than 64 bits count");
    out.push_back(without_elements(std::move(meta)));
  }
  return out;
}

bool OpDef::looks_at_sizes_alone() const {
  const auto is_number = [](const ArgumentType& type) {
    return type.base != BaseType::tensor && type.base != BaseType::generator &&
           type.base != BaseType::object;
  };
  const Signature& own = *signature;
  const bool is_arithmetic =
      std::all_of(own.begin(), own.end(), [&](const Parameter& p) { return is_number(p.type); }) &&
      std::all_of(own.return_array, own.return_array + own.return_count, is_number);
  if (is_arithmetic || facts.looks_at_sizes_alone) return true;
  const Sharing sharing = facts.sharing;
  const bool shows = is_view() && (sharing == Sharing::as_signed || sharing == Sharing::always ||
                                   sharing == Sharing::where_strides_allow);
  return shows && std::all_of(own.begin(), own.end(), [&](const Parameter& parameter) {
           return parameter.aliased ||
                  (is_number(parameter.type) && parameter.type.base != BaseType::dtype);
         });
}

}  // namespace pt2::ops
