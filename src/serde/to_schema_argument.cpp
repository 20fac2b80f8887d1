#include "base/check.h"
#include "base/text.h"
#include "pt2/format/schema_json.h"
#include "serde/to_schema_internal.h"

namespace pt2 {
namespace {

using schema::ArgumentCase;
using Wrapper = Argument::Wrapper;

schema::None none() { return {}; }

// Returns the name of a value in a list of names, e.g. of an element of as_tensors.
const std::string& value_name(const Argument& argument, const Graph* graph) {
  const auto* id = argument.get_if<ValueId>();
  PT2_CHECK(id != nullptr && graph != nullptr);
  return graph->value(*id).name;
}

// Returns as_name, or the number.
template <class Union, class T>
Union symbolic_argument(const Argument& argument, const Graph* graph) {
  Union out;
  if (argument.is<ValueId>()) {
    out.variant().template emplace<0>(value_name(argument, graph));
  } else {
    const T* number = argument.get_if<T>();
    PT2_CHECK(number != nullptr);
    out.variant().template emplace<1>(*number);
  }
  return out;
}

schema::OptionalTensorArgument optional_tensor(const Argument& argument, const Graph* graph,
                                               int version) {
  using enum schema::OptionalTensorArgumentCase;
  using Optional = schema::OptionalTensorArgument;
  if (!argument.is<ValueId>())
    return Optional::make<schema::OptionalTensorArgumentCase::as_none>(none());
  const std::string& name = value_name(argument, graph);
  if (version < 503) return Optional::make<as_tensor_name>(name);
  return Optional::make<schema::OptionalTensorArgumentCase::as_tensor>(
      schema::TensorArgument{.name = name});
}

template <class T, class Convert>
std::vector<T> convert_all(const ArgumentList& list, Convert convert) {
  std::vector<T> out;
  out.reserve(list.items.size());
  for (const Argument& item : list.items) out.push_back(convert(item));
  return out;
}

template <class T>
T literal(const Argument& argument) {
  const T* value = argument.get_if<T>();
  PT2_CHECK(value != nullptr);
  return *value;
}

// One overload for each alternative of Argument::Variant.
class ArgumentWriter {
  using enum ArgumentCase;

 public:
  ArgumentWriter(const Argument& argument, const Graph* graph, int version)
      : argument_(argument), graph_(graph), version_(version) {}

  schema::Argument operator()(None) const {
    if (argument_.wrapper == Wrapper::optional) return optional();
    return make<as_none>(none());
  }
  schema::Argument operator()(ValueId id) const {
    if (argument_.wrapper == Wrapper::optional) return optional();
    const GraphValue& value = graph_->value(id);
    switch (value.kind()) {
      case ValueKind::tensor:
        return make<as_tensor>(schema::TensorArgument{.name = value.name});
      case ValueKind::sym_int:
        return symbolic<as_sym_int, schema::SymIntArgument, int64_t>();
      case ValueKind::sym_float:
        return symbolic<as_sym_float, schema::SymFloatArgument, double>();
      case ValueKind::sym_bool:
        return symbolic<as_sym_bool, schema::SymBoolArgument, bool>();
      case ValueKind::custom_obj:
        break;
    }
    const auto& type = std::get<CustomObjectType>(value.meta);
    return make<as_custom_obj>(
        schema::CustomObjArgument{.name = value.name, .class_fqn = type.class_fqn});
  }
  schema::Argument operator()(bool value) const {
    if (argument_.wrapper == Wrapper::symbolic)
      return symbolic<as_sym_bool, schema::SymBoolArgument, bool>();
    return make<as_bool>(value);
  }
  schema::Argument operator()(int64_t value) const {
    if (argument_.wrapper == Wrapper::symbolic)
      return symbolic<as_sym_int, schema::SymIntArgument, int64_t>();
    return make<as_int>(value);
  }
  schema::Argument operator()(double value) const {
    if (argument_.wrapper == Wrapper::symbolic)
      return symbolic<as_sym_float, schema::SymFloatArgument, double>();
    return make<as_float>(value);
  }
  schema::Argument operator()(std::complex<double> value) const {
    return make<as_complex>(schema::ComplexValue{.real = value.real(), .imag = value.imag()});
  }
  schema::Argument operator()(const std::string& value) const { return make<as_string>(value); }
  schema::Argument operator()(ScalarType value) const {
    return make<as_scalar_type>(static_cast<schema::ScalarType>(value.number));
  }
  schema::Argument operator()(MemoryFormat value) const {
    return make<as_memory_format>(static_cast<schema::MemoryFormat>(value));
  }
  schema::Argument operator()(Layout value) const {
    return make<as_layout>(static_cast<schema::Layout>(value));
  }
  schema::Argument operator()(const Device& value) const {
    return make<as_device>(schema::Device{.type = value.type, .index = value.index});
  }
  schema::Argument operator()(const OperatorName& value) const {
    return make<as_operator>(value.target);
  }
  schema::Argument operator()(SubgraphId id) const {
    PT2_CHECK(graph_ != nullptr);
    const Graph& graph = graph_->subgraph(id);
    return make<as_graph>(
        schema::GraphArgument{.name = graph.name, .graph = write_graph(graph, {}, version_)});
  }
  schema::Argument operator()(const CustomObject& value) const {
    return make<as_custom_obj>(
        schema::CustomObjArgument{.name = value.name, .class_fqn = value.class_fqn});
  }
  schema::Argument operator()(const ArgumentList& list) const {
    const auto numbers = [&]<class T>(T) {
      return convert_all<T>(list, [](const Argument& item) { return T(literal<T>(item)); });
    };
    switch (list.kind) {
      case ListKind::tensors:
        return make<as_tensors>(tensors(list));
      case ListKind::ints:
        return make<as_ints>(numbers(int64_t{}));
      case ListKind::floats:
        return make<as_floats>(numbers(double{}));
      case ListKind::strings:
        return make<as_strings>(numbers(std::string{}));
      case ListKind::bools:
        return make<as_bools>(convert_all<schema::Flag>(
            list, [](const Argument& item) { return schema::Flag(literal<bool>(item)); }));
      case ListKind::sym_ints:
        return make<as_sym_ints>(symbolics<schema::SymIntArgument, int64_t>(list));
      case ListKind::sym_floats:
        return make<as_sym_floats>(symbolics<schema::SymFloatArgument, double>(list));
      case ListKind::sym_bools:
        return make<as_sym_bools>(symbolics<schema::SymBoolArgument, bool>(list));
      case ListKind::optional_tensors:
        return make<as_optional_tensors>(convert_all<schema::OptionalTensorArgument>(
            list, [&](const Argument& item) { return optional_tensor(item, graph_, version_); }));
      case ListKind::nested_tensors:
        return make<as_nested_tensors>(nested<schema::TensorArgument>(
            list, [&](const ArgumentList& inner) { return tensors(inner); }));
      case ListKind::int_lists:
        return make<as_int_lists>(nested<int64_t>(list, [](const ArgumentList& inner) {
          return convert_all<int64_t>(inner, literal<int64_t>);
        }));
      case ListKind::float_lists:
        return make<as_float_lists>(nested<double>(list, [](const ArgumentList& inner) {
          return convert_all<double>(inner, literal<double>);
        }));
    }
    return make<as_none>(none());
  }
  schema::Argument operator()(const ArgumentMap& map) const {
    schema::Dict<schema::Argument> out;
    for (const auto& [key, item] : map.items)
      out.emplace_back(key, write_argument(item, graph_, version_));
    return make<as_string_to_argument>(std::move(out));
  }
  // Writes an UnknownArgument with a known tag: an enum number too large for libpt2's enums, or an
  // object of version 1.
  schema::Argument operator()(const UnknownArgument& value) const {
    Diagnostics ignored;
    // Wraps the union in a struct, because a union alone cannot be decoded.
    const std::string json =
        "{\"arg\": {" + print_json_string(value.tag) + ": " + value.json + "}}";
    if (version_ == 100 && value.tag == "as_custom_obj") {
      if (auto object = schema::decode<schema::CustomObjArgumentV1>(value.json, {}, ignored))
        return make<as_custom_obj_v1>(*std::move(object));
    } else if (auto known = schema::decode<schema::UserInputSpec>(json, {}, ignored)) {
      return std::move(known->arg);
    }
    return make<ArgumentCase::unknown>(
        schema::UnknownAlternative{.tag = value.tag, .value = {.text = value.json}});
  }

 private:
  template <ArgumentCase C, class T>
  static schema::Argument make(T&& value) {
    return schema::Argument::make<C>(std::forward<T>(value));
  }
  template <ArgumentCase C, class Union, class T>
  schema::Argument symbolic() const {
    return make<C>(symbolic_argument<Union, T>(argument_, graph_));
  }
  template <class Union, class T>
  std::vector<Union> symbolics(const ArgumentList& list) const {
    return convert_all<Union>(
        list, [&](const Argument& item) { return symbolic_argument<Union, T>(item, graph_); });
  }
  schema::Argument optional() const {
    return make<as_optional_tensor>(optional_tensor(argument_, graph_, version_));
  }
  std::vector<schema::TensorArgument> tensors(const ArgumentList& list) const {
    return convert_all<schema::TensorArgument>(list, [&](const Argument& item) {
      return schema::TensorArgument{.name = value_name(item, graph_)};
    });
  }
  template <class T, class Convert>
  static std::vector<std::vector<T>> nested(const ArgumentList& list, Convert convert) {
    return convert_all<std::vector<T>>(list, [&](const Argument& item) {
      const auto* inner = item.get_if<ArgumentList>();
      PT2_CHECK(inner != nullptr);
      return convert(*inner);
    });
  }

  const Argument& argument_;
  const Graph* graph_;
  int version_;
};

}  // namespace

schema::Argument write_argument(const Argument& argument, const Graph* graph, int version) {
  return std::visit(ArgumentWriter(argument, graph, version), argument.variant);
}

schema::Argument write_argument_spec(const ArgumentSpec& spec, int version) {
  using enum ArgumentCase;
  using enum ArgumentSpec::Kind;
  switch (spec.kind) {
    case tensor:
    case token:
      return schema::Argument::make<as_tensor>(schema::TensorArgument{.name = spec.name});
    case sym_int:
      return schema::Argument::make<as_sym_int>(
          schema::SymIntArgument::make<schema::SymIntArgumentCase::as_name>(spec.name));
    case sym_float:
      return schema::Argument::make<as_sym_float>(
          schema::SymFloatArgument::make<schema::SymFloatArgumentCase::as_name>(spec.name));
    case sym_bool:
      return schema::Argument::make<as_sym_bool>(
          schema::SymBoolArgument::make<schema::SymBoolArgumentCase::as_name>(spec.name));
    case custom_obj:
      return schema::Argument::make<as_custom_obj>(
          schema::CustomObjArgument{.name = spec.name, .class_fqn = spec.class_fqn});
    case constant:
      break;
  }
  return write_argument(spec.value, nullptr, version);
}

}  // namespace pt2
