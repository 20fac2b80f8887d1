#include "kernels/products/row_products.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/products/row_products.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include "kernels/products/row_products-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pt2::kernels {
namespace HWY_NAMESPACE {

void multiply_unpacked(const RowProduct& product, ThreadPool* pool) {
  multiply_by_elements<FloatElements>(product, product.right, pool);
}

}  // namespace HWY_NAMESPACE
}  // namespace pt2::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pt2::kernels {
PT2_EXPORT(multiply_unpacked);

void multiply_rows(const RowProduct& product, ThreadPool* pool) {
  PT2_DISPATCH(multiply_unpacked)(product, pool);
}

}  // namespace pt2::kernels
#endif
