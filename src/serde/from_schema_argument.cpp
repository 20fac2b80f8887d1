#include <fmt/format.h>

#include "base/text.h"
#include "ir/symbols/symbols_internal.h"
#include "serde/from_schema_internal.h"

namespace pt2 {
namespace {

using schema::ArgumentCase;
using Access = ValueScope::Access;
using Wrapper = Argument::Wrapper;

// Levels of nested as_string_to_argument; max_json_depth bounds all other nesting.
constexpr int kMaxArgumentDepth = 100;

Error unknown_alternative(const schema::UnknownCase& unknown, const ReadContext& context) {
  return context.fail(ErrorCode::unsupported,
                      fmt::format("'{}' is not known to this version", unknown->tag));
}

// Returns an expression with the value that it had during export.
template <class T>
Symbolic<T> symbolic(const std::string& text, std::optional<T> hint, ReadContext& context) {
  auto expression = context.pool.parse(text);
  if (expression) return Symbolic<T>(*expression, hint);
  context.report(Rule::expression, expression.error().message + evaluated_text(text),
                 expression.error().code);
  return Symbolic<T>(hint.value_or(T{}));
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

template <class T, class Source>
Argument literal_list(ListKind kind, const std::vector<Source>& source) {
  ArgumentList list{.kind = kind};
  list.items.reserve(source.size());
  for (const Source& item : source) list.items.emplace_back(T(item));
  return Argument(std::move(list));
}

// Reads numbers of enums that PyTorch may extend; libpt2's enums hold a byte.
template <class Enum>
Result<Argument> enumerator(int64_t number, std::string_view tag) {
  if (number >= 0 && number <= UINT8_MAX) return Argument(static_cast<Enum>(number));
  return Argument(UnknownArgument{std::string(tag), fmt::format("{}", number)});
}

// One overload for each type of an alternative of schema::Argument.
class ArgumentReader {
 public:
  ArgumentReader(ReadContext& context, ValueScope* scope, Access access, int depth)
      : context_(context), scope_(scope), access_(access), depth_(depth) {}

  Result<Argument> operator()(schema::None) { return Argument(None{}); }
  Result<Argument> operator()(const schema::TensorArgument& source) {
    return value_argument(source.name, ValueKind::tensor);
  }
  Result<Argument> operator()(const std::vector<schema::TensorArgument>& source) {
    ArgumentList list{.kind = ListKind::tensors};
    list.items.reserve(source.size());
    for (size_t i = 0; i < source.size(); ++i) {
      const auto step = context_.item("", i);
      const ValueKind kind =
          scope_ != nullptr ? scope_->kind_in_list(source[i].name) : ValueKind::tensor;
      list.items.push_back(value_argument(source[i].name, kind));
    }
    return Argument(std::move(list));
  }
  Result<Argument> operator()(const std::vector<std::vector<schema::TensorArgument>>& source) {
    return list_argument(ListKind::nested_tensors, source);
  }
  Result<Argument> operator()(const schema::OptionalTensorArgument& source) {
    using schema::OptionalTensorArgumentCase;
    switch (source.which()) {
      case OptionalTensorArgumentCase::as_tensor_name:
        return value_argument(source.get<OptionalTensorArgumentCase::as_tensor_name>(),
                              ValueKind::tensor, Wrapper::optional);
      case OptionalTensorArgumentCase::as_tensor:
        return value_argument(source.get<OptionalTensorArgumentCase::as_tensor>().name,
                              ValueKind::tensor, Wrapper::optional);
      case OptionalTensorArgumentCase::as_none:
        return Argument(None{}, Wrapper::optional);
      case OptionalTensorArgumentCase::unknown:
        break;
    }
    return unknown_alternative(source.get<OptionalTensorArgumentCase::unknown>(), context_);
  }
  Result<Argument> operator()(const std::vector<schema::OptionalTensorArgument>& source) {
    return list_argument(ListKind::optional_tensors, source);
  }

  Result<Argument> operator()(int64_t source) { return Argument(source); }
  Result<Argument> operator()(double source) { return Argument(source); }
  Result<Argument> operator()(bool source) { return Argument(source); }
  Result<Argument> operator()(std::string& source) { return Argument(std::move(source)); }
  Result<Argument> operator()(const schema::ComplexValue& source) {
    return Argument(std::complex<double>(source.real, source.imag));
  }
  Result<Argument> operator()(const std::vector<int64_t>& source) {
    return literal_list<int64_t>(ListKind::ints, source);
  }
  Result<Argument> operator()(const std::vector<double>& source) {
    return literal_list<double>(ListKind::floats, source);
  }
  Result<Argument> operator()(const std::vector<schema::Flag>& source) {
    return literal_list<bool>(ListKind::bools, source);
  }
  Result<Argument> operator()(const std::vector<std::string>& source) {
    return literal_list<std::string>(ListKind::strings, source);
  }
  Result<Argument> operator()(const std::vector<std::vector<int64_t>>& source) {
    return list_argument(ListKind::int_lists, source);
  }
  Result<Argument> operator()(const std::vector<std::vector<double>>& source) {
    return list_argument(ListKind::float_lists, source);
  }

  Result<Argument> operator()(const schema::SymIntArgument& source) {
    return symbolic_argument<int64_t>(source, ValueKind::sym_int);
  }
  Result<Argument> operator()(const schema::SymFloatArgument& source) {
    return symbolic_argument<double>(source, ValueKind::sym_float);
  }
  Result<Argument> operator()(const schema::SymBoolArgument& source) {
    return symbolic_argument<bool>(source, ValueKind::sym_bool);
  }
  Result<Argument> operator()(const std::vector<schema::SymIntArgument>& source) {
    return list_argument(ListKind::sym_ints, source);
  }
  Result<Argument> operator()(const std::vector<schema::SymFloatArgument>& source) {
    return list_argument(ListKind::sym_floats, source);
  }
  Result<Argument> operator()(const std::vector<schema::SymBoolArgument>& source) {
    return list_argument(ListKind::sym_bools, source);
  }

  Result<Argument> operator()(schema::ScalarType source) {
    return Argument(ScalarType{static_cast<int64_t>(source)});
  }
  Result<Argument> operator()(schema::MemoryFormat source) {
    return enumerator<MemoryFormat>(static_cast<int64_t>(source), "as_memory_format");
  }
  Result<Argument> operator()(schema::Layout source) {
    return enumerator<Layout>(static_cast<int64_t>(source), "as_layout");
  }
  Result<Argument> operator()(const schema::Device& source) {
    return Argument(Device{source.type, source.index});
  }

  Result<Argument> operator()(schema::GraphArgument& source) {
    if (scope_ == nullptr || access_ == Access::define) {
      context_.report(
          Rule::misplaced_argument,
          "found a graph, expected a value: graphs are inputs of higher-order operators alone");
      return Argument(None{});
    }
    PT2_TRY(SubgraphId id, scope_->add_subgraph(source));
    return Argument(id);
  }
  Result<Argument> operator()(const schema::CustomObjArgument& source) {
    if (scope_ != nullptr &&
        (access_ == Access::define || scope_->has(source.name, ValueKind::custom_obj))) {
      return value_argument(source.name, ValueKind::custom_obj);
    }
    return Argument(CustomObject{source.name, source.class_fqn});
  }
  Result<Argument> operator()(const schema::CustomObjArgumentV1& source) {
    return Argument(UnknownArgument{
        "as_custom_obj", fmt::format("{{\"blob\": {}}}", print_json_string(source.blob))});
  }
  Result<Argument> operator()(schema::Dict<schema::Argument>& source) {
    ArgumentMap map;
    const auto field = context_.field("as_string_to_argument");
    for (auto& [key, item] : source) {
      const auto step = context_.key(key);
      PT2_TRY(Argument value, read(item, context_, scope_, access_, depth_ + 1));
      map.items.emplace_back(key, std::move(value));
    }
    return Argument(std::move(map));
  }
  Result<Argument> operator()(const schema::UnknownCase& source) {
    return Argument(UnknownArgument{source->tag, source->value.text});
  }

  static Result<Argument> read(schema::Argument& source, ReadContext& context, ValueScope* scope,
                               Access access, int depth) {
    if (depth > kMaxArgumentDepth) {
      return context.fail(ErrorCode::limit,
                          fmt::format("arguments are nested deeper than {}", kMaxArgumentDepth));
    }
    // as_operator and as_string both hold a string, so the overloads cannot distinguish them.
    if (auto* target = source.get_if<ArgumentCase::as_operator>())
      return Argument(OperatorName{std::move(*target)});
    return std::visit(ArgumentReader(context, scope, access, depth), source.variant());
  }

 private:
  Argument value_argument(const std::string& name, ValueKind kind,
                          Wrapper wrapper = Wrapper::plain) {
    if (scope_ != nullptr) return Argument(scope_->resolve(name, kind, access_), wrapper);
    context_.report(Rule::misplaced_argument,
                    fmt::format("found the value '{}' where only a constant may stand", name));
    return Argument(None{});
  }

  // Reads SymIntArgument and similar types: a name, or a number.
  template <class T, class Source>
  Result<Argument> symbolic_argument(const Source& source, ValueKind kind) {
    if (const auto* name = std::get_if<0>(&source.variant()))
      return value_argument(*name, kind, Wrapper::symbolic);
    if (const auto* literal = std::get_if<1>(&source.variant()))
      return Argument(T(*literal), Wrapper::symbolic);
    return unknown_alternative(*std::get_if<schema::UnknownCase>(&source.variant()), context_);
  }

  template <class Source>
  Result<Argument> list_argument(ListKind kind, const std::vector<Source>& source) {
    ArgumentList list{.kind = kind};
    list.items.reserve(source.size());
    for (size_t i = 0; i < source.size(); ++i) {
      const auto step = context_.item("", i);
      PT2_TRY(Argument item, (*this)(source[i]));
      list.items.push_back(std::move(item));
    }
    return Argument(std::move(list));
  }

  ReadContext& context_;
  ValueScope* scope_;
  Access access_;
  int depth_;
};

}  // namespace

Result<SymInt> read_sym(const schema::SymInt& source, ReadContext& context) {
  using enum schema::SymIntCase;
  if (const auto* number = source.get_if<as_int>()) return SymInt(*number);
  if (const auto* expr = source.get_if<as_expr>())
    return symbolic(expr->expr_str, hint_of<int64_t>(*expr), context);
  return unknown_alternative(source.get<unknown>(), context);
}

Result<SymFloat> read_sym(const schema::SymFloat& source, ReadContext& context) {
  using enum schema::SymFloatCase;
  if (const auto* number = source.get_if<as_float>()) return SymFloat(*number);
  if (const auto* expr = source.get_if<as_expr>())
    return symbolic(expr->expr_str, hint_of<double>(*expr), context);
  return unknown_alternative(source.get<unknown>(), context);
}

Result<SymBool> read_sym(const schema::SymBool& source, ReadContext& context) {
  using enum schema::SymBoolCase;
  if (const auto* value = source.get_if<as_bool>()) return SymBool(*value);
  if (const auto* expr = source.get_if<as_expr>())
    return symbolic(expr->expr_str, hint_of<bool>(*expr), context);
  if (const auto* text = source.get_if<as_expr_str>())
    return symbolic(*text, std::optional<bool>(), context);
  return unknown_alternative(source.get<unknown>(), context);
}

Result<Argument> read_argument(schema::Argument& source, ReadContext& context, ValueScope* scope,
                               Access access) {
  return ArgumentReader::read(source, context, scope, access, 1);
}

Result<ArgumentSpec> read_argument_spec(schema::Argument& source, ReadContext& context) {
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
  PT2_TRY(Argument value, read_argument(source, context, nullptr, Access::use));
  return ArgumentSpec{.kind = Kind::constant, .value = std::move(value)};
}

}  // namespace pt2
