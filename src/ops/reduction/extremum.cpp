// Minima and maxima with their indices. NaN is more extreme than any number; the first of equal
// elements is chosen.
#include <cmath>
#include <limits>

#include "ops/op_def.h"
#include "ops/pointwise/pointwise.h"
#include "ops/pointwise/unsigned_order.h"
#include "ops/reduction/dense_reduce.h"
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
void extreme_over(Tensor& out, const Tensor& self, const Sizes& dims) {
  using enum kernels::Reduction;
  if (reduce_floats(Largest ? maximum : minimum, out, self, dims)) return;
  if (with_element(self.dtype(), [&]<class T>() {
        if constexpr (std::is_same_v<T, BoolElement>) {
          return false;
        } else {
          using Compared = std::conditional_t<std::is_same_v<T, HalfElement>, float, T>;
          using C = std::conditional_t<std::is_floating_point_v<Compared>, Compared, int64_t>;
          return fold_dense<FoldExtreme<Largest, Compared>, T>(
              out, self, dims, [](Compared x) { return static_cast<C>(x); });
        }
      }))
    return;
  with_real_compute_type(self.dtype(), [&]<class C>() {
    reduce_rows<C, C>(out, self, dims, self.dtype(), [](const C* values, int64_t count) {
      return fold_row<FoldExtreme<Largest, C>>(
          values, count, [](C x) { return x; }, kDtypeOf<C>);
    });
  });
}

Result<Meta> amax_meta(const Tensor& self, const Sizes& dims, bool keepdim) {
  PT2_TRY_VOID(check_not_complex(self, "self"));
  PT2_TRY_VOID(check_max_rank(self));
  PT2_TRY(const Sizes wrapped, wrap_dims(dims, self.dim()));
  PT2_TRY_VOID(check_not_empty(self, wrapped));
  return Meta(self.dtype(), reduced_sizes(self, wrapped, keepdim));
}

template <bool Largest>
void amax(Tensor& out, const Tensor& self, const Sizes& dims, bool) {
  extreme_over<Largest>(out, self, *wrap_dims(dims, self.dim()));
}

Result<Meta> max_meta(const Tensor& self) { return amax_meta(self, {}, false); }

template <bool Largest>
void max_all(Tensor& out, const Tensor& self) {
  extreme_over<Largest>(out, self, *wrap_dims({}, self.dim()));
}

Result<std::array<Meta, 2>> aminmax_meta(const Tensor& self, const std::optional<int64_t>& dim,
                                         bool keepdim) {
  PT2_TRY_VOID(check_not_complex(self, "self"));
  PT2_TRY(const Sizes dims, one_dim(dim, self.dim()));
  PT2_TRY_VOID(check_not_empty(self, dims));
  // Without dim, keepdim keeps every dimension.
  const Meta meta(self.dtype(), reduced_sizes(self, dims, keepdim));
  return std::array{meta, meta};
}

void aminmax(Tensor& min, Tensor& max, const Tensor& self, const std::optional<int64_t>& dim,
             bool) {
  const Sizes dims = *one_dim(dim, self.dim());
  extreme_over<false>(min, self, dims);
  extreme_over<true>(max, self, dims);
}

Result<Meta> argmax_meta(const Tensor& self, const std::optional<int64_t>& dim, bool keepdim) {
  PT2_TRY_VOID(check_not_complex(self, "self"));
  PT2_TRY_VOID(check_not_bool(self, "self"));
  PT2_TRY(const Sizes dims, one_dim(dim, self.dim()));
  PT2_TRY_VOID(check_not_empty(self, dims));
  return Meta(Dtype::int64, reduced_sizes(self, dims, keepdim));
}

template <bool Largest>
void argmax(Tensor& out, const Tensor& self, const std::optional<int64_t>& dim, bool) {
  with_real_compute_type(self.dtype(), [&]<class C>() {
    reduce_rows<C, int64_t>(out, self, *one_dim(dim, self.dim()), self.dtype(),
                            best_index<Largest, C>);
  });
}

Result<std::array<Meta, 2>> max_dim_meta(const Tensor& self, int64_t dim, bool keepdim) {
  PT2_TRY_VOID(check_not_complex(self, "self"));
  PT2_TRY(const Sizes dims, one_dim(dim, self.dim()));
  PT2_TRY_VOID(check_not_empty(self, dims));
  const Sizes sizes = reduced_sizes(self, dims, keepdim);
  return std::array{Meta(self.dtype(), sizes), Meta(Dtype::int64, sizes)};
}

template <bool Largest>
void max_dim(Tensor& values, Tensor& indices, const Tensor& self, int64_t dim, bool) {
  const Sizes dims = *one_dim(dim, self.dim());
  extreme_over<Largest>(values, self, dims);
  with_real_compute_type(self.dtype(), [&]<class C>() {
    // The index of the first element that equals the extreme value, or of the first NaN if it is
    // NaN.
    const Input<C> best(values);
    int64_t row = 0;
    reduce_rows<C, int64_t>(
        indices, self, dims, self.dtype(), [&](const C* row_values, int64_t count) {
          const C wanted = best[row++];
          for (int64_t i = 0; i < count; ++i)
            if (row_values[i] == wanted || (is_nan(wanted) && is_nan(row_values[i]))) return i;
          return best_index<Largest>(row_values, count);
        });
  });
}

// clang-format off
constexpr OpDef kExtremumOps[] = {
    op<"aten::amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor", amax_meta, in_order<amax<true>>>,
    op<"aten::amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor", amax_meta, in_order<amax<false>>>,
    op<"aten::aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)", aminmax_meta, in_order<aminmax>>,
    op<"aten::max(Tensor self) -> Tensor", max_meta, in_order<max_all<true>>>,
    op<"aten::min(Tensor self) -> Tensor", max_meta, in_order<max_all<false>>>,
    op<"aten::max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)", max_dim_meta, in_order<max_dim<true>>>.with({.chosen_indices = 1}),
    op<"aten::min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)", max_dim_meta, in_order<max_dim<false>>>.with({.chosen_indices = 1}),
    op<"aten::argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor", argmax_meta, in_order<argmax<true>>>.with({.chosen_indices = 0}),
    op<"aten::argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor", argmax_meta, in_order<argmax<false>>>.with({.chosen_indices = 0}),
};
// clang-format on

}  // namespace

std::span<const OpDef> extremum_ops() { return kExtremumOps; }

}  // namespace pt2::ops
