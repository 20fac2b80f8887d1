// Elementwise functions of float32. Operands are matrices of rows and columns, which covers equal
// shapes, scalars, and the broadcasting of rows and columns. `out` may be an operand with the same
// strides, and overlaps nothing else.
#ifndef PT2_KERNELS_POINTWISE_H
#define PT2_KERNELS_POINTWISE_H

#include <cstdint>

#include "kernels/activation.h"
#include "kernels/threads.h"

namespace pt2::kernels {

enum class Unary : uint8_t {
  negate,
  absolute,
  square,
  square_root,
  reciprocal_square_root,
  reciprocal,
  exponential,
  exponential_minus_1,
  logarithm,
  logarithm_of_1_plus,
  softplus,  // log(1 + exp(x))
  error_function,
  logarithm_2,
  logarithm_10,
  sine,
  cosine,
  floor,
  ceiling,
  round,  // halves to even
  truncate,
  sign,  // 0 for NaN
  arctangent,
  fraction,  // x - truncate(x)
  exponential_2,
  inverse_error_function,
  // Computed in double even for floats.
  tangent,
  arcsine,
  arccosine,
  hyperbolic_sine,
  hyperbolic_cosine,
  inverse_hyperbolic_sine,
  inverse_hyperbolic_cosine,
  inverse_hyperbolic_tangent,
  error_function_complement,
  // Computed in double, to the precision of floats.
  logarithm_of_gamma,
};
constexpr bool is_of_doubles(Unary function) { return function >= Unary::tangent; }
// Approximate nanoseconds per element beyond those of most functions.
constexpr int64_t extra_nanoseconds(Unary function) {
  return is_of_doubles(function) || function == Unary::inverse_error_function ? 8 : 0;
}

enum class Binary : uint8_t {
  add,
  subtract,
  multiply,
  divide,
  maximum,
  minimum,
  bend,        // a where a is above 0, a * b elsewhere
  gate,        // 0 where b is 0 or less, a elsewhere
  arctangent,  // atan2(a, b)
  remainder,   // a - floor(a / b) * b, exact before it is rounded
  fmod,        // the same with the quotient rounded towards 0
  floor_quotient,
  copy_sign,  // magnitude of a with the sign of b
  or_else,    // b where a is NaN
  // Results are 1 or 0.
  less,
  less_equal,
  greater,
  greater_equal,
  equal,
  not_equal,
  both,  // numbers except 0 are true, also in the next two
  either,
  one_alone,
  // Computed in double even for floats.
  power,
  hypotenuse,
};
constexpr bool is_of_doubles(Binary function) { return function >= Binary::power; }

struct Extent {
  int64_t rows = 1;
  int64_t columns = 0;
};

// Element (r, c) is data[r * row_stride + c * column_stride]; column_stride is 1 or 0.
template <class T>
struct NumberRows {
  const T* data = nullptr;
  int64_t row_stride = 0;
  int64_t column_stride = 1;
};
using Rows = NumberRows<float>;

// Results; the columns of a row are contiguous.
template <class T>
struct NumberRowsOut {
  T* data = nullptr;
  int64_t row_stride = 0;
};
using RowsOut = NumberRowsOut<float>;

void apply(Activation activation, const float* from, float* to, int64_t count,
           ThreadPool* pool = nullptr);
void apply(Unary function, const float* from, float* to, int64_t count, ThreadPool* pool = nullptr);

// Maximum and minimum are NaN if an operand is NaN.
void combine(Binary function, const Extent& extent, const Rows& a, const Rows& b,
             const RowsOut& out, ThreadPool* pool = nullptr);

// out = a + alpha * b, rounded once.
void add_scaled(const Extent& extent, const Rows& a, const Rows& b, float alpha, const RowsOut& out,
                ThreadPool* pool = nullptr);

// out = activation(in * scale + shift), for batch normalization in evaluation and others. Channels
// last, scale and shift have row stride 0; planar, column stride 0.
void scale_shift(const Extent& extent, const Rows& in, const Rows& scale, const Rows& shift,
                 Activation activation, const RowsOut& out, ThreadPool* pool = nullptr);

}  // namespace pt2::kernels

#endif  // PT2_KERNELS_POINTWISE_H
