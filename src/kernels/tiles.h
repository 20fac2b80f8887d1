// Elementwise functions of several consecutive steps, computed in float32 in one pass over memory:
// intermediate results are kept in tiles of a few hundred floats. Elements of other types are
// converted to floats when they are read, and back when the result is stored. If an operand or the
// result is float64, everything is computed in double. A complex operand is two operands: its real
// and its imaginary parts, which are every other number in memory.
#ifndef PT2_KERNELS_TILES_H
#define PT2_KERNELS_TILES_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>

#include "kernels/activation.h"
#include "kernels/pointwise.h"
#include "kernels/threads.h"

namespace pt2::kernels {

struct TileSource {
  enum class From : uint8_t { operand, tile, number } from = From::operand;
  uint8_t index = 0;  // of the operand or tile
  double number = 0;
};

inline constexpr int kMostTiles = 8;

// The type that results are rounded to while they stay floats.
enum class Rounding : uint8_t { none, half, bfloat16 };

enum class Ternary : uint8_t {
  choose,        // a where c is not 0, b elsewhere
  interpolate,   // a + c * (b - a), computed from the nearer end, with c as in PyTorch's lerp
  multiply_add,  // a * b + c
};

struct TileInstruction {
  std::variant<Activation, Unary, Binary, Ternary> function;
  TileSource a;
  TileSource b;      // of Binary and Ternary
  TileSource c;      // of Ternary
  double scale = 1;  // factor of b, in sums only: a + scale * b, rounded once
  uint8_t to = 0;    // result tile, may be an operand's; the last instruction writes `out`
  Rounding rounding = Rounding::none;
};

// Dimensions from the outermost to the innermost. The result's elements are contiguous along the
// innermost. If there are fewer dimensions, the first ones have size 1.
inline constexpr int kTileDims = 5;
using TileSizes = std::array<int64_t, kTileDims>;

// Element types in memory: float32, float16, bfloat16, bool, uint8, int8, int16, int32, int64,
// float64.
enum class TileElement : uint8_t {
  real,
  half,
  bfloat16,
  boolean,
  byte,
  small,
  narrow,
  medium,
  whole,
  twice
};
constexpr int64_t element_bytes(TileElement element) {
  constexpr int64_t kBytes[] = {4, 2, 2, 1, 1, 1, 2, 4, 8, 8};
  return kBytes[static_cast<size_t>(element)];
}
struct TileOperand {
  const void* data = nullptr;
  TileSizes strides{};  // in elements, 0 if broadcast; the last one is 0, 1 or, for parts, 2
  TileElement element = TileElement::real;
};

struct TileProgram {
  std::span<const TileInstruction> instructions;  // at least one
  TileSizes sizes{1, 1, 1, 1, 1};
  std::span<const TileOperand> operands;
  void* out = nullptr;  // dense; may be a dense operand of the same type
  // Halves are rounded to nearest even, by way of floats. Integers are rounded towards 0; numbers
  // outside 32 bits (64 for int64) become the smallest integer, and narrower integers keep its low
  // bits. A bool is true unless the number is 0.
  TileElement out_element = TileElement::real;
  // The last two instructions make the real and the imaginary part of a complex result, `real` or
  // `twice` each.
  bool makes_pairs = false;
};
void run_tiles(const TileProgram& program, ThreadPool* pool = nullptr);

inline constexpr int kMostTileOperands = 8;

}  // namespace pt2::kernels

#endif  // PT2_KERNELS_TILES_H
