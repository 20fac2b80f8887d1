// Arithmetic of two operands: sums, products, quotients, powers.
#include <cmath>
#include <type_traits>

#include "ops/checks.h"
#include "ops/compose.h"
#include "ops/dense.h"
#include "ops/pointwise/pointwise.h"
#include "ops/pointwise/unsigned_order.h"

namespace pt2::ops {
namespace {

template <class F>
void binary(Tensor& out, Dtype common, F&& function, const Tensor& a, const Tensor& b) {
  with_compute_type(out.dtype(), [&]<class C>() { elementwise<C>(out, common, function, a, b); });
}
// --- Sums and products

// ATen/native/BinaryOps.h alpha_check: the category of alpha must not exceed that of the result.
Result<void> check_alpha(Dtype dtype, const Scalar& alpha) {
  if (alpha.category() == DtypeCategory::boolean && dtype != Dtype::bool_)
    return operator_error("alpha: found a bool, expected a number of dtype " +
                          std::string(dtype_name(dtype)));
  if (alpha.category() > DtypeCategory::integer && alpha.category() > dtype_category(dtype))
    return operator_error("alpha: found a number that dtype " + std::string(dtype_name(dtype)) +
                          " cannot hold, expected one that it can");
  return expect_representable(alpha, dtype);
}
Result<void> check_subtraction(DtypeCategory a, DtypeCategory b) {
  if (a == DtypeCategory::boolean || b == DtypeCategory::boolean)
    return operator_error("found a bool to subtract, expected numbers: use ^ or logical_xor");
  return {};
}

Result<Meta> add_meta(const Tensor& self, const Tensor& other, const Scalar& alpha) {
  PT2_TRY(Meta meta, promoted(self, other));
  PT2_TRY_VOID(check_alpha(meta.dtype, alpha));
  return meta;
}
Result<Meta> sub_meta(const Tensor& self, const Tensor& other, const Scalar& alpha) {
  PT2_TRY_VOID(check_subtraction(dtype_category(self.dtype()), dtype_category(other.dtype())));
  return add_meta(self, other, alpha);
}
Result<Meta> rsub_meta(const Tensor& self, const Tensor& other, const Scalar& alpha) {
  return sub_meta(other, self, alpha);
}
// Multiplication by 1 is skipped; it only changes complex infinities, which PyTorch turns into NaN.
bool is_one(const Scalar& number) { return number.to_complex() == Complex(1); }

// a * b + c. Floats are rounded once, as by PyTorch's fmadd: if a program then rounds to an
// integer, the last bit matters.
template <class C>
C times_plus(C a, C b, C c) {
  if constexpr (std::is_floating_point_v<C>)
    return std::fma(a, b, c);
  else
    return plus(times(a, b), c);
}

// alpha * other. For half floats every step is rounded, and so is alpha.
template <class C>
Tensor scaled_operand(const Tensor& other, Dtype dtype, const Scalar& alpha) {
  C factor = scalar_as<C>(alpha);
  round_elements<C>(dtype, 1, &factor);
  Tensor scaled = Tensor::zeros(dtype, other.sizes());
  elementwise<C>(
      scaled, dtype, [factor](C x) { return times(factor, x); }, other);
  return scaled;
}
template <const auto& F>
void add_scaled(Tensor& out, const Tensor& self, const Tensor& other, const Scalar& alpha) {
  const Dtype dtype = out.dtype();
  with_compute_type(dtype, [&]<class C>() {
    if (is_one(alpha) && !kIsComplex<C>) return elementwise<C>(out, dtype, F, self, other);
    if (wide_dtype(dtype) != dtype)
      return elementwise<C>(out, dtype, F, self, scaled_operand<C>(other, dtype, alpha));
    const C factor = F(C(0), scalar_as<C>(alpha));  // -alpha in a difference
    elementwise<C>(
        out, dtype, [factor](C a, C b) { return times_plus(factor, b, a); }, self, other);
  });
}
constexpr auto kPlus = []<class C>(C a, C b) { return plus(a, b); };
constexpr auto kMinus = []<class C>(C a, C b) { return minus(a, b); };

void add(Tensor& out, const Tensor& self, const Tensor& other, const Scalar& alpha) {
  // For bool, alpha is a bool and the sum is "or".
  const bool negative = out.dtype() == Dtype::bool_ && alpha.to_int() < 0;
  add_scaled<kPlus>(out, self, other, negative ? Scalar(true) : alpha);
}
void sub(Tensor& out, const Tensor& self, const Tensor& other, const Scalar& alpha) {
  add_scaled<kMinus>(out, self, other, alpha);
}
void rsub(Tensor& out, const Tensor& self, const Tensor& other, const Scalar& alpha) {
  sub(out, other, self, alpha);
}
// Operands are converted to the result's dtype first. Exception: products and quotients of half
// floats take a second operand of one element unrounded (ATen/native/cpu/BinaryOpsKernel.cpp
// mul_kernel, div_true_kernel).
Dtype factor_dtype(const Tensor& out, const Tensor& other) {
  return other.numel() == 1 ? wide_dtype(out.dtype()) : out.dtype();
}
// Returns the first operand as it is converted for factor_dtype(): always rounded.
Tensor first_factor(const Tensor& self, Dtype dtype) {
  return self.dtype() == dtype || !is_half(dtype) ? self : to_dense(self, dtype, dtype);
}
// Multiplies complex64 by complex64 in float32, as c10::complex does. Most complex programs compute
// in complex64 (rotary embeddings, convolutions by Fourier transforms). False if a dtype is another
// one.
bool multiply_complex_floats(Tensor& out, const Tensor& self, const Tensor& other) {
  constexpr auto kDtype = Dtype::complex64;
  if (out.dtype() != kDtype || self.dtype() != kDtype || other.dtype() != kDtype) return false;
  const Tensor a = broadcast_to(self, out.sizes()), b = broadcast_to(other, out.sizes());
  const Tensor* operands[] = {&out, &a, &b};
  for (const Tensor* operand : operands)
    if (!is_place_of<float>(operand->raw_data())) return false;
  const StridedWalk walk(operands);
  walk.run([&](const auto& pointers, int64_t count) {
    auto* __restrict product = reinterpret_cast<float*>(const_cast<std::byte*>(pointers[0]));
    const auto* x = reinterpret_cast<const float*>(pointers[1]);
    const auto* y = reinterpret_cast<const float*>(pointers[2]);
    const int64_t step = 2 * walk.inner_stride(0), x_step = 2 * walk.inner_stride(1),
                  y_step = 2 * walk.inner_stride(2);
    const auto multiply = [&](int64_t to, int64_t i, int64_t j) {
      const float real = x[i] * y[j] - x[i + 1] * y[j + 1];
      product[to + 1] = x[i] * y[j + 1] + x[i + 1] * y[j];
      product[to] = real;
    };
    if (step == 2 && x_step == 2 && y_step == 2)
      for (int64_t i = 0; i < 2 * count; i += 2) multiply(i, i, i);
    else
      for (int64_t i = 0; i < count; ++i) multiply(i * step, i * x_step, i * y_step);
  });
  return true;
}
void mul(Tensor& out, const Tensor& self, const Tensor& other) {
  if (multiply_complex_floats(out, self, other)) return;
  binary(
      out, factor_dtype(out, other), []<class C>(C a, C b) { return times(a, b); },
      first_factor(self, out.dtype()), other);
}

// Unlike mul.Scalar, mul_.Scalar converts the number to self's dtype (ATen/native/BinaryOps.cpp
// mul__scalar).
Result<Tensor> mul_number_in_place(const Tensor& self, const Scalar& other) {
  if (wide_dtype(self.dtype()) == self.dtype() || other.category() == DtypeCategory::complex)
    return apply(aten<"mul_.Tensor">, {self, box(other)});
  return apply(aten<"mul_.Tensor">, {self, scalar_tensor(other, self.dtype())});
}

// --- Quotients

constexpr auto kQuotient = []<class C>(C a, C b) { return quotient(a, b); };

// Rounds the quotient toward minus infinity (c10/util/generic_math.h div_floor_floating). The
// result is exact where floor(a / b) is not, and zeros have Python's signs. `rounded` is applied to
// the result of each step.
constexpr auto kFloorQuotient = []<class C>(C a, C b, const auto& rounded) {
  if (b == C(0)) return a / b;
  const C mod = std::fmod(a, b);
  C quotient = rounded(rounded(a - mod) / b);
  if (mod != C(0) && (b < C(0)) != (mod < C(0))) quotient = rounded(quotient - C(1));
  if (quotient == C(0)) return std::copysign(C(0), a / b);
  const C floored = std::floor(quotient);
  return quotient - floored > C(0.5) ? rounded(floored + C(1)) : floored;
};
constexpr auto kTruncatedQuotient = []<class C>(C a, C b, const auto& rounded) {
  return std::trunc(rounded(a / b));
};
constexpr auto kRemainder = []<class C>(C a, C b) {
  const C mod = std::fmod(a, b);
  return mod != C(0) && (b < C(0)) != (mod < C(0)) ? mod + b : mod;
};
constexpr auto kFmod = [](auto a, auto b) { return std::fmod(a, b); };

// The divisor must not be 0. The divisor -1 is handled separately: the smallest integer divided by
// -1 overflows.
constexpr auto kIntegerQuotient = [](int64_t a, int64_t b) {
  return b == -1 ? minus(int64_t{0}, a) : a / b;
};
constexpr auto kIntegerFmod = [](int64_t a, int64_t b) { return b == -1 ? 0 : a % b; };
constexpr auto kIntegerRemainder = [](int64_t a, int64_t b) {
  const int64_t mod = kIntegerFmod(a, b);
  return mod != 0 && (b < 0) != (mod < 0) ? mod + b : mod;
};
constexpr auto kIntegerFloorQuotient = [](int64_t a, int64_t b) {
  const int64_t quotient = kIntegerQuotient(a, b);
  return kIntegerFmod(a, b) != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
};

template <const auto& Function>
Result<void> integer_division(Tensor& out, const Tensor& a, const Tensor& b) {
  bool divided_by_zero = false;
  auto function = [&](int64_t x, int64_t y) {
    divided_by_zero |= y == 0;
    return y == 0 ? int64_t{0} : Function(x, y);
  };
  elementwise<int64_t>(out, out.dtype(), function, a, b);
  if (divided_by_zero) return operator_error("integer division by zero");
  return {};
}
template <const auto& Function, const auto& IntegerFunction>
Result<void> division(Tensor& out, const Tensor& a, const Tensor& b) {
  if (dtype_category(out.dtype()) == DtypeCategory::integer)
    return integer_division<IntegerFunction>(out, a, b);
  map_floats(out, Function, a, b);
  return {};
}
// With a divisor of one element, half floats are divided in float. With other divisors every step
// is rounded to half (ATen/native/cpu/BinaryOpsKernel.cpp div_trunc_kernel, div_floor_kernel).
template <const auto& Function, const auto& IntegerFunction>
Result<void> rounded_division(Tensor& out, const Tensor& a, const Tensor& b) {
  if (dtype_category(out.dtype()) == DtypeCategory::integer)
    return integer_division<IntegerFunction>(out, a, b);
  const Dtype common = factor_dtype(out, b);
  const auto divide = [&](const auto& rounded) {
    with_float_compute_type(out.dtype(), [&]<class C>() {
      elementwise<C>(
          out, common, [&](C x, C y) { return Function(x, y, rounded); },
          first_factor(a, out.dtype()), b);
    });
  };
  if (is_half(common))
    divide([common](auto step) {
      round_elements(common, 1, &step);
      return step;
    });
  else
    divide([](auto step) { return step; });
  return {};
}

void div(Tensor& out, const Tensor& self, const Tensor& other) {
  if (out.dtype() == Dtype::complex64)
    return elementwise<Complex>(out, out.dtype(), in_singles<kQuotient>, self, other);
  with_fraction_compute_type(out.dtype(), [&]<class C>() {
    elementwise<C>(out, factor_dtype(out, other), kQuotient, first_factor(self, out.dtype()),
                   other);
  });
}

using RoundingMode = std::optional<std::string>;
Result<void> check_rounding_mode(const RoundingMode& mode) {
  if (mode && *mode != "trunc" && *mode != "floor")
    return operator_error("found rounding_mode '" + *mode + "', expected 'trunc' or 'floor'");
  return {};
}
Result<Meta> div_mode_meta(const Tensor& self, const Tensor& other, const RoundingMode& mode) {
  PT2_TRY_VOID(check_rounding_mode(mode));
  return mode ? real_number_promoted(self, other) : fraction_promoted(self, other);
}
Result<void> div_mode(Tensor& out, const Tensor& self, const Tensor& other,
                      const RoundingMode& mode) {
  if (!mode) {
    div(out, self, other);
    return {};
  }
  if (*mode == "floor")
    return rounded_division<kFloorQuotient, kIntegerFloorQuotient>(out, self, other);
  return rounded_division<kTruncatedQuotient, kIntegerQuotient>(out, self, other);
}
constexpr auto kFloorDivide = rounded_division<kFloorQuotient, kIntegerFloorQuotient>;
constexpr auto kRemainderKernel = division<kRemainder, kIntegerRemainder>;
constexpr auto kFmodKernel = division<kFmod, kIntegerFmod>;

// --- Powers

// ATen/native/Pow.h powi: with a negative exponent every base but 1 and -1 gives 0.
int64_t integer_power(int64_t base, int64_t exponent) {
  if (exponent < 0) {
    if (base == 1) return 1;
    return base == -1 ? (exponent % 2 != 0 ? -1 : 1) : 0;
  }
  int64_t result = 1;
  for (; exponent > 0; exponent /= 2) {
    if (exponent % 2 != 0) result = times(result, base);
    base = times(base, base);
  }
  return result;
}
constexpr auto kPower = []<class C>(C base, C exponent) {
  if constexpr (std::is_same_v<C, int64_t>)
    return integer_power(base, exponent);
  else
    return std::pow(base, exponent);
};

void pow(Tensor& out, const Tensor& self, const Tensor& exponent) {
  if (out.dtype() == Dtype::complex64)
    return elementwise<Complex>(out, out.dtype(), in_singles<kPower>, self, exponent);
  binary(out, out.dtype(), kPower, self, exponent);
}

Result<Meta> pow_number_meta(const Tensor& self, const Scalar& exponent) {
  PT2_TRY(Meta meta, promoted(self, number_tensor(exponent)));
  // As in PyTorch's kernels, the conversion of the exponent is checked only for integral dtypes and
  // dtypes below 4 bytes (ATen/native/cpu/PowKernel.cpp pow_tensor_scalar_kernel).
  if (dtype_category(meta.dtype) < DtypeCategory::floating || dtype_size(meta.dtype) < 4)
    PT2_TRY_VOID(expect_representable(exponent, meta.dtype));
  if (dtype_category(meta.dtype) < DtypeCategory::floating && exponent.to_int() < 0)
    return operator_error("found exponent " + std::to_string(exponent.to_int()) +
                          " of an integer, expected 0 or more");
  return meta;
}
constexpr auto kRoot = [](auto x) { return std::sqrt(x); };
constexpr auto kInverse = []<class C>(C x) { return quotient(C(1), x); };
constexpr auto kInverseRoot = [](auto x) { return kInverse(std::sqrt(x)); };
constexpr auto kSecondPower = [](auto x) { return times(x, x); };
constexpr auto kThirdPower = [](auto x) { return times(times(x, x), x); };
constexpr auto kInverseSquare = [](auto x) { return kInverse(times(x, x)); };
void third_power_of_bfloat16(Tensor& out, const Tensor& self) {
  auto function = [](float x) {
    float square = x * x;
    round_elements<float>(Dtype::bfloat16, 1, &square);
    return square * x;
  };
  elementwise<float>(out, out.dtype(), function, self);
}
// PyTorch computes some exponents by other functions, whose results differ for -0 and -inf
// (ATen/native/cpu/PowKernel.cpp pow_tensor_scalar_optimized_kernel). Null for other exponents.
using EasyPower = void (*)(Tensor& out, const Tensor& self);
EasyPower easy_power(Dtype dtype, double exponent) {
  if (dtype != Dtype::float16) {
    if (exponent == 0.5) return single_fraction_unary<kRoot>;
    if (exponent == -0.5) return single_fraction_unary<kInverseRoot>;
    if (exponent == -1) return single_fraction_unary<kInverse>;
  }
  if (exponent == 2) return single_fraction_unary<kSecondPower>;
  if (exponent == 3 && dtype == Dtype::bfloat16) return third_power_of_bfloat16;
  if (exponent == 3) return single_fraction_unary<kThirdPower>;
  if (exponent == -2) return single_fraction_unary<kInverseSquare>;
  return nullptr;
}
void pow_number(Tensor& out, const Tensor& self, const Scalar& exponent) {
  if (exponent.to_complex() == Complex(0)) return fill_elements(out, 1);
  if (exponent.to_complex() == Complex(1)) return copy_elements(out, self);
  if (dtype_category(out.dtype()) >= DtypeCategory::floating && exponent.to_complex().imag() == 0)
    if (const EasyPower power = easy_power(out.dtype(), exponent.to_double()))
      return power(out, self);
  pow(out, self, number_tensor(exponent));
}
// The result is always row-major, unlike that of the other overloads (ATen/native/Pow.cpp
// pow_Scalar).
Result<Meta> number_pow_meta(const Scalar& self, const Tensor& exponent) {
  PT2_TRY(Meta meta, number_promoted(number_tensor(self), exponent));
  meta.strides.clear();
  return meta;
}
void number_pow(Tensor& out, const Scalar& self, const Tensor& exponent) {
  if (self.to_complex() == Complex(1)) return fill_elements(out, 1);
  pow(out, number_tensor(self), exponent);
}
// float_power computes in float64 or complex128 for all operands (ATen/native/Pow.cpp).
Operand doubled(Emitter& e, const Tensor& tensor, Dtype dtype) {
  return e(aten<"to.dtype">, {tensor, dtype});
}
Operand doubled(Emitter&, const Scalar& number, Dtype dtype) {
  return dtype == Dtype::complex128 ? Scalar(number.to_complex()) : Scalar(number.to_double());
}
template <Handle Power, class Base, class Exponent>
Result<Tensor> float_power(Emitter& e, const Base& self, const Exponent& exponent) {
  const bool has_complex = gives_complex(self) || gives_complex(exponent);
  const Dtype dtype = has_complex ? Dtype::complex128 : Dtype::float64;
  return e(Power, {doubled(e, self, dtype), doubled(e, exponent, dtype)});
}

// --- Extremes

// clang-format off
constexpr auto kMaximum = []<class C>(C a, C b) { return larger(a, b); };
constexpr auto kMinimum = []<class C>(C a, C b) { return smaller(a, b); };
constexpr auto kFmax = []<class C>(C a, C b) { return is_nan(b) || a >= b ? a : b; };
constexpr auto kFmin = []<class C>(C a, C b) { return is_nan(b) || a <= b ? a : b; };
// clang-format on
template <const auto& F>
void extreme(Tensor& out, const Tensor& a, const Tensor& b) {
  with_real_compute_type(out.dtype(),
                         [&]<class C>() { ordered_elementwise<C>(out, out.dtype(), F, a, b); });
}
// Of equal numbers the first, which decides the sign of zero; of bfloat16 the second.
template <const auto& F>
void extreme_number(Tensor& out, const Tensor& a, const Tensor& b) {
  const bool swaps = out.dtype() == Dtype::bfloat16;
  extreme<F>(out, swaps ? b : a, swaps ? a : b);
}

// --- Float functions of two numbers

// clang-format off
constexpr auto kAtan2 = [](auto a, auto b) { return std::atan2(a, b); };
constexpr auto kHypot = [](auto a, auto b) { return std::hypot(a, b); };
constexpr auto kCopysign = [](auto a, auto b) { return std::copysign(a, b); };
// clang-format on
// Selects by bit masks, so that loops vectorize; 64-bit values are faster with branches.
template <class Bits>
Bits chosen_bits(bool first, Bits a, Bits b) {
  if constexpr (sizeof(Bits) == 8) return first ? a : b;
  const Bits mask = -Bits(first);
  return (mask & a) | (~mask & b);
}
// Floats of the same sign are ordered like their bits.
constexpr auto kNextafter = []<class C>(C a, C b) {
  using Bits = std::conditional_t<sizeof(C) == 4, uint32_t, uint64_t>;
  const auto bits = [](C x) { return __builtin_bit_cast(Bits, x); };
  const Bits next = bits(a) + chosen_bits<Bits>((a < b) == (a > 0), 1, ~Bits(0));
  const C smallest = std::copysign(std::numeric_limits<C>::denorm_min(), b);
  const Bits beside = chosen_bits(a == 0, bits(smallest), next);
  const Bits other = chosen_bits(a == b, bits(b), beside);
  const bool is_any_nan = static_cast<int>(is_nan(a)) | static_cast<int>(is_nan(b));
  return __builtin_bit_cast(C, chosen_bits(is_any_nan, bits(a + b), other));
};
// Returns the neighbor of `a` among half floats, in the direction of `b`.
template <uint16_t (*ToHalf)(float), float (*FromHalf)(uint16_t)>
float half_neighbour(float a, float b) {
  if (is_nan(a) || a == b) return is_nan(a) ? a : b;
  if (is_nan(b)) return b;
  if (a == 0) return std::copysign(FromHalf(1), b);
  return FromHalf(static_cast<uint16_t>(ToHalf(a) + ((a < b) == (a > 0) ? 1 : -1)));
}
constexpr auto kLogarithm = []<class C>(C x) { return std::log(x); };
constexpr auto kLogarithm1p = []<class C>(C x) { return std::log1p(x); };
// a * F(b). For half floats the logarithm is also rounded to a half
// (ATen/native/cpu/BinaryOpsKernel.cpp xlogy_kernel).
template <const auto& F>
void times_logarithm(Tensor& out, const Tensor& a, const Tensor& b) {
  const Dtype dtype = out.dtype();
  map_floats(
      out,
      [dtype]<class C>(C factor, C x) {
        if (is_nan(x) || factor == C(0)) return is_nan(x) ? x : C(0);
        C logarithm = F(x);
        if (dtype_size(dtype) == 2) round_elements<C>(dtype, 1, &logarithm);
        return factor * logarithm;
      },
      a, b);
}
constexpr auto kLogaddexp = []<class C>(C a, C b) {
  if (std::isinf(a) && a == b) return a;
  return larger(a, b) + std::log1p(std::exp(-std::fabs(a - b)));
};
constexpr auto kLogaddexp2 = []<class C>(C a, C b) {
  if (std::isinf(a) && a == b) return a;
  return larger(a, b) + std::log2(C(1) + std::exp2(-std::fabs(a - b)));
};
void nextafter(Tensor& out, const Tensor& self, const Tensor& other) {
  if (dtype_size(out.dtype()) != 2) return float_function<kNextafter>(out, self, other);
  const auto neighbour = out.dtype() == Dtype::bfloat16
                             ? half_neighbour<float_to_bfloat16, bfloat16_to_float>
                             : half_neighbour<float_to_half, half_to_float>;
  elementwise<float>(out, out.dtype(), neighbour, self, other);
}

void logaddexp(Tensor& out, const Tensor& self, const Tensor& other) {
  if (dtype_category(out.dtype()) != DtypeCategory::complex)
    return float_function<kLogaddexp>(out, self, other);
  elementwise<Complex>(out, out.dtype(), log_add_exp, self, other);
}

// --- Bits

// clang-format off
constexpr auto kAnd = [](int64_t a, int64_t b) { return a & b; };
constexpr auto kOr = [](int64_t a, int64_t b) { return a | b; };
constexpr auto kXor = [](int64_t a, int64_t b) { return a ^ b; };
// clang-format on
// Shift counts that are negative or exceed the width shift all bits out; C++ leaves them undefined
// (ATen/native/cpu/BinaryOpsKernel.cpp lshift_kernel, rshift_kernel).
bool is_shift_count(int64_t count, int64_t width) { return count >= 0 && count < width; }
void left_shift(Tensor& out, const Tensor& self, const Tensor& other) {
  const int64_t width = dtype_size(out.dtype()) * 8;
  elementwise<int64_t>(
      out, out.dtype(),
      [=](int64_t a, int64_t b) {
        return is_shift_count(b, width) ? static_cast<int64_t>(static_cast<uint64_t>(a) << b) : 0;
      },
      self, other);
}
void right_shift(Tensor& out, const Tensor& self, const Tensor& other) {
  const int64_t width = dtype_size(out.dtype()) * 8;
  elementwise<int64_t>(
      out, out.dtype(),
      [=](int64_t a, int64_t b) { return is_shift_count(b, width) ? a >> b : (a < 0 ? -1 : 0); },
      self, other);
}

// --- Sums of three

Result<Meta> lerp_number_meta(const Tensor& self, const Tensor& end, const Scalar& weight) {
  PT2_TRY_VOID(check_same_dtype(end, self, "end"));
  PT2_TRY_VOID(expect_fraction(self.dtype()));
  return with_numbers(elementwise_meta(self.dtype(), {&self, &end}), {weight});
}
// A 0-dim weight may have another dtype: all three operands are then promoted
// (ATen/native/Lerp.cpp).
Result<Meta> lerp_meta(const Tensor& self, const Tensor& end, const Tensor& weight) {
  PT2_TRY_VOID(check_same_dtype(end, self, "end"));
  if (weight.dim() > 0) PT2_TRY_VOID(check_same_dtype(weight, self, "weight"));
  const Dtype dtype = Promotion().add(self).add(end).add(weight).result();
  PT2_TRY_VOID(expect_fraction(dtype));
  return elementwise_meta(dtype, {&self, &end, &weight});
}
// ATen/native/Lerp.h: interpolates from the nearer end.
void lerp(Tensor& out, const Tensor& self, const Tensor& end, const Tensor& weight) {
  with_fraction_compute_type(out.dtype(), [&]<class C>() {
    // Computes both ends: a branch would be unpredictable.
    auto function = [](C a, C b, C w) {
      const C near = times_plus(w, b - a, a), far = times_plus(b - a, w - C(1), b);
      return std::abs(w) < 0.5 ? near : far;
    };
    elementwise<C>(out, wide_dtype(out.dtype()), function, self, end, weight);
  });
}
void lerp_tensor(Tensor& out, const Tensor& self, const Tensor& end, const Tensor& weight) {
  lerp(out, self, end,
       weight.dtype() == out.dtype() ? weight : converted_number(weight, out.dtype()));
}
void lerp_number(Tensor& out, const Tensor& self, const Tensor& end, const Scalar& weight) {
  lerp(out, self, end, number_tensor(weight));
}

Result<Meta> addc_meta(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& value) {
  const Dtype dtype = Promotion().add(self).add(a).add(b).result();
  PT2_TRY_VOID(expect_not_bool(dtype));
  return with_numbers(elementwise_meta(dtype, {&self, &a, &b}), {value});
}
Result<Meta> addcdiv_meta(const Tensor& self, const Tensor& a, const Tensor& b,
                          const Scalar& value) {
  if (dtype_category(a.dtype()) < DtypeCategory::floating &&
      dtype_category(b.dtype()) < DtypeCategory::floating)
    return operator_error("found two integral tensors to divide, expected a float one");
  return addc_meta(self, a, b, value);
}
void addcmul(Tensor& out, const Tensor& self, const Tensor& a, const Tensor& b,
             const Scalar& value) {
  with_compute_type(out.dtype(), [&]<class C>() {
    const C factor = scalar_as<C>(value);
    auto function = [=](C x, C y, C z) { return times_plus(times(factor, y), z, x); };
    elementwise<C>(out, out.dtype(), function, self, a, b);
  });
}
void addcdiv(Tensor& out, const Tensor& self, const Tensor& a, const Tensor& b,
             const Scalar& value) {
  with_fraction_compute_type(out.dtype(), [&]<class C>() {
    const C factor = scalar_as<C>(value);
    auto function = [=](C x, C y, C z) { return x + quotient(times(factor, y), z); };
    elementwise<C>(out, out.dtype(), function, self, a, b);
  });
}

// clang-format off
constexpr OpDef kArithmeticOps[] = {
    op<"aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", add_meta, add>.with({.slope = Slope::linear, .linear_in = "self other"}),
    op<"aten::add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", rule_with_number<add_meta, Scalar>, with_number<add, Scalar>>.with({.slope = Slope::linear, .linear_in = "self other"}),
    op<"aten::sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", sub_meta, sub>.with({.slope = Slope::linear, .linear_in = "self other"}),
    op<"aten::sub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", rule_with_number<sub_meta, Scalar>, with_number<sub, Scalar>>.with({.slope = Slope::linear, .linear_in = "self other"}),
    op<"aten::subtract.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", sub_meta, sub>.with({.slope = Slope::linear, .linear_in = "self other", .same_as = "sub.Tensor"}),
    op<"aten::rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", rsub_meta, rsub>.with({.slope = Slope::linear, .linear_in = "self other"}),
    op<"aten::rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", rule_with_number<sub_meta, Scalar>, with_number<rsub, Scalar>>.with({.slope = Slope::linear, .linear_in = "self other"}),
    op<"aten::mul.Tensor(Tensor self, Tensor other) -> Tensor", promoted, mul>,
    composed<"aten::mul_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)", like_first, mul_number_in_place>.with({.functional_form = "mul.Scalar"}),
    op<"aten::mul.Scalar(Tensor self, Scalar other) -> Tensor", rule_with_number<promoted>, with_number<mul>>.with({.slope = Slope::linear}),
    op<"aten::multiply.Tensor(Tensor self, Tensor other) -> Tensor", promoted, mul>.with({.same_as = "mul.Tensor"}),
    op<"aten::div.Tensor(Tensor self, Tensor other) -> Tensor", fraction_promoted, div>,
    op<"aten::div.Scalar(Tensor self, Scalar other) -> Tensor", rule_with_number<fraction_promoted>, with_number<div>>.with({.slope = Slope::linear}),
    op<"aten::div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor", div_mode_meta, div_mode>,
    op<"aten::div.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor", rule_with_number<div_mode_meta, RoundingMode>, with_number<div_mode, RoundingMode>>,
    op<"aten::divide.Tensor(Tensor self, Tensor other) -> Tensor", fraction_promoted, div>.with({.same_as = "div.Tensor"}),
    op<"aten::true_divide.Tensor(Tensor self, Tensor other) -> Tensor", fraction_promoted, div>.with({.same_as = "div.Tensor"}),
    op<"aten::floor_divide(Tensor self, Tensor other) -> Tensor", real_number_promoted, kFloorDivide>.with({.slope = Slope::constant}),
    op<"aten::floor_divide.Scalar(Tensor self, Scalar other) -> Tensor", rule_with_number<real_number_promoted>, with_number<kFloorDivide>>.with({.slope = Slope::constant}),
    op<"aten::remainder.Tensor(Tensor self, Tensor other) -> Tensor", real_number_promoted, division<kRemainder, kIntegerRemainder>>,
    op<"aten::remainder.Scalar(Tensor self, Scalar other) -> Tensor", rule_with_number<real_number_promoted>, with_number<kRemainderKernel>>,
    op<"aten::remainder.Scalar_Tensor(Scalar self, Tensor other) -> Tensor", rule_of_number<real_number_promoted>, of_number<kRemainderKernel>>,
    op<"aten::fmod.Tensor(Tensor self, Tensor other) -> Tensor", real_number_promoted, division<kFmod, kIntegerFmod>>,
    op<"aten::fmod.Scalar(Tensor self, Scalar other) -> Tensor", rule_with_number<real_number_promoted>, with_number<kFmodKernel>>,
    op<"aten::pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor", number_promoted, pow>.with({.work = 60}),
    op<"aten::pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor", pow_number_meta, pow_number>.with({.work = 60}),
    op<"aten::pow.Scalar(Scalar self, Tensor exponent) -> Tensor", number_pow_meta, number_pow>.with({.work = 60}),
    op<"aten::float_power.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor", float_power<aten<"pow.Tensor_Tensor">, Tensor, Tensor>>,
    op<"aten::float_power.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor", float_power<aten<"pow.Tensor_Scalar">, Tensor, Scalar>>,
    op<"aten::float_power.Scalar(Scalar self, Tensor exponent) -> Tensor", float_power<aten<"pow.Scalar">, Scalar, Tensor>>,
    op<"aten::maximum(Tensor self, Tensor other) -> Tensor", real_promoted, extreme<kMaximum>>,
    op<"aten::minimum(Tensor self, Tensor other) -> Tensor", real_promoted, extreme<kMinimum>>,
    op<"aten::max.other(Tensor self, Tensor other) -> Tensor", real_promoted, extreme<kMaximum>>.with({.same_as = "maximum.default"}),
    op<"aten::min.other(Tensor self, Tensor other) -> Tensor", real_promoted, extreme<kMinimum>>.with({.same_as = "minimum.default"}),
    op<"aten::fmax(Tensor self, Tensor other) -> Tensor", real_promoted, extreme_number<kFmax>>,
    op<"aten::fmin(Tensor self, Tensor other) -> Tensor", real_promoted, extreme_number<kFmin>>,
    op<"aten::atan2(Tensor self, Tensor other) -> Tensor", real_fraction_promoted, float_function<kAtan2>>,
    op<"aten::arctan2(Tensor self, Tensor other) -> Tensor", real_fraction_promoted, float_function<kAtan2>>.with({.same_as = "atan2.default"}),
    op<"aten::hypot(Tensor self, Tensor other) -> Tensor", strict_float_promoted, float_function<kHypot>>,
    op<"aten::copysign.Tensor(Tensor self, Tensor other) -> Tensor", real_fraction_promoted, float_function<kCopysign>>,
    op<"aten::copysign.Scalar(Tensor self, Scalar other) -> Tensor", rule_with_number<real_fraction_promoted>, with_number<float_function<kCopysign>>>,
    op<"aten::nextafter(Tensor self, Tensor other) -> Tensor", strict_float_promoted, nextafter>,
    op<"aten::xlogy.Tensor(Tensor self, Tensor other) -> Tensor", real_fraction_promoted, times_logarithm<kLogarithm>>,
    op<"aten::xlogy.Scalar_Other(Tensor self, Scalar other) -> Tensor", rule_with_number<real_fraction_promoted>, with_number<times_logarithm<kLogarithm>>>,
    op<"aten::xlogy.Scalar_Self(Scalar self, Tensor other) -> Tensor", rule_of_number<real_fraction_promoted>, of_number<times_logarithm<kLogarithm>>>,
    op<"aten::special_xlog1py(Tensor self, Tensor other) -> Tensor", real_fraction_promoted, times_logarithm<kLogarithm1p>>,
    op<"aten::logaddexp(Tensor self, Tensor other) -> Tensor", strict_fraction_promoted, logaddexp>,
    op<"aten::logaddexp2(Tensor self, Tensor other) -> Tensor", strict_float_promoted, float_function<kLogaddexp2>>,
    op<"aten::bitwise_and.Tensor(Tensor self, Tensor other) -> Tensor", integral_promoted, integer_function<kAnd>>,
    op<"aten::bitwise_and.Scalar(Tensor self, Scalar other) -> Tensor", rule_with_number<integral_promoted>, with_number<integer_function<kAnd>>>,
    op<"aten::bitwise_and.Scalar_Tensor(Scalar self, Tensor other) -> Tensor", rule_of_number<integral_promoted>, of_number<integer_function<kAnd>>>,
    op<"aten::bitwise_or.Tensor(Tensor self, Tensor other) -> Tensor", integral_promoted, integer_function<kOr>>,
    op<"aten::bitwise_or.Scalar(Tensor self, Scalar other) -> Tensor", rule_with_number<integral_promoted>, with_number<integer_function<kOr>>>,
    op<"aten::bitwise_or.Scalar_Tensor(Scalar self, Tensor other) -> Tensor", rule_of_number<integral_promoted>, of_number<integer_function<kOr>>>,
    op<"aten::bitwise_xor.Tensor(Tensor self, Tensor other) -> Tensor", integral_promoted, integer_function<kXor>>,
    op<"aten::bitwise_xor.Scalar(Tensor self, Scalar other) -> Tensor", rule_with_number<integral_promoted>, with_number<integer_function<kXor>>>,
    op<"aten::bitwise_xor.Scalar_Tensor(Scalar self, Tensor other) -> Tensor", rule_of_number<integral_promoted>, of_number<integer_function<kXor>>>,
    op<"aten::__and__.Tensor(Tensor self, Tensor other) -> Tensor", integral_promoted, integer_function<kAnd>>.with({.same_as = "bitwise_and.Tensor"}),
    op<"aten::__and__.Scalar(Tensor self, Scalar other) -> Tensor", rule_with_number<integral_promoted>, with_number<integer_function<kAnd>>>.with({.same_as = "bitwise_and.Scalar"}),
    op<"aten::__or__.Tensor(Tensor self, Tensor other) -> Tensor", integral_promoted, integer_function<kOr>>.with({.same_as = "bitwise_or.Tensor"}),
    op<"aten::__or__.Scalar(Tensor self, Scalar other) -> Tensor", rule_with_number<integral_promoted>, with_number<integer_function<kOr>>>.with({.same_as = "bitwise_or.Scalar"}),
    op<"aten::__xor__.Tensor(Tensor self, Tensor other) -> Tensor", integral_promoted, integer_function<kXor>>.with({.same_as = "bitwise_xor.Tensor"}),
    op<"aten::__xor__.Scalar(Tensor self, Scalar other) -> Tensor", rule_with_number<integral_promoted>, with_number<integer_function<kXor>>>.with({.same_as = "bitwise_xor.Scalar"}),
    op<"aten::bitwise_left_shift.Tensor(Tensor self, Tensor other) -> Tensor", integer_promoted, left_shift>,
    op<"aten::bitwise_left_shift.Tensor_Scalar(Tensor self, Scalar other) -> Tensor", rule_with_number<integer_promoted>, with_number<left_shift>>,
    op<"aten::bitwise_right_shift.Tensor(Tensor self, Tensor other) -> Tensor", integer_promoted, right_shift>,
    op<"aten::bitwise_right_shift.Tensor_Scalar(Tensor self, Scalar other) -> Tensor", rule_with_number<integer_promoted>, with_number<right_shift>>,
    op<"aten::__lshift__.Tensor(Tensor self, Tensor other) -> Tensor", integer_promoted, left_shift>,
    op<"aten::__lshift__.Scalar(Tensor self, Scalar other) -> Tensor", rule_with_number<integer_promoted>, with_number<left_shift>>,
    op<"aten::__rshift__.Tensor(Tensor self, Tensor other) -> Tensor", integer_promoted, right_shift>,
    op<"aten::__rshift__.Scalar(Tensor self, Scalar other) -> Tensor", rule_with_number<integer_promoted>, with_number<right_shift>>,
    op<"aten::lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor", lerp_meta, lerp_tensor>,
    op<"aten::lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor", lerp_number_meta, lerp_number>.with({.slope = Slope::linear, .linear_in = "self end"}),
    op<"aten::addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor", addc_meta, addcmul>,
    op<"aten::addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor", addcdiv_meta, addcdiv>,
};
// clang-format on

}  // namespace

std::span<const OpDef> arithmetic_ops() { return kArithmeticOps; }

}  // namespace pt2::ops
