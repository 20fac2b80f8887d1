#include <fmt/format.h>

#include "ir/from_schema_internal.h"

namespace pt2 {
namespace {

using Access = ValueScope::Access;

// PyTorch's own serializer recurses per nested graph and ends far earlier.
constexpr int kMaxGraphDepth = 64;

constexpr std::string_view kKindNames[] = {"tensor", "sym_int", "sym_float", "sym_bool",
                                           "custom_obj"};
std::string_view kind_name(ValueKind kind) { return kKindNames[static_cast<size_t>(kind)]; }

Error invalid(std::string message) { return {ErrorCode::invalid, std::move(message), {}}; }

class GraphReader {
 public:
  GraphReader(schema::Graph& source, const SchemaContext& context, int depth,
              const Constants& constants)
      : source_(source), context_(context), constants_(constants), scope_(graph_, context, depth) {}

  Result<Graph> read() {
    PT2_TRY_VOID(add_values());
    PT2_TRY_VOID(add_inputs());
    for (size_t i = 0; i < source_.nodes.size(); ++i) {
      if (auto added = add_node(source_.nodes[i]); !added) {
        return at(std::move(added).error(), fmt::format(".nodes[{}]", i));
      }
    }
    for (size_t i = 0; i < source_.outputs.size(); ++i) {
      PT2_TRY_AT(Argument output, fmt::format(".outputs[{}]", i),
                 read_argument(source_.outputs[i], &scope_, Access::use));
      graph_.outputs.push_back(std::move(output));
    }
    graph_.is_single_tensor_return = source_.is_single_tensor_return;
    return std::move(graph_);
  }

 private:
  Result<void> add_value(std::string_view table, const std::string& name, auto meta) {
    const auto place = [&] { return "." + std::string(table) + key_step(name); };
    if (!meta) return at(std::move(meta).error(), place());
    GraphValue value;
    value.name = name;
    value.meta = *std::move(meta);
    if (auto id = graph_.add_value(std::move(value)); !id)
      return at(std::move(id).error(), place());
    return {};
  }

  // The order of the tables is the order of the values, so that they can be written back.
  Result<void> add_values() {
    ExprPool& pool = *context_.pool;
    for (const auto& [name, value] : source_.tensor_values_v1) {
      PT2_TRY_VOID(
          add_value("tensor_values", name, read_tensor_meta(value.meta, context_.major, pool)));
    }
    for (const auto& [name, meta] : source_.tensor_values) {
      PT2_TRY_VOID(add_value("tensor_values", name, read_tensor_meta(meta, context_.major, pool)));
    }
    for (const auto& [name, sym] : source_.sym_int_values) {
      PT2_TRY_VOID(add_value("sym_int_values", name, read_sym(sym, pool)));
    }
    for (const auto& [name, sym] : source_.sym_bool_values) {
      PT2_TRY_VOID(add_value("sym_bool_values", name, read_sym(sym, pool)));
    }
    for (const auto& [name, object] : source_.custom_obj_values) {
      PT2_TRY_VOID(
          add_value("custom_obj_values", name,
                    Result<CustomObjectType>(CustomObjectType{object.name, object.class_fqn})));
    }
    for (const auto& [name, sym] : source_.sym_float_values) {
      PT2_TRY_VOID(add_value("sym_float_values", name, read_sym(sym, pool)));
    }
    return {};
  }

  Result<void> add_inputs() {
    for (size_t i = 0; i < source_.inputs.size(); ++i) {
      PT2_TRY_AT(Argument input, fmt::format(".inputs[{}]", i),
                 read_argument(source_.inputs[i], &scope_, Access::define));
      graph_.add_input(std::move(input));
    }
    for (const auto& [name, blob] : constants_) {
      if (!graph_.find_value(name)) {
        GraphValue value;
        value.name = name;
        value.meta = TensorMeta{};
        PT2_TRY_VOID(graph_.add_value(std::move(value)));
      }
      PT2_TRY_AT(ValueId id, ".constants", scope_.resolve(name, ValueKind::tensor, Access::define));
      graph_.add_input(Argument(id));
    }
    return {};
  }

  Result<void> add_node(schema::Node& source) {
    Node node;
    node.inputs.reserve(source.inputs.size());
    for (size_t i = 0; i < source.inputs.size(); ++i) {
      schema::NamedArgument& input = source.inputs[i];
      PT2_TRY_AT(Argument argument, fmt::format(".inputs[{}].arg", i),
                 read_argument(input.arg, &scope_, Access::use));
      std::optional<ArgumentKind> kind;
      if (input.kind) kind = static_cast<ArgumentKind>(*input.kind);
      node.inputs.push_back({std::move(input.name), std::move(argument), kind});
    }
    node.outputs.reserve(source.outputs.size());
    for (size_t i = 0; i < source.outputs.size(); ++i) {
      PT2_TRY_AT(Argument argument, fmt::format(".outputs[{}]", i),
                 read_argument(source.outputs[i], &scope_, Access::define));
      node.outputs.push_back(std::move(argument));
    }
    node.target = std::move(source.target);
    node.metadata = std::move(source.metadata);
    node.is_hop_single_tensor_return = source.is_hop_single_tensor_return;
    node.name = std::move(source.name);
    graph_.add_node(std::move(node));
    return {};
  }

  schema::Graph& source_;
  const SchemaContext& context_;
  const Constants& constants_;
  Graph graph_;
  ValueScope scope_;
};

}  // namespace

Result<ValueId> ValueScope::resolve(const std::string& name, ValueKind kind, Access access) {
  const auto id = graph_.find_value(name);
  if (!id) {
    return invalid(
        access == Access::use
            ? fmt::format("nothing defines a value called '{}'", name)
            : fmt::format("the {} '{}' has no entry in the value tables", kind_name(kind), name));
  }
  const ValueKind found = graph_.value(*id).kind();
  if (found != kind) {
    return invalid(
        fmt::format("'{}' is a {}, expected a {}", name, kind_name(found), kind_name(kind)));
  }
  const auto index = static_cast<size_t>(*id);
  if (index >= defined_.size()) defined_.resize(graph_.values().size());
  if (access == Access::use && !defined_[index])
    return invalid(fmt::format("'{}' is used before it is defined", name));
  if (access == Access::define && defined_[index])
    return invalid(fmt::format("'{}' is defined twice", name));
  defined_[index] = true;
  return *id;
}

bool ValueScope::has(const std::string& name, ValueKind kind) const {
  const auto id = graph_.find_value(name);
  return id && graph_.value(*id).kind() == kind;
}

Result<SubgraphId> ValueScope::add_subgraph(schema::GraphArgument& source) {
  if (depth_ >= kMaxGraphDepth) {
    return Error{
        ErrorCode::limit, fmt::format("graphs are nested deeper than {}", kMaxGraphDepth), {}};
  }
  if (!source.graph->constants.empty()) {
    return Error{ErrorCode::unsupported, "a constant in a nested graph",
                 ".as_graph.graph.constants"};
  }
  PT2_TRY_AT(Graph graph, ".as_graph.graph", read_graph(*source.graph, context_, depth_ + 1, {}));
  graph.name = std::move(source.name);
  return graph_.add_subgraph(std::move(graph));
}

Result<TensorMeta> read_tensor_meta(const schema::TensorMeta& source, int64_t major,
                                    ExprPool& pool) {
  TensorMeta meta;
  meta.dtype.number = static_cast<int64_t>(source.dtype);
  meta.requires_grad = source.requires_grad;
  meta.device = {source.device.type, source.device.index};
  const auto layout = static_cast<int64_t>(source.layout);
  if (layout < 0 || layout > UINT8_MAX) {
    return Error{ErrorCode::unsupported,
                 fmt::format("layout {} is not known to this version", layout), ".layout"};
  }
  meta.layout = static_cast<Layout>(layout);
  meta.sizes.reserve(source.sizes.size());
  for (size_t i = 0; i < source.sizes.size(); ++i) {
    PT2_TRY_AT(SymInt size, fmt::format(".sizes[{}]", i), read_sym(source.sizes[i], pool));
    if (!size.is_symbolic() && size.literal() < 0) {
      return at(invalid(fmt::format("the size is {}, expected 0 or more", size.literal())),
                fmt::format(".sizes[{}]", i));
    }
    meta.sizes.push_back(size);
  }
  meta.strides.reserve(source.strides.size());
  for (size_t i = 0; i < source.strides.size(); ++i) {
    PT2_TRY_AT(SymInt stride, fmt::format(".strides[{}]", i), read_sym(source.strides[i], pool));
    meta.strides.push_back(stride);
  }
  // Up to schema 2 it is a plain number.
  if (major <= 2) {
    meta.storage_offset = SymInt(source.storage_offset_int);
  } else {
    PT2_TRY_AT(meta.storage_offset, ".storage_offset", read_sym(source.storage_offset, pool));
  }
  return meta;
}

Result<Graph> read_graph(schema::Graph& source, const SchemaContext& context, int depth,
                         const Constants& constants) {
  return GraphReader(source, context, depth, constants).read();
}

}  // namespace pt2
