#include "change/freed_sizes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "change/sizes.h"
#include "ir/symbols/sym_int.h"
#include "pt2/ir/expr_rewrite.h"

namespace pt2 {
namespace {

// The most parts of the expressions of all new strides together. The stride of each dim is the
// product of all sizes after it, so the text of a file grows with the square of the dims. Programs
// with thousands of nodes need some ten thousand parts.
constexpr size_t kMostParts = ExprPool::kMaxSize;

Error unsupported(std::string text) { return {ErrorCode::unsupported, std::move(text)}; }

}  // namespace

Result<SymInt> FreedSizes::fitted(const SymInt& old, std::span<const SizeAt> sizes,
                                  std::span<const int64_t> numbers) {
  const int64_t run = numbers[1] - numbers[0];
  int64_t rise = 0, start = 0, b = 0, third = 0;
  // INT64_MIN / -1 does not fit in 64 bits.
  bool fits = !__builtin_sub_overflow(sizes[1].size, sizes[0].size, &rise) &&
              !(rise == INT64_MIN && run == -1) && rise % run == 0;
  const int64_t a = fits ? rise / run : 0;
  fits = fits && !__builtin_mul_overflow(a, numbers[0], &start) &&
         !__builtin_sub_overflow(sizes[0].size, start, &b) &&
         !__builtin_mul_overflow(a, numbers[2], &third) &&
         !__builtin_add_overflow(third, b, &third) && third == sizes[2].size;
  if (!fits)
    return unsupported(
        fmt::format("a size of its result is {}, {}, {} where the input's is {}, expected a*n + b",
                    sizes[0].size, sizes[1].size, sizes[2].size, fmt::join(numbers, ", ")));
  const auto fits_all = [&](Expr expr) {
    return std::ranges::all_of(sizes, [&](const SizeAt& each) {
      const auto size = evaluate_integer(expr, *each.bindings);
      return size && *size == each.size;
    });
  };
  for (const bool in_proportion : {true, false}) {
    if (in_proportion && (b != 0 || old_size_ == 0 || !old.is_symbolic())) continue;
    PT2_TRY(const Expr expr, old.is_symbolic() ? risen(old, a, in_proportion) : line(a, b));
    if (fits_all(expr)) return spelled_size(program_, expr, a * old_size_ + b);
  }
  return unsupported(
      fmt::format("a size of its result, {}, depends on more symbols in a way that is not followed",
                  print(old)));
}

Result<Expr> FreedSizes::line(int64_t a, int64_t b) {
  PT2_TRY(const SpelledExpr* expr,
          program_.expressions->parse(fmt::format("{}*{} + {}", a, symbol_->name, b)));
  return simplify(*program_.expressions, expr->expr);
}

// Returns what a size that depends on other symbols becomes. In proportion, 7*s is n*s where n
// was 7; otherwise s + 7 is s + n.
Result<Expr> FreedSizes::risen(const SymInt& old, int64_t a, bool in_proportion) {
  ExprPool& pool = *program_.expressions;
  if (in_proportion) {
    const Expr factor =
        pool.intern({.op = ExprOp::floor_div, .args = {old.expr(), pool.integer(old_size_)}});
    return simplify(pool, pool.intern({.op = ExprOp::multiply, .args = {factor, symbol_}}));
  }
  const Expr more = pool.intern({.op = ExprOp::add, .args = {symbol_, pool.integer(-old_size_)}});
  const Expr rise = pool.intern({.op = ExprOp::multiply, .args = {pool.integer(a), more}});
  return simplify(pool, pool.intern({.op = ExprOp::add, .args = {old.expr(), rise}}));
}

Result<void> FreedSizes::follow_strides(TensorMeta& meta, const std::vector<SymInt>& old_sizes) {
  if (meta.strides.size() != old_sizes.size()) return {};
  std::vector<size_t> order(meta.strides.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto hint = [](const SymInt& size) { return known_number(size).value_or(1); };
  // Of equal strides, that of a size of 1 is the inner one: 5 x 1 x 32 has the strides 32, 32, 1.
  std::ranges::stable_sort(order, std::greater(), [&](size_t dim) {
    return std::pair(hint(meta.strides[dim]), hint(old_sizes[dim]) != 1);
  });
  int64_t expected = 1;
  for (size_t i = order.size(); i-- > 0;) {
    const size_t dim = order[i];
    if (hint(old_sizes[dim]) != 1 && hint(meta.strides[dim]) != expected) return {};
    if (__builtin_mul_overflow(expected, std::max<int64_t>(hint(old_sizes[dim]), 1), &expected))
      return {};
  }
  Expr product = program_.expressions->integer(1);
  int64_t value = 1;
  for (size_t i = order.size(); i-- > 0;) {
    const size_t dim = order[i];
    PT2_TRY(meta.strides[dim], spelled_size(program_, product, value));
    const SymInt& size = meta.sizes[dim];
    PT2_TRY(product, times(product, size));
    if (__builtin_mul_overflow(value, std::max<int64_t>(hint(size), 1), &value))
      return Error{ErrorCode::invalid, "a tensor has more than 2^63 elements"};
  }
  return {};
}

Result<Expr> FreedSizes::times(Expr product, const SymInt& size) {
  ExprPool& pool = *program_.expressions;
  const Expr factor = expression_of(size, pool);
  Expr& known = products_[{product.operator->(), factor.operator->()}];
  if (known) return known;
  if (product->size > kMostParts - parts_ || factor->size > kMostParts - parts_ - product->size)
    return Error{ErrorCode::limit,
                 fmt::format("the strides that follow the size are expressions of more than {} "
                             "parts; expected fewer: give other dims fixed sizes first",
                             kMostParts)};
  parts_ += product->size + factor->size;
  PT2_TRY(known, simplify(pool, pool.intern({.op = ExprOp::multiply, .args = {product, factor}})));
  return known;
}

}  // namespace pt2
