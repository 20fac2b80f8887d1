// Elementwise comparisons, logic and integer arithmetic, for conditions, masks and counters, and
// sums, differences and products of complex numbers.
#ifndef PT2_KERNELS_DTYPES_TYPED_H
#define PT2_KERNELS_DTYPES_TYPED_H

#include <array>
#include <cstddef>
#include <cstdint>

namespace pt2::kernels {

enum class TypedFunction : uint8_t {
  // Functions of integers and complex numbers.
  add,
  subtract,
  multiply,
  // Functions of integers; overflow wraps around.
  subtract_from,  // second operand minus first
  smaller,
  larger,
  common_bits,
  any_bits,
  different_bits,
  shift_left,   // by the second operand; 0 if the count is negative or at least the width
  shift_right,  // arithmetic, by the second operand; such counts leave only the sign
  order,        // -1, 0 or 1 where the first is less, equal or greater
  magnitude,    // of the first operand
  between,      // first operand, at least the second and then at most the third
  // Functions of two numbers or bools; the result is bool.
  less,
  less_equal,
  greater,
  greater_equal,
  equal,
  not_equal,
  // Functions of bools and integers, 0 being false; the result is bool.
  both,
  either,
  one_alone,
  negated,  // of the first operand
};
// Element types. A bool is a byte that is false if 0; the others are int64_t, float, int32_t,
// int16_t, int8_t, uint8_t, and complex numbers of float and of double.
enum class TypedElement : uint8_t {
  boolean,
  whole,
  real,
  medium,
  narrow,
  small,
  byte,
  pair,
  wide_pair
};

inline constexpr int kTypedDims = 5;

// Element (i0, .. i4) of an operand is data[sum of i * stride]. Results are row-major and overlap
// no operand. Dimensions are ordered from the outermost to the innermost.
struct TypedOperand {
  const void* data = nullptr;
  std::array<int64_t, kTypedDims> strides{};
};
struct TypedLoop {
  TypedFunction function = TypedFunction::equal;
  TypedElement element = TypedElement::real;  // of all operands
  std::array<int64_t, kTypedDims> sizes{1, 1, 1, 1, 1};
  TypedOperand a, b, c;
  void* out = nullptr;
};
// False, with nothing written, if the function is not defined for the element type.
bool run_typed(const TypedLoop& loop);

// Chooses elements of 1, 2, 4 or 8 bytes: from `a` where the mask (bools) is true, else from `b`.
struct TypedChoice {
  size_t bytes = 4;
  std::array<int64_t, kTypedDims> sizes{1, 1, 1, 1, 1};
  TypedOperand mask, a, b;
  void* out = nullptr;
};
void run_choice(const TypedChoice& choice);

// Converts bools and integers. Integers that are too large keep their low bits; as a bool, 0 is
// false and every other number true.
struct TypedConversion {
  TypedElement from = TypedElement::whole, to = TypedElement::whole;
  std::array<int64_t, kTypedDims> sizes{1, 1, 1, 1, 1};
  TypedOperand operand;
  void* out = nullptr;
};
void run_conversion(const TypedConversion& conversion);

}  // namespace pt2::kernels

#endif  // PT2_KERNELS_DTYPES_TYPED_H
