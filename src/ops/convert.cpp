#include "ops/convert.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "kernels/dtypes/halves.h"

namespace pt2::ops {
namespace {

// An 8-bit float format: the width of its mantissa, its exponent bias, and which codes are infinity
// or NaN (c10/util/Float8_*.h).
struct Float8Format {
  int mantissa_bits;
  int bias;
  bool has_infinity;   // e5m2 only
  bool unsigned_zero;  // fnuz: 0x80 is the only NaN and there is no -0
};
constexpr Float8Format kE4m3fn{3, 7, false, false};
constexpr Float8Format kE5m2{2, 15, true, false};
constexpr Float8Format kE4m3fnuz{3, 8, false, true};
constexpr Float8Format kE5m2fnuz{2, 16, false, true};

float float8_to_float(uint8_t code, const Float8Format& format) {
  const int exponent_bits = 7 - format.mantissa_bits;
  const int exponent = (code & 0x7f) >> format.mantissa_bits;
  const int mantissa = code & ((1 << format.mantissa_bits) - 1);
  const float sign = code & 0x80 ? -1.0f : 1.0f;
  const int top = (1 << exponent_bits) - 1;
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  if (format.unsigned_zero) {
    if (code == 0x80) return kNan;
  } else if (format.has_infinity) {
    if (exponent == top) return mantissa ? kNan : sign * std::numeric_limits<float>::infinity();
  } else if ((code & 0x7f) == 0x7f) {
    return kNan;
  }
  if (exponent == 0)
    return sign * std::ldexp(static_cast<float>(mantissa), 1 - format.bias - format.mantissa_bits);
  return sign * std::ldexp(static_cast<float>(mantissa | (1 << format.mantissa_bits)),
                           exponent - format.bias - format.mantissa_bits);
}

uint8_t float8_nan(const Float8Format& format, bool negative) {
  if (format.unsigned_zero) return 0x80;
  return static_cast<uint8_t>(0x7f | (negative ? 0x80 : 0));
}

// Rounds to nearest even. For numbers above the largest one, e5m2 gives infinity, e4m3fn its
// largest number and the other formats NaN, as in c10.
uint8_t float_to_float8(float value, const Float8Format& format) {
  const bool negative = std::signbit(value);
  const auto sign = static_cast<uint8_t>(negative ? 0x80 : 0);
  if (std::isnan(value)) return float8_nan(format, negative);
  const float magnitude = std::fabs(value);
  int exponent = 0;
  if (magnitude > 0 && std::isfinite(magnitude)) exponent = std::ilogb(magnitude);
  const int smallest = 1 - format.bias;
  exponent = std::max(exponent, smallest);
  // The value in units of the last mantissa bit at this exponent; nearbyint rounds half to even.
  float units = std::isfinite(magnitude)
                    ? std::nearbyint(std::ldexp(magnitude, format.mantissa_bits - exponent))
                    : 0;
  if (units >= static_cast<float>(2 << format.mantissa_bits)) {
    units /= 2;
    ++exponent;
  }
  int code = 0;
  if (units >= static_cast<float>(1 << format.mantissa_bits))
    code = ((exponent + format.bias) << format.mantissa_bits) + static_cast<int>(units) -
           (1 << format.mantissa_bits);
  else
    code = static_cast<int>(units);
  const int largest = format.has_infinity ? 0x7b : (format.unsigned_zero ? 0x7f : 0x7e);
  if (!std::isfinite(magnitude) || code > largest) {
    if (format.unsigned_zero) return float8_nan(format, negative);
    return static_cast<uint8_t>((format.has_infinity ? 0x7c : largest) | sign);
  }
  if (code == 0 && format.unsigned_zero) return 0;
  return static_cast<uint8_t>(code | sign);
}

// e8m0: a power of two, without sign and without zero. The code 0xff is NaN.
float e8m0_to_float(uint8_t code) {
  return code == 0xff ? std::numeric_limits<float>::quiet_NaN() : std::ldexp(1.0f, code - 127);
}
uint8_t float_to_e8m0(float value) {
  if (!std::isfinite(value)) return 0xff;
  const auto bits = __builtin_bit_cast(uint32_t, value);
  auto exponent = (bits >> 23) & 0xff;
  // Guard, round and sticky bits of the mantissa, as c10/util/Float8_e8m0fnu.h rounds: the largest
  // floats become NaN.
  const bool guard = bits & 0x400000;
  const bool rest = bits & 0x3fffff;
  if (guard && (rest || exponent > 0)) ++exponent;
  return static_cast<uint8_t>(exponent);
}

template <class To, class From>
To convert(From value) {
  if constexpr (std::is_same_v<To, bool>) {
    return value != From(0);
  } else if constexpr (std::is_same_v<From, Complex>) {
    if constexpr (std::is_same_v<To, Complex>)
      return value;
    else
      return convert<To>(value.real());
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    // Out-of-range conversions are undefined in C++. This code follows x86, which converts to a
    // signed integer of 32 or 64 bits and gives the smallest integer on overflow. Narrower integers
    // keep the low bits of that integer. Unsigned integers subtract half their range first. PyTorch
    // converts to uint8 through int64 (c10/util/TypeCast.h).
    constexpr bool is_wide = sizeof(To) == 8 || std::is_same_v<To, uint8_t>;
    using Signed = std::conditional_t<is_wide, int64_t, int32_t>;
    constexpr auto kHalf = static_cast<From>(is_wide ? 0x1p63 : 0x1p31);
    constexpr auto kSmallest = std::numeric_limits<Signed>::min();
    auto truncate = [](From x) {
      return x > -kHalf - 1 && x < kHalf ? static_cast<Signed>(x) : kSmallest;
    };
    if constexpr (std::is_unsigned_v<To> && sizeof(To) >= 4) {
      if (value >= kHalf) return static_cast<To>(truncate(value - kHalf) ^ kSmallest);
    }
    return static_cast<To>(truncate(value));
  } else {
    return static_cast<To>(value);
  }
}

// The in-memory representation of each dtype, and its conversion to and from a plain C++ number.
template <class T>
struct Plain {
  using Stored = T;
  static T load(T stored) { return stored; }
  template <class C>
  static T store(C value) {
    return convert<T>(value);
  }
};
template <class Code, float (*Load)(Code), Code (*Store)(float)>
struct Coded {
  using Stored = Code;
  static float load(Code stored) { return Load(stored); }
  template <class C>
  static Code store(C value) {
    return Store(convert<float>(value));
  }
};
using Float16 = Coded<uint16_t, half_to_float, float_to_half>;
template <const Float8Format& F>
struct Float8 {
  using Stored = uint8_t;
  static float load(uint8_t stored) { return float8_to_float(stored, F); }
  template <class C>
  static uint8_t store(C value) {
    return float_to_float8(convert<float>(value), F);
  }
};
struct Boolean {
  using Stored = uint8_t;
  // Any non-zero byte counts as true: a file may hold bytes other than 0 and 1.
  static int64_t load(uint8_t stored) { return stored != 0; }
  template <class C>
  static uint8_t store(C value) {
    return convert<bool>(value);
  }
};
template <class Part>
struct ComplexOf {
  struct Stored {
    typename Part::Stored real, imag;
  };
  static Complex load(Stored stored) { return {Part::load(stored.real), Part::load(stored.imag)}; }
  template <class C>
  static Stored store(C value) {
    if constexpr (std::is_same_v<C, Complex>)
      return {Part::store(value.real()), Part::store(value.imag())};
    else
      return {Part::store(value), 0};
  }
};

template <class F>
void with_format(Dtype dtype, F&& function) {
  switch (dtype) {
    case Dtype::uint8:
      return function(Plain<uint8_t>{});
    case Dtype::int8:
      return function(Plain<int8_t>{});
    case Dtype::int16:
      return function(Plain<int16_t>{});
    case Dtype::int32:
      return function(Plain<int32_t>{});
    case Dtype::int64:
      return function(Plain<int64_t>{});
    case Dtype::uint16:
      return function(Plain<uint16_t>{});
    case Dtype::uint32:
      return function(Plain<uint32_t>{});
    case Dtype::uint64:
      return function(Plain<uint64_t>{});
    case Dtype::float16:
      return function(Float16{});
    case Dtype::bfloat16:
      return function(Coded<uint16_t, bfloat16_to_float, float_to_bfloat16>{});
    case Dtype::float32:
      return function(Plain<float>{});
    case Dtype::float64:
      return function(Plain<double>{});
    case Dtype::complex32:
      return function(ComplexOf<Float16>{});
    case Dtype::complex64:
      return function(ComplexOf<Plain<float>>{});
    case Dtype::complex128:
      return function(ComplexOf<Plain<double>>{});
    case Dtype::bool_:
      return function(Boolean{});
    case Dtype::float8_e4m3fn:
      return function(Float8<kE4m3fn>{});
    case Dtype::float8_e5m2:
      return function(Float8<kE5m2>{});
    case Dtype::float8_e4m3fnuz:
      return function(Float8<kE4m3fnuz>{});
    case Dtype::float8_e5m2fnuz:
      return function(Float8<kE5m2fnuz>{});
    case Dtype::float8_e8m0fnu:
      return function(Coded<uint8_t, e8m0_to_float, float_to_e8m0>{});
  }
}

}  // namespace

float half_to_float(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1f;
  const uint32_t mantissa = bits & 0x3ff;
  if (exponent == 0x1f) return __builtin_bit_cast(float, sign | 0x7f800000 | (mantissa << 13));
  if (exponent == 0) {
    const float value = static_cast<float>(mantissa) * 0x1p-24f;
    return sign ? -value : value;
  }
  return __builtin_bit_cast(float, sign | ((exponent + 112) << 23) | (mantissa << 13));
}

uint16_t float_to_half(float value) {
  const auto bits = __builtin_bit_cast(uint32_t, value);
  const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000);
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return static_cast<uint16_t>(sign | 0x7e00);
  // 65520 is the smallest number that rounds to infinity.
  if (magnitude >= 0x477ff000) return static_cast<uint16_t>(sign | 0x7c00);
  if (magnitude < 0x38800000) {
    // The result is subnormal: round to a multiple of 2^-24, half to even.
    const float units = std::nearbyint(__builtin_bit_cast(float, magnitude) * 0x1p24f);
    return static_cast<uint16_t>(sign | static_cast<uint16_t>(units));
  }
  const uint32_t rounded = magnitude + 0xfff + ((magnitude >> 13) & 1);
  return static_cast<uint16_t>(sign | ((rounded - 0x38000000) >> 13));
}

uint16_t float_to_bfloat16(float value) {
  const auto bits = __builtin_bit_cast(uint32_t, value);
  if (std::isnan(value)) return 0x7fc0;
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

void widen_halves(Dtype dtype, const std::byte* from, int64_t count, float* to) {
  const auto* halves = reinterpret_cast<const uint16_t*>(from);
  if (dtype == Dtype::float16)
    kernels::half_to_float(halves, count, to);
  else
    kernels::bfloat16_to_float(halves, count, to);
}
void narrow_to_halves(Dtype dtype, const float* from, int64_t count, std::byte* to) {
  auto* halves = reinterpret_cast<uint16_t*>(to);
  if (dtype == Dtype::float16)
    kernels::float_to_half(from, count, halves);
  else
    kernels::float_to_bfloat16(from, count, halves);
}

namespace {

// Elements `step` bytes apart. For contiguous elements the caller passes a constant, so the
// compiler knows the step.
template <class Format, class C>
void load_stepping(const std::byte* source, int64_t step, int64_t count, C* out) {
  for (int64_t i = 0; i < count; ++i) {
    typename Format::Stored stored;
    std::memcpy(&stored, source + i * step, sizeof stored);
    out[i] = convert<C>(Format::load(stored));
  }
}
template <class Format, class C>
void store_stepping(const C* source, int64_t step, int64_t count, std::byte* out) {
  for (int64_t i = 0; i < count; ++i) {
    const typename Format::Stored stored = Format::store(source[i]);
    std::memcpy(out + i * step, &stored, sizeof stored);
  }
}

}  // namespace

template <class C>
void load_elements(const std::byte* source, int64_t stride, Dtype dtype, int64_t count, C* out) {
  if (stride == 1 && is_stored_as<C>(dtype) && count > 0) {
    std::memmove(out, source, static_cast<size_t>(count) * sizeof(C));
    return;
  }
  if constexpr (std::is_same_v<C, float>)
    if (stride == 1 && is_half(dtype) && is_place_of<uint16_t>(source))
      return widen_halves(dtype, source, count, out);
  with_format(dtype, [&]<class Format>(Format) {
    constexpr auto kSize = static_cast<int64_t>(sizeof(typename Format::Stored));
    stride == 1 ? load_stepping<Format>(source, kSize, count, out)
                : load_stepping<Format>(source, stride * kSize, count, out);
  });
}

template <class C>
void store_elements(const C* source, int64_t count, Dtype dtype, int64_t stride, std::byte* out) {
  if (stride == 1 && is_stored_as<C>(dtype) && count > 0) {
    std::memmove(out, source, static_cast<size_t>(count) * sizeof(C));
    return;
  }
  if constexpr (std::is_same_v<C, float>)
    if (stride == 1 && is_half(dtype) && is_place_of<uint16_t>(out))
      return narrow_to_halves(dtype, source, count, out);
  with_format(dtype, [&]<class Format>(Format) {
    constexpr auto kSize = static_cast<int64_t>(sizeof(typename Format::Stored));
    stride == 1 ? store_stepping<Format>(source, kSize, count, out)
                : store_stepping<Format>(source, stride * kSize, count, out);
  });
}

template <class C>
void round_elements(Dtype dtype, int64_t count, C* values) {
  with_format(dtype, [&]<class Format>(Format) {
    for (int64_t i = 0; i < count; ++i)
      values[i] = convert<C>(Format::load(Format::store(values[i])));
  });
}

#define PT2_INSTANTIATE(C)                                                        \
  template void load_elements<C>(const std::byte*, int64_t, Dtype, int64_t, C*);  \
  template void store_elements<C>(const C*, int64_t, Dtype, int64_t, std::byte*); \
  template void round_elements<C>(Dtype, int64_t, C*);
PT2_INSTANTIATE(float)
PT2_INSTANTIATE(double)
PT2_INSTANTIATE(int64_t)
PT2_INSTANTIATE(Complex)
#undef PT2_INSTANTIATE

}  // namespace pt2::ops
