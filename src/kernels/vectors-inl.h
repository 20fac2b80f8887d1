// Vectors of float32 for one target: partial loads and stores, exp, tanh, erf and the activations.
// Included once for each target, inside no namespace, by sources that list themselves in
// HWY_TARGET_INCLUDE.
#if defined(PT2_KERNELS_VECTORS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PT2_KERNELS_VECTORS_INL_H
#undef PT2_KERNELS_VECTORS_INL_H
#else
#define PT2_KERNELS_VECTORS_INL_H
#endif

#include <hwy/highway.h>

#include <cmath>
#include <cstdint>

#include "kernels/activation.h"
#include "kernels/dispatch.h"

// True if functions may use instructions beyond the target's set. Such functions name the
// instruction set in a pragma and ask the processor for it. Clang has no such pragma for a region
// of code, and MSVC accepts instructions that it was not told of.
#undef PT2_BEYOND_AVX3
#define PT2_BEYOND_AVX3 (HWY_TARGET == HWY_AVX3 && HWY_ARCH_X86_64 && HWY_COMPILER_GCC_ACTUAL)

HWY_BEFORE_NAMESPACE();
namespace pt2::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using Floats = hn::ScalableTag<float>;
using Ints = hn::RebindToSigned<Floats>;
using V = hn::Vec<Floats>;
constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(Floats()));
constexpr bool kHasMaskedStores = HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2;

HWY_INLINE V set(float value) { return hn::Set(Floats(), value); }
HWY_INLINE V load(const float* from) { return hn::LoadU(Floats(), from); }
HWY_INLINE void store(V value, float* to) { hn::StoreU(value, Floats(), to); }
// For a loaded value that is multiplied several times: GCC would load it again for each product.
HWY_INLINE void keep_in_register([[maybe_unused]] V& value) {
#if HWY_ARCH_X86 && HWY_COMPILER_GCC_ACTUAL && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
  asm("" : "+v"(value.raw));
#endif
}

// Number of elements of type T in a vector.
template <class T>
constexpr int64_t kLanesOf = static_cast<int64_t>(hn::MaxLanes(hn::ScalableTag<T>()));

// The double counterparts of V and its functions; dtypes/doubles-inl.h has the mathematical
// functions.
using DoubleTag = hn::ScalableTag<double>;
using VD = hn::Vec<DoubleTag>;
HWY_INLINE VD set(double value) { return hn::Set(DoubleTag(), value); }
HWY_INLINE VD load(const double* from) { return hn::LoadU(DoubleTag(), from); }
HWY_INLINE void store(VD value, double* to) { hn::StoreU(value, DoubleTag(), to); }

// Loads or stores only the first `count` lanes, 0 < count; the memory beyond them is not touched. A
// load sets the other lanes to 0. A count of at least the vector's lanes means a whole vector.
template <class T>
HWY_INLINE hn::Vec<hn::ScalableTag<T>> load_first(const T* from, int64_t count) {
  const hn::ScalableTag<T> d;
  if (count >= kLanesOf<T>) return load(from);
  if constexpr (kHasMaskedStores) {
    return hn::MaskedLoad(hn::FirstN(d, static_cast<size_t>(count)), d, from);
  } else {
    HWY_ALIGN T lanes[kLanesOf<T>] = {};
    for (int64_t i = 0; i < count; ++i) lanes[i] = from[i];
    return hn::Load(d, lanes);
  }
}
template <class X>
HWY_INLINE void store_first(X value, hn::TFromV<X>* to, int64_t count) {
  using T = hn::TFromV<X>;
  const hn::ScalableTag<T> d;
  if (count >= kLanesOf<T>) return store(value, to);
  if constexpr (kHasMaskedStores) {
    hn::BlendedStore(value, hn::FirstN(d, static_cast<size_t>(count)), d, to);
  } else {
    HWY_ALIGN T lanes[kLanesOf<T>];
    hn::Store(value, d, lanes);
    for (int64_t i = 0; i < count; ++i) to[i] = lanes[i];
  }
}

// How loops over weights of several dtypes read float32 weights.
struct FloatElements {
  using Element = float;
  HWY_INLINE static V load(const float* from) { return HWY_NAMESPACE::load(from); }
  HWY_INLINE static V load_first(const float* from, int64_t count) {
    return HWY_NAMESPACE::load_first(from, count);
  }
};

// to[j * to_stride + i] = from[i * from_stride + j] for i, j < 4.
HWY_INLINE void turn_4x4(const float* from, int64_t from_stride, float* to, int64_t to_stride) {
#if HWY_TARGET == HWY_SCALAR
  for (int64_t i = 0; i < 4; ++i)
    for (int64_t j = 0; j < 4; ++j) to[j * to_stride + i] = from[i * from_stride + j];
#else
  const hn::CappedTag<float, 4> d;
  const hn::RepartitionToWide<decltype(d)> wide;
  const auto a = hn::LoadU(d, from);
  const auto b = hn::LoadU(d, from + from_stride);
  const auto c = hn::LoadU(d, from + 2 * from_stride);
  const auto e = hn::LoadU(d, from + 3 * from_stride);
  const auto ab = hn::BitCast(wide, hn::InterleaveLower(d, a, b));
  const auto ce = hn::BitCast(wide, hn::InterleaveLower(d, c, e));
  const auto ab_upper = hn::BitCast(wide, hn::InterleaveUpper(d, a, b));
  const auto ce_upper = hn::BitCast(wide, hn::InterleaveUpper(d, c, e));
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(wide, ab, ce)), d, to);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(wide, ab, ce)), d, to + to_stride);
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(wide, ab_upper, ce_upper)), d, to + 2 * to_stride);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(wide, ab_upper, ce_upper)), d, to + 3 * to_stride);
#endif
}

// Bounds that propagate NaN on every target. If two operands are unordered, the x86 minimum and
// maximum instructions return the second.
constexpr bool kGivesSecond = HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128;
template <class X>
HWY_INLINE X at_least(X x, X low) {
  return kGivesSecond ? hn::Max(low, x) : hn::IfThenElse(hn::Lt(x, low), low, x);
}
template <class X>
HWY_INLINE X at_most(X x, X high) {
  return kGivesSecond ? hn::Min(high, x) : hn::IfThenElse(hn::Gt(x, high), high, x);
}

template <class X>
HWY_INLINE X horner(X, X sum) {
  return sum;
}
template <class X, class... Rest>
HWY_INLINE X horner(X x, X sum, hn::TFromV<X> next, Rest... rest) {
  return horner(x, hn::MulAdd(sum, x, set(next)), rest...);
}

// 2^n for integers n from -126 to 127; the other bits of n are shifted out.
HWY_INLINE V power_of_two(hn::Vec<Ints> n) {
  return hn::BitCast(Floats(), hn::ShiftLeft<23>(hn::Add(n, hn::Set(Ints(), 127))));
}

// exp(r) - 1 for |r| at most ln(2) / 2.
HWY_INLINE V expm1_near_0(V r) {
  const V p =
      horner(r, set(0.0013926926614f), 0.00836377387441f, 0.0416665501103f, 0.166665733819f, 0.5f);
  return hn::MulAdd(hn::Mul(p, r), r, r);
}
// Reduces x to n ln 2 + r with |r| at most ln(2) / 2 and returns exp(r) - 1. |x| is at most 104. A
// float near 1.5 * 2^23 has no fraction bits, so the low mantissa bits of `sum` hold n; the bits
// above n's sign belong to the large constant.
HWY_INLINE V reduced_expm1(V x, hn::Vec<Ints>& n) {
  const V large = set(12582912.0f);
  const V sum = hn::MulAdd(x, set(1.44269504f), large);
  n = hn::BitCast(Ints(), sum);
  const V whole = hn::Sub(sum, large);
  // ln 2 in two parts; the products with the first are exact.
  V r = hn::NegMulAdd(whole, set(0.693359375f), x);
  r = hn::NegMulAdd(whole, set(-2.12194440e-4f), r);
  return expm1_near_0(r);
}

HWY_INLINE V exp(V x) {
  // Outside these bounds the result is 0 or infinity.
  x = at_most(at_least(x, set(-104.0f)), set(89.0f));
  hn::Vec<Ints> n;
  const V p = hn::Add(reduced_expm1(x, n), set(1.0f));
  // Scales in two steps, because n ranges from -150 to 128.
  const hn::Vec<Ints> half = hn::ShiftRight<1>(n);
  return hn::Mul(hn::Mul(p, power_of_two(half)), power_of_two(hn::Sub(n, half)));
}

HWY_INLINE V exp2(V x) {
  x = at_most(at_least(x, set(-151.0f)), set(129.0f));
  const V whole = hn::Round(x);
  const V p = hn::Add(expm1_near_0(hn::Mul(hn::Sub(x, whole), set(0.693147181f))), set(1.0f));
  const hn::Vec<Ints> n = hn::ConvertTo(Ints(), whole), half = hn::ShiftRight<1>(n);
  return hn::Mul(hn::Mul(p, power_of_two(half)), power_of_two(hn::Sub(n, half)));
}

// exp(x) for x <= 0, as softmax needs it. Results that would be subnormal are 0, as in PyTorch's
// softmax.
HWY_INLINE V exp_of_difference(V x) {
  hn::Vec<Ints> n;
  const V p = hn::Add(reduced_expm1(x, n), set(1.0f));
  const V value = hn::Mul(p, power_of_two(n));
  return hn::IfThenElse(hn::Lt(x, set(-87.0f)), hn::Zero(Floats()), value);
}

// Computes 2^n (exp(r) - 1) + 2^n - 1, which stays accurate near 0, where exp(x) - 1 cancels.
HWY_INLINE V expm1(V x) {
  hn::Vec<Ints> n;
  const V p = reduced_expm1(at_most(at_least(x, set(-20.0f)), set(20.0f)), n);
  const V scale = power_of_two(n);
  const V near = hn::MulAdd(scale, p, hn::Sub(scale, set(1.0f)));
  // A zero keeps its sign.
  return hn::IfThenElse(hn::Gt(x, set(20.0f)), exp(x), hn::CopySign(near, x));
}

// x = m * 2^power with m between sqrt(1/2) and sqrt(2); log(m) is z + rest - square / 2.
struct Logarithm {
  V power, z, square, rest;
};
HWY_INLINE Logarithm logarithm_parts(V x) {
  const Floats d;
  const Ints i;
  const auto is_small = hn::Lt(x, set(1.17549435e-38f));  // subnormal, 0, negative
  const V scaled = hn::IfThenElse(is_small, hn::Mul(x, set(8388608.0f)), x);
  const auto bits = hn::BitCast(i, scaled);
  // Subtracting the bits of sqrt(1/2) makes the exponent field change there.
  const auto e = hn::ShiftRight<23>(hn::Sub(bits, hn::Set(i, 0x3f3504f3)));
  const V m = hn::BitCast(d, hn::Sub(bits, hn::ShiftLeft<23>(e)));
  const V power = hn::Sub(hn::ConvertTo(d, e), hn::IfThenElse(is_small, set(23.0f), hn::Zero(d)));
  const V z = hn::Sub(m, set(1.0f));
  const V square = hn::Mul(z, z);
  const V p = horner(z, set(7.0376836292e-2f), -1.1514610310e-1f, 1.1676998740e-1f,
                     -1.2420140846e-1f, 1.4249322787e-1f, -1.6668057665e-1f, 2.0000714765e-1f,
                     -2.4999993993e-1f, 3.3333331174e-1f);
  return {power, z, square, hn::Mul(hn::Mul(p, square), z)};
}

// Returns `result` where x is positive and finite, and the special values of a logarithm elsewhere.
HWY_INLINE V logarithm_or_special(V x, V result) {
  const Floats d;
  const V infinity = hn::Inf(d);
  const V special = hn::IfThenElse(hn::Eq(x, hn::Zero(d)), hn::Neg(infinity), hn::NaN(d));
  const V positive = hn::IfThenElse(hn::Eq(x, infinity), infinity, result);
  return hn::IfThenElse(hn::Gt(x, hn::Zero(d)), positive, special);
}

HWY_INLINE V log(V x) {
  const Logarithm part = logarithm_parts(x);
  V y = hn::MulAdd(part.power, set(-2.12194440e-4f), part.rest);
  y = hn::NegMulAdd(set(0.5f), part.square, y);
  return logarithm_or_special(x, hn::MulAdd(part.power, set(0.693359375f), hn::Add(part.z, y)));
}

// Exact for powers of 2.
HWY_INLINE V log2(V x) {
  const Logarithm part = logarithm_parts(x);
  const V y = hn::NegMulAdd(set(0.5f), part.square, part.rest);
  // 1 / log(2) is split into 1 and the rest.
  const V low = hn::MulAdd(part.z, set(0.44269504f), hn::MulAdd(y, set(0.44269504f), y));
  return logarithm_or_special(x, hn::Add(part.power, hn::Add(part.z, low)));
}

HWY_INLINE V log10(V x) {
  const Logarithm part = logarithm_parts(x);
  const V y = hn::NegMulAdd(set(0.5f), part.square, part.rest);
  // log10(e) and log10(2) are in two parts each, the first of few bits.
  V low = hn::MulAdd(part.power, set(2.48745664e-4f), hn::Mul(y, set(0.43429448f)));
  low = hn::MulAdd(part.z, set(7.00731903e-4f), low);
  const V result =
      hn::MulAdd(part.power, set(0.30078125f), hn::MulAdd(part.z, set(0.43359375f), low));
  return logarithm_or_special(x, result);
}

// Returns the sine of x + turns * pi / 2 (turns = 1: the cosine) for |x| up to kLargestAngle.
// Reduces x to n pi / 2 + r with |r| at most pi / 4; the products with the first parts of pi / 2
// are exact. `turns` is added to n.
constexpr float kLargestAngle = 8192.0f;
HWY_INLINE V sine_of_reduced(V x, int32_t turns) {
  const Ints i;
  const V whole = hn::Round(hn::Mul(x, set(0.63661977f)));
  const auto n = hn::Add(hn::ConvertTo(i, whole), hn::Set(i, turns));
  V r = hn::NegMulAdd(whole, set(1.5703125f), x);
  r = hn::NegMulAdd(whole, set(4.837512969970703125e-4f), r);
  r = hn::NegMulAdd(whole, set(7.54978995489188e-8f), r);
  const V z = hn::Mul(r, r);
  const V sine = hn::MulAdd(
      hn::Mul(horner(z, set(-1.9515295891e-4f), 8.3321608736e-3f, -1.6666654611e-1f), z), r, r);
  const V curve =
      horner(z, set(2.443315711809948e-5f), -1.388731625493765e-3f, 4.166664568298827e-2f);
  const V cosine = hn::MulAdd(hn::Mul(curve, z), z, hn::NegMulAdd(set(0.5f), z, set(1.0f)));
  const auto one = hn::Set(i, 1), two = hn::Set(i, 2);
  const auto is_cosine = hn::RebindMask(Floats(), hn::Eq(hn::And(n, one), one));
  const auto is_negative = hn::RebindMask(Floats(), hn::Eq(hn::And(n, two), two));
  const V value = hn::IfThenElse(is_cosine, cosine, sine);
  return hn::IfThenElse(is_negative, hn::Neg(value), value);
}
// Angles beyond kLargestAngle are computed lane by lane, in double.
template <class Function>
HWY_INLINE V sine_or_cosine(V x, int32_t turns, const Function& exact) {
  const Floats d;
  const auto is_small = hn::Le(hn::Abs(x), set(kLargestAngle));
  const V small = sine_of_reduced(hn::IfThenElseZero(is_small, x), turns);
  if (HWY_LIKELY(hn::AllTrue(d, is_small))) return small;
  HWY_ALIGN float angles[kLanes], values[kLanes];
  hn::Store(x, d, angles);
  hn::Store(small, d, values);
  for (int64_t lane = 0; lane < static_cast<int64_t>(hn::Lanes(d)); ++lane)
    if (!(std::abs(angles[lane]) <= kLargestAngle))
      values[lane] = static_cast<float>(exact(static_cast<double>(angles[lane])));
  return hn::Load(d, values);
}
HWY_INLINE V sin(V x) {
  // A zero keeps its sign.
  const V value = sine_or_cosine(x, 0, [](double angle) { return std::sin(angle); });
  return hn::IfThenElse(hn::Eq(x, hn::Zero(Floats())), x, value);
}
HWY_INLINE V cos(V x) {
  return sine_or_cosine(x, 1, [](double angle) { return std::cos(angle); });
}

// log(1 + x), corrected for the rounding error of 1 + x.
HWY_INLINE V log1p(V x) {
  const V one = set(1.0f);
  const V sum = hn::Add(one, x);
  const V lost = hn::Sub(x, hn::Sub(sum, one));
  const auto is_end = hn::Or(hn::Eq(sum, hn::Zero(Floats())), hn::Eq(sum, hn::Inf(Floats())));
  const V logarithm = log(sum);
  const V near = hn::IfThenElse(is_end, logarithm, hn::Add(logarithm, hn::Div(lost, sum)));
  // A zero keeps its sign.
  return hn::IfThenElse(hn::Eq(x, hn::Zero(Floats())), x, near);
}

HWY_INLINE V softplus(V x) {
  const V positive = hn::IfThenElse(hn::Gt(x, hn::Zero(Floats())), x, hn::Zero(Floats()));
  const V rest = log1p(exp(hn::Neg(hn::Abs(x))));
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Add(positive, rest));
}

// 1 + exp(-x). The final multiplication by 2 overflows to infinity where the result is too large.
HWY_INLINE V one_and_exp_of_negative(V x) {
  x = at_most(at_least(hn::Neg(x), set(-80.0f)), set(89.0f));
  hn::Vec<Ints> n;
  const V p = hn::Add(reduced_expm1(x, n), set(1.0f));
  const V half = hn::Mul(p, power_of_two(hn::Sub(n, hn::Set(Ints(), 1))));
  return hn::MulAdd(half, set(2.0f), set(1.0f));
}
HWY_INLINE V sigmoid(V x) { return hn::Div(set(1.0f), one_and_exp_of_negative(x)); }
HWY_INLINE V silu(V x) { return hn::Div(x, one_and_exp_of_negative(x)); }

// t / (t + 2) with t = exp(2 |x|) - 1.
HWY_INLINE V tanh(V x) {
  const V y = at_most(hn::Abs(hn::Add(x, x)), set(20.0f));
  hn::Vec<Ints> n;
  const V p = reduced_expm1(y, n);
  const V scale = power_of_two(n);
  const V t = hn::MulAdd(scale, p, hn::Sub(scale, set(1.0f)));
  return hn::CopySign(hn::Div(t, hn::Add(t, set(2.0f))), x);
}

// Uses a polynomial in x^2 near 0, and 1 - exp(-polynomial) beyond.
HWY_INLINE V erf(V x) {
  const V t = at_most(hn::Abs(x), set(3.95f));
  const V s = hn::Mul(x, x);
  const V small = horner(s, set(8.26951165328e-5f), -0.00081189983623f, 0.00519896011706f,
                         -0.026858574955f, 0.112836809758f, -0.376126328221f, 0.128379166548f);
  const V near = hn::MulAdd(small, x, x);
  const V large = horner(t, set(-1.66108411678e-6f), 4.65051042322e-5f, -0.000600344051249f,
                         0.00477504162168f, -0.0264616447763f, 0.110145164718f, 0.631763809061f,
                         1.13026565149f, -0.000327001918183f);
  const V far = hn::CopySign(hn::Sub(set(1.0f), exp(hn::Neg(large))), x);
  return hn::IfThenElse(hn::Lt(hn::Abs(x), set(0.93f)), near, far);
}

// 2^y for y from -127 (result 0) to 0; the relative error is at most 1e-7.
HWY_INLINE V power_of_two_to_negative(V y) {
  const V whole = hn::Round(y);
  const V p = horner(hn::Sub(y, whole), set(1.3264727e-3f), 9.6715126e-3f, 5.5507337e-2f,
                     2.4022242e-1f, 6.9314698e-1f, 1.0f);
  return hn::Mul(p, power_of_two(hn::ConvertTo(Ints(), whole)));
}

// x times the normal distribution function at x. The tail beyond |x| is 2^-p(|x|) / 2; the error of
// p, weighted with the tail, is at most 2e-8. No sum cancels, so small results for negative x have
// more correct digits than PyTorch's.
HWY_INLINE V gelu(V x) {
  const V size = hn::Abs(x);
  const V p = horner(size, set(1.8538402e-6f), -2.8945144e-5f, 1.4289768e-4f, 2.264066e-4f,
                     -7.160905e-3f, 5.2550512e-2f, 4.5919451e-1f, 1.1511063f, 1.0f);
  const V beyond = power_of_two_to_negative(hn::Neg(at_most(p, set(127.0f))));
  const auto is_negative = hn::Lt(x, hn::Zero(Floats()));
  return hn::Mul(x, hn::IfThenElse(is_negative, beyond, hn::Sub(set(1.0f), beyond)));
}

HWY_INLINE V gelu_tanh(V x) {
  const V cube = hn::Mul(hn::Mul(x, x), x);
  // Twice the argument of tanh, because 1 + tanh(y) = 2 / (1 + exp(-2 y)).
  const V angle = hn::Mul(set(1.5957691f), hn::MulAdd(set(0.044715f), cube, x));
  return hn::Div(x, one_and_exp_of_negative(angle));
}

HWY_INLINE V relu(V x) { return at_least(x, hn::Zero(Floats())); }
HWY_INLINE V relu6(V x) { return at_most(relu(x), set(6.0f)); }
HWY_INLINE V hardsigmoid(V x) { return hn::Mul(relu6(hn::Add(x, set(3.0f))), set(1.0f / 6.0f)); }
// The product comes first, as in PyTorch: it overflows for x above a sixth of the largest float.
HWY_INLINE V hardswish(V x) {
  return hn::Mul(hn::Mul(x, relu6(hn::Add(x, set(3.0f)))), set(1.0f / 6.0f));
}

// to[i] = function(from[i]); `to` may be `from`.
template <class T, class Function>
HWY_INLINE void map_span(const T* from, T* to, int64_t count, const Function& function) {
  int64_t i = 0;
  for (; i + kLanesOf<T> <= count; i += kLanesOf<T>) store(function(load(from + i)), to + i);
  if (i < count) store_first(function(load_first(from + i, count - i)), to + i, count - i);
}

// Not inlined: inlining would repeat some kilobytes of code for each register blocking.
HWY_NOINLINE inline void activate_span(Activation activation, const float* from, float* to,
                                       int64_t count) {
  switch (activation) {
    case Activation::none:
      return map_span(from, to, count, [](V x) HWY_ATTR { return x; });
    case Activation::relu:
      return map_span(from, to, count, [](V x) HWY_ATTR { return relu(x); });
    case Activation::relu6:
      return map_span(from, to, count, [](V x) HWY_ATTR { return relu6(x); });
    case Activation::sigmoid:
      return map_span(from, to, count, [](V x) HWY_ATTR { return sigmoid(x); });
    case Activation::tanh:
      return map_span(from, to, count, [](V x) HWY_ATTR { return tanh(x); });
    case Activation::silu:
      return map_span(from, to, count, [](V x) HWY_ATTR { return silu(x); });
    case Activation::gelu:
      return map_span(from, to, count, [](V x) HWY_ATTR { return gelu(x); });
    case Activation::gelu_tanh:
      return map_span(from, to, count, [](V x) HWY_ATTR { return gelu_tanh(x); });
    case Activation::hardsigmoid:
      return map_span(from, to, count, [](V x) HWY_ATTR { return hardsigmoid(x); });
    case Activation::hardswish:
      return map_span(from, to, count, [](V x) HWY_ATTR { return hardswish(x); });
  }
}

// Applies the activation to results in registers. Long functions go through memory, so that each is
// compiled only once.
template <int kCount>
HWY_INLINE void activate_all(Activation activation, V (&values)[kCount]) {
  const auto apply = [&values](const auto& function) HWY_ATTR {
#pragma GCC unroll 16
    for (int i = 0; i < kCount; ++i) values[i] = function(values[i]);
  };
  switch (activation) {
    case Activation::none:
      return;
    case Activation::relu:
      return apply([](V x) HWY_ATTR { return relu(x); });
    case Activation::relu6:
      return apply([](V x) HWY_ATTR { return relu6(x); });
    case Activation::hardswish:
      return apply([](V x) HWY_ATTR { return hardswish(x); });
    default:
      break;
  }
  HWY_ALIGN float memory[kCount * kLanes];
#pragma GCC unroll 16
  for (int i = 0; i < kCount; ++i) hn::Store(values[i], Floats(), memory + i * kLanes);
  activate_span(activation, memory, memory, kCount * kLanes);
#pragma GCC unroll 16
  for (int i = 0; i < kCount; ++i) values[i] = hn::Load(Floats(), memory + i * kLanes);
}

}  // namespace HWY_NAMESPACE
}  // namespace pt2::kernels
HWY_AFTER_NAMESPACE();

#endif
