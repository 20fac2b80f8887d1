#include "kernels/columns.h"

#include <algorithm>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/columns.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include "kernels/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pt2::kernels {
namespace HWY_NAMESPACE {

// Sums of so many are added to the others' as one, so that long columns stay exact.
constexpr int64_t kRowBlock = 512;
constexpr int64_t kColumnVectors = 4;

// The part of a matrix that is computed at once.
struct Group {
  const float* from;
  float* to;
  int64_t rows;
  int64_t stride;  // from row to row
  int64_t lanes;   // of each row, at most kColumnVectors vectors
};

// Calls function(row, vector, place, lanes) for each vector of the group's rows in [begin, end).
template <class Function>
HWY_INLINE void for_each_vector(const Group& group, int64_t begin, int64_t end,
                                const Function& function) {
  for (int64_t row = begin; row < end; ++row)
    for (int64_t i = 0; i * kLanes < group.lanes; ++i)
      function(i, row * group.stride + i * kLanes, std::min(kLanes, group.lanes - i * kLanes));
}

void softmax_group(const Group& group, bool logarithm) {
  V largest[kColumnVectors], sum[kColumnVectors], part[kColumnVectors];
  for (int64_t i = 0; i < kColumnVectors; ++i) {
    largest[i] = set(-std::numeric_limits<float>::infinity());
    sum[i] = set(0.0f);
  }
  for_each_vector(group, 0, group.rows, [&](int64_t i, int64_t place, int64_t lanes) HWY_ATTR {
    largest[i] = at_least(load_first(group.from + place, lanes), largest[i]);
  });
  for (int64_t begin = 0; begin < group.rows; begin += kRowBlock) {
    for (V& each : part) each = set(0.0f);
    for_each_vector(group, begin, std::min(group.rows, begin + kRowBlock),
                    [&](int64_t i, int64_t place, int64_t lanes) HWY_ATTR {
                      const V value = exp_of_difference(
                          hn::Sub(load_first(group.from + place, lanes), largest[i]));
                      if (!logarithm) store_first(value, group.to + place, lanes);
                      part[i] = hn::Add(part[i], value);
                    });
    for (int64_t i = 0; i < kColumnVectors; ++i) sum[i] = hn::Add(sum[i], part[i]);
  }
  for (V& each : sum) each = logarithm ? log(each) : hn::Div(set(1.0f), each);
  for_each_vector(group, 0, group.rows, [&](int64_t i, int64_t place, int64_t lanes) HWY_ATTR {
    const V value =
        logarithm ? hn::Sub(hn::Sub(load_first(group.from + place, lanes), largest[i]), sum[i])
                  : hn::Mul(load_first(group.to + place, lanes), sum[i]);
    store_first(value, group.to + place, lanes);
  });
}

// The group that begins at a column of a matrix, a number of columns.
int64_t softmax_columns_from(const ColumnShape& shape, int64_t column, const float* in, float* out,
                             bool logarithm) {
  const int64_t lanes = std::min(kColumnVectors * kLanes, shape.columns - column);
  softmax_group({in + column, out + column, shape.rows, shape.columns, lanes}, logarithm);
  return lanes;
}

}  // namespace HWY_NAMESPACE
}  // namespace pt2::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pt2::kernels {
PT2_EXPORT(softmax_columns_from);

namespace {

// A multiple of what any target computes at once.
constexpr int64_t kTaskColumns = 1024;

void over_columns(const ColumnShape& shape, const float* in, float* out, bool logarithm,
                  ThreadPool* pool) {
  const int64_t tasks = (shape.columns + kTaskColumns - 1) / kTaskColumns;
  run_tasks(pool, shape.matrices * tasks, [&](int64_t task, int) {
    const int64_t offset = task / tasks * shape.rows * shape.columns;
    const int64_t end = std::min(shape.columns, (task % tasks + 1) * kTaskColumns);
    for (int64_t column = task % tasks * kTaskColumns; column < end;)
      column +=
          PT2_DISPATCH(softmax_columns_from)(shape, column, in + offset, out + offset, logarithm);
  });
}

}  // namespace

void softmax_columns(const ColumnShape& shape, const float* in, float* out, ThreadPool* pool) {
  over_columns(shape, in, out, false, pool);
}

void log_softmax_columns(const ColumnShape& shape, const float* in, float* out, ThreadPool* pool) {
  over_columns(shape, in, out, true, pool);
}

}  // namespace pt2::kernels
#endif
