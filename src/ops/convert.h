// Converts elements to and from the four types in which kernels compute: float, double, int64_t,
// std::complex<double>. std::complex<float> is not one of them: complex64 is computed in double
// precision and rounded once when stored.
#ifndef PT2_OPS_CONVERT_H
#define PT2_OPS_CONVERT_H

#include <complex>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "pt2/dtype.h"

namespace pt2::ops {

using Complex = std::complex<double>;

// Loads `count` elements that are `stride` elements apart (0 repeats one element, a negative stride
// runs backwards). C is one of float, double, int64_t, Complex. uint64 from 2^63 on wraps in
// int64_t.
template <class C>
void load_elements(const std::byte* source, int64_t stride, Dtype dtype, int64_t count, C* out);
// Stores with PyTorch's conversions: floats round to nearest even, integers keep their low bits,
// bool is "not zero", float to integer truncates, complex to real drops the imaginary part.
template <class C>
void store_elements(const C* source, int64_t count, Dtype dtype, int64_t stride, std::byte* out);
// Rounds values in the same way as a store to `dtype` followed by a load.
template <class C>
void round_elements(Dtype dtype, int64_t count, C* values);

// True if the in-memory representation of the dtype is that of C.
template <class C>
constexpr bool is_stored_as(Dtype dtype) {
  return dtype == (std::is_same_v<C, float>     ? Dtype::float32
                   : std::is_same_v<C, double>  ? Dtype::float64
                   : std::is_same_v<C, int64_t> ? Dtype::int64
                                                : Dtype::complex128);
}
// True if the pointer is aligned for T: a file may place a tensor at any address.
template <class T>
bool is_place_of(const std::byte* pointer) {
  return reinterpret_cast<uintptr_t>(pointer) % alignof(T) == 0;
}

constexpr bool is_half(Dtype dtype) { return dtype == Dtype::float16 || dtype == Dtype::bfloat16; }
// Convert contiguous, aligned elements of a half dtype to and from float.
void widen_halves(Dtype dtype, const std::byte* from, int64_t count, float* to);
void narrow_to_halves(Dtype dtype, const float* from, int64_t count, std::byte* to);
float half_to_float(uint16_t bits);
uint16_t float_to_half(float value);
inline float bfloat16_to_float(uint16_t bits) {
  return __builtin_bit_cast(float, static_cast<uint32_t>(bits) << 16);
}
uint16_t float_to_bfloat16(float value);

}  // namespace pt2::ops

#endif  // PT2_OPS_CONVERT_H
