// Rewrites constants among inputs and arguments that a release does not accept.
#include <cmath>
#include <complex>

#include "convert/converter.h"
#include "lower/arguments.h"
#include "lower/new_nodes.h"
#include "ops/convert.h"
#include "ops/table.h"
#include "pt2/ir/builder.h"

namespace pt2 {
namespace {

// Returns the overload that takes a tensor where this one takes a number (aten.add.Tensor for
// aten.add.Scalar), or no operator if there is none.
ops::Operator tensor_overload(std::string_view target) {
  constexpr std::string_view kScalar = ".Scalar";
  if (!target.ends_with(kScalar)) return {};
  target.remove_suffix(kScalar.size());
  return ops::find_operator(std::string(target) + ".Tensor");
}

bool is_tensor_parameter(const ops::Operator& op, std::string_view name) {
  const ops::Parameter* parameter = op ? op.signature().find(name) : nullptr;
  return parameter != nullptr && parameter->type.base == ops::BaseType::tensor;
}

class ComplexScalarRewriter {
 public:
  explicit ComplexScalarRewriter(Graph& graph) : graph_(graph) {}

  bool rewrite(NodeId id) {
    const Node& node = graph_.node(id);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const auto* number = node.inputs[i].arg.get_if<std::complex<double>>();
      if (number == nullptr) continue;
      const std::string& target = node.target;
      const ops::Operator op = ops::find_operator(target), other = tensor_overload(target);
      const bool takes_tensor = is_tensor_parameter(op, node.inputs[i].name);
      const auto dtype = result_dtype(node);
      if (!dtype || !(takes_tensor || is_tensor_parameter(other, node.inputs[i].name)))
        return false;
      const ValueId tensor = make_tensor(*number, *dtype, id);
      if (!takes_tensor) graph_.set_node_target(id, ops::target_of(other.signature()));
      graph_.set_node_input(id, i, Argument(tensor));
      return true;
    }
    return false;
  }

 private:
  // Returns the dtype of the result if it is complex: a 0-dim tensor of this dtype promotes the
  // other operands as the number does (c10/core/ScalarType.h;
  // aten/src/ATen/native/TypeProperties.cpp, result_type). A comparison's result is never complex,
  // so comparisons with complex numbers stay.
  std::optional<Dtype> result_dtype(const Node& node) const {
    const ValueId* id = find_only_output(node);
    const TensorMeta* meta = id ? graph_.value(*id).tensor() : nullptr;
    const auto dtype = meta ? meta->dtype.dtype() : std::nullopt;
    return dtype && dtype_category(*dtype) == DtypeCategory::complex ? dtype : std::nullopt;
  }

  ValueId make_tensor(std::complex<double> number, Dtype dtype, NodeId before) {
    const ValueId real = make_part(number.real(), real_dtype(dtype), before);
    const ValueId imaginary = make_part(number.imag(), real_dtype(dtype), before);
    return NewNodes(graph_, before)
        .call("torch.ops.aten.complex.default", "complex", meta_of(dtype),
              {arg("real", real), arg("imag", imaginary)});
  }

  // In a product PyTorch makes a number infinite that overflows the dtype; `scalar_tensor` refuses
  // such a number. So the overflow happens here.
  ValueId make_part(double number, Dtype dtype, NodeId before) {
    double stored = number;
    ops::round_elements(dtype, 1, &stored);
    if (std::isinf(stored)) number = stored;
    const ScalarType type{dtype_info(dtype).schema_number};
    return NewNodes(graph_, before)
        .call("torch.ops.aten.scalar_tensor.default", "scalar_tensor", meta_of(dtype),
              {arg("s", number), kwarg("dtype", type)});
  }

  static TensorMeta meta_of(Dtype dtype) {
    return {.dtype = {dtype_info(dtype).schema_number}, .device = {.type = "cpu"}};
  }

  Graph& graph_;
};

}  // namespace

Result<void> rewrite_constant_names(Converter& converter) {
  constexpr int kFirstWithNames = 503;
  Program& program = converter.program;
  if (converter.to < kFirstWithNames) return {};
  std::vector<InputSpec>& specs = program.signature.input_specs;
  for (size_t i = 0; i < specs.size(); ++i) {
    ArgumentSpec& arg = specs[i].arg;
    if (!arg.is_constant() || !arg.name.empty()) continue;
    arg.name = program.graph.unused_name("arg" + std::to_string(i) + "_1");
    converter.changed = true;
  }
  return {};
}

Result<void> rewrite_complex_scalars(Converter& converter) {
  if (!converter.falls_below(814)) return {};
  for_each_graph(converter.program.graph, [&](Graph& graph) {
    ComplexScalarRewriter rewriter(graph);
    for (NodeId id : graph.nodes())
      while (rewriter.rewrite(id)) converter.changed = true;
  });
  return {};
}

}  // namespace pt2
