#include "change/sizes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "check/shapes/symbol_samples.h"
#include "ir/graph_place.h"
#include "ir/number.h"
#include "ir/version_facts.h"
#include "ir/walk.h"
#include "pt2/ir/edit_program.h"
#include "pt2/ir/expr_bounds.h"
#include "pt2/ir/expr_rewrite.h"

namespace pt2 {
namespace {

bool is_in_nested_graph(const Graph& graph, std::string_view name) {
  return std::ranges::any_of(graph.subgraphs(), [&](const Graph& nested) {
    return nested.find_value(name) || is_in_nested_graph(nested, name);
  });
}

Error no_input(const Program& program, std::string_view input) {
  return {ErrorCode::argument, fmt::format("there is no input '{}'; the program takes: {}", input,
                                           fmt::join(user_input_names(program), ", "))};
}

// Replaces a symbol by a size. If `replacement` is the symbol itself, only the hints of what
// depends on it are computed anew.
class DimFixer {
 public:
  DimFixer(Program& program, SymbolId symbol, Expr replacement, SymbolBindings hints)
      : program_(program), replacements_{{symbol, replacement}}, hints_(std::move(hints)) {}

  Result<void> run() {
    PT2_TRY_VOID(change_numbers(program_.graph, [&](auto& number) -> Result<void> {
      PT2_TRY(number, fixed(number));
      return {};
    }));
    std::vector<RangeConstraint> kept;
    for (RangeConstraint& constraint : program_.range_constraints) {
      if (constraint.key == nullptr) continue;
      PT2_TRY(const Expr expr, fixed(constraint.key->expr));
      if (expr == constraint.key->expr) {
        kept.push_back(constraint);
      } else if (expr->op != ExprOp::integer) {
        PT2_TRY(constraint.key, program_.expressions->parse(print_expr(expr)));
        kept.push_back(constraint);
      }
    }
    program_.range_constraints = std::move(kept);
    return {};
  }

 private:
  Result<Expr> fixed(Expr expr) {
    PT2_TRY(const Expr replaced, substitute(*program_.expressions, expr, replacements_));
    if (replaced == expr) return expr;
    return simplify(*program_.expressions, replaced);
  }

  Result<SymInt> fixed(const SymInt& size) {
    if (!depends(size)) return size;
    PT2_TRY(const Expr expr, fixed(size.expr()));
    const auto evaluated = evaluate_integer(expr, hints_);
    const auto hint = evaluated ? std::optional(*evaluated) : size.hint();
    if (expr == size.expr()) return SymInt(size.spelled(), hint);
    return spelled_size(program_, expr, hint);
  }

  static double value_of(const Number& number, double) { return to_double(number); }
  static bool value_of(const Number& number, bool) { return to_double(number) != 0; }

  // Substitutes the symbol in a computed float or bool.
  template <class T>
  Result<Symbolic<T>> fixed(const Symbolic<T>& value) {
    if (!depends(value)) return value;
    PT2_TRY(const Expr expr, fixed(value.expr()));
    if (const auto number = evaluate(expr, {})) return Symbolic<T>(value_of(*number, T{}));
    const SpelledExpr* spelled = value.spelled();
    if (expr != value.expr()) {
      PT2_TRY(spelled, program_.expressions->parse(print_expr(expr, spelling())));
    }
    const auto hint = evaluate(expr, hints_);
    return Symbolic<T>(spelled, hint ? std::optional(value_of(*hint, T{})) : value.hint());
  }
  template <class T>
  bool depends(const Symbolic<T>& value) const {
    return has_symbol(value.expr(), replacements_[0].first);
  }
  ExprSpelling spelling() const {
    return expression_spelling(version_number(program_.schema_version));
  }

  Program& program_;
  const std::pair<SymbolId, Expr> replacements_[1];
  const SymbolBindings hints_;  // hints of the symbols that stay
};

// PyTorch loads no program that records a hint outside of its symbol's range.
Result<void> keep_hint_within(Program& program, Expr symbol, const SymRange& range) {
  SymbolBindings hints = check::hint_bindings(placed_graphs(program));
  const Number* known = hints.find(symbol->symbol);
  const auto* hint = known != nullptr ? std::get_if<int64_t>(known) : nullptr;
  if (hint == nullptr || range.contains(*hint)) return {};
  hints.bind(symbol->symbol, range.min && *hint < *range.min ? *range.min : *range.max);
  return DimFixer(program, symbol->symbol, symbol, std::move(hints)).run();
}

// A guard as a condition on the symbols of the program's sizes.
struct SizeGuard {
  Guard guard;
  Expr condition{};
};

// Returns the guards that are about sizes of the program alone.
std::vector<SizeGuard> size_guards(const Program& program) {
  std::vector<SizeGuard> guards;
  size_t left = ExprPool::kMaxSize;  // many guards of a hostile file may read one long size
  for (check::SourcedGuard& each : check::sourced_guards(program)) {
    std::vector<std::pair<SymbolId, Expr>> sizes;
    for (size_t i = 0; i < each.sources.size(); ++i)
      if (each.sources[i])
        sizes.emplace_back(each.guard.sources[i].symbol->symbol, each.sources[i]);
    if (sizes.size() != each.sources.size()) continue;
    const auto condition = substitute(*program.expressions, each.guard.expr, sizes);
    if (!condition) continue;
    if ((*condition)->size > left) break;
    left -= (*condition)->size;
    guards.push_back({std::move(each.guard), *condition});
  }
  return guards;
}

// Error `argument` if a guard holds for none of the sizes that are left: every call would fail.
Result<void> check_guards(const Program& program) {
  const SymbolRanges ranges(program.range_constraints);
  for (const SizeGuard& each : size_guards(program))
    if (decide(*program.expressions, each.condition, ranges) == false)
      return Error{ErrorCode::argument, "every call would break a guard: " + print(each.guard)};
  return {};
}

Result<Expr> symbol_of(const Program& program, std::string_view input, size_t dim) {
  PT2_TRY(const ValueId id, find_input_value(program, input));
  PT2_TRY(const SymInt size, input_size(program, id, dim));
  if (size.is_symbolic() && size.expr().is_symbol()) return size.expr();
  return Error{ErrorCode::argument,
               size.is_symbolic()
                   ? fmt::format("size {} of {} is {}: change the size that it depends on", dim,
                                 input, print(size))
                   : fmt::format("size {} of {} is always {}: make a symbol of it first, "
                                 "{}.{}=NAME:LOW..HIGH",
                                 dim, input, print(size), input, dim)};
}

}  // namespace

Result<void> check_not_empty(const SymRange& range) {
  if (range.is_empty())
    return Error{ErrorCode::argument, "found the range " + print(range) + ", which is empty"};
  return {};
}

bool has_symbol(Expr expr, SymbolId symbol) {
  return expr && std::ranges::count(free_symbols(expr), symbol) > 0;
}

Result<SymInt> spelled_size(Program& program, Expr expr, std::optional<int64_t> hint) {
  if (expr->op == ExprOp::integer) return SymInt(std::get<int64_t>(expr->number));
  const ExprSpelling spelling = expression_spelling(version_number(program.schema_version));
  PT2_TRY(const SpelledExpr* spelled, program.expressions->parse(print_expr(expr, spelling)));
  return SymInt(spelled, hint);
}

UserInputs::UserInputs(const Program& program)
    : program_(program), specs_(program.signature.user_inputs()) {
  const std::vector<std::string> names = user_input_names(program);
  for (size_t i = 0; i < std::min(names.size(), specs_.size()); ++i) {
    positions_.emplace(names[i], i);
    positions_.emplace(specs_[i].name, i);
  }
}

Result<ValueId> UserInputs::find(std::string_view input) const {
  const auto found = positions_.find(std::string(input));
  if (found == positions_.end()) return no_input(program_, input);
  const ArgumentSpec& spec = specs_[found->second];
  if (const auto id = program_.graph.find_value(spec.name); id && !spec.is_constant()) return *id;
  return Error{ErrorCode::argument,
               fmt::format("input '{}' is a constant, which the graph does not hold", input)};
}

Result<ValueId> find_input_value(const Program& program, std::string_view input) {
  return UserInputs(program).find(input);
}

Result<ValueId> find_named_value(const Program& program, std::string_view name) {
  if (name.starts_with('%')) name.remove_prefix(1);
  if (const auto id = program.graph.find_value(name)) return *id;
  if (is_in_nested_graph(program.graph, name))
    return Error{
        ErrorCode::argument,
        fmt::format("value '{}' is in a nested graph, expected one of the outer graph", name)};
  return Error{ErrorCode::argument,
               fmt::format("there is no value '{}'; 'pt2 dis' lists them", name)};
}

Result<SymInt> input_size(const Program& program, ValueId input, size_t dim) {
  const GraphValue& value = program.graph.value(input);
  const TensorMeta* meta = value.tensor();
  if (meta != nullptr && dim < meta->sizes.size()) return meta->sizes[dim];
  return Error{ErrorCode::argument, fmt::format("input '{}' has no dim {}", value.name, dim)};
}

void drop_guards_of_one_size(Program& program, Expr symbol, int64_t size, const SymRange& range) {
  std::vector<SymbolRanges> others;
  for (const SymRange& part : {SymRange{range.min, size - (size > INT64_MIN)},
                               SymRange{size + (size < INT64_MAX), range.max}})
    if (!part.is_empty()) others.emplace_back(program.range_constraints).set(symbol->symbol, part);
  std::set<std::string> dropped;
  for (SizeGuard& each : size_guards(program))
    if (has_symbol(each.condition, symbol->symbol) &&
        std::ranges::all_of(others, [&](const SymbolRanges& ranges) {
          return decide(*program.expressions, each.condition, ranges) == false;
        }))
      dropped.insert(std::move(each.guard.text));
  std::erase_if(program.guards_code,
                [&](const std::string& guard) { return dropped.contains(guard); });
}

Result<void> fix_dim(Program& program, std::string_view input, size_t dim, int64_t size) {
  PT2_TRY(const ValueId id, find_input_value(program, input));
  PT2_TRY(const SymInt now, input_size(program, id, dim));
  if (now == size) return {};
  PT2_TRY(const Expr symbol, symbol_of(program, input, dim));
  const RangeConstraint* constraint = find_range(program, symbol);
  if (size < 0 || (constraint != nullptr && !constraint->range.contains(size)))
    return Error{
        ErrorCode::argument,
        fmt::format("size {} of {} cannot be {}: {} is within {}", dim, input, size, symbol->name,
                    constraint == nullptr ? "[0, oo]" : print(constraint->range))};
  Program changed = program;
  PT2_TRY_VOID(DimFixer(changed, symbol->symbol, changed.expressions->integer(size),
                        check::hint_bindings(placed_graphs(changed)))
                   .run());
  PT2_TRY_VOID(check_guards(changed));
  program = std::move(changed);
  return {};
}

Result<void> set_range(Program& program, std::string_view input, size_t dim, SymRange range) {
  PT2_TRY(const Expr symbol, symbol_of(program, input, dim));
  PT2_TRY_VOID(check_not_empty(range));
  const RangeConstraint* constraint = find_range(program, symbol);
  // The export did not examine the program outside of its range.
  if (constraint != nullptr &&
      ((constraint->range.min && (!range.min || *range.min < *constraint->range.min)) ||
       (constraint->range.max && (!range.max || *range.max > *constraint->range.max))))
    return Error{ErrorCode::argument,
                 fmt::format("found the range {}, expected one within {}: the program was exported "
                             "for these sizes",
                             print(range), print(constraint->range))};
  Program changed = program;
  if (constraint == nullptr) {
    PT2_TRY(const SpelledExpr* key, changed.expressions->parse(symbol->name));
    changed.range_constraints.push_back({.key = key, .range = range});
  } else {
    changed.range_constraints[static_cast<size_t>(constraint - program.range_constraints.data())]
        .range = range;
  }
  PT2_TRY_VOID(keep_hint_within(changed, symbol, range));
  PT2_TRY_VOID(check_guards(changed));
  program = std::move(changed);
  return {};
}

}  // namespace pt2
