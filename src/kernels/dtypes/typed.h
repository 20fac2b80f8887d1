// Comparisons, logic and whole numbers, element by element: what conditions, masks and counters are
// made of.
#ifndef PT2_KERNELS_DTYPES_TYPED_H
#define PT2_KERNELS_DTYPES_TYPED_H

#include <array>
#include <cstddef>
#include <cstdint>

namespace pt2::kernels {

enum class TypedFunction : uint8_t {
  // Of two whole numbers; what is too large for them wraps around.
  add,
  subtract,
  multiply,
  smaller,
  larger,
  common_bits,
  any_bits,
  different_bits,
  // Of two numbers; the result is a bool.
  less,
  less_equal,
  greater,
  greater_equal,
  equal,
  not_equal,
  // Of bools.
  both,
  either,
  one_alone,
  negated,  // of the first operand
};
// What operands consist of. A bool is a byte, false if it is 0; the others are int64_t, float,
// int32_t, int8_t and uint8_t.
enum class TypedElement : uint8_t { boolean, whole, real, medium, small, byte };

inline constexpr int kTypedDims = 5;

// Element (i0, .. i4) of an operand lies the sum of i * stride elements from `data`; results lie
// row-major. Dimensions go from the outermost to the innermost.
struct TypedOperand {
  const void* data = nullptr;
  std::array<int64_t, kTypedDims> strides{};
};
struct TypedLoop {
  TypedFunction function = TypedFunction::equal;
  TypedElement element = TypedElement::real;  // of both operands
  std::array<int64_t, kTypedDims> sizes{1, 1, 1, 1, 1};
  TypedOperand a, b;
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

}  // namespace pt2::kernels

#endif  // PT2_KERNELS_DTYPES_TYPED_H
