#include "check/shapes/abstract_value.h"

#include <algorithm>
#include <unordered_map>

#include "ir/values/constant_value.h"
#include "ops/bind.h"
#include "ops/checks.h"
#include "ops/shape/pieces.h"
#include "pt2/limits.h"

namespace pt2::check {
namespace {

// Returns the value of a number of the graph: its literal, or its expression under the bindings.
template <class T>
std::optional<Value> number_value(const Symbolic<T>& number, const SymbolBindings& bindings) {
  if (!number.is_symbolic()) return Value(number.literal());
  const auto value = evaluate(number.expr(), bindings);
  if (!value) return std::nullopt;
  if (const T* exact = std::get_if<T>(&*value)) return Value(*exact);
  if (const auto* integer = std::get_if<int64_t>(&*value); integer && std::is_same_v<T, double>)
    return Value(static_cast<double>(*integer));
  return std::nullopt;
}

std::optional<Value> tensor_value(const TensorMeta& meta, const SymbolBindings& bindings,
                                  Layouts layouts) {
  const auto dtype = meta.dtype.dtype();
  if (!dtype || (meta.layout != Layout::strided && layouts == Layouts::strided))
    return std::nullopt;
  if (!ops::check_real_rank(std::ssize(meta.sizes))) return std::nullopt;
  Sizes sizes;
  sizes.reserve(meta.sizes.size());
  // Sizes of 0 count as 1, because products of the other sizes must not overflow either.
  int64_t bytes = dtype_size(*dtype);
  for (const SymInt& size : meta.sizes) {
    const auto value = evaluate(size, bindings);
    if (!value || *value < 0) return std::nullopt;
    if (__builtin_mul_overflow(bytes, std::max<int64_t>(*value, 1), &bytes)) return std::nullopt;
    sizes.push_back(*value);
  }
  if (bytes > static_cast<int64_t>(Limits{}.max_tensor_bytes)) return std::nullopt;
  return Value(Tensor::without_elements(*dtype, std::move(sizes)));
}

}  // namespace

std::optional<Value> abstract_value(const GraphValue& value, const SymbolBindings& bindings,
                                    Layouts layouts) {
  switch (value.kind()) {
    case ValueKind::tensor:
      return tensor_value(*value.tensor(), bindings, layouts);
    case ValueKind::sym_int:
      return number_value(std::get<SymInt>(value.meta), bindings);
    case ValueKind::sym_float:
      return number_value(std::get<SymFloat>(value.meta), bindings);
    case ValueKind::sym_bool:
      return number_value(std::get<SymBool>(value.meta), bindings);
    case ValueKind::custom_obj:
      return std::nullopt;
  }
  return std::nullopt;
}

std::optional<Value> abstract_value_of_ones(const GraphValue& value) {
  switch (value.kind()) {
    case ValueKind::tensor: {
      const TensorMeta& meta = *value.tensor();
      const auto dtype = meta.dtype.dtype();
      if (!dtype || meta.layout != Layout::strided) return std::nullopt;
      return Value(Tensor::without_elements(*dtype, Sizes(meta.sizes.size(), 1)));
    }
    case ValueKind::sym_int:
      return Value(int64_t{1});
    case ValueKind::sym_float:
      return Value(1.0);
    case ValueKind::sym_bool:
      return Value(true);
    case ValueKind::custom_obj:
      return std::nullopt;
  }
  return std::nullopt;
}

Result<std::optional<Value>> abstract_value(const Graph& graph, const Argument& argument,
                                            const Abstraction& abstraction) {
  if (const auto* id = argument.get_if<ValueId>()) return abstraction(graph.value(*id));
  const auto* list = argument.get_if<ArgumentList>();
  if (list == nullptr) {
    PT2_TRY(Value value, constant_value(argument));
    return std::optional<Value>(std::move(value));
  }
  Value::List items;
  items.reserve(list->items.size());
  int64_t dims = 0;
  for (const Argument& item : list->items) {
    PT2_TRY(std::optional<Value> value, abstract_value(graph, item, abstraction));
    if (!value) return std::optional<Value>();
    if (const auto* tensor = value->get_if<Tensor>()) dims += tensor->dim();
    PT2_TRY_VOID(ops::check_dims_together(dims));
    items.push_back(*std::move(value));
  }
  return std::optional<Value>(Value(std::move(items)));
}

bool is_symbolic(const GraphValue& value) {
  const TensorMeta* meta = value.tensor();
  if (meta == nullptr) return true;
  return std::ranges::any_of(meta->sizes, &SymInt::is_symbolic);
}

size_t expression_length(const GraphValue& value) {
  size_t length = 0;
  for_each_symbolic(value, [&](const auto& number) { length += number.spelled()->text.size(); });
  return length;
}

Abstraction by_record(const SymbolBindings& bindings, Layouts layouts) {
  // Nodes may use a value any number of times, and its sizes may be as long as the file. Short
  // values are not kept, because a program may have millions of them.
  constexpr size_t kShort = 512;
  using Known = std::unordered_map<const GraphValue*, std::optional<Value>>;
  return [&bindings, layouts,
          known = Known()](const GraphValue& value) mutable -> std::optional<Value> {
    const TensorMeta* meta = value.tensor();
    if (expression_length(value) <= kShort && (meta == nullptr || meta->sizes.size() <= kShort))
      return abstract_value(value, bindings, layouts);
    const auto [found, is_new] = known.try_emplace(&value);
    if (is_new) found->second = abstract_value(value, bindings, layouts);
    return found->second;
  };
}

std::optional<std::vector<Value>> abstract_arguments(const Graph& graph, const Node& node,
                                                     const ops::Signature& signature,
                                                     const Abstraction& abstraction) {
  std::vector<Value> arguments(signature.parameter_count);
  std::vector<bool> given(signature.parameter_count, false);
  size_t position = 0;
  for (const NamedArgument& input : node.inputs) {
    const auto index = ops::parameter_index(signature, input.name, position++);
    if (!index) return std::nullopt;
    auto value = abstract_value(graph, input.arg, abstraction);
    if (!value || !*value) return std::nullopt;
    auto coerced = ops::coerce(signature.parameter_array[*index], **std::move(value));
    if (!coerced) return std::nullopt;
    arguments[*index] = *std::move(coerced);
    given[*index] = true;
  }
  for (size_t i = 0; i < given.size(); ++i) {
    if (given[i]) continue;
    auto value = ops::default_value(signature.parameter_array[i]);
    if (!value) return std::nullopt;
    arguments[i] = *std::move(value);
  }
  return arguments;
}

}  // namespace pt2::check
