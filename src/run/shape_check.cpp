#include "run/shape_check.h"

#include <algorithm>
#include <iterator>

#include "ops/bind.h"
#include "ops/meta.h"
#include "pt2/limits.h"
#include "run/bound_graph.h"

namespace pt2::run {
namespace {

// Functions of views that look at nothing but sizes and strides, so that they run without elements.
// Those that copy where no view exists (reshape, flatten) never do so for the contiguous tensors
// here.
constexpr std::string_view kViews[] = {"aten::_unsafe_view",
                                       "aten::broadcast_to",
                                       "aten::chunk",
                                       "aten::diagonal",
                                       "aten::expand",
                                       "aten::expand_as",
                                       "aten::flatten",
                                       "aten::movedim",
                                       "aten::narrow",
                                       "aten::permute",
                                       "aten::reshape",
                                       "aten::select",
                                       "aten::slice",
                                       "aten::split",
                                       "aten::split_with_sizes",
                                       "aten::squeeze",
                                       "aten::t",
                                       "aten::transpose",
                                       "aten::unbind",
                                       "aten::unfold",
                                       "aten::unsqueeze",
                                       "aten::view",
                                       "aten::view_as"};
static_assert(std::is_sorted(std::begin(kViews), std::end(kViews)));

bool is_view(const ops::Signature& signature) {
  return std::ranges::binary_search(kViews, signature.name) && signature.overload != "dtype";
}

bool returns_list(const ops::Signature& signature) {
  return signature.return_count == 1 && signature.return_array[0].list;
}

// Pieces are made one by one: a hostile file may ask for billions. `recorded` is how many the node
// has.
bool has_few_pieces(const ops::Signature& signature, const std::vector<Value>& arguments,
                    size_t recorded) {
  const auto most = static_cast<int64_t>(4 * recorded + 16);
  const Tensor& self = *arguments[0].get_if<Tensor>();
  const auto integer = [&](size_t i) {
    const auto* value = i < arguments.size() ? arguments[i].get_if<int64_t>() : nullptr;
    return value != nullptr ? *value : 0;
  };
  const bool is_unbind = signature.name == "aten::unbind";
  if (signature.name == "aten::chunk") return integer(1) <= most;
  const auto* sizes = arguments.size() > 1 ? arguments[1].get_if<Value::List>() : nullptr;
  if (sizes != nullptr) return static_cast<int64_t>(sizes->size()) <= most;
  const auto dim = ops::wrap_dim(integer(is_unbind ? 1 : 2), self.dim());
  if (!dim || self.dim() == 0) return true;
  const int64_t step = is_unbind ? 1 : std::max<int64_t>(integer(1), 1);
  return self.size(*dim) / step <= most;
}

bool is_float_kind(Dtype dtype) { return dtype_category(dtype) >= DtypeCategory::floating; }

// torch.set_default_dtype decides where no operand has a float dtype; the file does not record it.
bool depends_on_default_dtype(const std::vector<Value>& arguments, Dtype computed, Dtype recorded) {
  if (!is_float_kind(recorded) || dtype_category(computed) != dtype_category(recorded))
    return false;
  return std::ranges::none_of(arguments, [](const Value& argument) {
    const auto* tensor = argument.get_if<Tensor>();
    if (tensor != nullptr && !tensor->is_wrapped_number()) return is_float_kind(tensor->dtype());
    return argument.is<Dtype>();
  });
}

// The form that torch.export traces casts the statistics of a layer norm to the dtype of its input
// or to float32, whatever the weight (torch/_refs/__init__.py native_layer_norm); the kernel
// follows the weight.
bool is_traced_statistic(const ops::Signature& signature, size_t result, Dtype recorded,
                         const std::vector<Value>& arguments) {
  if (signature.name != "aten::native_layer_norm" || result == 0) return false;
  const auto* input = arguments[0].get_if<Tensor>();
  return recorded == Dtype::float32 || (input != nullptr && recorded == input->dtype());
}

// Kernels of other devices give workspaces and statistics of their own.
bool is_on_cpu(const Graph& graph, const Node& node) {
  bool on_cpu = true;
  for (const Argument& output : node.outputs)
    for_each_value(output, [&](ValueId id) {
      const TensorMeta* meta = graph.value(id).tensor();
      on_cpu = on_cpu && (meta == nullptr || meta->device.type == "cpu");
    });
  return on_cpu;
}

enum class Agreement : uint8_t { unknown, agrees, differs };
struct Verdict {
  Agreement agreement = Agreement::unknown;
  std::optional<ShapeFault> fault{};
};

class ShapeCheck {
 public:
  ShapeCheck(const Graph& graph, const Node& node, const ops::Operator& op)
      : graph_(graph), node_(node), op_(op), signature_(op.signature()) {}

  Verdict judge(const SymbolBindings& bindings) {
    if (!bind(bindings)) return {};
    auto results = infer();
    if (!results) {
      if (results.error().code != ErrorCode::invalid) return {};
      return {Agreement::differs,
              ShapeFault{Rule::operands, std::nullopt, std::move(results).error().message}};
    }
    const size_t count = is_on_cpu(graph_, node_) ? node_.outputs.size() : 1;
    Verdict verdict{Agreement::agrees};
    for (size_t i = 0; i < std::min(count, results->size()) && i < node_.outputs.size(); ++i) {
      if (verdict.agreement != Agreement::differs)
        compare_output(i, (*results)[i], bindings, verdict);
    }
    return verdict;
  }

 private:
  // The arguments in the order of the signature; false when one of them is not known.
  bool bind(const SymbolBindings& bindings) {
    arguments_.assign(signature_.parameter_count, Value());
    std::vector<bool> given(signature_.parameter_count, false);
    size_t position = 0;
    for (const NamedArgument& input : node_.inputs) {
      const auto index = ops::parameter_index(signature_, input.name, position++);
      if (!index) return false;
      auto value = abstract_value(graph_, input.arg, bindings);
      if (!value || !*value) return false;
      auto coerced = ops::coerce(signature_.parameter_array[*index], **std::move(value));
      if (!coerced) return false;
      arguments_[*index] = *std::move(coerced);
      given[*index] = true;
    }
    for (size_t i = 0; i < given.size(); ++i) {
      if (given[i]) continue;
      auto value = ops::default_value(signature_.parameter_array[i]);
      if (!value) return false;
      arguments_[i] = *std::move(value);
    }
    return true;
  }

  Result<std::vector<Value>> infer() {
    if (op_.def->infer != nullptr) {
      PT2_TRY(std::vector<ops::Meta> metas, op_.def->infer(arguments_));
      std::vector<Value> results;
      for (ops::Meta& meta : metas)
        results.emplace_back(Tensor::without_elements(meta.dtype, std::move(meta.sizes)));
      return results;
    }
    if (returns_list(signature_) && !has_few_pieces(signature_, arguments_, recorded_pieces()))
      return Error{ErrorCode::limit, "too many pieces", ""};
    ops::Context context;
    return op_.def->compute(context, arguments_);
  }

  size_t recorded_pieces() const {
    size_t count = 0;
    for (const Argument& output : node_.outputs) for_each_value(output, [&](ValueId) { ++count; });
    return count;
  }

  void compare_output(size_t index, const Value& computed, const SymbolBindings& bindings,
                      Verdict& verdict) {
    const Argument& output = node_.outputs[index];
    if (const auto* id = output.get_if<ValueId>())
      return compare(index, *id, computed, bindings, verdict);
    const auto* list = output.get_if<ArgumentList>();
    const auto* items = computed.get_if<Value::List>();
    if (list == nullptr || items == nullptr) return;
    if (list->items.size() != items->size()) {
      verdict = {Agreement::differs,
                 ShapeFault{Rule::result_count, index,
                            "found " + std::to_string(list->items.size()) +
                                " tensors, the operator gives " + std::to_string(items->size())}};
      return;
    }
    for (size_t i = 0; i < items->size() && verdict.agreement != Agreement::differs; ++i)
      if (const auto* id = list->items[i].get_if<ValueId>())
        compare(index, *id, (*items)[i], bindings, verdict);
  }

  void compare(size_t index, ValueId id, const Value& computed, const SymbolBindings& bindings,
               Verdict& verdict) {
    const GraphValue& value = graph_.value(id);
    const auto recorded = abstract_value(value, bindings);
    const auto* found = recorded ? recorded->get_if<Tensor>() : nullptr;
    const auto* expected = computed.get_if<Tensor>();
    if (found == nullptr || expected == nullptr) {
      verdict.agreement = Agreement::unknown;
    } else if (found->dtype() != expected->dtype() &&
               !depends_on_default_dtype(arguments_, expected->dtype(), found->dtype()) &&
               !is_traced_statistic(signature_, index, found->dtype(), arguments_)) {
      verdict = {Agreement::differs,
                 ShapeFault{Rule::result_dtype, index,
                            "'" + value.name + "' is recorded as " +
                                std::string(dtype_name(found->dtype())) + ", the operator gives " +
                                std::string(dtype_name(expected->dtype()))}};
    } else if (found->sizes() != expected->sizes()) {
      verdict = {Agreement::differs,
                 ShapeFault{Rule::result_sizes, index,
                            "'" + value.name + "' is recorded with sizes " +
                                ops::sizes_text(found->sizes()) + ", the operator gives " +
                                ops::sizes_text(expected->sizes())}};
    }
  }

  const Graph& graph_;
  const Node& node_;
  const ops::Operator& op_;
  const ops::Signature& signature_;
  std::vector<Value> arguments_;
};

bool is_symbolic(const GraphValue& value) {
  const TensorMeta* meta = value.tensor();
  if (meta == nullptr) return true;
  return std::ranges::any_of(meta->sizes, &SymInt::is_symbolic);
}

bool has_symbols(const Graph& graph, const Node& node) {
  bool found = false;
  const auto look = [&](ValueId id) { found = found || is_symbolic(graph.value(id)); };
  for (const NamedArgument& input : node.inputs) for_each_value(input.arg, look);
  for (const Argument& output : node.outputs) for_each_value(output, look);
  return found;
}

// A number of the graph: its literal, or its expression's value.
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

std::optional<Value> tensor_value(const TensorMeta& meta, const SymbolBindings& bindings) {
  const auto dtype = meta.dtype.dtype();
  if (!dtype || meta.layout != Layout::strided) return std::nullopt;
  Sizes sizes;
  sizes.reserve(meta.sizes.size());
  // Sizes of 0 count as 1: what is computed from the others must not overflow either.
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

std::optional<Value> abstract_value(const GraphValue& value, const SymbolBindings& bindings) {
  switch (value.kind()) {
    case ValueKind::tensor:
      return tensor_value(*value.tensor(), bindings);
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

Result<std::optional<Value>> abstract_value(const Graph& graph, const Argument& argument,
                                            const SymbolBindings& bindings) {
  if (const auto* id = argument.get_if<ValueId>())
    return abstract_value(graph.value(*id), bindings);
  const auto* list = argument.get_if<ArgumentList>();
  if (list == nullptr) {
    PT2_TRY(Value value, constant_value(argument));
    return std::optional<Value>(std::move(value));
  }
  Value::List items;
  items.reserve(list->items.size());
  for (const Argument& item : list->items) {
    PT2_TRY(std::optional<Value> value, abstract_value(graph, item, bindings));
    if (!value) return std::optional<Value>();
    items.push_back(*std::move(value));
  }
  return std::optional<Value>(Value(std::move(items)));
}

std::optional<ShapeFault> check_shapes(const Graph& graph, const Node& node,
                                       const ops::Operator& op, const SymbolSamples& samples) {
  if (op.form != ops::Operator::Form::as_written) return std::nullopt;
  if (op.def->infer == nullptr && !is_view(op.signature())) return std::nullopt;
  ShapeCheck check(graph, node, op);
  Verdict example = check.judge(samples.hints);
  if (example.agreement == Agreement::differs) return std::move(example.fault);
  if (!has_symbols(graph, node)) return std::nullopt;
  // Ranges alone do not say all that a program assumes of its symbols: where one choice is refused,
  // another may do.
  std::optional<ShapeFault> fault;
  for (const SymbolBindings& other : samples.others) {
    Verdict verdict = check.judge(other);
    if (verdict.agreement == Agreement::agrees) return std::nullopt;
    if (verdict.agreement == Agreement::differs && verdict.fault->rule != Rule::operands)
      fault = std::move(verdict.fault);
  }
  return fault;
}

}  // namespace pt2::run
