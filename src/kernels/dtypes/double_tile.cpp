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
// As many sums as fit in registers beside a row of `right` and a broadcast element.
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

// Plain loops, which compilers vectorize for each target.
template <class Number>
void multiply_wholes(int64_t depth, const Number* left, const Number* right, Number* tile) {
  Number sums[kWholeTileRows * kWholeTileColumns] = {};
  for (int64_t k = 0; k < depth; ++k, left += kWholeTileRows, right += kWholeTileColumns)
    for (int64_t i = 0; i < kWholeTileRows; ++i)
      for (int64_t j = 0; j < kWholeTileColumns; ++j)
        sums[i * kWholeTileColumns + j] += left[i] * right[j];
  std::copy_n(sums, kWholeTileRows * kWholeTileColumns, tile);
}
void multiply_wholes_32(int64_t depth, const uint32_t* left, const uint32_t* right,
                        uint32_t* tile) {
  multiply_wholes(depth, left, right, tile);
}
void multiply_wholes_64(int64_t depth, const uint64_t* left, const uint64_t* right,
                        uint64_t* tile) {
  multiply_wholes(depth, left, right, tile);
}

}  // namespace HWY_NAMESPACE
}  // namespace pt2::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pt2::kernels {
PT2_EXPORT(multiply);
PT2_EXPORT(multiply_wholes_32);
PT2_EXPORT(multiply_wholes_64);

void multiply_double_tile(int64_t depth, const double* left, const double* right, double* tile) {
  PT2_DISPATCH(multiply)(depth, left, right, tile);
}

void multiply_whole_tile(int64_t depth, const uint32_t* left, const uint32_t* right,
                         uint32_t* tile) {
  PT2_DISPATCH(multiply_wholes_32)(depth, left, right, tile);
}
void multiply_whole_tile(int64_t depth, const uint64_t* left, const uint64_t* right,
                         uint64_t* tile) {
  PT2_DISPATCH(multiply_wholes_64)(depth, left, right, tile);
}

}  // namespace pt2::kernels
#endif
