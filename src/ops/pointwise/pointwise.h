// Shared by the pointwise families: rules for the dtype, sizes and strides of results, and kernels
// built from one scalar function.
#ifndef PT2_OPS_POINTWISE_POINTWISE_H
#define PT2_OPS_POINTWISE_POINTWISE_H

#include <cmath>
#include <initializer_list>

#include "base/platform.h"
#include "ops/loops.h"
#include "ops/op_def.h"

namespace pt2::ops {

// Error if the operator does not support the dtype.
Result<void> expect_real(Dtype dtype);
Result<void> expect_not_bool(Dtype dtype);
// Accepts integers and bool.
Result<void> expect_integral(Dtype dtype);
// Accepts floats and complex numbers.
Result<void> expect_fraction(Dtype dtype);
// Error if storing the number would overflow (c10/util/TypeCast.h overflows).
Result<void> expect_representable(const Scalar& value, Dtype dtype);
// Returns `meta`. Error if a number overflows in the dtype in which elements of the result are
// computed (at::opmath_type).
Result<Meta> with_numbers(Result<Meta> meta, std::initializer_list<Scalar> numbers);
// The largest finite number of a float or complex dtype.
double largest_finite(Dtype dtype);

inline bool gives_complex(const Scalar& number) {
  return number.category() == DtypeCategory::complex;
}
inline bool gives_complex(const Tensor& tensor) {
  return dtype_category(tensor.dtype()) == DtypeCategory::complex;
}

// Returns the broadcast of `operands`, with the strides that TensorIterator gives results.
Result<Meta> elementwise_meta(Dtype dtype, std::initializer_list<const Tensor*> operands);

using DtypeCheck = Result<void> (*)(Dtype);
// The Meta of one operand, or of two that promote, with the dtype to(dtype). Error if a check
// refuses the dtype.
Result<Meta> checked_meta(const Tensor& self, Dtype (*to)(Dtype),
                          std::initializer_list<DtypeCheck> checks);
Result<Meta> checked_meta(const Tensor& a, const Tensor& b, Dtype (*to)(Dtype),
                          std::initializer_list<DtypeCheck> checks);
template <Dtype (*To)(Dtype), DtypeCheck... Checks>
Result<Meta> rule_of_one(const Tensor& self) {
  return checked_meta(self, To, {Checks...});
}
template <Dtype (*To)(Dtype), DtypeCheck... Checks>
Result<Meta> rule_of_two(const Tensor& a, const Tensor& b) {
  return checked_meta(a, b, To, {Checks...});
}
inline Dtype same_dtype(Dtype dtype) { return dtype; }
inline Dtype bool_dtype(Dtype) { return Dtype::bool_; }

// Rules for one operand. `fraction` rules replace an integral dtype by the default float dtype.
// `real` rules refuse complex tensors, `number` rules bools, `strict` rules bools and integers.
inline constexpr auto as_self = rule_of_one<same_dtype>;
inline constexpr auto number_as_self = rule_of_one<same_dtype, expect_not_bool>;
inline constexpr auto integral_as_self = rule_of_one<same_dtype, expect_integral>;
inline constexpr auto real_as_self = rule_of_one<same_dtype, expect_real>;
inline constexpr auto real_number_as_self = rule_of_one<same_dtype, expect_not_bool, expect_real>;
inline constexpr auto fraction_of_self = rule_of_one<float_or_default>;
inline constexpr auto real_fraction_of_self = rule_of_one<float_or_default, expect_real>;
inline constexpr auto strict_fraction_as_self = rule_of_one<same_dtype, expect_fraction>;
inline constexpr auto strict_float_as_self = rule_of_one<same_dtype, expect_real, expect_fraction>;
inline constexpr auto bool_like_self = rule_of_one<bool_dtype>;
inline constexpr auto real_bool_like_self = rule_of_one<bool_dtype, expect_real>;

// Rules for two operands. The result has the dtype to which both promote.
inline constexpr auto promoted = rule_of_two<same_dtype>;
inline constexpr auto number_promoted = rule_of_two<same_dtype, expect_not_bool>;
inline constexpr auto real_promoted = rule_of_two<same_dtype, expect_real>;
inline constexpr auto real_number_promoted = rule_of_two<same_dtype, expect_real, expect_not_bool>;
inline constexpr auto fraction_promoted = rule_of_two<float_or_default>;
inline constexpr auto real_fraction_promoted = rule_of_two<float_or_default, expect_real>;
inline constexpr auto strict_fraction_promoted = rule_of_two<same_dtype, expect_fraction>;
inline constexpr auto strict_float_promoted = rule_of_two<same_dtype, expect_real, expect_fraction>;
inline constexpr auto integral_promoted = rule_of_two<same_dtype, expect_integral>;
inline constexpr auto integer_promoted = rule_of_two<same_dtype, expect_integral, expect_not_bool>;

// Rules for one operand, or for two, and for numbers that must not overflow.
template <auto Rule, class... Numbers>
Result<Meta> one_and_numbers(const Tensor& self, const Numbers&... number) {
  return with_numbers(Rule(self), {number...});
}
template <auto Rule, class... Numbers>
Result<Meta> two_and_numbers(const Tensor& a, const Tensor& b, const Numbers&... number) {
  return with_numbers(Rule(a, b), {number...});
}

// Returns the number as a tensor of the dtype holds it.
inline double as_stored(Dtype dtype, double number) {
  round_elements<double>(dtype, 1, &number);
  return number;
}
// Returns the dtype in which half floats are computed before one rounding; other dtypes are
// unchanged.
Dtype wide_dtype(Dtype dtype);

template <class C>
C scalar_as(const Scalar& scalar) {
  if constexpr (std::is_same_v<C, int64_t>)
    return scalar.to_int();
  else if constexpr (std::is_same_v<C, Complex>)
    return scalar.to_complex();
  else
    return static_cast<C>(scalar.to_double());
}

template <class C>
inline constexpr bool kIsComplex =
    std::is_same_v<C, Complex> || std::is_same_v<C, std::complex<float>>;

// Integers wrap around, as in PyTorch. Complex products use the plain formula, which keeps the NaNs
// that C++'s multiplication would replace.
template <class C>
C plus(C a, C b) {
  if constexpr (std::is_same_v<C, int64_t>)
    return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  else
    return a + b;
}
template <class C>
C minus(C a, C b) {
  if constexpr (std::is_same_v<C, int64_t>)
    return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
  else
    return a - b;
}
template <class C>
C times(C a, C b) {
  if constexpr (std::is_same_v<C, int64_t>)
    return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  else if constexpr (kIsComplex<C>)
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
  else
    return a * b;
}
// sum + a * b, with C++'s complex multiplication.
template <class C>
C plus_product(C sum, C a, C b) {
  if constexpr (std::is_same_v<C, int64_t>)
    return plus(sum, times(a, b));
  else
    return sum + a * b;
}
template <class C>
bool is_nan(C x) {
  return x != x;
}
// True if -x of this many numbers is 0 - x in PyTorch, so that a part of 0 stays 0. PyTorch
// negates vectors of complex numbers so (ATen/native/cpu/vec/vec256/vec256_complex_float.h), and
// single ones, of which the part becomes -0. This changes the sign of an angle and of a root. The
// numbers that follow the last vector are not told apart here.
inline bool negates_from_zero(Dtype dtype, int64_t count) {
  constexpr int64_t kVectorBytes = 64;
  return (dtype == Dtype::complex64 || dtype == Dtype::complex128) &&
         count >= kVectorBytes / dtype_size(dtype);
}
// NaN takes precedence, as in PyTorch's maximum, minimum and clamp.
template <class C>
C larger(C a, C b) {
  return a > b || is_nan(a) ? a : b;
}
template <class C>
C smaller(C a, C b) {
  return a < b || is_nan(a) ? a : b;
}

// Divides complex numbers by the formula of c10::complex, which determines where zeros and
// infinities give NaN (c10/util/complex.h operator/=).
template <class T>
std::complex<T> complex_quotient(std::complex<T> x, std::complex<T> y) {
  const T a = x.real();
  const T b = x.imag();
  const T c = y.real();
  const T d = y.imag();
  if (std::fabs(c) >= std::fabs(d)) {
    if (c == 0 && d == 0) return {a / std::fabs(c), b / std::fabs(d)};
    const T ratio = d / c;
    const T scale = T(1) / (c + d * ratio);
    return {(a + b * ratio) * scale, (b - a * ratio) * scale};
  }
  const T ratio = c / d;
  const T scale = T(1) / (c * ratio + d);
  return {(a * ratio + b) * scale, (b * ratio - a) * scale};
}
template <class C>
C quotient(C a, C b) {
  if constexpr (kIsComplex<C>)
    return complex_quotient(a, b);
  else
    return a / b;
}

// log(exp(a) + exp(b)). If both real parts are -inf, either operand may be the result
// (ATen/native/cpu/LogAddExp.h).
Complex log_add_exp(Complex a, Complex b);

double digamma_of(double x);
// Quantiles of the normal distribution. normal_quantile_near_half: the number with probability 1/2
// + `q` below it, for |q| up to 0.425. upper_normal_quantile: the number with the given probability
// above it, for probabilities that the former does not cover.
double normal_quantile_near_half(double q);
double upper_normal_quantile(double probability);

constexpr auto kNeg = []<class C>(C x) {
  return std::is_same_v<C, int64_t> ? minus(C(0), x) : C(-x);
};
// A kernel without elements to compute: new memory is zero. PyTorch leaves the elements of empty
// tensors unspecified.
inline void leave_zero(Tensor&) {}
// A kernel that fills the result with the number after the arguments `Before`.
template <class... Before>
void fill_with(Tensor& out, const Before&..., const Scalar& value) {
  fill_elements(out, value);
}

// F in complex64, for functions in which double precision would hide an overflow or a rounding.
template <const auto& F>
inline constexpr auto in_singles =
    [](auto... x) { return static_cast<Complex>(F(static_cast<std::complex<float>>(x)...)); };
// Kernels: out = F(self), computed in the dtype of the result.
template <const auto& F>
void unary(Tensor& out, const Tensor& self) {
  with_compute_type(out.dtype(), [&]<class C>() { elementwise<C>(out, out.dtype(), F, self); });
}
template <const auto& F>
void real_unary(Tensor& out, const Tensor& self) {
  with_real_compute_type(out.dtype(),
                         [&]<class C>() { elementwise<C>(out, out.dtype(), F, self); });
}
template <const auto& F>
void fraction_unary(Tensor& out, const Tensor& self) {
  with_fraction_compute_type(out.dtype(),
                             [&]<class C>() { elementwise<C>(out, out.dtype(), F, self); });
}
template <const auto& F>
void single_fraction_unary(Tensor& out, const Tensor& self) {
  if (out.dtype() == Dtype::complex64)
    return elementwise<Complex>(out, out.dtype(), in_singles<F>, self);
  fraction_unary<F>(out, self);
}
// out = function(in...), computed in float or double. The function converts the numbers that it
// holds.
template <class F, class... In>
void map_floats(Tensor& out, F&& function, const In&... in) {
  with_float_compute_type(out.dtype(),
                          [&]<class C>() { elementwise<C>(out, out.dtype(), function, in...); });
}
template <const auto& F>
void float_unary(Tensor& out, const Tensor& self) {
  map_floats(out, F, self);
}
// The same for two operands.
template <const auto& F>
void float_function(Tensor& out, const Tensor& a, const Tensor& b) {
  map_floats(out, F, a, b);
}
template <const auto& F>
void integer_function(Tensor& out, const Tensor& a, const Tensor& b) {
  elementwise<int64_t>(out, out.dtype(), F, a, b);
}
// The same for predicates of self.
template <const auto& F>
void predicate(Tensor& out, const Tensor& self) {
  with_compute_type(self.dtype(), [&]<class C>() { elementwise<C>(out, self.dtype(), F, self); });
}

// Adapters for a rule and a kernel of two tensors and of `Rest`: a Python number is the second or
// the first operand.
template <auto Rule, class... Rest>
Result<Meta> rule_with_number(const Tensor& self, const Scalar& other, const Rest&... rest) {
  return Rule(self, number_tensor(other), rest...);
}
template <auto Rule>
Result<Meta> rule_of_number(const Scalar& self, const Tensor& other) {
  return Rule(number_tensor(self), other);
}
template <auto Kernel, class... Rest>
auto with_number(Tensor& out, const Tensor& self, const Scalar& other, const Rest&... rest) {
  return Kernel(out, self, number_tensor(other), rest...);
}
template <auto Kernel>
auto of_number(Tensor& out, const Scalar& self, const Tensor& other) {
  return Kernel(out, number_tensor(self), other);
}

}  // namespace pt2::ops

#endif  // PT2_OPS_POINTWISE_POINTWISE_H
