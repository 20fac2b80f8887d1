#include "kernels/columns.h"

#include <algorithm>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/columns.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include "kernels/dtypes/doubles-inl.h"
#include "kernels/reductions-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pt2::kernels {
namespace HWY_NAMESPACE {

// Rows that are summed before their sum is added to the total, so that long columns stay accurate.
constexpr int64_t kRowBlock = 512;
constexpr int64_t kColumnVectors = 4;

// The part of a matrix that is computed at a time.
template <class T>
struct Group {
  const T* from;
  T* to;
  int64_t rows;
  int64_t stride;  // from row to row
  int64_t lanes;   // of each row, at most kColumnVectors vectors
};

// Calls function(vector, place, lanes) for each vector of the group's rows in [begin, end).
template <class T, class Function>
HWY_INLINE void for_each_vector(const Group<T>& group, int64_t begin, int64_t end,
                                const Function& function) {
  constexpr int64_t kStep = kLanesOf<T>;
  for (int64_t row = begin; row < end; ++row)
    for (int64_t i = 0; i * kStep < group.lanes; ++i)
      function(i, row * group.stride + i * kStep, std::min(kStep, group.lanes - i * kStep));
}

template <class T>
HWY_INLINE void softmax_group(const Group<T>& group, bool logarithm) {
  using Vector = VectorOf<T>;
  Vector largest[kColumnVectors], sum[kColumnVectors], part[kColumnVectors];
  for (int64_t i = 0; i < kColumnVectors; ++i) {
    largest[i] = set(-std::numeric_limits<T>::infinity());
    sum[i] = set(T(0));
  }
  for_each_vector(group, 0, group.rows, [&](int64_t i, int64_t place, int64_t lanes) HWY_ATTR {
    largest[i] = at_least(load_first(group.from + place, lanes), largest[i]);
  });
  for (int64_t begin = 0; begin < group.rows; begin += kRowBlock) {
    for (Vector& each : part) each = set(T(0));
    for_each_vector(group, begin, std::min(group.rows, begin + kRowBlock),
                    [&](int64_t i, int64_t place, int64_t lanes) HWY_ATTR {
                      const Vector value = exp_of_difference(
                          hn::Sub(load_first(group.from + place, lanes), largest[i]));
                      if (!logarithm) store_first(value, group.to + place, lanes);
                      part[i] = hn::Add(part[i], value);
                    });
    for (int64_t i = 0; i < kColumnVectors; ++i) sum[i] = hn::Add(sum[i], part[i]);
  }
  for (Vector& each : sum) each = logarithm ? log(each) : hn::Div(set(T(1)), each);
  for_each_vector(group, 0, group.rows, [&](int64_t i, int64_t place, int64_t lanes) HWY_ATTR {
    const Vector value =
        logarithm ? hn::Sub(hn::Sub(load_first(group.from + place, lanes), largest[i]), sum[i])
                  : hn::Mul(load_first(group.to + place, lanes), sum[i]);
    store_first(value, group.to + place, lanes);
  });
}

// Computes the group that begins at `column` of a matrix. Returns its number of columns.
template <class T>
HWY_INLINE int64_t softmax_from(const ColumnShape& shape, int64_t column, const T* in, T* out,
                                bool logarithm) {
  const int64_t lanes = std::min(kColumnVectors * kLanesOf<T>, shape.columns - column);
  softmax_group<T>({in + column, out + column, shape.rows, shape.columns, lanes}, logarithm);
  return lanes;
}
int64_t softmax_columns_from(const ColumnShape& shape, int64_t column, const float* in, float* out,
                             bool logarithm) {
  return softmax_from(shape, column, in, out, logarithm);
}
int64_t softmax_double_columns_from(const ColumnShape& shape, int64_t column, const double* in,
                                    double* out, bool logarithm) {
  return softmax_from(shape, column, in, out, logarithm);
}

}  // namespace HWY_NAMESPACE
}  // namespace pt2::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pt2::kernels {
PT2_EXPORT(softmax_columns_from);
PT2_EXPORT(softmax_double_columns_from);

namespace {

// A multiple of the columns of a group on any target.
constexpr int64_t kTaskColumns = 1024;

template <class T, class From>
void over_columns(const ColumnShape& shape, const T* in, T* out, bool logarithm, ThreadPool* pool,
                  const From& softmax_from) {
  const int64_t tasks = (shape.columns + kTaskColumns - 1) / kTaskColumns;
  run_tasks(pool, shape.matrices * tasks, [&](int64_t task, int) {
    const int64_t offset = task / tasks * shape.rows * shape.columns;
    const int64_t end = std::min(shape.columns, (task % tasks + 1) * kTaskColumns);
    for (int64_t column = task % tasks * kTaskColumns; column < end;)
      column += softmax_from(shape, column, in + offset, out + offset, logarithm);
  });
}

}  // namespace

void softmax_columns(bool logarithm, const ColumnShape& shape, const float* in, float* out,
                     ThreadPool* pool) {
  over_columns(shape, in, out, logarithm, pool, PT2_DISPATCH(softmax_columns_from));
}

void softmax_columns(bool logarithm, const ColumnShape& shape, const double* in, double* out,
                     ThreadPool* pool) {
  over_columns(shape, in, out, logarithm, pool, PT2_DISPATCH(softmax_double_columns_from));
}

}  // namespace pt2::kernels
#endif
