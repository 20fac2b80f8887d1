#include "run/inputs.h"

#include <algorithm>

#include "pt2/type_text.h"

namespace pt2::run {
namespace {

Error mismatch(const std::string& name, const std::string& text) {
  return {ErrorCode::argument, text, "input '" + name + "'"};
}

// A size that has to hold once every symbol is known.
struct PendingSize {
  const SymInt* expected;
  int64_t found;
  size_t input;
  size_t dim;
};

class InputCheck {
 public:
  InputCheck(const Program& program, std::span<const std::string> names)
      : program_(program), names_(names) {}

  Result<void> check(size_t index, const ArgumentSpec& spec, const Value& value) {
    using Kind = ArgumentSpec::Kind;
    switch (spec.kind) {
      case Kind::tensor:
        return check_tensor(index, spec, value);
      case Kind::sym_int:
        return check_int(index, spec, value);
      case Kind::constant:
        return check_constant(index, spec, value);
      case Kind::sym_float:
        return value.is<double>() || value.is<int64_t>() ? Result<void>()
                                                         : wrong_type(index, spec, value);
      case Kind::sym_bool:
        return value.is<bool>() ? Result<void>() : wrong_type(index, spec, value);
      case Kind::custom_obj:
      case Kind::token:
        return {};
    }
    return {};
  }

  Result<void> finish() {
    for (const PendingSize& pending : pending_) {
      const Result<int64_t> expected = evaluate(*pending.expected, bindings_);
      // A symbol that no input gives alone, such as u0 or one half of a product, cannot be checked
      // from outside.
      if (!expected || *expected == pending.found) continue;
      return mismatch(names_[pending.input], "dim " + std::to_string(pending.dim) + " is " +
                                                 std::to_string(pending.found) + ", expected " +
                                                 print(*pending.expected) + " = " +
                                                 std::to_string(*expected));
    }
    for (const RangeConstraint& constraint : program_.range_constraints) {
      if (constraint.key == nullptr) continue;
      const Result<int64_t> value = evaluate_integer(constraint.key->expr, bindings_);
      if (!value || constraint.range.contains(*value)) continue;
      return Error{ErrorCode::argument,
                   print_expr(constraint.key->expr) + " is " + std::to_string(*value) +
                       ", allowed is " + print(constraint.range) +
                       where_bound(constraint.key->expr),
                   "inputs"};
    }
    return {};
  }

 private:
  Error wrong_type(size_t index, const ArgumentSpec& spec, const Value& value) {
    return mismatch(names_[index],
                    "found " + value.type_text() + ", expected " + type_text(program_, spec));
  }

  Result<void> check_tensor(size_t index, const ArgumentSpec& spec, const Value& value) {
    const auto id = program_.graph.find_value(spec.name);
    const TensorMeta* meta = id ? program_.graph.value(*id).tensor() : nullptr;
    const Tensor* tensor = value.get_if<Tensor>();
    if (tensor == nullptr) return wrong_type(index, spec, value);
    if (meta == nullptr) return {};
    const auto dtype = meta->dtype.dtype();
    if ((dtype && *dtype != tensor->dtype()) || meta->sizes.size() != tensor->sizes().size())
      return wrong_type(index, spec, value);
    for (size_t dim = 0; dim < meta->sizes.size(); ++dim)
      PT2_TRY_VOID(check_size(index, dim, meta->sizes[dim], tensor->sizes()[dim]));
    return {};
  }

  Result<void> check_size(size_t index, size_t dim, const SymInt& expected, int64_t found) {
    if (!expected.is_symbolic()) {
      if (expected.literal() == found) return {};
      return mismatch(names_[index], "dim " + std::to_string(dim) + " is " + std::to_string(found) +
                                         ", expected " + std::to_string(expected.literal()));
    }
    if (!expected.expr().is_symbol() || bindings_.find(expected.expr()->symbol) != nullptr) {
      pending_.push_back({&expected, found, index, dim});
      return {};
    }
    bind(expected.expr(), found, "input '" + names_[index] + "' dim " + std::to_string(dim));
    return {};
  }

  Result<void> check_int(size_t index, const ArgumentSpec& spec, const Value& value) {
    const auto* number = value.get_if<int64_t>();
    if (number == nullptr) return wrong_type(index, spec, value);
    const auto id = program_.graph.find_value(spec.name);
    const auto* size = id ? std::get_if<SymInt>(&program_.graph.value(*id).meta) : nullptr;
    if (size == nullptr) return {};
    if (size->is_symbolic() && size->expr().is_symbol() &&
        bindings_.find(size->expr()->symbol) == nullptr) {
      bind(size->expr(), *number, "input '" + names_[index] + "'");
      return {};
    }
    pending_.push_back({size, *number, index, 0});
    return {};
  }

  Result<void> check_constant(size_t index, const ArgumentSpec& spec, const Value& value) {
    auto same = [&]<class T>(const T& expected) {
      if constexpr (std::is_same_v<T, None>)
        return value.is_none();
      else if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, int64_t> ||
                         std::is_same_v<T, double> || std::is_same_v<T, std::string>)
        return value.is<T>() && *value.get_if<T>() == expected;
      else
        return true;
    };
    return std::visit(same, spec.value.variant) ? Result<void>() : wrong_type(index, spec, value);
  }

  void bind(Expr symbol, int64_t value, std::string place) {
    bindings_.bind(symbol->symbol, value);
    places_.emplace_back(symbol, std::move(place));
  }

  std::string where_bound(Expr expr) const {
    std::string out;
    for (SymbolId id : free_symbols(expr))
      for (const auto& [symbol, place] : places_)
        if (symbol->symbol == id) out += " (" + print_expr(symbol) + " is " + place + ")";
    return out;
  }

  const Program& program_;
  std::span<const std::string> names_;
  SymbolBindings bindings_;
  std::vector<PendingSize> pending_;
  std::vector<std::pair<Expr, std::string>> places_;
};

std::optional<Number> find_source(const GuardSource& source, std::span<const Value> inputs,
                                  std::span<const std::string> names) {
  using Property = GuardSource::Property;
  const auto name = std::ranges::find(names, source.input);
  if (name == names.end()) return std::nullopt;
  const Value& value = inputs[static_cast<size_t>(name - names.begin())];
  if (source.property == Property::value) {
    if (const auto* number = value.get_if<int64_t>()) return *number;
    if (const auto* number = value.get_if<double>()) return *number;
    if (const auto* flag = value.get_if<bool>()) return *flag;
    return std::nullopt;
  }
  const Tensor* tensor = value.get_if<Tensor>();
  if (tensor == nullptr) return std::nullopt;
  if (source.property == Property::storage_offset) return tensor->storage_offset();
  const auto& dims = source.property == Property::size ? tensor->sizes() : tensor->strides();
  const auto dim = static_cast<size_t>(source.dim);
  return dim < dims.size() ? std::optional<Number>(dims[dim]) : std::nullopt;
}

Result<void> check_guards(std::span<const Guard> guards, std::span<const Value> inputs,
                          std::span<const std::string> names) {
  const auto lookup = [&](const GuardSource& source) { return find_source(source, inputs, names); };
  for (const Guard& guard : guards) {
    Result<void> checked = check_guard(guard, lookup);
    // A guard on what is no input of this call, or too large to compute, cannot be checked.
    if (!checked && checked.error().code == ErrorCode::argument)
      return at(std::move(checked).error(), "inputs");
  }
  return {};
}

}  // namespace

std::vector<Guard> parse_guards(const Program& program) {
  std::vector<Guard> guards;
  for (const std::string& text : program.guards_code) {
    Result<Guard> guard = parse_guard(*program.expressions, text);
    if (guard) guards.push_back(std::move(*guard));
  }
  return guards;
}

Result<void> check_inputs(const Program& program, std::span<const Guard> guards,
                          std::span<const Value> inputs, std::span<const std::string> names) {
  InputCheck check(program, names);
  size_t index = 0;
  for (const InputSpec& spec : program.signature.input_specs) {
    if (spec.kind != InputKind::user_input) continue;
    PT2_TRY_VOID(check.check(index, spec.arg, inputs[index]));
    ++index;
  }
  PT2_TRY_VOID(check.finish());
  return check_guards(guards, inputs, names);
}

}  // namespace pt2::run
