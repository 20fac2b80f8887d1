#include "kernels/products/quantized_products.h"

#include <algorithm>
#include <cstring>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/products/quantized_products.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include "kernels/products/level_elements-inl.h"
#include "kernels/products/product-inl.h"
#include "kernels/products/quad_dot-inl.h"

// True if ReorderWidenMulAccumulate adds adjacent products, as pmaddwd does.
#undef PT2_PAIR_DOT
#define PT2_PAIR_DOT (HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128)

HWY_BEFORE_NAMESPACE();
namespace pt2::kernels {
namespace HWY_NAMESPACE {

// Number of consecutive levels along the depth that share a slot of a tile, the size of one float.
inline int64_t levels_of_slot() { return has_quad_dot() ? 4 : PT2_PAIR_DOT ? 2 : 1; }

#if PT2_PAIR_DOT
// Finishes sums in registers if no earlier sums are added and the activation only clamps. With a
// short depth, as in networks for small devices, this step dominates the product's time. The code
// is long, so it is compiled only for dot_quads and AVX2; few processors run the other variants.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
template <int kRows, int kVectors>
HWY_INLINE void finish_bounded(const Results& results, const Sums (&sums)[kRows][kVectors],
                               const hn::Vec<Ints> (&shifts)[kVectors]) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const V low = set(results.activation == Activation::none ? -kInfinity : 0.0f),
          high = set(results.activation == Activation::relu6 ? 6.0f : kInfinity);
#pragma GCC unroll 2
  for (int v = 0; v < kVectors; ++v) {
    const int64_t count = std::min(kLanes, results.columns - v * kLanes);
    if (count <= 0) break;
    const auto present = hn::FirstN(Floats(), static_cast<size_t>(count));
    const auto take = [&](const float* from)
                          HWY_ATTR { return hn::MaskedLoad(present, Floats(), from + v * kLanes); };
    const V factors = take(results.factors),
            bias = results.start == nullptr ? hn::Zero(Floats()) : take(results.start);
    V out[kRows];
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r)
      out[r] = hn::MulAdd(hn::ConvertTo(Floats(), hn::Sub(integers_of(sums[r][v]), shifts[v])),
                          factors, bias);
    if (results.addend != nullptr)
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r)
        out[r] = hn::Add(out[r], take(results.addend + r * results.addend_stride));
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const V bounded = at_most(at_least(out[r], low), high);
      float* to = results.out + r * results.out_stride + v * kLanes;
      // Masked stores may be slow on processors without AVX-512.
      if (HWY_TARGET == HWY_AVX3)
        hn::BlendedStore(bounded, present, Floats(), to);
      else
        store_first(bounded, to, count);
    }
  }
}
#endif

template <bool kMayStay, int kRows, int kVectors>
HWY_INLINE void finish_integers(const Results& results, const Sums (&sums)[kRows][kVectors],
                                const hn::Vec<Ints> (&shifts)[kVectors]) {
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
  if constexpr (kMayStay) {
    const bool is_whole = results.start == nullptr || results.start_stride == 0;
    if (is_whole && results.activation <= Activation::relu6)
      return finish_bounded<kRows, kVectors>(results, sums, shifts);
  }
#endif
  V finished[kRows][kVectors];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v)
      finished[r][v] = hn::ConvertTo(Floats(), hn::Sub(integers_of(sums[r][v]), shifts[v]));
  finish_sums_apart<kRows, kVectors>(results, finished);
}
#endif

#if PT2_BEYOND_AVX3
void fill_quads(const void* source, int64_t first_row, int64_t rows, int64_t first_depth,
                int64_t depth, float* tile) {
  constexpr int64_t kPitch = kTilePitch * 4;
  auto* to = reinterpret_cast<uint8_t*>(tile);
  const auto& product = *static_cast<const QuantizedProduct*>(source);
  product.left.copy(product.left.source, product.first_row + first_row, rows, first_depth, depth,
                    to, kPitch);
  const int64_t padding = (4 - depth % 4) % 4;
  for (int64_t r = 0; r < rows; ++r, to += kPitch) {
    // The instruction takes uint8, so int8 levels are shifted by 128.
    if (product.is_signed)
      for (int64_t k = 0; k < depth; ++k) to[k] ^= 0x80;
    // The weights are 0 in the padding.
    std::fill_n(to + depth, padding, uint8_t{0});
  }
}

#pragma GCC push_options
#pragma GCC target("avx512vnni")
template <int kRows, int kVectors>
void dot_quads(const Tile<int8_t>& tile) {
  Sums sums[kRows][kVectors];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) sums[r][v] = no_sums();
  const float* HWY_RESTRICT left = tile.left;
  const int8_t* HWY_RESTRICT right = tile.right;
  const int64_t quads = (tile.depth + 3) / 4;
  const char* ahead = tile.ahead;
  for (int64_t k = 0; k < quads; ++k, ++left, right += kVectors * 64) {
    __builtin_prefetch(ahead, 0, 2);
    ahead += tile.ahead_step;
    __m512i row[kVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) row[v] = _mm512_loadu_si512(right + v * 64);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const __m512i quad = _mm512_castps_si512(_mm512_set1_ps(left[r * kTilePitch]));
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) sums[r][v] = add_quads(sums[r][v], quad, row[v]);
    }
  }
  hn::Vec<Ints> shifts[kVectors];
#pragma GCC unroll 2
  for (int v = 0; v < kVectors; ++v) {
    const int64_t count = tile.results.columns - v * kLanes;
    shifts[v] = hn::Zero(Ints());
    if (count > 0)
      shifts[v] = hn::MaskedLoad(hn::FirstN(Ints(), static_cast<size_t>(count)), Ints(),
                                 tile.shifts + v * kLanes);
  }
  finish_integers<true, kRows, kVectors>(tile.results, sums, shifts);
}
#pragma GCC pop_options

struct QuadKind {
  using Element = int8_t;
  static constexpr int64_t kDepthStep = 4;
  static constexpr int64_t kDepthBlock = 4 * kTileDepth;
  template <int kRows, int kVectors>
  static void multiply(const Tile<Element>& tile) {
    dot_quads<kRows, kVectors>(tile);
  }
};
using QuadPanels = Panels<QuadKind>;
#endif

// Writes levels minus the zero point, widened to `Element`, into the slots of a tile.
template <class Element>
void fill_shifted(const void* source, int64_t first_row, int64_t rows, int64_t first_depth,
                  int64_t depth, float* tile) {
  constexpr int64_t kSlot = sizeof(float) / sizeof(Element);
  constexpr int64_t kPitch = kTileDepth * kSlot;
  const auto& product = *static_cast<const QuantizedProduct*>(source);
  uint8_t levels[kTileRows * kPitch];
  product.left.copy(product.left.source, product.first_row + first_row, rows, first_depth, depth,
                    levels, kPitch);
  const auto zero = static_cast<int16_t>(product.zero);
  for (int64_t r = 0; r < rows; ++r) {
    const uint8_t* from = levels + r * kPitch;
    Element wide[kPitch];
    const auto shift = [&](auto level, int64_t k) {
      wide[k] = static_cast<Element>(static_cast<int16_t>(level - zero));
    };
    if (product.is_signed)
      for (int64_t k = 0; k < depth; ++k) shift(static_cast<int8_t>(from[k]), k);
    else
      for (int64_t k = 0; k < depth; ++k) shift(from[k], k);
    // The weights are 0 in the padding.
    std::fill_n(wide + depth, (kSlot - depth % kSlot) % kSlot, Element{0});
    const int64_t slots = (depth + kSlot - 1) / kSlot;
    std::memcpy(tile + r * kTilePitch, wide, static_cast<size_t>(slots) * sizeof(float));
  }
}

#if PT2_PAIR_DOT
template <int kRows, int kVectors>
void dot_pairs(const Tile<int8_t>& tile) {
  using Shorts = hn::Repartition<int16_t, Floats>;
  Sums sums[kRows][kVectors];
  hn::Vec<Ints> unused = hn::Zero(Ints());
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) sums[r][v] = no_sums();
  const float* HWY_RESTRICT left = tile.left;
  const int8_t* HWY_RESTRICT right = tile.right;
  const int64_t pairs = (tile.depth + 1) / 2;
  const char* ahead = tile.ahead;
  for (int64_t k = 0; k < pairs; ++k, ++left, right += kVectors * kLanes * 2) {
    __builtin_prefetch(ahead, 0, 2);
    ahead += tile.ahead_step;
    hn::Vec<Shorts> row[kVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v)
      row[v] =
          hn::PromoteTo(Shorts(), hn::LoadU(hn::Rebind<int8_t, Shorts>(), right + v * kLanes * 2));
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const auto pair = hn::BitCast(Shorts(), set(left[r * kTilePitch]));
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v)
        sums[r][v] = sums_of(
            hn::ReorderWidenMulAccumulate(Ints(), pair, row[v], integers_of(sums[r][v]), unused));
    }
  }
  hn::Vec<Ints> none[kVectors];
  for (auto& shift : none) shift = hn::Zero(Ints());
  finish_integers<HWY_TARGET == HWY_AVX2, kRows, kVectors>(tile.results, sums, none);
}

struct PairKind {
  using Element = int8_t;
  static constexpr int64_t kDepthStep = 2;
  static constexpr int64_t kDepthBlock = 2 * kTileDepth;
  template <int kRows, int kVectors>
  static void multiply(const Tile<Element>& tile) {
    dot_pairs<kRows, kVectors>(tile);
  }
};
using PairPanels = Panels<PairKind>;
#endif

void pack_quantized_panels(const LevelWeights& weights, int8_t* packed, ThreadPool* pool) {
  pack_panels(weights, levels_of_slot(), packed, pool);
}

#if PT2_BEYOND_AVX3
// The sum of (level - zero) * weight is the sum of level * weight minus `zero` times the sum of the
// weights. `sums` holds the sums of the weights.
void find_shifts(int64_t zero, int64_t count, const int8_t* sums, int32_t* shifts) {
  for (int64_t i = 0; i < count; ++i) {
    int32_t sum = 0;
    std::memcpy(&sum, sums + i * static_cast<int64_t>(sizeof sum), sizeof sum);
    shifts[i] = static_cast<int32_t>(zero) * sum;
  }
}
#endif

// Writes the sum of the weights of each column in each block of depth; `sums` lies behind the
// panels.
void sum_levels([[maybe_unused]] const LevelWeights& weights, [[maybe_unused]] int8_t* sums) {
#if PT2_BEYOND_AVX3
  if (levels_of_slot() != 4) return;
  for (int64_t d = 0; d < depth_blocks<QuadPanels>(weights.depth); ++d) {
    const DepthBlock block = depth_block<QuadPanels>(weights.depth, d);
    for (int64_t n = 0; n < weights.columns; ++n) {
      const int8_t* column =
          weights.right + n * weights.column_stride + block.first * weights.depth_stride;
      int32_t sum = 0;
      for (int64_t k = 0; k < block.count; ++k) sum += column[k * weights.depth_stride];
      std::memcpy(sums, &sum, sizeof sum);
      sums += sizeof sum;
    }
  }
#endif
}

void multiply_quantized_panels(const QuantizedProduct& product, Product whole, const int8_t* packed,
                               [[maybe_unused]] const int8_t* sums,
                               [[maybe_unused]] int32_t* shifts, ThreadPool* pool) {
  const int64_t step = levels_of_slot();
  whole.packed_depth = (whole.depth + step - 1) / step * step;
  whole.left_rows.source = &product;
#if PT2_BEYOND_AVX3
  if (step == 4) {
    find_shifts(product.zero + (product.is_signed ? 128 : 0),
                depth_blocks<QuadPanels>(whole.depth) * whole.columns, sums, shifts);
    whole.shifts = shifts;
    whole.left_rows.fill = &fill_quads;
    return multiply_panels<QuadPanels>(whole, packed, pool);
  }
#endif
#if PT2_PAIR_DOT
  whole.left_rows.fill = &fill_shifted<int16_t>;
  multiply_panels<PairPanels>(whole, packed, pool);
#else
  whole.left_rows.fill = &fill_shifted<float>;
  multiply_panels<PlainPanels<LevelElements> >(whole, packed, pool);
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace pt2::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pt2::kernels {
PT2_EXPORT(pack_quantized_panels);
PT2_EXPORT(sum_levels);
PT2_EXPORT(multiply_quantized_panels);

namespace {

void copy_matrix(const void* source, int64_t first_row, int64_t rows, int64_t first_depth,
                 int64_t depth, uint8_t* to, int64_t pitch) {
  const auto& matrix = *static_cast<const LevelMatrix*>(source);
  for (int64_t r = 0; r < rows; ++r)
    std::memcpy(to + r * pitch, matrix.data + (first_row + r) * matrix.stride + first_depth,
                static_cast<size_t>(depth));
}

// Size of the panels for any target, and number of column sums for any blocking of the depth.
int64_t panels_size(int64_t depth, int64_t columns) {
  return packed_size((depth + 3) / 4 * 4, columns);
}
int64_t sum_count(int64_t depth, int64_t columns) { return (depth / kTileDepth + 1) * columns; }

// Parts of rows that are requantized at a time: small enough to stay in the L2 cache beside the
// weights, and several tiles large.
struct Parts {
  int64_t rows, count;
  Parts(int64_t all_rows, int64_t columns) {
    constexpr int64_t kFloats = int64_t{1} << 15, kLeast = 28;
    rows = std::min(all_rows, std::max(kLeast, kFloats / std::max<int64_t>(columns, 1)));
    count = rows == 0 ? 0 : (all_rows + rows - 1) / rows;
  }
};

}  // namespace

LevelRows LevelMatrix::rows() const { return {&copy_matrix, this}; }

int64_t packed_quantized_size(int64_t depth, int64_t columns) {
  return panels_size(depth, columns) +
         sum_count(depth, columns) * static_cast<int64_t>(sizeof(int32_t));
}

int64_t quantized_scratch_size(int64_t rows, int64_t depth, int64_t columns, int threads) {
  const int64_t shifts = sum_count(depth, columns);
  if (threads == 0) return columns + shifts;
  const Parts parts(rows, columns);
  return columns + room_count(parts.count, threads) * (shifts + parts.rows * columns);
}

void pack_quantized(const LevelWeights& weights, int8_t* packed, ThreadPool* pool) {
  PT2_DISPATCH(pack_quantized_panels)(weights, packed, pool);
  PT2_DISPATCH(sum_levels)(weights, packed + panels_size(weights.depth, weights.columns));
}

void multiply_quantized(const QuantizedProduct& product, const LevelWeights& weights,
                        const int8_t* packed, ThreadPool* pool) {
  const int64_t columns = weights.columns;
  float* const factors = product.scratch;
  for (int64_t n = 0; n < columns; ++n) factors[n] = weights.factors[n] * product.scale;
  static_assert(sizeof(int32_t) == sizeof(float));
  const auto multiply = [&](const QuantizedProduct& part, float* shifts, ThreadPool* threads) {
    Product whole;
    whole.rows = part.rows;
    whole.columns = whole.packed_columns = columns;
    whole.depth = weights.depth;
    whole.out = part.out;
    whole.out_stride = part.out_stride;
    whole.epilogue = part.epilogue;
    whole.factors = factors;
    PT2_DISPATCH(multiply_quantized_panels)
    (part, whole, packed, packed + panels_size(weights.depth, columns),
     reinterpret_cast<int32_t*>(shifts), threads);
  };
  float* const room = factors + columns;
  if (product.requantization == nullptr) return multiply(product, room, pool);

  const Parts parts(product.rows, columns);
  const int64_t shifts = sum_count(weights.depth, columns);
  run_parts(pool, parts.count, [&](int64_t index, int64_t place, ThreadPool* threads) {
    float* const own = room + place * (shifts + parts.rows * columns);
    const int64_t first = index * parts.rows;
    QuantizedProduct part = product;
    part.first_row += first;
    part.rows = std::min(parts.rows, product.rows - first);
    part.out = own + shifts;
    part.out_stride = columns;
    if (part.epilogue.addend != nullptr)
      part.epilogue.addend += first * part.epilogue.addend_stride;
    multiply(part, own, threads);
    uint8_t* levels = product.out_levels + first * product.out_stride;
    if (product.out_stride == columns)
      return requantize(*product.requantization, part.out, part.rows * columns, levels, threads);
    for (int64_t r = 0; r < part.rows; ++r, levels += product.out_stride)
      requantize(*product.requantization, part.out + r * columns, columns, levels);
  });
}

}  // namespace pt2::kernels
#endif
