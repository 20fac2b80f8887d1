// Expressions as people write them. sympy's own order of terms is not imitated: a file's text is
// kept beside.
#include <fmt/format.h>

#include "ir/number.h"
#include "ir/symbols_internal.h"

namespace pt2 {
namespace {

struct Infix {
  ExprOp op;
  std::string_view text;
  int precedence;
};
constexpr Infix kInfix[] = {
    {ExprOp::logical_or, " | ", 1}, {ExprOp::logical_and, " & ", 2},
    {ExprOp::equal, " == ", 3},     {ExprOp::not_equal, " != ", 3},
    {ExprOp::less, " < ", 3},       {ExprOp::less_equal, " <= ", 3},
    {ExprOp::greater, " > ", 3},    {ExprOp::greater_equal, " >= ", 3},
    {ExprOp::add, " + ", 4},        {ExprOp::multiply, "*", 5},
    {ExprOp::floor_div, "//", 5},   {ExprOp::python_mod, " % ", 5},
    {ExprOp::power, "**", 6},
};

const Infix* find_infix(ExprOp op) {
  for (const Infix& infix : kInfix) {
    if (infix.op == op) return &infix;
  }
  return nullptr;
}

void print_to(std::string& out, Expr expr, int outer);

void print_call(std::string& out, std::string_view name, std::span<const Expr> args) {
  out += name;
  out += '(';
  for (size_t i = 0; i < args.size(); ++i) {
    if (i != 0) out += ", ";
    print_to(out, args[i], 0);
  }
  out += ')';
}

// -x and -2*x as the rest of a sum, or as a whole.
bool is_negated(Expr expr) {
  return expr->op == ExprOp::multiply && expr->args.size() > 1 &&
         expr->args[0]->op == ExprOp::integer && std::get<int64_t>(expr->args[0]->number) == -1;
}

void print_infix(std::string& out, const Infix& infix, std::span<const Expr> args) {
  const bool right_binds_tighter = infix.op != ExprOp::add && infix.op != ExprOp::multiply;
  for (size_t i = 0; i < args.size(); ++i) {
    const Expr arg = args[i];
    if (i == 0 && infix.op == ExprOp::multiply && args.size() > 1 && arg->op == ExprOp::integer &&
        std::get<int64_t>(arg->number) == -1) {
      out += '-';
      continue;
    }
    if (i != 0 && infix.op == ExprOp::add && arg->op == ExprOp::integer &&
        std::get<int64_t>(arg->number) < 0) {
      out += fmt::format(" - {}", fmt::format("{}", std::get<int64_t>(arg->number)).substr(1));
      continue;
    }
    if (i != 0 && infix.op == ExprOp::add && is_negated(arg)) {
      out += " - ";
      print_infix(out, *find_infix(ExprOp::multiply), std::span(arg->args).subspan(1));
      continue;
    }
    if (i != 0 && out.back() != '-') out += infix.text;
    print_to(out, arg, infix.precedence + (i != 0 && right_binds_tighter ? 1 : 0));
  }
}

void print_to(std::string& out, Expr expr, int outer) {
  switch (expr->op) {
    case ExprOp::integer:
    case ExprOp::rational:
    case ExprOp::floating:
    case ExprOp::boolean:
      out += print(expr->number);
      return;
    case ExprOp::infinity:
      if (std::get<int64_t>(expr->number) < 0) out += '-';
      [[fallthrough]];
    case ExprOp::symbol:
      out += expr->name;
      return;
    case ExprOp::opaque:
      if (expr->args.empty() && !expr->name.empty() && expr->name[0] <= '9') {
        out += expr->name;
      } else {
        print_call(out, expr->name, expr->args);
      }
      return;
#define PT2_EXPR_FUNCTION(op, name, min_arguments, max_arguments) case ExprOp::op:
#include "pt2/expr.def"
      break;
  }
  const Infix* infix = find_infix(expr->op);
  if (infix == nullptr || expr->args.empty())
    return print_call(out, expr_function(expr->op).name, expr->args);
  const bool parentheses = infix->precedence < outer;
  if (parentheses) out += '(';
  print_infix(out, *infix, expr->args);
  if (parentheses) out += ')';
}

}  // namespace

std::string print_expr(Expr expr) {
  std::string out;
  if (expr) print_to(out, expr, 0);
  return out;
}

std::string print(const SymInt& value) {
  return value.is_symbolic() ? print_expr(value.expr()) : fmt::format("{}", value.literal());
}

std::string print(const SymRange& range) {
  return fmt::format("[{}, {}]", range.min ? fmt::format("{}", *range.min) : "-oo",
                     range.max ? fmt::format("{}", *range.max) : "oo");
}

}  // namespace pt2
