// Functions of tensors element by element that several steps make, computed in float32 in one pass
// over memory: what one step gives to the next lies in a tile of a few hundred floats. Elements of
// other types become floats when they are read, and are made of them when the result is stored.
// Where an operand or the result is float64, all of that is done in double.
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

// What results are rounded to, which stay floats.
enum class Rounding : uint8_t { none, half, bfloat16 };

enum class Ternary : uint8_t {
  choose,        // a where c is not 0, b elsewhere
  interpolate,   // a + c * (b - a) from the nearer end, as c of PyTorch's lerp
  multiply_add,  // a * b + c
};

struct TileInstruction {
  std::variant<Activation, Unary, Binary, Ternary> function;
  TileSource a;
  TileSource b;      // of Binary and Ternary
  TileSource c;      // of Ternary
  double scale = 1;  // of b, in sums alone: a + scale * b, rounded once
  uint8_t to = 0;    // a tile, which may be that of an operand; the last one goes to the result
  Rounding rounding = Rounding::none;
};

// Dimensions from the outermost to the innermost, along which the result's elements lie side by
// side; the first ones have size 1 where there are fewer.
inline constexpr int kTileDims = 5;
using TileSizes = std::array<int64_t, kTileDims>;

// What lies in memory: float32, float16, bfloat16, bool, uint8, int8, int16, int32, int64,
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
  TileSizes strides{};  // in elements, 0 where it is broadcast; the last one is 0 or 1
  TileElement element = TileElement::real;
};

struct TileProgram {
  std::span<const TileInstruction> instructions;  // at least one
  TileSizes sizes{1, 1, 1, 1, 1};
  std::span<const TileOperand> operands;
  void* out = nullptr;  // dense; may be an operand that is dense, too, of the same type
  // Halves are rounded to nearest even, by way of floats. Whole numbers are rounded towards 0; what
  // is beyond 32 bits, or 64 of int64, becomes the smallest one, and smaller ones keep the last
  // bits. A bool is whether it is not 0.
  TileElement out_element = TileElement::real;
};
void run_tiles(const TileProgram& program, ThreadPool* pool = nullptr);

inline constexpr int kMostTileOperands = 8;

}  // namespace pt2::kernels

#endif  // PT2_KERNELS_TILES_H
