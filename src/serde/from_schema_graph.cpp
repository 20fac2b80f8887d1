#include <fmt/format.h>

#include "ir/higher_order.h"
#include "serde/from_schema_internal.h"
#include "serde/stack_trace_table.h"

namespace pt2 {
namespace {

using Access = ValueScope::Access;

// PyTorch's own serializer recurses into nested graphs and fails at a much lower depth.
constexpr int kMaxGraphDepth = 64;

std::variant<TensorMeta, SymInt, SymFloat, SymBool, CustomObjectType> empty_meta(ValueKind kind) {
  switch (kind) {
    case ValueKind::tensor:
      return TensorMeta{};
    case ValueKind::sym_int:
      return SymInt();
    case ValueKind::sym_float:
      return SymFloat();
    case ValueKind::sym_bool:
      return SymBool();
    case ValueKind::custom_obj:
      return CustomObjectType{};
  }
  return TensorMeta{};
}

class GraphReader {
 public:
  GraphReader(schema::Graph& source, ReadContext& context, int depth, const Constants& constants)
      : source_(source),
        context_(context),
        pieces_(depth == 1 ? context.pieces : nullptr),
        constants_(constants),
        scope_(graph_, context, depth) {}

  Result<Graph> read() {
    PT2_TRY_VOID(add_values());
    PT2_TRY_VOID(add_inputs());
    graph_.stack_traces = take_stack_traces(source_, context_);
    PT2_TRY_VOID(add_nodes());
    for (size_t i = 0; i < source_.outputs.size(); ++i) {
      const auto step = context_.item("outputs", i);
      PT2_TRY(Argument output, read_argument(source_.outputs[i], context_, &scope_, Access::use));
      graph_.add_output(std::move(output));
    }
    graph_.is_single_tensor_return = source_.is_single_tensor_return;
    graph_.spelling = std::move(source_.trace);
    return std::move(graph_);
  }

 private:
  // The values keep the order of the tables, so that the tables can be written back.
  template <class Table, class Read>
  Result<void> add_table(std::string_view table, const Table& entries, Read read) {
    const auto field = context_.field(table);
    for (const auto& [name, entry] : entries) {
      const auto step = context_.key(name);
      PT2_TRY(auto meta, read(entry));
      GraphValue value;
      value.name = name;
      value.meta = std::move(meta);
      if (auto id = graph_.add_value(std::move(value)); !id)
        context_.report(Rule::duplicate_value_name, std::move(id).error().message);
    }
    return {};
  }

  Result<void> add_values() {
    const auto tensor_meta = [&](const schema::TensorMeta& meta) {
      return read_tensor_meta(meta, context_);
    };
    const auto sym = [&](const auto& entry) { return read_sym(entry, context_); };
    PT2_TRY_VOID(
        add_table("tensor_values", source_.tensor_values_v1,
                  [&](const schema::TensorValue& entry) { return tensor_meta(entry.meta); }));
    PT2_TRY_VOID(add_table("tensor_values", source_.tensor_values, tensor_meta));
    for (bool more = pieces_ != nullptr; more;) {
      PT2_TRY(const schema::Dict<schema::TensorMeta> values, pieces_->next_values());
      PT2_TRY_VOID(add_table("tensor_values", values, tensor_meta));
      more = !values.empty();
    }
    PT2_TRY_VOID(add_table("sym_int_values", source_.sym_int_values, sym));
    PT2_TRY_VOID(add_table("sym_bool_values", source_.sym_bool_values, sym));
    PT2_TRY_VOID(add_table("custom_obj_values", source_.custom_obj_values,
                           [](const schema::CustomObjArgument& object) {
                             return Result<CustomObjectType>({object.name, object.class_fqn});
                           }));
    return add_table("sym_float_values", source_.sym_float_values, sym);
  }

  Result<void> add_inputs() {
    for (size_t i = 0; i < source_.inputs.size(); ++i) {
      const auto step = context_.item("inputs", i);
      PT2_TRY(Argument input, read_argument(source_.inputs[i], context_, &scope_, Access::define));
      graph_.add_input(std::move(input));
    }
    for (const auto& [name, blob] : constants_) {
      if (!graph_.find_value(name)) {
        GraphValue value;
        value.name = name;
        value.meta = TensorMeta{};
        PT2_TRY_VOID(graph_.add_value(std::move(value)));
      }
      graph_.add_input(Argument(scope_.resolve(name, ValueKind::tensor, Access::define)));
    }
    return {};
  }

  Result<void> add_nodes() {
    size_t count = 0;
    const auto add_all = [&](schema::List<schema::Node>& nodes) -> Result<void> {
      for (schema::Node& node : nodes) {
        const auto step = context_.item("nodes", count++);
        PT2_TRY_VOID(add_node(node));
      }
      return {};
    };
    PT2_TRY_VOID(add_all(source_.nodes));
    for (bool more = pieces_ != nullptr; more;) {
      PT2_TRY(schema::List<schema::Node> nodes, pieces_->next_nodes());
      PT2_TRY_VOID(add_all(nodes));
      more = !nodes.empty();
    }
    return {};
  }

  Result<void> add_node(schema::Node& source) {
    Node node;
    node.inputs.reserve(source.inputs.size());
    scope_.set_mixed_lists(find_higher_order_operator(source.target) != nullptr);
    for (size_t i = 0; i < source.inputs.size(); ++i) {
      schema::NamedArgument& input = source.inputs[i];
      const auto step = context_.item("inputs", i);
      const auto field = context_.field("arg");
      PT2_TRY(Argument argument, read_argument(input.arg, context_, &scope_, Access::use));
      std::optional<ArgumentKind> kind;
      if (input.kind) kind = static_cast<ArgumentKind>(*input.kind);
      node.inputs.push_back(
          {std::move(input.name), std::move(argument), kind, std::move(input.trace)});
    }
    node.outputs.reserve(source.outputs.size());
    for (size_t i = 0; i < source.outputs.size(); ++i) {
      const auto step = context_.item("outputs", i);
      PT2_TRY(Argument output, read_argument(source.outputs[i], context_, &scope_, Access::define));
      node.outputs.push_back(std::move(output));
    }
    node.target = std::move(source.target);
    node.metadata = std::move(source.metadata);
    if (context_.origins == NodeOrigins::brief)
      node.metadata = brief_metadata(std::move(node.metadata));
    node.metadata.shrink_to_fit();
    node.is_hop_single_tensor_return = source.is_hop_single_tensor_return;
    node.name = std::move(source.name);
    node.spelling = std::move(source.trace);
    graph_.add_node(std::move(node));
    return {};
  }

  schema::Graph& source_;
  ReadContext& context_;
  schema::PieceReader* pieces_;
  const Constants& constants_;
  Graph graph_;
  ValueScope scope_;
};

}  // namespace

ValueId ValueScope::resolve(const std::string& name, ValueKind kind, Access access) {
  if (const auto id = graph_.find_value(name)) {
    const ValueKind found = graph_.value(*id).kind();
    if (found != kind) {
      context_.report(Rule::value_kind, fmt::format("'{}' is a {}, expected a {}", name,
                                                    value_kind_name(found), value_kind_name(kind)));
    }
    return *id;
  }
  if (access == Access::define) {
    context_.report(
        Rule::value_without_metadata,
        fmt::format("the {} '{}' has no entry in the value tables", value_kind_name(kind), name));
  }
  GraphValue value;
  value.name = name;
  value.meta = empty_meta(kind);
  return graph_.add_value(std::move(value)).value();
}

ValueKind ValueScope::kind_in_list(const std::string& name) const {
  if (mixed_lists_)
    for (const ValueKind kind : {ValueKind::sym_int, ValueKind::sym_float, ValueKind::sym_bool})
      if (has(name, kind)) return kind;
  return ValueKind::tensor;
}

bool ValueScope::has(const std::string& name, ValueKind kind) const {
  const auto id = graph_.find_value(name);
  return id && graph_.value(*id).kind() == kind;
}

Result<SubgraphId> ValueScope::add_subgraph(schema::GraphArgument& source) {
  const auto argument = context_.field("as_graph");
  const auto step = context_.field("graph");
  if (depth_ >= kMaxGraphDepth) {
    return context_.fail(ErrorCode::limit,
                         fmt::format("graphs are nested deeper than {}", kMaxGraphDepth));
  }
  if (!source.graph->constants.empty())
    return context_.fail(ErrorCode::unsupported, "a constant in a nested graph");
  PT2_TRY(Graph graph, read_graph(*source.graph, context_, depth_ + 1, {}));
  graph.name = std::move(source.name);
  return graph_.add_subgraph(std::move(graph));
}

Result<TensorMeta> read_tensor_meta(const schema::TensorMeta& source, ReadContext& context) {
  TensorMeta meta;
  meta.dtype.number = static_cast<int64_t>(source.dtype);
  meta.requires_grad = source.requires_grad;
  meta.device = {source.device.type, source.device.index};
  meta.spelling = source.trace;
  const auto layout = static_cast<int64_t>(source.layout);
  if (layout < 0 || layout > UINT8_MAX) {
    const auto step = context.field("layout");
    return context.fail(ErrorCode::unsupported,
                        fmt::format("layout {} is not known to this version", layout));
  }
  meta.layout = static_cast<Layout>(layout);
  meta.sizes.reserve(source.sizes.size());
  for (size_t i = 0; i < source.sizes.size(); ++i) {
    const auto step = context.item("sizes", i);
    PT2_TRY(SymInt size, read_sym(source.sizes[i], context));
    if (!size.is_symbolic() && size.literal() < 0) {
      context.report(Rule::negative_size,
                     fmt::format("the size is {}, expected 0 or more", size.literal()));
    }
    meta.sizes.push_back(size);
  }
  meta.strides.reserve(source.strides.size());
  for (size_t i = 0; i < source.strides.size(); ++i) {
    const auto step = context.item("strides", i);
    PT2_TRY(SymInt stride, read_sym(source.strides[i], context));
    meta.strides.push_back(stride);
  }
  // Up to schema 2 the storage offset is a plain number.
  if (context.major <= 2) {
    meta.storage_offset = SymInt(source.storage_offset_int);
  } else {
    const auto step = context.field("storage_offset");
    PT2_TRY(meta.storage_offset, read_sym(source.storage_offset, context));
  }
  return meta;
}

Result<Graph> read_graph(schema::Graph& source, ReadContext& context, int depth,
                         const Constants& constants) {
  return GraphReader(source, context, depth, constants).read();
}

}  // namespace pt2
