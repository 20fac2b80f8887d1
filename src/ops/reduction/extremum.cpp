// Minima and maxima with their indices. NaN is more extreme than any number; the first of equal
// elements is chosen.
#include <cmath>
#include <limits>

#include "ops/pointwise/pointwise.h"
#include "ops/pointwise/unsigned_order.h"
#include "ops/reduction/dense_reduce.h"
#include "ops/reduction/over_dims.h"
#include "ops/reduction/reduce.h"

namespace pt2::ops {
namespace {

template <bool Largest, class C>
bool beats(C x, C best) {
  if (is_nan(best)) return false;
  return is_nan(x) || (Largest ? x > best : x < best);
}

template <bool Largest, class C>
int64_t best_index(const C* values, int64_t count) {
  int64_t best = 0;
  for (int64_t i = 1; i < count; ++i)
    if (beats<Largest>(values[i], values[best])) best = i;
  return best;
}

template <bool Largest>
void amax(Tensor& out, const Tensor& self, const OverDims& over) {
  using enum kernels::Reduction;
  if (reduce_floats(Largest ? maximum : minimum, out, self, over.dims)) return;
  if (with_element(self.dtype(), [&]<class T>() {
        if constexpr (std::is_same_v<T, BoolElement>) {
          return false;
        } else {
          using Compared = std::conditional_t<std::is_same_v<T, HalfElement>, float, T>;
          using C = std::conditional_t<std::is_floating_point_v<Compared>, Compared, int64_t>;
          return fold_dense<FoldExtreme<Largest, Compared>, T>(
              out, self, over.dims, [](Compared x) { return static_cast<C>(x); });
        }
      }))
    return;
  with_real_compute_type(self.dtype(), [&]<class C>() {
    reduce_rows<C, C>(out, self, over.dims, self.dtype(), [](const C* values, int64_t count) {
      return fold_row<FoldExtreme<Largest, C>>(
          values, count, [](C x) { return x; }, kDtypeOf<C>);
    });
  });
}

Result<Meta> amax_meta(const Tensor& self, const OverDims& over) {
  PT2_TRY_VOID(check_not_complex(self, "self"));
  PT2_TRY_VOID(check_not_empty(self, over.dims));
  return Meta(self.dtype(), reduced_sizes(self, over.dims, over.keepdim));
}

Result<std::array<Meta, 2>> aminmax_meta(const Tensor& self, const OverDims& over) {
  PT2_TRY(const Meta meta, amax_meta(self, over));
  return std::array{meta, meta};
}

void aminmax(Tensor& min, Tensor& max, const Tensor& self, const OverDims& over) {
  amax<false>(min, self, over);
  amax<true>(max, self, over);
}

Result<Meta> argmax_meta(const Tensor& self, const OverDims& over) {
  PT2_TRY_VOID(check_not_bool(self, "self"));
  PT2_TRY(Meta meta, amax_meta(self, over));
  meta.dtype = Dtype::int64;
  return meta;
}

template <bool Largest>
void argmax(Tensor& out, const Tensor& self, const OverDims& over) {
  with_real_compute_type(self.dtype(), [&]<class C>() {
    reduce_rows<C, int64_t>(out, self, over.dims, self.dtype(), best_index<Largest, C>);
  });
}

Result<std::array<Meta, 2>> max_dim_meta(const Tensor& self, const OverDims& over) {
  PT2_TRY(const Meta meta, amax_meta(self, over));
  return std::array{meta, Meta(Dtype::int64, meta.sizes)};
}

template <bool Largest>
void max_dim(Tensor& values, Tensor& indices, const Tensor& self, const OverDims& over) {
  amax<Largest>(values, self, over);
  with_real_compute_type(self.dtype(), [&]<class C>() {
    // The index of the first element that equals the extreme value, or of the first NaN if it is
    // NaN.
    const Input<C> best(values);
    int64_t row = 0;
    reduce_rows<C, int64_t>(
        indices, self, over.dims, self.dtype(), [&](const C* row_values, int64_t count) {
          const C wanted = best[row++];
          for (int64_t i = 0; i < count; ++i)
            if (row_values[i] == wanted || (is_nan(wanted) && is_nan(row_values[i]))) return i;
          return best_index<Largest>(row_values, count);
        });
  });
}

// clang-format off
constexpr OpDef kExtremumOps[] = {
    reduces<"aten::amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor", amax_meta, in_order<amax<true>>>,
    reduces<"aten::amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor", amax_meta, in_order<amax<false>>>,
    reduces<"aten::aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)", aminmax_meta, in_order<aminmax>>,
    reduces<"aten::max(Tensor self) -> Tensor", amax_meta, in_order<amax<true>>>,
    reduces<"aten::min(Tensor self) -> Tensor", amax_meta, in_order<amax<false>>>,
    reduces<"aten::max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)", max_dim_meta, in_order<max_dim<true>>>.with({.chosen_indices = 1}),
    reduces<"aten::min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)", max_dim_meta, in_order<max_dim<false>>>.with({.chosen_indices = 1}),
    reduces<"aten::argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor", argmax_meta, in_order<argmax<true>>>.with({.chosen_indices = 0}),
    reduces<"aten::argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor", argmax_meta, in_order<argmax<false>>>.with({.chosen_indices = 0}),
};
// clang-format on

}  // namespace

std::span<const OpDef> extremum_ops() { return kExtremumOps; }

}  // namespace pt2::ops
