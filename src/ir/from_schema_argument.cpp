#include <fmt/format.h>

#include "base/text.h"
#include "ir/from_schema_internal.h"

namespace pt2 {
namespace {

using schema::ArgumentCase;
using Access = ValueScope::Access;
using Wrapper = Argument::Wrapper;

// as_string_to_argument inside itself; the JSON's own limit ends other nesting.
constexpr int kMaxArgumentDepth = 100;

Error unknown_alternative(const schema::UnknownCase& unknown) {
  return {
      ErrorCode::unsupported, fmt::format("'{}' is not known to this version", unknown->tag), {}};
}

// An expression with the value it had while exporting.
template <class T>
Result<Symbolic<T>> symbolic(const std::string& text, std::optional<T> hint, ExprPool& pool) {
  PT2_TRY(const SpelledExpr* expression, pool.parse(text));
  return Symbolic<T>(expression, hint);
}

template <class T>
std::optional<T> hint_of(const schema::SymExpr& source) {
  if (!source.hint) {
    return source.hint_int ? std::optional<T>(static_cast<T>(*source.hint_int)) : std::nullopt;
  }
  using schema::SymExprHintCase;
  if (const auto* value = source.hint->get_if<SymExprHintCase::as_int>())
    return static_cast<T>(*value);
  if (const auto* value = source.hint->get_if<SymExprHintCase::as_bool>())
    return static_cast<T>(*value);
  if constexpr (std::is_same_v<T, double>) {
    if (const auto* value = source.hint->get_if<SymExprHintCase::as_float>()) return *value;
  }
  return std::nullopt;
}

Result<Argument> value_argument(const std::string& name, ValueKind kind, ValueScope* scope,
                                Access access, Wrapper wrapper = Wrapper::plain) {
  if (scope == nullptr) {
    return Error{ErrorCode::invalid,
                 fmt::format("found the value '{}' where only a constant may stand", name),
                 {}};
  }
  PT2_TRY(ValueId id, scope->resolve(name, kind, access));
  return Argument(id, wrapper);
}

template <class Source, class Read>
Result<Argument> list_argument(ListKind kind, const std::vector<Source>& source, Read read) {
  ArgumentList list{.kind = kind};
  list.items.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    PT2_TRY_AT(Argument item, fmt::format("[{}]", i), read(source[i]));
    list.items.push_back(std::move(item));
  }
  return Argument(std::move(list));
}

template <class T, class Source>
Result<Argument> literal_list(ListKind kind, const std::vector<Source>& source) {
  return list_argument(kind, source,
                       [](const Source& item) -> Result<Argument> { return Argument(T(item)); });
}

// SymIntArgument and its like: a name, or a number.
template <class T, class Source>
Result<Argument> symbolic_argument(const Source& source, ValueKind kind, ValueScope* scope,
                                   Access access) {
  if (const auto* name = std::get_if<0>(&source.variant())) {
    return value_argument(*name, kind, scope, access, Wrapper::symbolic);
  }
  if (const auto* literal = std::get_if<1>(&source.variant()))
    return Argument(T(*literal), Wrapper::symbolic);
  return unknown_alternative(*std::get_if<schema::UnknownCase>(&source.variant()));
}

Result<Argument> optional_tensor(const schema::OptionalTensorArgument& source, ValueScope* scope,
                                 Access access) {
  using schema::OptionalTensorArgumentCase;
  switch (source.which()) {
    case OptionalTensorArgumentCase::as_tensor_name:
      return value_argument(source.get<OptionalTensorArgumentCase::as_tensor_name>(),
                            ValueKind::tensor, scope, access, Wrapper::optional);
    case OptionalTensorArgumentCase::as_tensor:
      return value_argument(source.get<OptionalTensorArgumentCase::as_tensor>().name,
                            ValueKind::tensor, scope, access, Wrapper::optional);
    case OptionalTensorArgumentCase::as_none:
      return Argument(None{}, Wrapper::optional);
    case OptionalTensorArgumentCase::unknown:
      break;
  }
  return unknown_alternative(source.get<OptionalTensorArgumentCase::unknown>());
}

Result<Argument> custom_object(const schema::CustomObjArgument& source, ValueScope* scope,
                               Access access) {
  if (scope != nullptr &&
      (access == Access::define || scope->has(source.name, ValueKind::custom_obj))) {
    return value_argument(source.name, ValueKind::custom_obj, scope, access);
  }
  return Argument(CustomObject{source.name, source.class_fqn});
}

Result<Argument> number_in_byte(int64_t number, std::string_view tag, auto make) {
  if (number >= 0 && number <= UINT8_MAX) return make(static_cast<uint8_t>(number));
  return Argument(UnknownArgument{std::string(tag), fmt::format("{}", number)});
}

class ArgumentReader {
 public:
  ArgumentReader(ValueScope* scope, Access access) : scope_(scope), access_(access) {}

  Result<Argument> read(schema::Argument& source, int depth);

 private:
  Result<Argument> tensor(const schema::TensorArgument& source) {
    return value_argument(source.name, ValueKind::tensor, scope_, access_);
  }
  Result<Argument> tensors(const std::vector<schema::TensorArgument>& source) {
    return list_argument(ListKind::tensors, source,
                         [this](const auto& item) { return tensor(item); });
  }
  template <class T, class Source>
  Result<Argument> symbolic(const Source& source, ValueKind kind) {
    return symbolic_argument<T>(source, kind, scope_, access_);
  }
  template <class T, class Source>
  Result<Argument> symbolics(ListKind list, const std::vector<Source>& source, ValueKind kind) {
    return list_argument(list, source,
                         [this, kind](const Source& item) { return symbolic<T>(item, kind); });
  }
  template <class T, class Source>
  Result<Argument> literal_lists(ListKind outer, ListKind inner,
                                 const std::vector<Source>& source) {
    return list_argument(outer, source,
                         [inner](const Source& items) { return literal_list<T>(inner, items); });
  }
  Result<Argument> optional(const schema::OptionalTensorArgument& source) {
    return optional_tensor(source, scope_, access_);
  }
  Result<Argument> graph(schema::GraphArgument& source) {
    if (scope_ == nullptr || access_ == Access::define) {
      return Error{ErrorCode::invalid, "found a graph where only values may stand", {}};
    }
    PT2_TRY(SubgraphId id, scope_->add_subgraph(source));
    return Argument(id);
  }
  Result<Argument> map(schema::Dict<schema::Argument>& source, int depth) {
    ArgumentMap map;
    for (auto& [key, item] : source) {
      PT2_TRY_AT(Argument value, ".as_string_to_argument" + key_step(key), read(item, depth + 1));
      map.items.emplace_back(key, std::move(value));
    }
    return Argument(std::move(map));
  }

  ValueScope* scope_;
  Access access_;
};

Result<Argument> ArgumentReader::read(schema::Argument& source, int depth) {
  if (depth > kMaxArgumentDepth) {
    return Error{ErrorCode::limit,
                 fmt::format("arguments are nested deeper than {}", kMaxArgumentDepth),
                 {}};
  }
  using enum ArgumentCase;
  switch (source.which()) {
    case as_none:
      return Argument(None{});
    case as_tensor:
      return tensor(source.get<as_tensor>());
    case as_tensors:
      return tensors(source.get<as_tensors>());
    case as_int:
      return Argument(source.get<as_int>());
    case as_ints:
      return literal_list<int64_t>(ListKind::ints, source.get<as_ints>());
    case as_float:
      return Argument(source.get<as_float>());
    case as_floats:
      return literal_list<double>(ListKind::floats, source.get<as_floats>());
    case as_string:
      return Argument(std::move(source.get<as_string>()));
    case as_strings:
      return literal_list<std::string>(ListKind::strings, source.get<as_strings>());
    case as_sym_int:
      return symbolic<int64_t>(source.get<as_sym_int>(), ValueKind::sym_int);
    case as_sym_ints:
      return symbolics<int64_t>(ListKind::sym_ints, source.get<as_sym_ints>(), ValueKind::sym_int);
    case as_scalar_type:
      return Argument(ScalarType{static_cast<int64_t>(source.get<as_scalar_type>())});
    case as_memory_format:
      return number_in_byte(
          static_cast<int64_t>(source.get<as_memory_format>()), "as_memory_format",
          [](uint8_t number) { return Argument(static_cast<MemoryFormat>(number)); });
    case as_layout:
      return number_in_byte(static_cast<int64_t>(source.get<as_layout>()), "as_layout",
                            [](uint8_t number) { return Argument(static_cast<Layout>(number)); });
    case as_device:
      return Argument(Device{source.get<as_device>().type, source.get<as_device>().index});
    case as_bool:
      return Argument(source.get<as_bool>());
    case as_bools:
      return literal_list<bool>(ListKind::bools, source.get<as_bools>());
    case as_sym_bool:
      return symbolic<bool>(source.get<as_sym_bool>(), ValueKind::sym_bool);
    case as_sym_bools:
      return symbolics<bool>(ListKind::sym_bools, source.get<as_sym_bools>(), ValueKind::sym_bool);
    case as_graph:
      return graph(source.get<as_graph>());
    case as_optional_tensors:
      return list_argument(ListKind::optional_tensors, source.get<as_optional_tensors>(),
                           [this](const auto& item) { return optional(item); });
    case as_custom_obj_v1:
      return Argument(UnknownArgument{
          "as_custom_obj",
          fmt::format("{{\"blob\": {}}}", print_json_string(source.get<as_custom_obj_v1>().blob))});
    case as_custom_obj:
      return custom_object(source.get<as_custom_obj>(), scope_, access_);
    case as_operator:
      return Argument(OperatorName{std::move(source.get<as_operator>())});
    case as_sym_float:
      return symbolic<double>(source.get<as_sym_float>(), ValueKind::sym_float);
    case as_sym_floats:
      return symbolics<double>(ListKind::sym_floats, source.get<as_sym_floats>(),
                               ValueKind::sym_float);
    case as_optional_tensor:
      return optional(source.get<as_optional_tensor>());
    case as_complex:
      return Argument(
          std::complex<double>(source.get<as_complex>().real, source.get<as_complex>().imag));
    case as_nested_tensors:
      return list_argument(ListKind::nested_tensors, source.get<as_nested_tensors>(),
                           [this](const auto& items) { return tensors(items); });
    case as_int_lists:
      return literal_lists<int64_t>(ListKind::int_lists, ListKind::ints,
                                    source.get<as_int_lists>());
    case as_string_to_argument:
      return map(source.get<as_string_to_argument>(), depth);
    case as_float_lists:
      return literal_lists<double>(ListKind::float_lists, ListKind::floats,
                                   source.get<as_float_lists>());
    case unknown:
      break;
  }
  return Argument(UnknownArgument{source.get<unknown>()->tag, source.get<unknown>()->value.text});
}

}  // namespace

Result<SymInt> read_sym(const schema::SymInt& source, ExprPool& pool) {
  using enum schema::SymIntCase;
  if (const auto* number = source.get_if<as_int>()) return SymInt(*number);
  if (const auto* expr = source.get_if<as_expr>())
    return symbolic(expr->expr_str, hint_of<int64_t>(*expr), pool);
  return unknown_alternative(source.get<unknown>());
}

Result<SymFloat> read_sym(const schema::SymFloat& source, ExprPool& pool) {
  using enum schema::SymFloatCase;
  if (const auto* number = source.get_if<as_float>()) return SymFloat(*number);
  if (const auto* expr = source.get_if<as_expr>())
    return symbolic(expr->expr_str, hint_of<double>(*expr), pool);
  return unknown_alternative(source.get<unknown>());
}

Result<SymBool> read_sym(const schema::SymBool& source, ExprPool& pool) {
  using enum schema::SymBoolCase;
  if (const auto* value = source.get_if<as_bool>()) return SymBool(*value);
  if (const auto* expr = source.get_if<as_expr>())
    return symbolic(expr->expr_str, hint_of<bool>(*expr), pool);
  if (const auto* text = source.get_if<as_expr_str>())
    return symbolic(*text, std::optional<bool>(), pool);
  return unknown_alternative(source.get<unknown>());
}

Result<Argument> read_argument(schema::Argument& source, ValueScope* scope, Access access) {
  return ArgumentReader(scope, access).read(source, 1);
}

Result<ArgumentSpec> read_argument_spec(schema::Argument& source) {
  using enum ArgumentCase;
  using Kind = ArgumentSpec::Kind;
  const auto named = [](Kind kind, const std::string& name) {
    return ArgumentSpec{.kind = kind, .name = name};
  };
  if (const auto* tensor = source.get_if<as_tensor>()) return named(Kind::tensor, tensor->name);
  if (const auto* object = source.get_if<as_custom_obj>()) {
    return ArgumentSpec{
        .kind = Kind::custom_obj, .name = object->name, .class_fqn = object->class_fqn};
  }
  if (const auto* sym = source.get_if<as_sym_int>()) {
    if (const auto* name = std::get_if<0>(&sym->variant())) return named(Kind::sym_int, *name);
  }
  if (const auto* sym = source.get_if<as_sym_float>()) {
    if (const auto* name = std::get_if<0>(&sym->variant())) return named(Kind::sym_float, *name);
  }
  if (const auto* sym = source.get_if<as_sym_bool>()) {
    if (const auto* name = std::get_if<0>(&sym->variant())) return named(Kind::sym_bool, *name);
  }
  PT2_TRY(Argument value, read_argument(source, nullptr, Access::use));
  return ArgumentSpec{.kind = Kind::constant, .value = std::move(value)};
}

}  // namespace pt2
