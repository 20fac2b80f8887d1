// Comparisons, logic and whole numbers, element by element: what conditions, masks and counters are
// made of.
#ifndef PT2_KERNELS_DTYPES_TYPED_H
#define PT2_KERNELS_DTYPES_TYPED_H

#include <array>
#include <cstddef>
#include <cstdint>

namespace pt2::kernels {

enum class TypedFunction : uint8_t {
  // Of whole numbers; what is too large for them wraps around.
  add,
  subtract,
  subtract_from,  // the first from the second
  multiply,
  smaller,
  larger,
  common_bits,
  any_bits,
  different_bits,
  shift_left,   // by the second; bits are lost as if it were done one by one, all by a negative one
  shift_right,  // which repeats the sign
  order,        // -1, 0 or 1 where the first is less, equal or greater
  magnitude,    // of the first operand
  between,      // the first, not below the second and then not above the third
  // Of two numbers or bools; the result is a bool.
  less,
  less_equal,
  greater,
  greater_equal,
  equal,
  not_equal,
  // Of bools and whole numbers, of which 0 is false; the result is a bool.
  both,
  either,
  one_alone,
  negated,  // of the first operand
};
// What operands consist of. A bool is a byte, false if it is 0; the others are int64_t, float,
// int32_t, int16_t, int8_t and uint8_t.
enum class TypedElement : uint8_t { boolean, whole, real, medium, narrow, small, byte };

inline constexpr int kTypedDims = 5;

// Element (i0, .. i4) of an operand lies the sum of i * stride elements from `data`; results lie
// row-major and overlap no operand. Dimensions go from the outermost to the innermost.
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
// False, with nothing written, where the function is none of such elements.
bool run_typed(const TypedLoop& loop);

// Elements of 1, 2, 4 or 8 bytes: those of `a` where the mask, bools, is true, else those of `b`.
struct TypedChoice {
  size_t bytes = 4;
  std::array<int64_t, kTypedDims> sizes{1, 1, 1, 1, 1};
  TypedOperand mask, a, b;
  void* out = nullptr;
};
void run_choice(const TypedChoice& choice);

// Bools and whole numbers as others. What is too large keeps its last bits, 0 is false.
struct TypedConversion {
  TypedElement from = TypedElement::whole, to = TypedElement::whole;
  std::array<int64_t, kTypedDims> sizes{1, 1, 1, 1, 1};
  TypedOperand operand;
  void* out = nullptr;
};
void run_conversion(const TypedConversion& conversion);

}  // namespace pt2::kernels

#endif  // PT2_KERNELS_DTYPES_TYPED_H
