#include "kernels/lines.h"

#include <algorithm>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/lines.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include "kernels/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pt2::kernels {
namespace HWY_NAMESPACE {

// Vectors of results that stay in registers while all lines are added.
constexpr int kBlockVectors = 8;
constexpr int64_t kLineBlock = kBlockVectors * kLanes;

template <bool kWeighted>
void add_up(const Lines& sum, float* out) {
  int64_t i = 0;
  for (; i + kLineBlock <= sum.length; i += kLineBlock) {
    V sums[kBlockVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kBlockVectors; ++v) sums[v] = hn::Zero(Floats());
    for (int64_t k = 0; k < sum.lines_count; ++k) {
      const float* line = sum.lines[k] + i;
      const V weight = set(kWeighted ? sum.weights[k] : 1.0f);
#pragma GCC unroll 8
      for (int v = 0; v < kBlockVectors; ++v) {
        const V value = load(line + v * kLanes);
        sums[v] = kWeighted ? hn::MulAdd(weight, value, sums[v]) : hn::Add(sums[v], value);
      }
    }
#pragma GCC unroll 8
    for (int v = 0; v < kBlockVectors; ++v) store(sums[v], out + i + v * kLanes);
  }
  for (; i < sum.length; i += kLanes) {
    const int64_t lanes = std::min(kLanes, sum.length - i);
    V total = hn::Zero(Floats());
    for (int64_t k = 0; k < sum.lines_count; ++k) {
      const V value = load_first(sum.lines[k] + i, lanes);
      total = kWeighted ? hn::MulAdd(set(sum.weights[k]), value, total) : hn::Add(total, value);
    }
    store_first(total, out + i, lanes);
  }
}

void add_lines(const Lines& sum, float* out) {
  sum.weights == nullptr ? add_up<false>(sum, out) : add_up<true>(sum, out);
}

// Loads the first `count` offsets, as load_first loads floats; the other lanes are negative.
HWY_INLINE hn::Vec<Ints> load_offsets(const int32_t* from, int64_t count) {
  const Ints d;
  if (count >= kLanes) return hn::LoadU(d, from);
  HWY_ALIGN int32_t lanes[kLanes];
  for (int64_t i = 0; i < kLanes; ++i) lanes[i] = i < count ? from[i] : -1;
  return hn::Load(d, lanes);
}

void add_taps(const Taps& taps, const float* plane, int64_t count, float* out) {
  const Ints ints;
  for (int64_t i = 0; i < count; i += kLanes) {
    const int64_t lanes = std::min(kLanes, count - i);
    V sum = hn::Zero(Floats());
    for (int64_t k = 0; k < taps.taps; ++k) {
      const int64_t place = k * taps.pitch + i;
      const auto offset = load_offsets(taps.offsets + place, lanes);
      const V value = hn::GatherIndex(Floats(), plane, hn::Max(offset, hn::Zero(ints)));
      const auto outside = hn::RebindMask(Floats(), hn::Lt(offset, hn::Zero(ints)));
      sum = hn::MulAdd(load_first(taps.weights + place, lanes), hn::IfThenZeroElse(outside, value),
                       sum);
    }
    store_first(sum, out + i, lanes);
  }
}

// Adds the columns in kVectors vectors to their totals; the last vector has `lanes` columns.
template <int kVectors>
void add_columns(const RowShape& shape, const float* in, int64_t lanes, double* totals) {
  constexpr int64_t kRows = 32;
  HWY_ALIGN float part[kVectors * kLanes];
  const int64_t count = (kVectors - 1) * kLanes + lanes;
  for (int64_t first = 0; first < shape.rows; first += kRows) {
    V sums[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) sums[v] = hn::Zero(Floats());
    for (int64_t r = first; r < std::min(shape.rows, first + kRows); ++r) {
      const float* row = in + r * shape.in_stride;
#pragma GCC unroll 8
      for (int v = 0; v + 1 < kVectors; ++v) sums[v] = hn::Add(sums[v], load(row + v * kLanes));
      sums[kVectors - 1] =
          hn::Add(sums[kVectors - 1], load_first(row + (kVectors - 1) * kLanes, lanes));
    }
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) store(sums[v], part + v * kLanes);
    for (int64_t i = 0; i < count; ++i) totals[i] += static_cast<double>(part[i]);
  }
}

// Writes the columns' sums times `scale`; otherwise as add_columns.
template <int kVectors>
void sum_columns(const RowShape& shape, const float* in, int64_t lanes, double scale, float* out) {
  double totals[kVectors * kLanes] = {};
  add_columns<kVectors>(shape, in, lanes, totals);
  const int64_t count = (kVectors - 1) * kLanes + lanes;
  for (int64_t i = 0; i < count; ++i)
    out[i * shape.out_stride] = static_cast<float>(totals[i] * scale);
}

// The same for rows without gaps, whose columns divide a vector: as many rows as fill the vectors
// are added at once. Complex numbers are rows of two columns.
void sum_narrow_columns(const RowShape& shape, const float* in, double scale, float* out) {
  double totals[kLineBlock] = {};
  const int64_t count = shape.rows * shape.columns, blocks = count / kLineBlock;
  const int64_t rest = count - blocks * kLineBlock, vectors = rest / kLanes;
  add_columns<kBlockVectors>({blocks, kLineBlock, kLineBlock, 1}, in, kLanes, totals);
  in += blocks * kLineBlock;
  add_columns<1>({vectors, kLanes, kLanes, 1}, in, kLanes, totals);
  const int64_t lanes = rest - vectors * kLanes;
  if (lanes > 0) add_columns<1>({1, lanes, lanes, 1}, in + vectors * kLanes, lanes, totals);
  for (int64_t half = kLineBlock / 2; half >= shape.columns; half /= 2)
    for (int64_t i = 0; i < half; ++i) totals[i] += totals[i + half];
  for (int64_t i = 0; i < shape.columns; ++i)
    out[i * shape.out_stride] = static_cast<float>(totals[i] * scale);
}

// The maximum of each column, or with kNegated the minimum, computed as the negated maximum of the
// negated elements. NaN if an element is NaN.
template <bool kNegated>
void extreme_columns(const RowShape& shape, const float* in, int64_t lanes, float* out) {
  const V sign = set(kNegated ? -1.0f : 1.0f);
  V largest = set(-std::numeric_limits<float>::infinity());
  for (int64_t r = 0; r < shape.rows; ++r) {
    const V value = hn::Mul(load_first(in + r * shape.in_stride, lanes), sign);
    // Comparisons with NaN are false: a NaN in `value` is taken, and a NaN in `largest` is kept.
    const auto keeps = hn::Or(hn::Ge(largest, value), hn::IsNaN(largest));
    largest = hn::IfThenElse(keeps, largest, value);
  }
  HWY_ALIGN float results[kLanes];
  store(hn::Mul(largest, sign), results);
  for (int64_t i = 0; i < lanes; ++i) out[i * shape.out_stride] = results[i];
}

void reduce_all_columns(Reduction reduction, const RowShape& shape, const float* in, float* out) {
  const double scale = reduction == Reduction::mean ? 1 / static_cast<double>(shape.rows) : 1;
  const bool sums = reduction == Reduction::sum || reduction == Reduction::mean;
  if (sums && shape.in_stride == shape.columns && shape.rows * shape.columns >= kLineBlock &&
      kLanes % shape.columns == 0)
    return sum_narrow_columns(shape, in, scale, out);
  for (int64_t i = 0; i < shape.columns;) {
    const int64_t lanes = std::min(kLanes, shape.columns - i);
    float* result = out + i * shape.out_stride;
    if (reduction == Reduction::maximum) {
      extreme_columns<false>(shape, in + i, lanes, result);
    } else if (reduction == Reduction::minimum) {
      extreme_columns<true>(shape, in + i, lanes, result);
    } else if (i + kLineBlock <= shape.columns) {
      sum_columns<kBlockVectors>(shape, in + i, kLanes, scale, result);
      i += kLineBlock;
      continue;
    } else {
      sum_columns<1>(shape, in + i, lanes, scale, result);
    }
    i += lanes;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace pt2::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pt2::kernels {
PT2_EXPORT(add_lines);
PT2_EXPORT(add_taps);
PT2_EXPORT(reduce_all_columns);

void sum_lines(const Lines& sum, float* out) { PT2_DISPATCH(add_lines)(sum, out); }
void sum_taps(const Taps& taps, const float* plane, int64_t count, float* out) {
  PT2_DISPATCH(add_taps)(taps, plane, count, out);
}
void reduce_columns(Reduction reduction, const RowShape& shape, const float* in, float* out) {
  PT2_DISPATCH(reduce_all_columns)(reduction, shape, in, out);
}

}  // namespace pt2::kernels
#endif
