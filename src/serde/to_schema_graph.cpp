#include "ir/number.h"
#include "serde/stack_trace_table.h"
#include "serde/to_schema_internal.h"

namespace pt2 {
namespace {

template <class T>
schema::SymExprHint hint_of(T value) {
  using enum schema::SymExprHintCase;
  if constexpr (std::is_same_v<T, bool>) {
    return schema::SymExprHint::make<as_bool>(value);
  } else if constexpr (std::is_same_v<T, double>) {
    return schema::SymExprHint::make<as_float>(value);
  } else {
    return schema::SymExprHint::make<as_int>(value);
  }
}

template <class T>
schema::SymExpr write_expr(const Symbolic<T>& value, int version) {
  schema::SymExpr out{.expr_str = value.spelled()->text};
  if (!value.hint()) return out;
  if (version < 200) {
    // These versions have hints that are whole numbers alone.
    if constexpr (std::is_same_v<T, double>) {
      if (const auto whole = float_to_integer(*value.hint())) out.hint_int = *whole;
    } else {
      out.hint_int = static_cast<int64_t>(*value.hint());
    }
  } else {
    out.hint = hint_of<T>(*value.hint());
  }
  return out;
}

schema::SymInt write_sym(const SymInt& value, int version) {
  using enum schema::SymIntCase;
  return value.is_symbolic() ? schema::SymInt::make<as_expr>(write_expr(value, version))
                             : schema::SymInt::make<as_int>(value.literal());
}

schema::SymFloat write_sym(const SymFloat& value, int version) {
  using enum schema::SymFloatCase;
  return value.is_symbolic() ? schema::SymFloat::make<as_expr>(write_expr(value, version))
                             : schema::SymFloat::make<as_float>(value.literal());
}

schema::SymBool write_sym(const SymBool& value, int version) {
  using enum schema::SymBoolCase;
  if (!value.is_symbolic()) return schema::SymBool::make<as_bool>(value.literal());
  if (version < 200) return schema::SymBool::make<as_expr_str>(value.spelled()->text);
  return schema::SymBool::make<as_expr>(write_expr(value, version));
}

// Writes one entry into the table for the value's kind.
class TableWriter {
 public:
  TableWriter(const std::string& name, schema::Graph& out, int version)
      : name_(name), out_(out), version_(version) {}

  void operator()(const TensorMeta& meta) const {
    if (version_ < 200) {
      out_.tensor_values_v1.emplace_back(name_, schema::TensorValue{to_schema(meta, version_)});
    } else {
      out_.tensor_values.emplace_back(name_, to_schema(meta, version_));
    }
  }
  void operator()(const SymInt& value) const {
    out_.sym_int_values.emplace_back(name_, write_sym(value, version_));
  }
  void operator()(const SymFloat& value) const {
    out_.sym_float_values.emplace_back(name_, write_sym(value, version_));
  }
  void operator()(const SymBool& value) const {
    out_.sym_bool_values.emplace_back(name_, write_sym(value, version_));
  }
  void operator()(const CustomObjectType& type) const {
    out_.custom_obj_values.emplace_back(
        name_, schema::CustomObjArgument{.name = type.name, .class_fqn = type.class_fqn});
  }

 private:
  const std::string& name_;
  schema::Graph& out_;
  int version_;
};

schema::Node write_node(const Node& node, const Graph& graph, int version) {
  schema::Node out{.target = node.target};
  out.inputs.reserve(node.inputs.size());
  for (const NamedArgument& input : node.inputs) {
    std::optional<schema::ArgumentKind> kind;
    if (input.kind) kind = static_cast<schema::ArgumentKind>(*input.kind);
    out.inputs.push_back({.name = input.name,
                          .arg = write_argument(input.arg, &graph, version),
                          .kind = kind,
                          .trace = input.spelling});
  }
  out.outputs.reserve(node.outputs.size());
  for (const Argument& output : node.outputs)
    out.outputs.push_back(write_argument(output, &graph, version));
  out.metadata = node.metadata;
  out.is_hop_single_tensor_return = node.is_hop_single_tensor_return;
  out.name = node.name;
  out.trace = node.spelling;
  return out;
}

// True for the value that the reader creates for a constant of version 1; files have no table entry
// for it.
bool is_stand_in(const GraphValue& value, const std::vector<bool>& is_left_out) {
  return value.definition.by == Definition::By::graph_input &&
         value.definition.index < is_left_out.size() && is_left_out[value.definition.index] &&
         value.tensor() != nullptr && value.tensor()->dtype.number == 0;
}

}  // namespace

schema::TensorMeta to_schema(const TensorMeta& meta, int version) {
  schema::TensorMeta out{.dtype = static_cast<schema::ScalarType>(meta.dtype.number),
                         .requires_grad = meta.requires_grad};
  out.sizes.reserve(meta.sizes.size());
  for (const SymInt& size : meta.sizes) out.sizes.push_back(write_sym(size, version));
  out.strides.reserve(meta.strides.size());
  for (const SymInt& stride : meta.strides) out.strides.push_back(write_sym(stride, version));
  out.device = {.type = meta.device.type, .index = meta.device.index};
  if (version < 300) {
    out.storage_offset_int = meta.storage_offset.literal();
  } else {
    out.storage_offset = write_sym(meta.storage_offset, version);
  }
  out.layout = static_cast<schema::Layout>(meta.layout);
  out.trace = meta.spelling;
  return out;
}

schema::Graph write_graph(const Graph& graph, const std::vector<bool>& is_left_out, int version) {
  schema::Graph out;
  for (size_t i = 0; i < graph.inputs().size(); ++i)
    if (i >= is_left_out.size() || !is_left_out[i])
      out.inputs.push_back(write_argument(graph.inputs()[i], &graph, version));
  for (const Argument& output : graph.outputs())
    out.outputs.push_back(write_argument(output, &graph, version));
  out.nodes.reserve(graph.nodes().size());
  for (NodeId id : graph.nodes()) out.nodes.push_back(write_node(graph.node(id), graph, version));
  for (ValueId id : graph.values()) {
    const GraphValue& value = graph.value(id);
    if (!is_stand_in(value, is_left_out))
      std::visit(TableWriter(value.name, out, version), value.meta);
  }
  out.is_single_tensor_return = graph.is_single_tensor_return;
  out.trace = graph.spelling;
  put_stack_traces(version == 503 ? graph.stack_traces : std::nullopt, out);
  return out;
}

}  // namespace pt2
