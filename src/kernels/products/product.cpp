#include "kernels/products/product.h"

#include <algorithm>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/products/product.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include "kernels/products/product-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pt2::kernels {
namespace HWY_NAMESPACE {

void multiply(const Product& product, ThreadPool* pool) {
  multiply_panels<PlainPanels<FloatElements>>(product, product.packed, pool);
}

int64_t packed_columns(int64_t columns) { return (columns + kLanes - 1) / kLanes * kLanes; }

// Packs `columns` columns, contiguous along the depth, into a panel of `width` columns.
void pack_turned(const float* from, int64_t column_stride, int64_t columns, int64_t count,
                 int64_t width, float* panel) {
  int64_t n = 0;
  for (; n + 4 <= columns; n += 4) {
    int64_t k = 0;
    for (; k + 4 <= count; k += 4)
      turn_4x4(from + n * column_stride + k, column_stride, panel + k * width + n, width);
    for (; k < count; ++k)
      for (int64_t i = n; i < n + 4; ++i) panel[k * width + i] = from[i * column_stride + k];
  }
  for (; n < columns; ++n)
    for (int64_t k = 0; k < count; ++k) panel[k * width + n] = from[n * column_stride + k];
}

void pack_panel(const float* from, const Packing& packing, int64_t columns, int64_t width,
                float* panel) {
  const int64_t count = packing.count;
  if (columns < width)
    for (int64_t k = 0; k < count; ++k)
      std::fill(panel + k * width + columns, panel + (k + 1) * width, 0.0f);
  if (packing.column_stride == 1) {
    for (int64_t k = 0; k < count; ++k)
      std::memcpy(panel + k * width, from + k * packing.depth_stride,
                  static_cast<size_t>(columns) * sizeof(float));
  } else if (packing.depth_stride == 1) {
    pack_turned(from, packing.column_stride, columns, count, width, panel);
  } else {
    for (int64_t k = 0; k < count; ++k)
      for (int64_t n = 0; n < columns; ++n)
        panel[k * width + n] = from[k * packing.depth_stride + n * packing.column_stride];
  }
}

void pack(const float* right, const Packing& packing, float* packed, ThreadPool* pool) {
  for_each_panel(packing.count, packing.columns, pool, [&](const PanelColumns& part) {
    pack_panel(right + part.first * packing.column_stride, packing, part.count, part.width,
               packed + panel_offset(packing.depth, part.first) + packing.first_depth * part.width);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace pt2::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pt2::kernels {
PT2_EXPORT(packed_columns);
PT2_EXPORT(pack);
PT2_EXPORT(multiply);

int64_t packed_size(int64_t depth, int64_t columns) {
  return PT2_DISPATCH(packed_columns)(columns) * depth;
}

void pack_right(const float* right, const Packing& packing, float* packed, ThreadPool* pool) {
  Packing whole = packing;
  if (whole.count == 0) whole.count = packing.depth;
  PT2_DISPATCH(pack)(right, whole, packed, pool);
}

void multiply_packed(const Product& product, ThreadPool* pool) {
  Product whole = product;
  if (whole.packed_depth == 0) whole.packed_depth = product.depth;
  if (whole.packed_columns == 0) whole.packed_columns = product.columns;
  PT2_DISPATCH(multiply)(whole, pool);
}

}  // namespace pt2::kernels
#endif
