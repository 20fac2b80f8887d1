#include "kernels/products/level_products.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/products/level_products.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include "kernels/products/level_elements-inl.h"
#include "kernels/products/product-inl.h"
#include "kernels/products/row_products-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pt2::kernels {
namespace HWY_NAMESPACE {

void pack_level_panels(const LevelWeights& weights, int8_t* packed, ThreadPool* pool) {
  pack_panels(weights, 1, packed, pool);
}

void multiply_level_panels(const Product& product, const int8_t* packed, ThreadPool* pool) {
  multiply_panels<PlainPanels<LevelElements>>(product, packed, pool);
}

void multiply_unpacked_levels(const RowProduct& product, const LevelWeights& weights,
                              ThreadPool* pool) {
  RowProduct whole = with_weights(product, weights);
  whole.factors = weights.factors;
  multiply_by_elements<LevelElements>(whole, weights.right, pool);
}

}  // namespace HWY_NAMESPACE
}  // namespace pt2::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pt2::kernels {
PT2_EXPORT(pack_level_panels);
PT2_EXPORT(multiply_level_panels);
PT2_EXPORT(multiply_unpacked_levels);

int64_t packed_level_size(int64_t depth, int64_t columns) { return packed_size(depth, columns); }

void pack_levels(const LevelWeights& weights, int8_t* packed, ThreadPool* pool) {
  PT2_DISPATCH(pack_level_panels)(weights, packed, pool);
}

void multiply_packed_levels(const Product& product, const LevelWeights& weights,
                            const int8_t* packed, ThreadPool* pool) {
  Product whole = product;
  whole.columns = whole.packed_columns = weights.columns;
  whole.depth = whole.packed_depth = weights.depth;
  whole.factors = weights.factors;
  PT2_DISPATCH(multiply_level_panels)(whole, packed, pool);
}

void multiply_level_rows(const RowProduct& product, const LevelWeights& weights, ThreadPool* pool) {
  PT2_DISPATCH(multiply_unpacked_levels)(product, weights, pool);
}

}  // namespace pt2::kernels
#endif
