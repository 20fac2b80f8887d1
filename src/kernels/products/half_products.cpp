#include "kernels/products/half_products.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/products/half_products.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include "kernels/dtypes/halves-inl.h"
#include "kernels/products/bfloat16_dot-inl.h"
#include "kernels/products/product-inl.h"
#include "kernels/products/row_products-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pt2::kernels {
namespace HWY_NAMESPACE {

// Widens rows of halves into the tile of floats that plain panels are multiplied with.
template <class Elements>
void fill_widened(const void* source, int64_t first_row, int64_t rows, int64_t first_depth,
                  int64_t depth, float* tile) {
  const auto& product = *static_cast<const HalfProduct*>(source);
  for (int64_t r = 0; r < rows; ++r) {
    const uint16_t* from = product.left + (first_row + r) * product.left_stride + first_depth;
    widen_span<Elements>(from, depth, tile + r * kTilePitch);
  }
}

template <class Packed>
void multiply_half_panels(const HalfProduct& product, const HalfWeights& weights,
                          const uint16_t* packed, LeftRows::Fill fill, ThreadPool* pool) {
  constexpr int64_t kStep = Packed::kDepthStep;
  Product whole;
  whole.rows = product.rows;
  whole.columns = whole.packed_columns = weights.columns;
  whole.depth = weights.depth;
  whole.packed_depth = (weights.depth + kStep - 1) / kStep * kStep;
  whole.left_rows = {.fill = fill, .source = &product, .nonzero = nullptr};
  whole.out = product.out;
  whole.out_stride = product.out_stride;
  whole.epilogue.bias = product.bias;
  multiply_panels<Packed>(whole, packed, pool);
}

void multiply_halves(const HalfProduct& product, const HalfWeights& weights, const uint16_t* packed,
                     ThreadPool* pool) {
#if PT2_BEYOND_AVX3
  if (holds_pairs(weights.type))
    return multiply_half_panels<DotPanels>(product, weights, packed, &fill_pairs, pool);
#endif
  if (weights.type == Rounding::bfloat16)
    multiply_half_panels<PlainPanels<BfloatElements>>(product, weights, packed,
                                                      &fill_widened<BfloatElements>, pool);
  else
    multiply_half_panels<PlainPanels<HalfElements>>(product, weights, packed,
                                                    &fill_widened<HalfElements>, pool);
}

void multiply_unpacked_halves(const RowProduct& given, const HalfWeights& weights,
                              [[maybe_unused]] const HalfRows& rows, ThreadPool* pool) {
  const RowProduct product = with_weights(given, weights);
#if PT2_BEYOND_AVX3
  if (rows.data != nullptr && product.turned && holds_pairs(weights.type))
    return multiply_by_columns(product, pool, [&](auto count, const Columns& columns) {
      dot_rows<count.value>(product, rows, weights.right, columns);
    });
#endif
  if (weights.type == Rounding::bfloat16)
    multiply_by_elements<BfloatElements>(product, weights.right, pool);
  else
    multiply_by_elements<HalfElements>(product, weights.right, pool);
}

void pack_half_panels(const HalfWeights& weights, uint16_t* packed, ThreadPool* pool) {
  pack_panels(weights, holds_pairs(weights.type) ? 2 : 1, packed, pool);
}

}  // namespace HWY_NAMESPACE
}  // namespace pt2::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pt2::kernels {
PT2_EXPORT(pack_half_panels);
PT2_EXPORT(multiply_halves);
PT2_EXPORT(multiply_unpacked_halves);

int64_t packed_half_size(int64_t depth, int64_t columns) {
  return packed_size(depth + depth % 2, columns);
}

void pack_halves(const HalfWeights& weights, uint16_t* packed, ThreadPool* pool) {
  PT2_DISPATCH(pack_half_panels)(weights, packed, pool);
}

void multiply_packed_halves(const HalfProduct& product, const HalfWeights& weights,
                            const uint16_t* packed, ThreadPool* pool) {
  PT2_DISPATCH(multiply_halves)(product, weights, packed, pool);
}

void multiply_half_rows(const RowProduct& product, const HalfWeights& weights, const HalfRows& rows,
                        ThreadPool* pool) {
  PT2_DISPATCH(multiply_unpacked_halves)(product, weights, rows, pool);
}

}  // namespace pt2::kernels
#endif
