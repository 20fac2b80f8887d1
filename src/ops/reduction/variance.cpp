// Variances, standard deviations and norms over dimensions.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/memory_account.h"
#include "ops/checks.h"
#include "ops/compose.h"
#include "ops/pointwise/copying.h"
#include "ops/reduction/over_dims.h"
#include "ops/reduction/reduce.h"
#include "ops/reduction/sums.h"

namespace pt2::ops {
namespace {

using OptionalDims = std::optional<Sizes>;

// The sum of squared deviations divided by count - correction; a negative divisor counts as 0. The
// variances of real and imaginary parts are added: 0 / 0 in one of them makes the sum NaN.
template <class C>
double row_variance(const C* values, int64_t count, double correction) {
  if (count == 0) return std::numeric_limits<double>::quiet_NaN();
  const auto mean = sum_row(values, count) / static_cast<Accumulator<C>>(count);
  const double divisor = std::max(0.0, static_cast<double>(count) - correction);
  const auto variance_of = [&](auto part) {
    const double middle = part(mean);
    return sum_terms(values, count,
                     [&](const C& x) {
                       const double distance = part(static_cast<Accumulator<C>>(x)) - middle;
                       return distance * distance;
                     }) /
           divisor;
  };
  if constexpr (std::is_same_v<C, Complex>)
    return variance_of([](const Complex& x) { return x.real(); }) +
           variance_of([](const Complex& x) { return x.imag(); });
  else
    return variance_of([](double x) { return x; });
}

Result<Meta> variance_meta(const Tensor& self, const OverDims& over) {
  PT2_TRY_VOID(check_floating_or_complex(self, "self"));
  return Meta(real_dtype(self.dtype()), reduced_sizes(self, over.dims, over.keepdim));
}

// A standard deviation is not the square root of a rounded variance, which may overflow half
// floats.
template <bool Root>
void variance(Tensor& out, const Tensor& self, const OverDims& over) {
  with_fraction_compute_type(self.dtype(), [&]<class C>() {
    reduce_rows<C, double>(out, self, over.dims, self.dtype(),
                           [lost = over.correction](const C* values, int64_t count) {
                             const double result = row_variance(values, count, lost);
                             return Root ? std::sqrt(result) : result;
                           });
  });
}

Result<std::array<Meta, 2>> variance_mean_meta(const Tensor& self, const OverDims& over) {
  PT2_TRY(const Meta meta, variance_meta(self, over));
  return std::array{meta, Meta(self.dtype(), meta.sizes)};
}

// PyTorch adds a fraction of each difference to the running mean
// (aten/src/ATen/native/SharedReduceOps.h WelfordOps): any number after an infinity makes it NaN.
template <class C>
Accumulator<C> running_mean(const C* values, int64_t count) {
  if constexpr (std::is_same_v<C, Complex>) {
    // The real and the imaginary parts are averaged separately.
    const auto part = [&](double (*of)(const Complex&)) {
      Scratch<double> parts(static_cast<size_t>(count));
      std::transform(values, values + count, parts.begin(), of);
      return running_mean(parts.data(), count);
    };
    return {part([](const Complex& x) { return x.real(); }),
            part([](const Complex& x) { return x.imag(); })};
  } else {
    const auto mean = sum_row(values, count) / static_cast<Accumulator<C>>(count);
    if (std::isinf(mean) &&
        std::any_of(values, values + count - 1, [](C value) { return std::isinf(value); }))
      return std::numeric_limits<Accumulator<C>>::quiet_NaN();
    return mean;
  }
}

template <bool Root>
void variance_mean(Tensor& out, Tensor& mean, const Tensor& self, const OverDims& over) {
  variance<Root>(out, self, over);
  with_fraction_compute_type(self.dtype(), [&]<class C>() {
    reduce_rows<C, C>(mean, self, over.dims, self.dtype(),
                      [](const C* values, int64_t count) { return running_mean(values, count); });
  });
}

template <class C>
double magnitude(const C& x) {
  if constexpr (std::is_same_v<C, Complex>)
    return std::abs(x);
  else
    return std::fabs(static_cast<double>(x));
}

// The largest (or smallest) magnitude; NaN takes precedence.
template <class C>
double extreme_magnitude(const C* values, int64_t count, bool largest) {
  double best = largest ? 0.0 : std::numeric_limits<double>::infinity();
  for (int64_t i = 0; i < count; ++i) {
    const double x = magnitude(values[i]);
    if (std::isnan(x)) return x;
    if (largest ? x > best : x < best) best = x;
  }
  return best;
}

template <class C>
double row_norm(const C* values, int64_t count, double order) {
  if (std::isinf(order)) return extreme_magnitude(values, count, order > 0);
  if (order == 0) return sum_terms(values, count, [](const C& x) { return x == C(0) ? 0.0 : 1.0; });
  if (count == 1) return magnitude(values[0]);  // whose power might overflow
  if (order == 1) return sum_terms(values, count, [](const C& x) { return magnitude(x); });
  if (order == 2)
    return std::sqrt(sum_terms(values, count, [](const C& x) {
      const double m = magnitude(x);
      return m * m;
    }));
  return std::pow(
      sum_terms(values, count, [order](const C& x) { return std::pow(magnitude(x), order); }),
      1 / order);
}

Result<Meta> vector_norm_meta(const Tensor& self, const Scalar& order, const OptionalDims& dims,
                              bool keepdim, const OptionalDtype& dtype) {
  PT2_TRY_VOID(check_floating_or_complex(self, "self"));
  if (order.category() == DtypeCategory::complex)
    return operator_error("ord: found a complex number, expected a real one");
  if (dtype && promote_types(*dtype, self.dtype()) != *dtype)
    return operator_error("dtype: found " + std::string(dtype_name(*dtype)) + ", expected what " +
                          std::string(dtype_name(self.dtype())) + " fits");
  PT2_TRY(const Sizes wrapped, wrap_optional_dims(dims, self.dim()));
  // An extreme of no elements does not exist.
  if (std::isinf(order.to_double()) || order.to_double() < 0)
    PT2_TRY_VOID(check_not_empty(self, wrapped));
  return Meta(real_dtype(dtype.value_or(self.dtype())), reduced_sizes(self, wrapped, keepdim));
}

void vector_norm(Tensor& out, const Tensor& self, const Scalar& order, const OptionalDims& dims,
                 bool, const OptionalDtype& dtype) {
  const Dtype from = dtype.value_or(self.dtype());
  with_fraction_compute_type(from, [&]<class C>() {
    reduce_rows<C, double>(out, self, *wrap_optional_dims(dims, self.dim()), from,
                           [p = order.to_double()](const C* values, int64_t count) {
                             return row_norm(values, count, p);
                           });
  });
}

Result<Tensor> norm_of(Emitter& e, const Tensor& self, const std::optional<Scalar>& order,
                       const OptionalDims& dims, bool keepdim, const OptionalDtype& dtype) {
  return e(aten<"linalg_vector_norm.default">,
           {self, order.value_or(Scalar(2)), dims, keepdim, dtype});
}
Result<Tensor> norm(Emitter& e, const Tensor& self, const Scalar& p) {
  return norm_of(e, self, p, std::nullopt, false, std::nullopt);
}
Result<Tensor> norm_dim(Emitter& e, const Tensor& self, const std::optional<Scalar>& p,
                        const Sizes& dims, bool keepdim) {
  return norm_of(e, self, p, dims, keepdim, std::nullopt);
}
Result<Tensor> norm_dim_dtype(Emitter& e, const Tensor& self, const std::optional<Scalar>& p,
                              const Sizes& dims, bool keepdim, Dtype dtype) {
  return norm_of(e, self, p, dims, keepdim, dtype);
}
Result<Tensor> norm_dtype(Emitter& e, const Tensor& self, const std::optional<Scalar>& p,
                          Dtype dtype) {
  return norm_of(e, self, p, std::nullopt, false, dtype);
}
Result<Tensor> frobenius_norm(Emitter& e, const Tensor& self, const Sizes& dims, bool keepdim) {
  return e(aten<"norm.ScalarOpt_dim">, {self, 2.0, dims, keepdim});
}

// Computes in float32 for half floats: the root may fit a half although the variance does not.
Result<Tensor> deviation(Emitter& e, const Tensor& self, const OptionalDims& dims, bool unbiased,
                         bool keepdim) {
  const auto wide = converted(e, self, is_half(self.dtype()) ? Dtype::float32 : self.dtype());
  const auto out = e(aten<"sqrt.default">,
                     {e(aten<"var.correction">, {wide, dims, Scalar(int64_t{unbiased}), keepdim})});
  return is_half(self.dtype()) ? converted(e, out, self.dtype()) : out;
}
template <bool Root>
Result<Tensor> unbiased_dim_formula(Emitter& e, const Tensor& self, const OptionalDims& dims,
                                    bool unbiased, bool keepdim) {
  if (Root) return deviation(e, self, dims, unbiased, keepdim);
  return e(aten<"var.correction">, {self, dims, Scalar(int64_t{unbiased}), keepdim});
}
template <bool Root>
Result<Tensor> unbiased_formula(Emitter& e, const Tensor& self, bool unbiased) {
  return unbiased_dim_formula<Root>(e, self, std::nullopt, unbiased, false);
}
template <bool Root>
Result<std::tuple<Tensor, Tensor>> unbiased_mean_dim_formula(Emitter& e, const Tensor& self,
                                                             const OptionalDims& dims,
                                                             bool unbiased, bool keepdim) {
  PT2_TRY(const auto both,
          e.all(aten<"var_mean.correction">, {self, dims, Scalar(int64_t{unbiased}), keepdim}));
  Tensor out = *both[0].get_if<Tensor>();
  if (Root) {
    PT2_TRY(out, deviation(e, self, dims, unbiased, keepdim));
  }
  return std::tuple(std::move(out), *both[1].get_if<Tensor>());
}
template <bool Root>
Result<std::tuple<Tensor, Tensor>> unbiased_mean_formula(Emitter& e, const Tensor& self,
                                                         bool unbiased) {
  return unbiased_mean_dim_formula<Root>(e, self, std::nullopt, unbiased, false);
}

// The sum of |x|^ord, rounded once.
Result<Tensor> powsum(Emitter& e, const Tensor& self, const Scalar& ord,
                      const std::optional<Sizes>& dim, bool keepdim, OptionalDtype dtype) {
  PT2_TRY_VOID(check_floating_or_complex(self, "self"));
  const Dtype given = dtype.value_or(self.dtype());
  const Tensor like = Tensor::zeros(given, {0});
  PT2_TRY_VOID(check_floating_or_complex(like, "dtype"));
  const Dtype wide = dtype_size(given) == 2 ? Dtype::float32 : given;
  PT2_TRY(Tensor powers, e(aten<"to.dtype">, {self, wide}));
  PT2_TRY(powers, e(aten<"abs.default">, {powers}));
  PT2_TRY(powers, e(aten<"pow.Tensor_Scalar">, {powers, ord}));
  PT2_TRY(Tensor sum, e(aten<"sum.dim_IntList">, {powers, box(dim), keepdim}));
  return wide == given ? Result<Tensor>(sum) : e(aten<"to.dtype">, {sum, given});
}

// clang-format off
constexpr OpDef kVarianceOps[] = {
    reduces<"aten::var.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor",
       variance_meta, variance<false>>,
    reduces<"aten::std.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor",
       variance_meta, variance<true>>,
    reduces<"aten::var_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> (Tensor, Tensor)",
       variance_mean_meta, variance_mean<false>>,
    reduces<"aten::std_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> (Tensor, Tensor)",
       variance_mean_meta, variance_mean<true>>,
    reduces<"aten::var.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor", variance_meta, variance<false>>,
    reduces<"aten::std.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor", variance_meta, variance<true>, unbiased_dim_formula<true>>,
    op<"aten::var(Tensor self, bool unbiased=True) -> Tensor", unbiased_formula<false>>,
    reduces<"aten::std(Tensor self, bool unbiased=True) -> Tensor", variance_meta, variance<true>, unbiased_formula<true>>,
    op<"aten::var_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> (Tensor, Tensor)", unbiased_mean_dim_formula<false>>,
    reduces<"aten::std_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> (Tensor, Tensor)", variance_mean_meta, variance_mean<true>, unbiased_mean_dim_formula<true>>,
    op<"aten::var_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)", unbiased_mean_formula<false>>,
    reduces<"aten::std_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)", variance_mean_meta, variance_mean<true>, unbiased_mean_formula<true>>,
    op<"aten::linalg__powsum(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", powsum>,
    op<"aten::linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
       vector_norm_meta, vector_norm>,
    op<"aten::norm.Scalar(Tensor self, Scalar p=2) -> Tensor", norm>,
    op<"aten::norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> Tensor", norm_dim>,
    op<"aten::norm.ScalarOpt_dim_dtype(Tensor self, Scalar? p, int[1] dim, bool keepdim, *, ScalarType dtype) -> Tensor", norm_dim_dtype>,
    op<"aten::norm.ScalarOpt_dtype(Tensor self, Scalar? p, *, ScalarType dtype) -> Tensor", norm_dtype>,
    op<"aten::frobenius_norm.dim(Tensor self, int[1] dim, bool keepdim=False) -> Tensor", frobenius_norm>,
};
// clang-format on

}  // namespace

std::span<const OpDef> variance_ops() { return kVarianceOps; }

}  // namespace pt2::ops
