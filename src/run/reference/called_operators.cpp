// Higher-order operators that call another operator, named by an argument:
// torch/_higher_order_ops/{effects,auto_functionalize,out_dtype,torchbind}.py.
#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>

#include "base/strided_copy.h"
#include "ops/bind.h"
#include "ops/compose.h"
#include "ops/pointwise/copying.h"
#include "run/reference/executor.h"

namespace pt2::run {
namespace {

Error given_twice(const std::string& name) {
  return ops::operator_error("argument '" + name + "' is given twice");
}

// The gathered arguments of a call.
struct CallArguments {
  std::vector<Value> by_position;
  std::map<std::string, Value> by_name;
};

// The name of a method is part of its target and no argument of its kernel.
Result<CallArguments> arguments_from(const BoundNode& node, std::vector<Value> arguments,
                                     size_t first) {
  const std::optional<size_t> object = called_object(*node.node);
  CallArguments out;
  for (size_t i = first; i < arguments.size(); ++i) {
    const std::string& name = node.node->inputs[i].name;
    if (object && i == *object + 1) continue;
    if (name.empty())
      out.by_position.push_back(std::move(arguments[i]));
    else if (!out.by_name.emplace(name, std::move(arguments[i])).second)
      return given_twice(name);
  }
  return out;
}

// Removes and returns the argument `name`; nothing when there is none.
std::optional<Value> take(CallArguments& arguments, const std::string& name) {
  auto taken = arguments.by_name.extract(name);
  return taken.empty() ? std::nullopt : std::optional(std::move(taken.mapped()));
}

// Binds the arguments to the signature and fills in defaults.
Result<std::vector<Value>> bind_call(const ops::Signature& signature, CallArguments arguments) {
  std::vector<std::optional<Value>> given(signature.parameter_count);
  const auto bind = [&](const std::string& name, size_t position, Value value) -> Result<void> {
    PT2_TRY(const size_t index, ops::parameter_index(signature, name, position));
    if (given[index]) return given_twice(name);
    PT2_TRY(given[index], ops::coerce(signature.parameter_array[index], std::move(value)));
    return {};
  };
  size_t position = 0;
  for (Value& value : arguments.by_position) PT2_TRY_VOID(bind("", position++, std::move(value)));
  for (auto& [name, value] : arguments.by_name) PT2_TRY_VOID(bind(name, 0, std::move(value)));
  std::vector<Value> out;
  for (size_t i = 0; i < given.size(); ++i) {
    if (!given[i]) {
      PT2_TRY(given[i], ops::default_value(signature.parameter_array[i]));
    }
    out.push_back(*std::move(given[i]));
  }
  return out;
}

Result<void> check_callee(const BoundNode& node) {
  if (node.op) return {};
  return Error{ErrorCode::unsupported, "no operator to call is named", ""};
}

// torch._prims_common.clone_preserve_strides: the storage up to the last element, so that views
// made from the copy by offset are the same.
Result<Tensor> clone_with_layout(const Tensor& tensor) {
  const int64_t span = *extent(tensor.sizes(), tensor.strides());
  const int64_t reach = span == 0 ? 0 : tensor.storage_offset() + span;
  PT2_TRY(Tensor copy, ops::allocate({tensor.dtype(), {reach}}));
  if (reach > 0) std::memcpy(copy.raw_data(), tensor.storage()->data(), copy.nbytes());
  return copy.with_view(tensor.sizes(), tensor.strides(), tensor.storage_offset());
}

// Copies a tensor, or every tensor of a list; None stays None.
Result<Value> clone_value(const Value& value) {
  if (const auto* tensor = value.get_if<Tensor>()) {
    PT2_TRY(Tensor copy, clone_with_layout(*tensor));
    return Value(std::move(copy));
  }
  const auto* list = value.get_if<Value::List>();
  if (list == nullptr) return value;
  Value::List out;
  for (const Value& item : *list) {
    PT2_TRY(Value copy, clone_value(item));
    out.push_back(std::move(copy));
  }
  return Value(std::move(out));
}

// Returns the results of `op` (None for an operator without results), followed by `more`.
Result<std::vector<Value>> call_and_append(Executor& executor, const ops::Operator& op,
                                           CallArguments arguments, std::vector<Value> more) {
  PT2_TRY(std::vector<Value> bound, bind_call(op.signature(), std::move(arguments)));
  PT2_TRY(std::vector<Value> results, executor.call(op, std::move(bound)));
  if (op.signature().return_count == 0) results = {Value()};
  std::ranges::move(more, std::back_inserter(results));
  return results;
}

// Rebuilds mutable arguments of an auto_functionalized_v2 node: the node describes them as views of
// the new bases (read_view_information_from_args).
class ViewReader {
 public:
  ViewReader(CallArguments& arguments, const Value::List& bases)
      : arguments_(arguments), bases_(bases) {}

  Result<Value> read(const ops::Parameter& parameter) {
    const std::string prefix = "_" + std::string(parameter.name);
    if (!parameter.type.list) return read_one(prefix);
    const std::optional<Value> length = take(arguments_, prefix + "_length");
    if (!length || length->is_none()) return Value();
    const auto* count = length->get_if<int64_t>();
    Value::List out;
    for (int64_t i = 0; count != nullptr && i < *count; ++i) {
      PT2_TRY(Value item, read_one(prefix + "_" + std::to_string(i)));
      out.push_back(std::move(item));
    }
    return Value(std::move(out));
  }

 private:
  Result<Value> read_one(const std::string& prefix) {
    const std::optional<Value> index = take(arguments_, prefix + "_base_index");
    if (!index) return ops::operator_error("missing argument '" + prefix + "_base_index'");
    if (index->is_none()) return Value();
    const auto* number = index->get_if<int64_t>();
    if (number == nullptr || *number < 0 || static_cast<size_t>(*number) >= bases_.size())
      return ops::operator_error("there is no base " + index->type_text());
    const Value& base = bases_[static_cast<size_t>(*number)];
    take(arguments_, prefix + "_alias");
    if (const auto offset = take(arguments_, prefix + "_storage_offset")) {
      const auto size = take(arguments_, prefix + "_size");
      const auto stride = take(arguments_, prefix + "_stride");
      return view(ops::aten<"as_strided.default">,
                  {base, size.value_or(Value()), stride.value_or(Value()), *offset});
    }
    if (const auto dim = take(arguments_, prefix + "_slice_dim")) {
      const auto start = take(arguments_, prefix + "_slice_start");
      const auto end = take(arguments_, prefix + "_slice_end");
      return view(ops::aten<"slice.Tensor">,
                  {base, *dim, start.value_or(Value()), end.value_or(Value())});
    }
    return base;
  }

  static Result<Value> view(ops::Handle handle, std::initializer_list<ops::Operand> arguments) {
    PT2_TRY(Tensor tensor, ops::apply(handle, arguments));
    return Value(std::move(tensor));
  }

  CallArguments& arguments_;
  const Value::List& bases_;
};

}  // namespace

// with_effects(token, operator, *arguments): tokens only order the calls, which run in order here.
Result<std::vector<Value>> with_effects(Executor& executor, const BoundNode& node,
                                        std::vector<Value> arguments) {
  if (!node.op && calls_print(*node.node)) {
    PT2_TRY_VOID(print(executor, node, std::move(arguments)));
    return std::vector<Value>(2);
  }
  PT2_TRY_VOID(check_callee(node));
  PT2_TRY(CallArguments call, arguments_from(node, std::move(arguments), 2));
  PT2_TRY(std::vector<Value> results, call_and_append(executor, node.op, std::move(call), {}));
  results.insert(results.begin(), Value());
  return results;
}

// call_torchbind(object, name of a method, *arguments): calls the kernel registered for the method.
Result<std::vector<Value>> call_torchbind(Executor& executor, const BoundNode& node,
                                          std::vector<Value> arguments) {
  PT2_TRY_VOID(check_callee(node));
  PT2_TRY(CallArguments call, arguments_from(node, std::move(arguments), 0));
  return call_and_append(executor, node.op, std::move(call), {});
}

// auto_functionalized(operator, **arguments): returns the results, then the written arguments.
Result<std::vector<Value>> auto_functionalized(Executor& executor, const BoundNode& node,
                                               std::vector<Value> arguments) {
  PT2_TRY_VOID(check_callee(node));
  PT2_TRY(CallArguments call, arguments_from(node, std::move(arguments), 1));
  std::vector<Value> written;
  for (const ops::Parameter& parameter : node.op.signature()) {
    if (!parameter.mutated) continue;
    Value& argument = call.by_name[std::string(parameter.name)];
    PT2_TRY(argument, clone_value(argument));
    written.push_back(argument);
  }
  return call_and_append(executor, node.op, std::move(call), std::move(written));
}

// auto_functionalized_v2(operator, **arguments, _all_bases): returns the results, then the new
// bases.
Result<std::vector<Value>> auto_functionalized_v2(Executor& executor, const BoundNode& node,
                                                  std::vector<Value> arguments) {
  PT2_TRY_VOID(check_callee(node));
  PT2_TRY(CallArguments call, arguments_from(node, std::move(arguments), 1));
  PT2_TRY(Value copies, clone_value(take(call, "_all_bases").value_or(Value(Value::List{}))));
  const auto* bases = copies.get_if<Value::List>();
  if (bases == nullptr) return ops::operator_error("'_all_bases' is not a list");
  for (const ops::Parameter& parameter : node.op.signature()) {
    if (!parameter.mutated) continue;
    PT2_TRY(Value view, ViewReader(call, *bases).read(parameter));
    if (!call.by_name.emplace(parameter.name, std::move(view)).second)
      return given_twice(std::string(parameter.name));
  }
  return call_and_append(executor, node.op, std::move(call), *bases);
}

// out_dtype(operator, dtype, *arguments): computes in a wide enough dtype (out_dtype_fallback).
Result<std::vector<Value>> out_dtype(Executor& executor, const BoundNode& node,
                                     std::vector<Value> arguments) {
  PT2_TRY_VOID(check_callee(node));
  const auto* found = arguments.size() < 2 ? nullptr : arguments[1].get_if<Dtype>();
  if (found == nullptr) return ops::operator_error("out_dtype takes an operator and a dtype");
  const Dtype dtype = *found;
  Dtype common = dtype;
  for (const Value& argument : arguments)
    if (const auto* tensor = argument.get_if<Tensor>())
      common = ops::promote_types(common, tensor->dtype());
  for (Value& argument : arguments) {
    const auto* tensor = argument.get_if<Tensor>();
    if (tensor == nullptr) continue;
    PT2_TRY(Tensor converted, ops::copy_as(*tensor, common, std::nullopt));
    argument = Value(std::move(converted));
  }
  PT2_TRY(CallArguments call, arguments_from(node, std::move(arguments), 2));
  PT2_TRY(std::vector<Value> results, call_and_append(executor, node.op, std::move(call), {}));
  const auto* tensor = results[0].get_if<Tensor>();
  if (tensor == nullptr) return ops::operator_error("out_dtype calls operators with one result");
  PT2_TRY(Tensor converted, ops::copy_as(*tensor, dtype, std::nullopt));
  return std::vector<Value>{Value(std::move(converted))};
}

}  // namespace pt2::run
