#include "ir/symbols/expr_kind.h"

#include <algorithm>

namespace pt2 {

NumberKind symbol_kind(Expr symbol) {
  const std::string_view assumptions = symbol->assumptions->text(), name = symbol->name;
  if (!assumptions.empty())
    return assumptions.find("integer=True") != std::string_view::npos ? NumberKind::integer
                                                                      : NumberKind::real;
  const bool numbered = name.size() > 1 && name.find_first_not_of("0123456789", 1) == name.npos;
  return numbered && (name[0] == 's' || name[0] == 'u' || name[0] == 'i') ? NumberKind::integer
                                                                          : NumberKind::real;
}

NumberKind NumberKinds::of(Expr expr) {
  const ExprNode* node = expr.operator->();
  if (const auto found = known_.find(node); found != known_.end()) return found->second;
  const NumberKind kind = compute(expr);
  known_.emplace(node, kind);
  return kind;
}

NumberKind NumberKinds::widest(std::span<const Expr> args, NumberKind least) {
  for (Expr arg : args) least = std::max(least, of(arg));
  return least;
}

NumberKind NumberKinds::compute(Expr expr) {
  using enum NumberKind;
  const std::span<const Expr> args = expr->args;
  switch (expr->op) {
    case ExprOp::boolean:
    case ExprOp::equal:
    case ExprOp::not_equal:
    case ExprOp::less:
    case ExprOp::less_equal:
    case ExprOp::greater:
    case ExprOp::greater_equal:
    case ExprOp::logical_and:
    case ExprOp::logical_or:
    case ExprOp::logical_not:
      return boolean;
    case ExprOp::integer:
    case ExprOp::floor:
    case ExprOp::ceiling:
    case ExprOp::ceil_to_int:
    case ExprOp::floor_to_int:
    case ExprOp::trunc_to_int:
    case ExprOp::round_to_int:
    case ExprOp::old_trunc:
    case ExprOp::old_round:
    case ExprOp::non_overlapping_and_dense:
      return integer;
    case ExprOp::rational:
      return rational;
    case ExprOp::symbol:
      return symbol_kind(expr);
    case ExprOp::add:
    case ExprOp::multiply:
    case ExprOp::absolute:
    case ExprOp::mod:
    case ExprOp::python_mod:
    case ExprOp::modular_indexing:
    case ExprOp::left_shift:
      return widest(args, integer);
    case ExprOp::floor_div:
    case ExprOp::clean_div:
    case ExprOp::ceil_div:
    case ExprOp::right_shift:
      return widest(args, integer) <= rational ? integer : real;
    case ExprOp::pow_by_natural:
      return std::max(integer, of(args[0]));
    case ExprOp::power: {
      const NumberKind base = std::max(integer, of(args[0]));
      const auto* exponent = std::get_if<int64_t>(&args[1]->number);
      if (args[1]->op == ExprOp::integer && *exponent >= 0) return base;
      return base <= rational && of(args[1]) <= integer ? rational : real;
    }
    case ExprOp::maximum:
    case ExprOp::minimum:
    case ExprOp::identity:
    case ExprOp::bitwise_and:
    case ExprOp::bitwise_or:
    case ExprOp::bitwise_xor:
      return widest(args, boolean);
    case ExprOp::where:
      return widest(args.subspan(1), boolean);
    case ExprOp::condition_pair:
      return of(args[0]);
    case ExprOp::piecewise:
      return widest(args, boolean);
    default:
      return real;
  }
}

bool is_polynomial(Expr expr) {
  const bool is_inner = expr->op == ExprOp::add || expr->op == ExprOp::multiply;
  if (!is_inner) return expr->op == ExprOp::integer || expr->op == ExprOp::symbol;
  return std::ranges::all_of(expr->args, is_polynomial);
}

}  // namespace pt2
