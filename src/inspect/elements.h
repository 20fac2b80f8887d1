// The elements of tensors as doubles, for statistics; integers beyond 2^53 are rounded.
#ifndef PT2_INSPECT_ELEMENTS_H
#define PT2_INSPECT_ELEMENTS_H

#include <bit>
#include <cmath>
#include <cstring>

#include "pt2/tensor.h"

namespace pt2 {

// IEEE 754 half precision.
inline double half_value(uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const double mantissa = bits & 1023;
  const double sign = bits & 0x8000 ? -1 : 1;
  if (exponent == 31) return mantissa == 0 ? sign * HUGE_VAL : std::nan("");
  if (exponent == 0) return sign * std::ldexp(mantissa, -24);
  return sign * std::ldexp(mantissa + 1024, exponent - 25);
}

// Calls `visit(index, value)` for each element of a contiguous tensor; false, and no call, for
// dtypes that are no real numbers or have less than a byte of meaning (float8).
template <class Visit>
bool for_each_element(const Tensor& tensor, Visit&& visit) {
  const std::byte* data = tensor.raw_data();
  const auto read = [&]<class T>(auto&& convert, T) {
    for (int64_t i = 0; i < tensor.numel(); ++i) {
      T value;
      std::memcpy(&value, data + static_cast<size_t>(i) * sizeof(T), sizeof(T));
      visit(i, static_cast<double>(convert(value)));
    }
    return true;
  };
  const auto same = [](auto value) { return value; };
  switch (tensor.dtype()) {
    case Dtype::float32:
      return read(same, float{});
    case Dtype::float64:
      return read(same, double{});
    case Dtype::float16:
      return read(half_value, uint16_t{});
    case Dtype::bfloat16:
      return read([](uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); },
                  uint16_t{});
    case Dtype::int8:
      return read(same, int8_t{});
    case Dtype::int16:
      return read(same, int16_t{});
    case Dtype::int32:
      return read(same, int32_t{});
    case Dtype::int64:
      return read(same, int64_t{});
    case Dtype::uint8:
    case Dtype::bool_:
      return read(same, uint8_t{});
    case Dtype::uint16:
      return read(same, uint16_t{});
    case Dtype::uint32:
      return read(same, uint32_t{});
    case Dtype::uint64:
      return read(same, uint64_t{});
    default:
      return false;
  }
}

}  // namespace pt2

#endif  // PT2_INSPECT_ELEMENTS_H
