#include "lower/decompose/numbers.h"

#include <algorithm>

#include "ir/symbols/sym_int.h"
#include "pt2/ir/expr_rewrite.h"

namespace pt2 {
namespace {

bool all_equal(const Samples& samples) {
  return std::ranges::adjacent_find(samples, std::not_equal_to()) == samples.end();
}

// Nothing if a product overflows int64.
std::optional<Samples> product(const Samples& a, const Samples& b) {
  Samples out(a.size());
  for (size_t i = 0; i < a.size(); ++i)
    if (__builtin_mul_overflow(a[i], b[i], &out[i])) return std::nullopt;
  return out;
}

// True if a[i] + b[i] equals samples[i] for every i.
bool is_sum(const Samples& a, const Samples& b, const Samples& samples) {
  for (size_t i = 0; i < a.size(); ++i)
    if (int64_t sum = 0; __builtin_add_overflow(a[i], b[i], &sum) || sum != samples[i])
      return false;
  return true;
}

int64_t floor_divide(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

// Nothing if the value overflows int64.
std::optional<int64_t> value_of(const NumberForm& form, int64_t product) {
  int64_t out = 0;
  if (__builtin_mul_overflow(product, form.times, &out) ||
      __builtin_add_overflow(out, form.ahead(), &out) ||
      __builtin_add_overflow(floor_divide(out, form.divisor), form.plus, &out))
    return std::nullopt;
  return out;
}

}  // namespace

std::vector<NumberForm::Step> NumberForm::steps() const {
  std::vector<Step> out;
  for (size_t i = 1; i < factors.size(); ++i) out.push_back({ExprOp::multiply, factors[i]});
  if (times != 1) out.push_back({.op = ExprOp::multiply, .literal = times});
  if (rounds_up) out.push_back({.op = ExprOp::add, .literal = ahead()});
  if (divisor != 1) out.push_back({.op = ExprOp::floor_div, .literal = divisor});
  if (plus != 0) out.push_back({.op = ExprOp::add, .literal = plus});
  if (added) out.push_back({ExprOp::add, *added});
  return out;
}

bool KnownNumbers::add(const SymInt& number, Samples samples, bool is_computable) {
  const bool is_new = expressions_.insert(number.expr().operator->()).second;
  if (is_new) known_.push_back({number, std::move(samples), is_computable});
  return is_new;
}

// Tries a multiple, a quotient, and a sum with a constant. A form with two unknowns (`times` and
// `plus`) is accepted only if it fits at least three distinct values of the product.
std::optional<NumberForm> KnownNumbers::of_product(const Samples& whole,
                                                   std::vector<size_t> factors,
                                                   const Samples& samples) const {
  NumberForm form{.factors = std::move(factors)};
  const auto fits = [&] {
    for (size_t i = 0; i < samples.size(); ++i)
      if (value_of(form, whole[i]) != samples[i]) return false;
    return true;
  };
  if (fits()) return form;
  if (all_equal(whole)) return std::nullopt;
  // Below this bound differences do not overflow. The bound is that high because sizes may be
  // products of two symbols, such as the pixels of an image: in attention scores their squares
  // exceed 32 bits.
  constexpr int64_t kMost = int64_t{1} << 61;
  const auto is_large = [](int64_t number) { return number < -kMost || number > kMost; };
  if (std::ranges::any_of(whole, is_large) || std::ranges::any_of(samples, is_large))
    return std::nullopt;
  // At the largest quotient, rounding distorts the estimate of the divisor least.
  const auto largest = static_cast<size_t>(std::ranges::max_element(samples) - samples.begin());
  for (const int64_t about : {int64_t{0}, int64_t{1}}) {
    if (samples[largest] <= 0) break;
    form.divisor = whole[largest] / samples[largest] + about;
    for (const bool rounds_up : {false, true}) {
      form.rounds_up = rounds_up;
      if (form.divisor > 1 && fits()) return form;
    }
  }
  form.divisor = 1;
  form.rounds_up = false;
  const size_t other = static_cast<size_t>(
      std::ranges::find_if(whole, [&](int64_t each) { return each != whole[0]; }) - whole.begin());
  const int64_t rise = samples[other] - samples[0], run = whole[other] - whole[0];
  if (rise % run != 0 || rise == 0) return std::nullopt;
  form.times = rise / run;
  int64_t multiple = 0;
  if (__builtin_mul_overflow(form.times, whole[0], &multiple) ||
      __builtin_sub_overflow(samples[0], multiple, &form.plus) || !fits())
    return std::nullopt;
  Samples distinct = whole;
  std::ranges::sort(distinct);
  const auto count = std::unique(distinct.begin(), distinct.end()) - distinct.begin();
  const bool has_one_unknown = form.times == 1 || form.plus == 0;
  return count >= 3 || has_one_unknown ? std::optional(form) : std::nullopt;
}

std::optional<NumberForm> KnownNumbers::find(const Samples& samples, Among among) const {
  if (all_equal(samples)) return NumberForm{.plus = samples[0]};
  std::vector<size_t> usable;
  for (size_t i = 0; i < known_.size(); ++i)
    if (among == Among::all || known_[i].is_computable) usable.push_back(i);
  const auto samples_of = [&](size_t i) -> const Samples& { return known_[usable[i]].samples; };
  for (size_t a = 0; a < usable.size(); ++a)
    if (samples_of(a) == samples) return NumberForm{.factors = {usable[a]}};
  // Tries every product of `so_far` and `count` numbers among the first `end`.
  std::vector<size_t> factors;
  const auto find_product = [&](const auto& self, size_t count, size_t end,
                                const Samples* so_far) -> std::optional<NumberForm> {
    if (count == 0) return of_product(*so_far, {factors.rbegin(), factors.rend()}, samples);
    for (size_t i = 0; i < end; ++i) {
      const std::optional<Samples> all =
          so_far == nullptr ? samples_of(i) : product(*so_far, samples_of(i));
      if (!all) continue;
      factors.push_back(usable[i]);
      if (auto form = self(self, count - 1, i + 1, &*all)) return form;
      factors.pop_back();
    }
    return std::nullopt;
  };
  // Numbers beyond these are not combined: a node may take thousands of tensors.
  constexpr size_t kMostInPairs = 256, kMostInTriples = 64, kMostInFours = 12;
  const auto find_product_of = [&](size_t count, size_t most) {
    return find_product(find_product, count, std::min(usable.size(), most), nullptr);
  };
  if (auto form = find_product_of(1, usable.size())) return form;
  if (auto form = find_product_of(2, kMostInPairs)) return form;
  for (size_t a = 0; a < std::min(usable.size(), kMostInPairs); ++a)
    for (size_t b = 0; b < a; ++b)
      if (is_sum(samples_of(a), samples_of(b), samples))
        return NumberForm{.factors = {usable[b]}, .added = usable[a]};
  if (auto form = find_product_of(3, kMostInTriples)) return form;
  // The rows of a batch of volumes have four factors.
  return usable.size() <= kMostInFours ? find_product_of(4, kMostInFours) : std::nullopt;
}

bool NumberWriter::depends_on_elements(const SymInt& number) const {
  return number.is_symbolic() && number.expr().is_symbol() &&
         is_unbacked(pool_.symbol_name(number.expr()->symbol));
}

Result<SymInt> NumberWriter::binary(ExprOp op, const SymInt& a, const SymInt& b) const {
  const auto left = known_number(a), right = known_number(b);
  std::optional<int64_t> hint;
  if (int64_t out = 0; left && right) {
    const bool overflows = op == ExprOp::add        ? __builtin_add_overflow(*left, *right, &out)
                           : op == ExprOp::multiply ? __builtin_mul_overflow(*left, *right, &out)
                                                    : (out = floor_divide(*left, *right), false);
    if (!overflows) hint = out;
  }
  const Expr expr =
      pool_.intern({.op = op, .args = {expression_of(a, pool_), expression_of(b, pool_)}});
  PT2_TRY(const Expr simple, simplify(pool_, expr));
  PT2_TRY(const SpelledExpr* spelled, pool_.parse(print_expr(simple, spelling_)));
  return SymInt(spelled, hint);
}

Result<SymInt> NumberWriter::write(const KnownNumbers& known, const NumberForm& form) const {
  if (form.is_literal()) return SymInt(form.plus);
  SymInt out = known.number(form.factors[0]);
  for (const NumberForm::Step& step : form.steps()) {
    PT2_TRY(out,
            binary(step.op, out, step.known ? known.number(*step.known) : SymInt(step.literal)));
  }
  return out;
}

}  // namespace pt2
