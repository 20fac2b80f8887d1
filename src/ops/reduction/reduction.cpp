// Sums, products, truth values and norms over dimensions.
#include <cmath>
#include <limits>

#include "ops/compose.h"
#include "ops/op_def.h"
#include "ops/pointwise/copying.h"
#include "ops/pointwise/pointwise.h"
#include "ops/reduction/dense_reduce.h"
#include "ops/reduction/over_dims.h"
#include "ops/reduction/reduce.h"
#include "ops/reduction/sums.h"

namespace pt2::ops {
namespace {

// Bools and ints are summed as int64.
Dtype sum_dtype(const Tensor& self, const OptionalDtype& dtype) {
  if (dtype) return *dtype;
  return dtype_category(self.dtype()) < DtypeCategory::floating ? Dtype::int64 : self.dtype();
}

// Folds the stored elements to sums or products, if the result's dtype can represent each element.
template <template <class> class Fold>
bool fold_numbers(Tensor& out, const Tensor& self, const Sizes& dims) {
  return with_element(self.dtype(), [&]<class T>() {
    const auto fold = [&]<class A>(A) {
      return fold_dense<Fold<A>, T>(out, self, dims, [](A sum) { return sum; });
    };
    if constexpr (std::is_same_v<T, double>) {
      return out.dtype() == Dtype::float64 && fold(double());
    } else if constexpr (std::is_same_v<T, float>) {
      if (out.dtype() != Dtype::float32 && out.dtype() != Dtype::float64) return false;
      if constexpr (!Fold<float>::kWidens)
        if (out.dtype() == Dtype::float32) return fold(float());
      return fold(double());
    } else if constexpr (std::is_same_v<T, HalfElement>) {
      return (out.dtype() == self.dtype() || out.dtype() == Dtype::float32) && fold(float());
    } else {
      return out.dtype() == Dtype::int64 &&
             fold_dense<Fold<uint64_t>, T>(out, self, dims,
                                           [](uint64_t sum) { return static_cast<int64_t>(sum); });
    }
  });
}

Result<Meta> sum_meta(const Tensor& self, const OverDims& over) {
  return Meta(sum_dtype(self, over.dtype), reduced_sizes(self, over.dims, over.keepdim));
}

void sum(Tensor& out, const Tensor& self, const OverDims& over) {
  if (reduce_floats(kernels::Reduction::sum, out, self, over.dims) ||
      fold_numbers<FoldSum>(out, self, over.dims))
    return;
  if (self.dtype() == Dtype::complex128 && out.dtype() == self.dtype()) {
    const auto from = view_as_real(self);
    auto to = view_as_real(out);
    if (from && to && fold_numbers<FoldSum>(*to, *from, over.dims)) return;
  }
  with_compute_type(out.dtype(), [&]<class C>() {
    reduce_rows<C, C>(out, self, over.dims, out.dtype(), sum_row<C>);
  });
}

Result<Meta> nansum_meta(const Tensor& self, const OverDims& over) {
  PT2_TRY_VOID(check_not_complex(self, "self"));
  return sum_meta(self, over);
}

Result<void> nansum(Tensor& out, const Tensor& self, const OverDims& over) {
  if (fold_numbers<FoldNumberSum>(out, self, over.dims)) return {};
  // Integers have no NaN, so it is replaced before the cast. That replaces infinities, too
  // (ATen/native/ReduceOps.cpp nansum_out).
  if (dtype_category(out.dtype()) < DtypeCategory::floating &&
      dtype_category(self.dtype()) == DtypeCategory::floating) {
    PT2_TRY(const Tensor numbers, apply(aten<"nan_to_num.default">, {self}));
    sum(out, numbers, over);
    return {};
  }
  with_real_compute_type(out.dtype(), [&]<class C>() {
    reduce_rows<C, C>(out, self, over.dims, out.dtype(), [](const C* values, int64_t count) {
      return sum_terms(values, count,
                       [](C x) { return static_cast<Accumulator<C>>(x == x ? x : C(0)); });
    });
  });
  return {};
}

Result<Meta> mean_meta(const Tensor& self, const OverDims& over) {
  const Dtype result = over.dtype.value_or(self.dtype());
  if (dtype_category(result) < DtypeCategory::floating)
    return operator_error("self: found " + std::string(dtype_name(result)) +
                          ", expected a floating or complex dtype");
  return sum_meta(self, over);
}

void mean(Tensor& out, const Tensor& self, const OverDims& over) {
  const Dtype dtype = out.dtype();
  if (reduce_floats(kernels::Reduction::mean, out, self, over.dims)) return;
  const double length = static_cast<double>(self.numel()) / static_cast<double>(out.numel());
  if (dtype == Dtype::float64 && self.dtype() == dtype &&
      fold_dense<FoldSum<double>, double>(out, self, over.dims,
                                          [length](double sum) { return sum / length; }))
    return;
  with_compute_type(dtype, [&]<class C>() {
    // Unlike sum's dtype argument, this one applies only to the result. The sum of half floats is
    // not rounded before the division: it may be too large for a half.
    const bool fraction = dtype_category(self.dtype()) >= DtypeCategory::floating;
    reduce_rows<C, C>(out, self, over.dims, fraction ? self.dtype() : kDtypeOf<C>,
                      [](const C* values, int64_t count) {
                        return sum_row(values, count) / static_cast<Accumulator<C>>(count);
                      });
  });
}

template <class C>
Accumulator<C> row_product(const C* values, int64_t count) {
  Accumulator<C> product(1);
  for (int64_t i = 0; i < count; ++i)
    product = times(product, static_cast<Accumulator<C>>(values[i]));
  return product;
}

void prod(Tensor& out, const Tensor& self, const OverDims& over) {
  if (fold_numbers<FoldProduct>(out, self, over.dims)) return;
  with_compute_type(out.dtype(), [&]<class C>() {
    reduce_rows<C, C>(out, self, over.dims, out.dtype(), row_product<C>);
  });
}

// Unlike for sum, an empty list of dims reduces nothing.
Sizes truth_dims(const OverDims& over) { return over.is_empty ? Sizes{} : over.dims; }

// uint8 keeps its dtype: PyTorch once used it as bool.
Meta truth_meta(const Tensor& self, const OverDims& over) {
  return Meta(self.dtype() == Dtype::uint8 ? Dtype::uint8 : Dtype::bool_,
              reduced_sizes(self, truth_dims(over), over.keepdim));
}

template <bool All>
void truth(Tensor& out, const Tensor& self, const OverDims& over) {
  const Sizes dims = truth_dims(over);
  // A single row may stop early, so it does not use the dense fold.
  const int64_t length = out.numel() == 0 ? 0 : self.numel() / out.numel();
  if (out.numel() > 1 && with_element(self.dtype(), [&]<class T>() {
        return fold_dense<FoldCount, T>(out, self, dims, [length](int64_t count) {
          return int64_t{All ? count == length : count > 0};
        });
      }))
    return;
  with_compute_type(self.dtype(), [&]<class C>() {
    reduce_rows<C, int64_t>(out, self, dims, self.dtype(), [](const C* values, int64_t count) {
      for (int64_t i = 0; i < count; ++i)
        if ((values[i] != C(0)) != All) return !All;
      return All;
    });
  });
}

Meta count_meta(const Tensor& self, const OverDims& over) {
  return Meta(Dtype::int64, reduced_sizes(self, over.dims, false));
}

void count_nonzero(Tensor& out, const Tensor& self, const OverDims& over) {
  if (with_element(self.dtype(), [&]<class T>() {
        return fold_dense<FoldCount, T>(out, self, over.dims, [](int64_t count) { return count; });
      }))
    return;
  with_compute_type(self.dtype(), [&]<class C>() {
    reduce_rows<C, int64_t>(out, self, over.dims, self.dtype(), [](const C* values, int64_t count) {
      return std::count_if(values, values + count, [](const C& x) { return x != C(0); });
    });
  });
}

Result<Meta> trace_meta(const Tensor& self) {
  PT2_TRY_VOID(check_not_bool(self, "self"));
  PT2_TRY_VOID(check_rank(self, 2, "self"));
  return Meta(sum_dtype(self, std::nullopt), {});
}

void trace(Tensor& out, const Tensor& self) {
  const Tensor diagonal = self.with_view({std::min(self.size(0), self.size(1))},
                                         {self.stride(0) + self.stride(1)}, self.storage_offset());
  sum(out, diagonal, {.dims = {0}});
}

Result<Meta> hash_meta(const Tensor& self, const Sizes& dims, bool keepdim, int64_t mode) {
  PT2_TRY_VOID(check_not_complex(self, "self"));
  if (self.dtype() == Dtype::uint64)
    return operator_error(
        "self: found uint64, expected another dtype: torch.hash_tensor does not take it");
  if (mode != 0) return operator_error("mode: found " + std::to_string(mode) + ", expected 0");
  PT2_TRY_VOID(check_max_rank(self));
  PT2_TRY(const Sizes wrapped, wrap_dims(dims, self.dim()));
  PT2_TRY_VOID(check_not_empty(self, wrapped));
  return Meta(Dtype::uint64, reduced_sizes(self, wrapped, keepdim));
}

// Returns the exclusive or of the bits of the elements, which are float64 or int64.
template <class C>
int64_t exclusive_or(const C* values, int64_t count) {
  int64_t bits = 0;
  for (int64_t i = 0; i < count; ++i) bits ^= __builtin_bit_cast(int64_t, values[i]);
  return bits;
}

void hash_tensor(Tensor& out, const Tensor& self, const Sizes& dims, bool, int64_t) {
  const Sizes wrapped = *wrap_dims(dims, self.dim());
  if (dtype_category(self.dtype()) == DtypeCategory::floating)
    reduce_rows<double, int64_t>(out, self, wrapped, self.dtype(), exclusive_or<double>);
  else
    reduce_rows<int64_t, int64_t>(out, self, wrapped, self.dtype(), exclusive_or<int64_t>);
}

// clang-format off
constexpr OpDef kReductionOps[] = {
    reduces<"aten::sum(Tensor self, *, ScalarType? dtype=None) -> Tensor", sum_meta, sum>.with({.slope = Slope::linear}),
    reduces<"aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
       sum_meta, sum>.with({.slope = Slope::linear, .takes_dtype_of_out = true}),
    reduces<"aten::nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
       nansum_meta, nansum>.with({.takes_dtype_of_out = true}),
    reduces<"aten::mean(Tensor self, *, ScalarType? dtype=None) -> Tensor", mean_meta, mean>.with({.slope = Slope::linear, .takes_dtype_of_out = true}),
    reduces<"aten::mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
       mean_meta, mean>.with({.slope = Slope::linear, .takes_dtype_of_out = true}),
    reduces<"aten::prod(Tensor self, *, ScalarType? dtype=None) -> Tensor", sum_meta, prod>.with({.autocast = AutocastRule::float32}),
    reduces<"aten::prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
       sum_meta, prod>.with({.autocast = AutocastRule::float32, .takes_dtype_of_out = true}),
    op<"aten::hash_tensor(Tensor self, int[1] dim=[], *, bool keepdim=False, int mode=0) -> Tensor", hash_meta, hash_tensor>,
    reduces<"aten::any(Tensor self) -> Tensor", truth_meta, truth<false>>,
    reduces<"aten::any.dim(Tensor self, int dim, bool keepdim=False) -> Tensor", truth_meta, truth<false>>,
    reduces<"aten::any.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor", truth_meta, truth<false>>,
    reduces<"aten::all(Tensor self) -> Tensor", truth_meta, truth<true>>,
    reduces<"aten::all.dim(Tensor self, int dim, bool keepdim=False) -> Tensor", truth_meta, truth<true>>,
    reduces<"aten::all.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor", truth_meta, truth<true>>,
    op<"aten::trace(Tensor self) -> Tensor", trace_meta, trace>.with({.autocast = AutocastRule::float32, .slope = Slope::linear}),
    reduces<"aten::count_nonzero(Tensor self, int? dim=None) -> Tensor", count_meta, count_nonzero>,
    reduces<"aten::count_nonzero.dim_IntList(Tensor self, int[] dim) -> Tensor", count_meta, count_nonzero>,
};
// clang-format on

}  // namespace

std::span<const OpDef> reduction_ops() { return kReductionOps; }

}  // namespace pt2::ops
