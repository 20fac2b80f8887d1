#include "kernels/dtypes/double_tile.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/dtypes/double_tile.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include <hwy/highway.h>

#include "kernels/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace pt2::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Doubles = hn::CappedTag<double, kDoubleTileColumns>;
constexpr int kDoubleLanes = static_cast<int>(hn::MaxLanes(Doubles()));
constexpr int kDoubleVectors = std::min<int>(2, kDoubleTileColumns / kDoubleLanes);
// As many sums as registers hold beside a row of `right` and a broadcast element.
constexpr int kRows = HWY_TARGET == HWY_AVX3 ? 8 : 4;

void multiply_part(int64_t depth, const double* HWY_RESTRICT left, const double* HWY_RESTRICT right,
                   double* HWY_RESTRICT tile) {
  const Doubles d;
  hn::Vec<Doubles> sums[kRows][kDoubleVectors];
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i)
#pragma GCC unroll 2
    for (int v = 0; v < kDoubleVectors; ++v) sums[i][v] = hn::Zero(d);
  for (int64_t k = 0; k < depth; ++k, left += kDoubleTileRows, right += kDoubleTileColumns) {
    hn::Vec<Doubles> row[kDoubleVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kDoubleVectors; ++v) row[v] = hn::LoadU(d, right + v * kDoubleLanes);
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
      const auto element = hn::Set(d, left[i]);
#pragma GCC unroll 2
      for (int v = 0; v < kDoubleVectors; ++v) sums[i][v] = hn::MulAdd(element, row[v], sums[i][v]);
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i)
#pragma GCC unroll 2
    for (int v = 0; v < kDoubleVectors; ++v)
      hn::StoreU(sums[i][v], d, tile + i * kDoubleTileColumns + v * kDoubleLanes);
}

void multiply(int64_t depth, const double* left, const double* right, double* tile) {
  for (int64_t i = 0; i < kDoubleTileRows; i += kRows)
    for (int64_t j = 0; j < kDoubleTileColumns; j += kDoubleVectors * kDoubleLanes)
      multiply_part(depth, left + i, right + j, tile + i * kDoubleTileColumns + j);
}

}  // namespace HWY_NAMESPACE
}  // namespace pt2::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pt2::kernels {
PT2_EXPORT(multiply);

void multiply_double_tile(int64_t depth, const double* left, const double* right, double* tile) {
  PT2_DISPATCH(multiply)(depth, left, right, tile);
}

}  // namespace pt2::kernels
#endif
