#include "pt2/check_inputs.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/text.h"
#include "ir/number.h"
#include "ir/symbols/expr_kind.h"
#include "pt2/ir/type_text.h"

namespace pt2 {
namespace {

Error mismatch(const std::string& name, const std::string& text) {
  return {ErrorCode::argument, text, "input '" + name + "'"};
}

std::string shape_text(const InputShape& input) {
  if (const auto* value = std::get_if<const Value*>(&input)) return (*value)->type_text();
  const auto& shape = std::get<TensorShape>(input);
  return type_text(shape.dtype, shape.sizes);
}

// The input as a T; null for tensors and other types.
template <class T>
const T* get_if(const InputShape& input) {
  const auto* value = std::get_if<const Value*>(&input);
  return value ? (*value)->get_if<T>() : nullptr;
}

// Returns the number of a bool, an int or a float; nothing for other inputs.
std::optional<Number> number_of(const InputShape& input) {
  if (const auto* number = get_if<int64_t>(input)) return *number;
  if (const auto* number = get_if<double>(input)) return *number;
  if (const auto* flag = get_if<bool>(input)) return *flag;
  return std::nullopt;
}

// True if the input equals the constant as in Python: True == 1 == 1.0. PyTorch also lets NaN be
// NaN.
bool is_same_number(const InputShape& input, const Number& constant) {
  const std::optional<Number> found = number_of(input);
  if (!found) return false;
  const auto is_nan = [](const Number& number) {
    const auto* real = std::get_if<double>(&number);
    return real != nullptr && std::isnan(*real);
  };
  return is_nan(constant) ? is_nan(*found) : compare(*found, constant) == 0;
}

// A recorded size to compare once every symbol is known.
struct PendingSize {
  const SymInt* expected;
  int64_t found;
  size_t input;
  size_t dim;
};

// True if a call may have this value. Tracing assumes that every size is 2 or more and that no
// integer is negative, so PyTorch checks only lower bounds above 2 (torch/_export/utils.py,
// _check_symint): a program multiplies by -5 although its range is [0, int_oo].
bool is_allowed(const SymRange& range, int64_t value) {
  constexpr int64_t kLeast = 2;
  const bool is_too_small = range.min && *range.min > kLeast && value < *range.min;
  return !is_too_small && (!range.max || value <= *range.max);
}

class InputCheck {
 public:
  InputCheck(const Program& program, std::span<const std::string> names)
      : program_(program), names_(names) {}

  // `record` is null if the graph records nothing about the input.
  Result<void> check(size_t index, const ArgumentSpec& spec, const GraphValue* record,
                     const InputShape& input) {
    using Kind = ArgumentSpec::Kind;
    switch (spec.kind) {
      case Kind::tensor:
        return check_tensor(index, spec, record, input);
      case Kind::sym_int:
        return check_int(index, spec, record, input);
      case Kind::constant:
        return check_constant(index, spec, input);
      case Kind::sym_float:
        return get_if<double>(input) || get_if<int64_t>(input) ? Result<void>()
                                                               : wrong_type(index, spec, input);
      case Kind::sym_bool:
        return get_if<bool>(input) ? Result<void>() : wrong_type(index, spec, input);
      case Kind::custom_obj:
      case Kind::token:
        return {};
    }
    return {};
  }

  Result<void> finish() {
    for (const PendingSize& pending : pending_) PT2_TRY_VOID(solve(pending));
    for (const PendingSize& pending : pending_) PT2_TRY_VOID(compare(pending));
    for (const RangeConstraint& constraint : program_.range_constraints) {
      if (constraint.key == nullptr) continue;
      const Expr expr = constraint.key->expr;
      const Result<int64_t> value = evaluate_integer(expr, bindings_);
      if (!value || is_allowed(constraint.range, *value)) continue;
      return Error{ErrorCode::argument,
                   print_expr(expr) + " is " + std::to_string(*value) + ", allowed is " +
                       print(constraint.range) + where_bound(expr),
                   "inputs"};
    }
    return {};
  }

  const SymbolBindings& bindings() const { return bindings_; }

  SymbolValues symbols() const {
    SymbolValues out;
    for (const auto& [symbol, place] : places_)
      if (const auto value = evaluate_integer(symbol, bindings_))
        out.emplace_back(symbol->name, *value);
    return out;
  }

 private:
  static std::string dim_is(const PendingSize& pending) {
    return "dim " + std::to_string(pending.dim) + " is " + std::to_string(pending.found);
  }
  std::string dim_place(size_t input, size_t dim) const {
    return "input '" + names_[input] + "' dim " + std::to_string(dim);
  }

  Result<void> compare(const PendingSize& pending) const {
    const Result<int64_t> expected = evaluate(*pending.expected, bindings_);
    // A symbol that no input determines, such as u0 or one factor of a product, cannot be checked
    // from outside.
    if (!expected || *expected == pending.found) return {};
    const Expr expr = pending.expected->expr();
    const std::string why = expr ? where_bound(expr) : std::string();
    return mismatch(names_[pending.input], dim_is(pending) + ", expected " +
                                               print(*pending.expected) + " = " +
                                               std::to_string(*expected) + why);
  }

  // Solves for a symbol that inputs give only as a*s + b, as PyTorch does (try_solve, same file).
  Result<void> solve(const PendingSize& pending) {
    const Expr expr = pending.expected->expr();
    const std::vector<SymbolId> symbols = expr ? free_symbols(expr) : std::vector<SymbolId>();
    if (symbols.size() != 1 || bindings_.find(symbols[0]) != nullptr || !is_polynomial(expr))
      return {};
    const auto value_at = [&](int64_t number) {
      trial_.bind(symbols[0], number);
      return evaluate_integer(expr, trial_);
    };
    const auto first = value_at(1), second = value_at(2), third = value_at(3);
    int64_t slope = 0, next_slope = 0, rest = 0;
    const bool is_linear =
        first && second && third && !__builtin_sub_overflow(*second, *first, &slope) &&
        !__builtin_sub_overflow(*third, *second, &next_slope) && slope == next_slope &&
        slope != 0 && slope != -1 && !__builtin_sub_overflow(pending.found, *first, &rest);
    if (!is_linear) return {};
    int64_t solution = 0;
    if (__builtin_add_overflow(rest / slope, 1, &solution)) return {};
    const auto again = value_at(solution);
    if (!again) return {};
    if (*again != pending.found)
      return mismatch(names_[pending.input], dim_is(pending) + ", expected " + print_expr(expr) +
                                                 " for some integer " +
                                                 program_.expressions->symbol_name(symbols[0]));
    bind(program_.expressions->symbol(program_.expressions->symbol_name(symbols[0])), solution,
         dim_place(pending.input, pending.dim));
    return {};
  }

  Error wrong_type(size_t index, const ArgumentSpec& spec, const InputShape& input) {
    return mismatch(names_[index],
                    "found " + shape_text(input) + ", expected " + type_text(program_, spec));
  }

  Result<void> check_tensor(size_t index, const ArgumentSpec& spec, const GraphValue* record,
                            const InputShape& input) {
    const TensorMeta* meta = record ? record->tensor() : nullptr;
    const auto* shape = std::get_if<TensorShape>(&input);
    if (shape == nullptr) return wrong_type(index, spec, input);
    if (meta == nullptr) return {};
    const auto dtype = meta->dtype.dtype();
    if ((dtype && *dtype != shape->dtype) || meta->sizes.size() != shape->sizes.size())
      return wrong_type(index, spec, input);
    for (size_t dim = 0; dim < meta->sizes.size(); ++dim)
      PT2_TRY_VOID(check_size(index, dim, meta->sizes[dim], shape->sizes[dim]));
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
    bind(expected.expr(), found, dim_place(index, dim));
    return {};
  }

  Result<void> check_int(size_t index, const ArgumentSpec& spec, const GraphValue* record,
                         const InputShape& input) {
    const auto* number = get_if<int64_t>(input);
    if (number == nullptr) return wrong_type(index, spec, input);
    const auto* size = record ? std::get_if<SymInt>(&record->meta) : nullptr;
    if (size == nullptr) return {};
    if (size->is_symbolic() && size->expr().is_symbol() &&
        bindings_.find(size->expr()->symbol) == nullptr) {
      bind(size->expr(), *number, "input '" + names_[index] + "'");
      return {};
    }
    pending_.push_back({size, *number, index, 0});
    return {};
  }

  Result<void> check_constant(size_t index, const ArgumentSpec& spec, const InputShape& input) {
    auto same = [&]<class T>(const T& expected) {
      if constexpr (std::is_same_v<T, None>)
        return get_if<std::monostate>(input) != nullptr;
      else if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, int64_t> ||
                         std::is_same_v<T, double>)
        return is_same_number(input, expected);
      else if constexpr (std::is_same_v<T, std::string>)
        return get_if<T>(input) != nullptr && *get_if<T>(input) == expected;
      else
        return true;
    };
    return std::visit(same, spec.value.variant) ? Result<void>() : wrong_type(index, spec, input);
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
  // For expressions of one symbol. New bindings for each would have room for all symbols.
  SymbolBindings trial_;
  std::vector<PendingSize> pending_;
  std::vector<std::pair<Expr, std::string>> places_;
};

std::optional<Number> property_of(const GuardSource& source, const InputShape& input) {
  using Property = GuardSource::Property;
  if (source.property == Property::value) return number_of(input);
  const auto* shape = std::get_if<TensorShape>(&input);
  if (shape == nullptr) return std::nullopt;
  if (source.property == Property::storage_offset) return shape->storage_offset;
  const auto dims = source.property == Property::size ? shape->sizes : shape->strides;
  const auto dim = static_cast<size_t>(source.dim);
  return dim < dims.size() ? std::optional<Number>(dims[dim]) : std::nullopt;
}

// Returns the recorded strides under this call's symbols. Nothing if a copy cannot have them: two
// elements would share a place.
std::optional<Sizes> own_places(const Sizes& sizes, const std::vector<SymInt>& recorded,
                                const SymbolBindings& symbols) {
  if (recorded.size() != sizes.size()) return std::nullopt;
  Sizes strides;
  bool is_empty = false;
  std::vector<std::pair<int64_t, int64_t>> steps;  // stride and size
  for (size_t dim = 0; dim < sizes.size(); ++dim) {
    const Result<int64_t> stride = evaluate(recorded[dim], symbols);
    if (!stride || *stride < 0 || sizes[dim] < 0) return std::nullopt;
    strides.push_back(*stride);
    is_empty = is_empty || sizes[dim] == 0;
    if (sizes[dim] > 1) steps.emplace_back(*stride, sizes[dim]);
  }
  if (is_empty) return strides;
  std::ranges::sort(steps);
  int64_t reach = 1;
  for (const auto& [stride, size] : steps) {
    if (stride < reach || size > INT64_MAX / 16 / stride) return std::nullopt;
    reach += (size - 1) * stride;
  }
  return strides;
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

InputShape input_shape(const Value& value) {
  if (const auto* tensor = value.get_if<Tensor>())
    return TensorShape{tensor->dtype(), tensor->sizes(), tensor->strides(),
                       tensor->storage_offset()};
  return &value;
}

InputConditions::InputConditions(const Program& program)
    : program_(&program), names_(user_input_names(program)) {
  for (const InputSpec& spec : program.signature.input_specs) {
    if (spec.kind != InputKind::user_input) continue;
    const auto id = program.graph.find_value(spec.arg.name);
    conditions_.push_back({&spec.arg, id ? &program.graph.value(*id) : nullptr});
  }
  const GuardNames guard_names(names_);
  for (Guard& guard : parse_guards(program)) {
    std::vector<std::optional<size_t>> inputs;
    for (const GuardSource& source : guard.sources) {
      const auto found = guard_names.find(source);
      inputs.push_back(found ? std::optional(found->input) : std::nullopt);
    }
    guards_.push_back({std::move(guard), std::move(inputs)});
  }
}

Result<void> InputConditions::check_guards(std::span<const InputShape> inputs) const {
  for (const InputGuard& guard : guards_) {
    const auto lookup = [&](const GuardSource& source) {
      const auto& input = guard.inputs[static_cast<size_t>(&source - guard.guard.sources.data())];
      return input ? property_of(source, inputs[*input]) : std::nullopt;
    };
    Result<void> checked = check_guard(guard.guard, lookup);
    // A guard cannot be checked if its source is no input of this call, or if its numbers exceed
    // 64 bits.
    if (!checked && checked.error().code == ErrorCode::argument)
      return at(std::move(checked).error(), "inputs");
  }
  return {};
}

// Returns layouts of the inputs whose strides or offsets guards use; contiguous ones without
// symbols.
std::vector<InputLayout> InputConditions::find_layouts(std::span<const InputShape> inputs,
                                                       const SymbolBindings* symbols) const {
  using Property = GuardSource::Property;
  std::set<size_t> wanted;
  for (const InputGuard& guard : guards_)
    for (size_t i = 0; i < guard.inputs.size(); ++i) {
      const Property property = guard.guard.sources[i].property;
      if (guard.inputs[i] && (property == Property::stride || property == Property::storage_offset))
        wanted.insert(*guard.inputs[i]);
    }
  std::vector<InputLayout> layouts;
  for (const size_t input : wanted) {
    const auto* shape = std::get_if<TensorShape>(&inputs[input]);
    const GraphValue* record = conditions_[input].record;
    const TensorMeta* meta = record ? record->tensor() : nullptr;
    if (shape == nullptr || meta == nullptr) continue;
    const Sizes sizes(shape->sizes.begin(), shape->sizes.end());
    const std::optional<Sizes> strides =
        symbols ? own_places(sizes, meta->strides, *symbols) : contiguous_strides(sizes);
    if (strides) layouts.push_back({input, *strides});
  }
  return layouts;
}

Result<SymbolValues> InputConditions::check(std::span<const InputShape> inputs,
                                            std::vector<InputLayout>* layouts) const {
  if (inputs.size() != conditions_.size())
    return Error{ErrorCode::argument, "found " + std::to_string(inputs.size()) +
                                          " inputs, expected " +
                                          std::to_string(conditions_.size())};
  InputCheck check(*program_, names_);
  for (size_t i = 0; i < inputs.size(); ++i)
    PT2_TRY_VOID(check.check(i, *conditions_[i].spec, conditions_[i].record, inputs[i]));
  PT2_TRY_VOID(check.finish());
  const Result<void> guards = check_guards(inputs);
  if (guards) return check.symbols();
  const SymbolBindings* recorded = &check.bindings();
  for (const SymbolBindings* symbols : {recorded, static_cast<const SymbolBindings*>(nullptr)}) {
    std::vector<InputLayout> found = find_layouts(inputs, symbols);
    std::vector<InputShape> shapes(inputs.begin(), inputs.end());
    for (const InputLayout& layout : found) {
      auto& shape = std::get<TensorShape>(shapes[layout.input]);
      shape.strides = layout.strides;
      shape.storage_offset = 0;
    }
    if (found.empty() || !check_guards(shapes)) continue;
    if (layouts != nullptr) *layouts = std::move(found);
    return check.symbols();
  }
  return guards.error();
}

}  // namespace pt2
