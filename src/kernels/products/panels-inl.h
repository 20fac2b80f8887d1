// The panels of a packed right operand: kPanelVectors vectors wide, except a last panel that fits a
// single vector. Included once for each target, as vectors-inl.h is, which it includes.
#if defined(PT2_KERNELS_PRODUCTS_PANELS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PT2_KERNELS_PRODUCTS_PANELS_INL_H
#undef PT2_KERNELS_PRODUCTS_PANELS_INL_H
#else
#define PT2_KERNELS_PRODUCTS_PANELS_INL_H
#endif

#include "kernels/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pt2::kernels {
namespace HWY_NAMESPACE {

constexpr int kPanelVectors = 2;
constexpr int64_t kPanelWidth = kPanelVectors * kLanes;

// Returns the offset of the panel of `column`, a multiple of kPanelWidth.
HWY_INLINE int64_t panel_offset(int64_t depth, int64_t column) { return column * depth; }
HWY_INLINE bool is_narrow_panel(int64_t columns, int64_t column) {
  return columns - column <= kLanes;
}

// Where the sums of some rows of one panel go, and what is applied to them.
struct Results {
  int64_t columns;  // columns of the panel that exist
  float* out;
  int64_t out_stride;
  const float* start;  // added to the sums: null, bias (stride 0), or earlier sums
  int64_t start_stride;
  const float* addend;  // added as well, or null
  int64_t addend_stride;
  Activation activation;
  const float* factors = nullptr;  // multiply the sums, or null; finish_sums ignores them
};

// Branches are outside of the loops: with a small depth, a product spends most of its time here.
template <int kRows, int kVectors>
HWY_INLINE void finish_sums(const Results& results, V (&sums)[kRows][kVectors]) {
  const auto add = [&](const float* from, int64_t stride) HWY_ATTR {
    const bool is_whole = results.columns >= kVectors * kLanes;
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      const int64_t column = v * kLanes;
      if (is_whole) {
#pragma GCC unroll 16
        for (int r = 0; r < kRows; ++r)
          sums[r][v] = hn::Add(sums[r][v], load(from + r * stride + column));
      } else if (column < results.columns) {
#pragma GCC unroll 16
        for (int r = 0; r < kRows; ++r)
          sums[r][v] =
              hn::Add(sums[r][v], load_first(from + r * stride + column, results.columns - column));
      }
    }
  };
  if (results.start != nullptr) add(results.start, results.start_stride);
  if (results.addend != nullptr) add(results.addend, results.addend_stride);
  if (results.activation != Activation::none) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      V column[kRows];
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) column[r] = sums[r][v];
      activate_all(results.activation, column);
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) sums[r][v] = column[r];
    }
  }
#pragma GCC unroll 2
  for (int v = 0; v < kVectors; ++v) {
    const int64_t column = v * kLanes;
    const int64_t count = results.columns - column;
    if (count <= 0) break;
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r)
      store_first(sums[r][v], results.out + r * results.out_stride + column, count);
  }
}

template <int kVectors>
HWY_NOINLINE inline void finish_stored_sums(Results results, const float* sums, int rows) {
  for (int r = 0; r < rows; ++r, sums += kVectors * kLanes) {
    V row[1][kVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      const int64_t columns = results.columns - v * kLanes;
      row[0][v] = hn::Load(Floats(), sums + v * kLanes);
      if (results.factors != nullptr && columns > 0)
        row[0][v] = hn::Mul(row[0][v], load_first(results.factors + v * kLanes, columns));
    }
    finish_sums<1, kVectors>(results, row);
    results.out += results.out_stride;
    if (results.start != nullptr) results.start += results.start_stride;
    if (results.addend != nullptr) results.addend += results.addend_stride;
  }
}

// Calls finish_sums on stored sums, for kinds of tiles with many variants. finish_sums is most of a
// tile's code: this way it is compiled once for all numbers of rows, at the cost of a hundredth of
// the time of a tile of full depth.
template <int kRows, int kVectors>
HWY_INLINE void finish_sums_apart(const Results& results, const V (&sums)[kRows][kVectors]) {
  HWY_ALIGN float memory[kRows * kVectors * kLanes];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v)
      hn::Store(sums[r][v], Floats(), memory + (r * kVectors + v) * kLanes);
  finish_stored_sums<kVectors>(results, memory, kRows);
}

}  // namespace HWY_NAMESPACE
}  // namespace pt2::kernels
HWY_AFTER_NAMESPACE();

#endif
