// Comparisons, logic, and selection between two operands.
#include <cstring>

#include "base/text.h"
#include "ops/checks.h"
#include "ops/compose.h"
#include "ops/dense.h"
#include "ops/pointwise/pointwise.h"
#include "ops/pointwise/unsigned_order.h"

namespace pt2::ops {
namespace {

// clang-format off
constexpr auto kEq = []<class C>(C a, C b) { return C(a == b ? 1 : 0); };
constexpr auto kNe = []<class C>(C a, C b) { return C(a == b ? 0 : 1); };
constexpr auto kLt = []<class C>(C a, C b) { return C(a < b ? 1 : 0); };
constexpr auto kLe = []<class C>(C a, C b) { return C(a <= b ? 1 : 0); };
constexpr auto kGt = []<class C>(C a, C b) { return C(a > b ? 1 : 0); };
constexpr auto kGe = []<class C>(C a, C b) { return C(a >= b ? 1 : 0); };
constexpr auto kLogicalAnd = []<class C>(C a, C b) { return C(a != C(0) && b != C(0) ? 1 : 0); };
constexpr auto kLogicalOr = []<class C>(C a, C b) { return C(a != C(0) || b != C(0) ? 1 : 0); };
constexpr auto kLogicalXor = []<class C>(C a, C b) { return C((a != C(0)) != (b != C(0)) ? 1 : 0); };
// clang-format on

Result<Meta> equality_meta(const Tensor& a, const Tensor& b) {
  return elementwise_meta(Dtype::bool_, {&a, &b});
}
Result<Meta> order_meta(const Tensor& a, const Tensor& b) {
  PT2_TRY_VOID(expect_real(a.dtype()));
  PT2_TRY_VOID(expect_real(b.dtype()));
  return equality_meta(a, b);
}
template <const auto& F>
void equality(Tensor& out, const Tensor& a, const Tensor& b) {
  const Dtype common = Promotion().add(a).add(b).result();
  with_compute_type(common, [&]<class C>() { elementwise<C>(out, common, F, a, b); });
}
template <const auto& F>
void order(Tensor& out, const Tensor& a, const Tensor& b) {
  const Dtype common = Promotion().add(a).add(b).result();
  with_real_compute_type(common, [&]<class C>() { elementwise<C>(out, common, F, a, b); });
}

bool equal(const Tensor& self, const Tensor& other) {
  if (self.sizes() != other.sizes()) return false;
  Tensor same = Tensor::zeros(Dtype::bool_, self.sizes());
  equality<kEq>(same, self, other);
  return same.numel() == 0 ||
         std::memchr(same.raw_data(), 0, static_cast<size_t>(same.numel())) == nullptr;
}

// --- where

Result<void> check_condition(const Tensor& condition) {
  if (condition.dtype() != Dtype::bool_ && condition.dtype() != Dtype::uint8)
    return operator_error("found a condition of dtype " +
                          std::string(dtype_name(condition.dtype())) + ", expected bool");
  return {};
}
Result<Meta> where_meta(const Tensor& condition, const Tensor& self, const Tensor& other) {
  PT2_TRY_VOID(check_condition(condition));
  return elementwise_meta(Promotion().add(self).add(other).result(), {&condition, &self, &other});
}
void where(Tensor& out, const Tensor& condition, const Tensor& self, const Tensor& other) {
  with_compute_type(out.dtype(), [&]<class C>() {
    auto function = [](C choice, C a, C b) { return choice != C(0) ? a : b; };
    elementwise<C>(out, out.dtype(), function, condition, self, other);
  });
}
// --- masked_fill

Result<Meta> masked_fill_meta(const Tensor& self, const Tensor& mask, const Scalar& value) {
  PT2_TRY_VOID(check_dtype(mask, Dtype::bool_, "mask"));
  PT2_TRY_VOID(expect_representable(value, self.dtype()));
  const Sizes operands[] = {self.sizes(), mask.sizes()};
  PT2_TRY(Sizes sizes, broadcast_sizes(operands));
  return Meta(self.dtype(), std::move(sizes));
}
void masked_fill(Tensor& out, const Tensor& self, const Tensor& mask, const Scalar& value) {
  where(out, mask, scalar_tensor(value, out.dtype()), self);
}
Result<Meta> masked_fill_tensor_meta(const Tensor& self, const Tensor& mask, const Tensor& value) {
  if (value.dim() != 0)
    return operator_error("found a value of rank " + std::to_string(value.dim()) + ", expected 0");
  // A value of a higher category must fit the dtype, even if the mask selects nothing.
  const bool exact = dtype_category(value.dtype()) <= DtypeCategory::integer;
  if (exact || !value.defined()) return masked_fill_meta(self, mask, Scalar(0));
  const Input<Complex> number(value);
  return masked_fill_meta(self, mask, Scalar(number[0]));
}
void masked_fill_tensor(Tensor& out, const Tensor& self, const Tensor& mask, const Tensor& value) {
  where(out, mask, converted_number(value, out.dtype()), self);
}

// --- clamp

Result<Meta> clamp_dtype(Dtype dtype, const Tensor& self) {
  PT2_TRY_VOID(expect_real(dtype));
  PT2_TRY_VOID(expect_not_bool(dtype));
  return elementwise_meta(dtype, {&self});
}
// An integer bound may lie outside the range of its dtype if it excludes no element
// (ATen/native/cpu/TensorCompareKernel.cpp).
Result<void> check_bound(const Scalar& bound, Dtype dtype, bool is_min) {
  if (dtype_category(dtype) != DtypeCategory::integer || !bound.is_integral())
    return expect_representable(bound, dtype);
  const int bits = static_cast<int>(dtype_size(dtype)) * 8;
  const bool is_signed = !is_unsigned(dtype);
  const double lowest = is_signed ? -std::ldexp(1.0, bits - 1) : 0;
  const double beyond = std::ldexp(1.0, is_signed ? bits - 1 : bits);
  const double number = bound.to_double();
  if (bits == 64 || (is_min ? number < beyond : number >= lowest)) return {};
  return operator_error(std::string(is_min ? "min" : "max") + ": found " + print_float(number) +
                        ", expected a bound for " + std::string(dtype_name(dtype)));
}
Result<Meta> clamp_meta(const Tensor& self, const std::optional<Scalar>& min,
                        const std::optional<Scalar>& max) {
  if (!min && !max) return operator_error("found neither min nor max, expected one");
  Promotion promotion;
  promotion.add(self);
  if (min) promotion.add(*min);
  if (max) promotion.add(*max);
  if (min) PT2_TRY_VOID(check_bound(*min, promotion.result(), true));
  if (max) PT2_TRY_VOID(check_bound(*max, promotion.result(), false));
  return clamp_dtype(promotion.result(), self);
}
void clamp(Tensor& out, const Tensor& self, const std::optional<Scalar>& min,
           const std::optional<Scalar>& max) {
  // A NaN bound makes every element NaN.
  for (const auto& bound : {min, max})
    if (bound && std::isnan(bound->to_double())) return fill_elements(out, *bound);
  with_real_compute_type(out.dtype(), [&]<class C>() {
    const C low = min ? scalar_as<C>(*min) : C(0);
    const C high = max ? scalar_as<C>(*max) : C(0);
    // A bound below all numbers of a dtype has no effect.
    const bool has_min = min && !(out.dtype() == Dtype::uint64 && min->to_double() < 0);
    auto function = [=, has_max = max.has_value()]<class X>(X x) {
      if (has_min) x = larger(x, static_cast<X>(low));
      return has_max ? smaller(x, static_cast<X>(high)) : x;
    };
    ordered_elementwise<C>(out, out.dtype(), function, self);
  });
}
Result<Meta> clamp_one_meta(const Tensor& self, const Scalar& bound) {
  return clamp_meta(self, bound, std::nullopt);
}
void clamp_min(Tensor& out, const Tensor& self, const Scalar& min) {
  clamp(out, self, min, std::nullopt);
}
Result<Meta> clamp_max_meta(const Tensor& self, const Scalar& max) {
  return clamp_meta(self, std::nullopt, max);
}
void clamp_max(Tensor& out, const Tensor& self, const Scalar& max) {
  clamp(out, self, std::nullopt, max);
}

Result<Meta> clamp_tensor_meta(const Tensor& self, const OptionalTensor& min,
                               const OptionalTensor& max) {
  if (!min && !max) return operator_error("found neither min nor max, expected one");
  Promotion promotion;
  promotion.add(self);
  if (min) promotion.add(*min);
  if (max) promotion.add(*max);
  PT2_TRY_VOID(expect_real(promotion.result()));
  const Tensor& low = min ? *min : self;
  const Tensor& high = max ? *max : low;
  return elementwise_meta(promotion.result(), {&self, &low, &high});
}
void clamp_tensor(Tensor& out, const Tensor& self, const OptionalTensor& min,
                  const OptionalTensor& max) {
  with_real_compute_type(out.dtype(), [&]<class C>() {
    auto at_least = []<class X>(X x, X low) {
      return is_nan(x) ? x : (is_nan(low) || x < low ? low : x);
    };
    auto at_most = []<class X>(X x, X high) {
      return is_nan(x) ? x : (is_nan(high) || x > high ? high : x);
    };
    if (min && max)
      ordered_elementwise<C>(
          out, out.dtype(),
          [=](auto x, auto low, auto high) { return at_most(at_least(x, low), high); }, self, *min,
          *max);
    else if (min)
      ordered_elementwise<C>(out, out.dtype(), at_least, self, *min);
    else
      ordered_elementwise<C>(out, out.dtype(), at_most, self, *max);
  });
}
Result<Meta> clamp_one_tensor_meta(const Tensor& self, const Tensor& bound) {
  return clamp_tensor_meta(self, bound, std::nullopt);
}
void clamp_min_tensor(Tensor& out, const Tensor& self, const Tensor& min) {
  clamp_tensor(out, self, min, std::nullopt);
}
void clamp_max_tensor(Tensor& out, const Tensor& self, const Tensor& max) {
  clamp_tensor(out, self, std::nullopt, max);
}

// --- heaviside

Result<Meta> heaviside_meta(const Tensor& self, const Tensor& values) {
  PT2_TRY_VOID(check_same_dtype(values, self, "values"));
  PT2_TRY_VOID(expect_real(self.dtype()));
  return elementwise_meta(self.dtype(), {&self, &values});
}
void heaviside(Tensor& out, const Tensor& self, const Tensor& values) {
  with_real_compute_type(out.dtype(), [&]<class C>() {
    elementwise<C>(
        out, out.dtype(), [](C x, C at_zero) { return x == C(0) ? at_zero : C(x > C(0) ? 1 : 0); },
        self, values);
  });
}

// Returns the number as a tensor of the dtype to which it and the other operand promote.
Result<Tensor> number_operand(Emitter& e, const Scalar& number, Promotion promotion) {
  return e(aten<"scalar_tensor.default">, {number, promotion.add(number).result()});
}
Result<Tensor> where_other_formula(Emitter& e, const Tensor& condition, const Tensor& self,
                                   const Scalar& other) {
  return e(aten<"where.self">, {condition, self, number_operand(e, other, Promotion().add(self))});
}
Result<Tensor> where_self_formula(Emitter& e, const Tensor& condition, const Scalar& self,
                                  const Tensor& other) {
  return e(aten<"where.self">, {condition, number_operand(e, self, Promotion().add(other)), other});
}
Result<Tensor> where_numbers_formula(Emitter& e, const Tensor& condition, const Scalar& self,
                                     const Scalar& other) {
  return e(aten<"where.self">, {condition, number_operand(e, self, Promotion().add(other)),
                                number_operand(e, other, Promotion().add(self))});
}

// ATen/native/TensorCompare.cpp isclose.
Result<Tensor> isclose(Emitter& e, const Tensor& self, const Tensor& other, double rtol,
                       double atol, bool equal_nan) {
  PT2_TRY_VOID(check_same_dtype(other, self, "other"));
  if (!(rtol >= 0 && atol >= 0))
    return operator_error("rtol and atol: found " + std::to_string(rtol) + " and " +
                          std::to_string(atol) + ", expected 0 or more");
  const bool is_integer = dtype_category(self.dtype()) < DtypeCategory::floating;
  auto close = e(aten<"eq.Tensor">, {self, other});
  if (equal_nan && !is_integer) {
    const auto both_nan = e(aten<"bitwise_and.Tensor">,
                            {e(aten<"isnan.default">, {self}), e(aten<"isnan.default">, {other})});
    close = e(aten<"bitwise_or.Tensor">, {close, both_nan});
  }
  if (rtol == 0 && atol == 0) return close;
  const auto cast =
      is_integer ? e(aten<"to.dtype">, {other, Dtype::float32}) : Result<Tensor>(other);
  const auto size = e(aten<"abs.default">, {e(aten<"mul.Scalar">, {cast, rtol})});
  const auto allowed = e(aten<"add.Scalar">, {size, atol});
  const bool is_bool = self.dtype() == Dtype::bool_;
  const auto number = is_bool ? e(aten<"to.dtype">, {self, Dtype::float32}) : Result<Tensor>(self);
  const auto actual = e(aten<"abs.default">, {e(aten<"sub.Tensor">, {number, cast})});
  const auto near = e(aten<"bitwise_and.Tensor">, {e(aten<"isfinite.default">, {actual}),
                                                   e(aten<"le.Tensor">, {actual, allowed})});
  return e(aten<"bitwise_or.Tensor">, {close, near});
}

// clang-format off
constexpr OpDef kComparisonOps[] = {
    op<"aten::eq.Tensor(Tensor self, Tensor other) -> Tensor", equality_meta, equality<kEq>>,
    op<"aten::eq.Scalar(Tensor self, Scalar other) -> Tensor", rule_with_number<equality_meta>, with_number<equality<kEq>>>,
    op<"aten::ne.Tensor(Tensor self, Tensor other) -> Tensor", equality_meta, equality<kNe>>,
    op<"aten::ne.Scalar(Tensor self, Scalar other) -> Tensor", rule_with_number<equality_meta>, with_number<equality<kNe>>>,
    op<"aten::lt.Tensor(Tensor self, Tensor other) -> Tensor", order_meta, order<kLt>>,
    op<"aten::lt.Scalar(Tensor self, Scalar other) -> Tensor", rule_with_number<order_meta>, with_number<order<kLt>>>,
    op<"aten::le.Tensor(Tensor self, Tensor other) -> Tensor", order_meta, order<kLe>>,
    op<"aten::le.Scalar(Tensor self, Scalar other) -> Tensor", rule_with_number<order_meta>, with_number<order<kLe>>>,
    op<"aten::gt.Tensor(Tensor self, Tensor other) -> Tensor", order_meta, order<kGt>>,
    op<"aten::gt.Scalar(Tensor self, Scalar other) -> Tensor", rule_with_number<order_meta>, with_number<order<kGt>>>,
    op<"aten::ge.Tensor(Tensor self, Tensor other) -> Tensor", order_meta, order<kGe>>,
    op<"aten::ge.Scalar(Tensor self, Scalar other) -> Tensor", rule_with_number<order_meta>, with_number<order<kGe>>>,
    op<"aten::logical_and(Tensor self, Tensor other) -> Tensor", equality_meta, equality<kLogicalAnd>>,
    op<"aten::logical_or(Tensor self, Tensor other) -> Tensor", equality_meta, equality<kLogicalOr>>,
    op<"aten::logical_xor(Tensor self, Tensor other) -> Tensor", equality_meta, equality<kLogicalXor>>,
    op<"aten::isclose(Tensor self, Tensor other, float rtol=1.0000000000000001e-05, float atol=1e-08, bool equal_nan=False) -> Tensor", isclose>,
    op<"aten::equal(Tensor self, Tensor other) -> bool", equal>,
    op<"aten::where.self(Tensor condition, Tensor self, Tensor other) -> Tensor", where_meta, where>.with({.slope = Slope::linear, .linear_in = "self other"}),
    op<"aten::where.ScalarOther(Tensor condition, Tensor self, Scalar other) -> Tensor", where_other_formula>.with({.slope = Slope::linear, .linear_in = "self other"}),
    op<"aten::where.ScalarSelf(Tensor condition, Scalar self, Tensor other) -> Tensor", where_self_formula>.with({.slope = Slope::linear, .linear_in = "self other"}),
    op<"aten::where.Scalar(Tensor condition, Scalar self, Scalar other) -> Tensor", where_numbers_formula>,
    op<"aten::masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor", masked_fill_meta, masked_fill>.with({.slope = Slope::linear, .linear_in = "self value", .overwrites = true}),
    op<"aten::masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor", masked_fill_tensor_meta, masked_fill_tensor>.with({.slope = Slope::linear, .linear_in = "self value", .overwrites = true}),
    op<"aten::clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor", clamp_meta, clamp>,
    op<"aten::clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor", clamp_tensor_meta, clamp_tensor>,
    op<"aten::clip(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor", clamp_meta, clamp>.with({.same_as = "clamp.default"}),
    op<"aten::clamp_min(Tensor self, Scalar min) -> Tensor", clamp_one_meta, clamp_min>,
    op<"aten::clamp_min.Tensor(Tensor self, Tensor min) -> Tensor", clamp_one_tensor_meta, clamp_min_tensor>,
    op<"aten::clamp_max(Tensor self, Scalar max) -> Tensor", clamp_max_meta, clamp_max>,
    op<"aten::clamp_max.Tensor(Tensor self, Tensor max) -> Tensor", clamp_one_tensor_meta, clamp_max_tensor>,
    op<"aten::heaviside(Tensor self, Tensor values) -> Tensor", heaviside_meta, heaviside>,
};
// clang-format on

}  // namespace

std::span<const OpDef> comparison_ops() { return kComparisonOps; }

}  // namespace pt2::ops
