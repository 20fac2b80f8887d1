#include "pt2/tools/run_trace.h"

#include <algorithm>

#include "base/hash/text_hash.h"
#include "base/printable.h"
#include "ir/graph_place.h"
#include "ir/values/constant_value.h"
#include "ops/loops.h"

namespace pt2 {
namespace {

template <class T>
Tensor number_tensor(Dtype dtype, T number) {
  return Tensor::from<T>(dtype, {}, std::span<const T>(&number, 1));
}

// Returns the number in `tensor` as a value of the kind of the graph's input.
Result<Value> number_of(const Tensor& tensor, ArgumentSpec::Kind kind) {
  using Kind = ArgumentSpec::Kind;
  if (tensor.numel() == 1 && tensor.has_memory()) {
    if (kind == Kind::sym_int && tensor.dtype() == Dtype::int64)
      return Value(*tensor.data<int64_t>());
    if (kind == Kind::sym_float && tensor.dtype() == Dtype::float64)
      return Value(*tensor.data<double>());
    if (kind == Kind::sym_bool && tensor.dtype() == Dtype::bool_)
      return Value(*tensor.data<bool>());
  }
  return Error{ErrorCode::argument, "found " + tensor.type_text() + ", expected a number", ""};
}

using TensorIndex = TextMap<std::string_view, const Tensor*>;

TensorIndex index_of(const NamedTensors& trace) {
  TensorIndex index;
  for (const auto& [name, tensor] : trace) index.emplace(name, &tensor);
  return index;
}

Result<Value> input_of(const ArgumentSpec& spec, const TensorIndex& index) {
  const auto found = index.find(spec.name);
  if (found != index.end()) {
    // Copied, because a run may write to its inputs.
    if (spec.kind == ArgumentSpec::Kind::tensor) return Value(found->second->clone());
    return number_of(*found->second, spec.kind);
  }
  return Error{ErrorCode::argument, "the trace has no such input", ""};
}

// Overwrites `value`, and every tensor that shares its memory, with the recorded elements, so that
// small differences do not grow over later nodes.
void adopt(Tensor value, const Tensor& recorded) {
  if (!value.storage()->is_read_only()) ops::copy_elements(value, recorded);
}

// Ends the run early; does not stand for an actual error.
Error stop() { return {ErrorCode::argument, "stopped", ""}; }

}  // namespace

std::optional<Tensor> as_tensor(const Value& value) {
  using Complex = std::complex<double>;
  if (const auto* tensor = value.get_if<Tensor>()) return *tensor;
  if (const auto* number = value.get_if<int64_t>()) return number_tensor(Dtype::int64, *number);
  if (const auto* real = value.get_if<double>()) return number_tensor(Dtype::float64, *real);
  if (const auto* boolean = value.get_if<bool>()) return number_tensor(Dtype::bool_, *boolean);
  if (const auto* complex = value.get_if<Complex>())
    return number_tensor(Dtype::complex128, *complex);
  return std::nullopt;
}

Result<void> write_inputs(const Program& program, std::span<const Value> inputs,
                          TensorWriter& writer) {
  const std::vector<ArgumentSpec> specs = program.signature.user_inputs();
  for (size_t i = 0; i < specs.size() && i < inputs.size(); ++i) {
    const std::optional<Tensor> tensor = as_tensor(inputs[i]);
    if (tensor && !specs[i].is_constant()) PT2_TRY_VOID(writer.add(specs[i].name, *tensor));
  }
  return {};
}

Result<std::vector<Value>> inputs_of_trace(const Model& model, const NamedTensors& trace) {
  const TensorIndex index = index_of(trace);
  std::vector<Value> inputs;
  for (const ArgumentSpec& spec : model.program().signature.user_inputs()) {
    // A constant is None, text or a number. A trace may contain only the number, which adds no
    // information.
    Result<Value> input = spec.is_constant() ? constant_value(spec.value) : input_of(spec, index);
    if (!input) return at(std::move(input).error(), "input '" + printable(spec.name) + "'");
    inputs.push_back(*std::move(input));
  }
  return inputs;
}

Result<TraceComparison> compare_with_trace(Session& session, std::vector<Value> inputs,
                                           const NamedTensors& trace,
                                           const CompareOptions& options) {
  const TensorIndex index = index_of(trace);
  TraceComparison out;
  session.observe([&](const ObservedValue& observed) -> Result<void> {
    const std::optional<Tensor> found = as_tensor(observed.value);
    const auto expected = index.find(observed.name);
    if (!found || expected == index.end()) {
      ++out.unknown;
      return {};
    }
    const Comparison result = compare(Value(*found), Value(*expected->second), options);
    out.largest_error = std::max(out.largest_error, result.largest_error);
    if (result.equal()) {
      ++out.agreeing;
      if (result.largest_error > 0 && observed.value.is<Tensor>()) adopt(*found, *expected->second);
      return {};
    }
    out.first = Divergence{observed.name, observed.node.target, source_line(observed.node),
                           module_path(observed.node), result.difference};
    return stop();
  });
  Result<std::vector<Value>> outputs = session.run(inputs);
  session.observe({});
  if (!outputs && !out.first) return std::move(outputs).error();
  if (!out.first && out.agreeing == 0)
    return Error{ErrorCode::argument, "the trace has no value of this program", ""};
  return out;
}

}  // namespace pt2
