// Quantiles, covariances, integrals and other statistics composed of simpler operators.
#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "ops/compose.h"
#include "ops/op_def.h"
#include "ops/pointwise/pointwise.h"
#include "ops/reduction/reduce.h"
#include "ops/shape/view.h"

namespace pt2::ops {
namespace {

// --- Quantiles

// ATen/native/Sorting.cpp quantile_compute. If q is not a number, the results have a leading
// dimension with one entry for each element of q.
template <bool IgnoreNan>
Result<Tensor> quantile(Emitter& e, const Tensor& self, const Tensor& q,
                        const std::optional<int64_t>& dim, bool keepdim, const std::string& mode) {
  constexpr std::string_view kModes[] = {"linear", "lower", "higher", "midpoint", "nearest"};
  if (std::ranges::find(kModes, mode) == std::end(kModes))
    return operator_error("interpolation: found '" + mode +
                          "', expected linear, lower, higher, midpoint or nearest");
  PT2_TRY_VOID(check_float_or_double(self, "self"));
  PT2_TRY_VOID(check_same_dtype(q, self, "q"));
  if (q.dim() > 1) return operator_error("q: found " + q.type_text() + ", expected at most 1 dim");
  if (self.numel() == 0) return operator_error("self: found no elements, expected some");
  if (q.defined()) {
    const Input<double> fractions(q);
    for (int64_t i = 0; i < fractions.size(); ++i)
      if (!(fractions[i] >= 0 && fractions[i] <= 1))
        return operator_error("q: found " + std::to_string(fractions[i]) + ", expected 0 to 1");
  }
  PT2_TRY(const Sizes dims, one_dim(dim, self.dim()));
  Result<Tensor> rows = self;
  if (!dim)
    rows = e(aten<"flatten.using_ints">, {self});
  else if (self.dim() > 0 && dims[0] != self.dim() - 1)
    rows = e(aten<"transpose.int">, {e(aten<"unsqueeze.default">, {self, -1}), dims[0], -1});
  PT2_TRY(const Tensor lines, rows);
  const int64_t length = length_of(lines, lines.dim() - 1);
  Sizes sizes = reduced_sizes(self, dims, keepdim);
  sizes.push_back(length);
  PT2_TRY(const Tensor values, e(aten<"reshape.default">, {lines, sizes}));

  const auto fractions = e(aten<"to.dtype">, {q, Dtype::float64});
  const auto nan = e(aten<"isnan.default">, {values});
  Result<Tensor> ranks = values;
  if (IgnoreNan) {
    const auto count =
        e(aten<"sum.dim_IntList">, {e(aten<"logical_not.default">, {nan}), Sizes{-1}, true});
    ranks = e(aten<"mul.Tensor">, {fractions, e(aten<"sub.Scalar">, {count, 1})});
    ranks = e(aten<"masked_fill.Scalar">, {ranks, e(aten<"lt.Scalar">, {ranks, 0}), 0});
  } else {
    // A row with a NaN uses the last rank, where sorting has put the NaN.
    PT2_TRY(const Tensor scaled, e(aten<"mul.Scalar">, {fractions, length - 1}));
    PT2_TRY(const Tensor any, e(aten<"any.dim">, {nan, -1, true}));
    PT2_TRY(const Tensors both,
            e.pieces(aten<"broadcast_tensors.default">, {Tensors{scaled, any}}));
    ranks = e(aten<"masked_fill.Scalar">, {both[0], both[1], length - 1});
  }
  if (mode == "lower") ranks = e(aten<"floor.default">, {ranks});
  if (mode == "higher") ranks = e(aten<"ceil.default">, {ranks});
  if (mode == "nearest") ranks = e(aten<"round.default">, {ranks});
  const auto below = e(aten<"to.dtype">, {ranks, Dtype::int64});
  const auto sorted = e(aten<"sort.default">, {values});
  auto out = e(aten<"gather.default">, {sorted, -1, below});
  if (mode == "linear" || mode == "midpoint") {
    const auto share = mode == "midpoint" ? e(aten<"full_like.default">, {ranks, 0.5})
                                          : e(aten<"sub.Tensor">, {ranks, below});
    const auto above = e(aten<"to.dtype">, {e(aten<"ceil.default">, {ranks}), Dtype::int64});
    out = e(aten<"lerp.Tensor">, {out, e(aten<"gather.default">, {sorted, -1, above}),
                                  e(aten<"to.dtype">, {share, self.dtype()})});
  }
  if (q.dim() > 0) out = e(aten<"transpose.int">, {e(aten<"unsqueeze.default">, {out, 0}), 0, -1});
  return e(aten<"squeeze.dim">, {out, -1});
}
template <bool IgnoreNan>
Result<Tensor> quantile_number(Emitter& e, const Tensor& self, double q,
                               const std::optional<int64_t>& dim, bool keepdim,
                               const std::string& interpolation) {
  if (!(q >= 0 && q <= 1))
    return operator_error("q: found " + std::to_string(q) + ", expected 0 to 1");
  PT2_TRY(const Tensor number, e(aten<"scalar_tensor.default">, {q, self.dtype()}));
  return quantile<IgnoreNan>(e, self, number, dim, keepdim, interpolation);
}

// --- Means and covariances

// ATen/native/ReduceOps.cpp nanmean.
Result<Tensor> nanmean(Emitter& e, const Tensor& self, const std::optional<Sizes>& dim,
                       bool keepdim, const std::optional<Dtype>& dtype) {
  PT2_TRY_VOID(check_floating_or_complex(self, "self"));
  if (dtype && dtype_category(*dtype) < DtypeCategory::floating)
    return operator_error("dtype: found " + std::string(dtype_name(*dtype)) +
                          ", expected a floating or complex one");
  const auto number = e(aten<"logical_not.default">, {e(aten<"isnan.default">, {self})});
  const auto count = e(aten<"sum.dim_IntList">, {number, dim, keepdim});
  return e(aten<"div.Tensor">, {e(aten<"nansum.default">, {self, dim, keepdim, dtype}), count});
}

// cov: rows are variables, columns are observations (ATen/native/Correlation.cpp cov).
Result<Tensor> cov(Emitter& e, const Tensor& self, int64_t correction,
                   const OptionalTensor& fweights, const OptionalTensor& aweights) {
  if (self.dim() > 2 || self.dtype() == Dtype::bool_)
    return operator_error("self: found " + self.type_text() +
                          ", expected numbers in at most 2 dims");
  PT2_TRY(const Tensor in,
          self.dim() < 2 ? e(aten<"view.default">, {self, Sizes{1, -1}}) : Result<Tensor>(self));
  const int64_t observations = in.size(1);
  OptionalTensor weights;
  for (const OptionalTensor* given : {&fweights, &aweights}) {
    if (!*given) continue;
    PT2_TRY_VOID(check_sizes(**given, {observations}, "weights"));
    const bool integers = dtype_category((*given)->dtype()) == DtypeCategory::integer;
    if (integers != (given == &fweights))
      return operator_error("found " + (*given)->type_text() +
                            ", expected integers for fweights and floats for aweights");
    if ((*given)->defined()) {
      const Input<double> values(**given);
      for (int64_t i = 0; i < values.size(); ++i)
        if (values[i] < 0)
          return operator_error("weights: found a negative number, expected 0 or more");
    }
    PT2_TRY(weights,
            weights ? e(aten<"mul.Tensor">, {*weights, **given}) : Result<Tensor>(**given));
  }
  const auto sum_of = [&](const Result<Tensor>& x) { return e(aten<"sum.default">, {x}); };
  const auto sum =
      weights ? sum_of(*weights) : e(aten<"scalar_tensor.default">, {observations, Dtype::int64});
  const auto weighted = weights ? e(aten<"mul.Tensor">, {in, *weights}) : Result<Tensor>(in);
  const auto total = e(aten<"sum.dim_IntList">, {weighted, Sizes{1}, true});
  const auto average = e(aten<"div.Tensor">, {total, sum});
  auto norm = sum;
  if (weights && aweights && correction != 0) {
    const auto squares = sum_of(e(aten<"mul.Tensor">, {*weights, *aweights}));
    const auto less = e(aten<"div.Tensor">, {e(aten<"mul.Scalar">, {squares, correction}), sum});
    norm = e(aten<"sub.Tensor">, {sum, less});
  } else {
    norm = e(aten<"sub.Scalar">, {sum, correction});
  }
  const auto centered = e(aten<"sub.Tensor">, {in, average});
  const auto right = weights ? e(aten<"mul.Tensor">, {centered, *weights}) : centered;
  const auto product = e(aten<"mm.default">, {centered, e(aten<"mH.default">, {right})});
  const auto out = e(aten<"div.Tensor">, {product, e(aten<"clamp_min.default">, {norm, 0})});
  return e(aten<"squeeze.default">, {out});
}

// ATen/native/Correlation.cpp corrcoef.
Result<Tensor> corrcoef(Emitter& e, const Tensor& self) {
  PT2_TRY(const Tensor c, cov(e, self, 1, std::nullopt, std::nullopt));
  if (c.dim() == 0) return e(aten<"div.Tensor">, {c, c});
  const bool is_complex = dtype_category(c.dtype()) == DtypeCategory::complex;
  const auto variances = e(aten<"diagonal.default">, {c});
  const auto deviations =
      e(aten<"sqrt.default">, {is_complex ? e(aten<"real.default">, {variances}) : variances});
  const auto by_row =
      e(aten<"div.Tensor">, {c, e(aten<"view.default">, {deviations, Sizes{-1, 1}})});
  const auto out =
      e(aten<"div.Tensor">, {by_row, e(aten<"view.default">, {deviations, Sizes{1, -1}})});
  return is_complex ? out : e(aten<"clamp.default">, {out, -1, 1});
}

// --- Integrals by the trapezoidal rule (ATen/native/Integration.cpp)

// Returns the sums of neighbors along dim.
Result<Tensor> neighbour_sums(Emitter& e, const Tensor& y, int64_t dim) {
  const auto left = e(aten<"slice.Tensor">, {y, dim, 0, -1});
  return e(aten<"add.Tensor">, {left, e(aten<"slice.Tensor">, {y, dim, 1})});
}
// Returns the distances between neighbors, shaped to broadcast along `dim` of y.
Result<Tensor> distances_for(Emitter& e, const Tensor& y, const Tensor& x, int64_t dim) {
  Tensor shaped = x;
  if (x.dim() == 1) {
    if (x.size(0) != y.size(dim))
      return operator_error("x: found " + x.type_text() + ", expected " +
                            std::to_string(y.size(dim)) + " elements");
    Sizes sizes(y.sizes().size(), 1);
    sizes[static_cast<size_t>(dim)] = x.size(0);
    PT2_TRY(shaped, e(aten<"view.default">, {x, sizes}));
  } else if (x.dim() < y.dim()) {
    Sizes sizes(static_cast<size_t>(y.dim() - x.dim()), 1);
    sizes.insert(sizes.end(), x.sizes().begin(), x.sizes().end());
    PT2_TRY(shaped, e(aten<"view.default">, {x, sizes}));
  }
  if (shaped.dim() != y.dim())
    return operator_error("x: found " + x.type_text() + " for y " + y.type_text() +
                          ", expected its rank, or one dim");
  const auto left = e(aten<"slice.Tensor">, {shaped, dim, 0, -1});
  return e(aten<"sub.Tensor">, {e(aten<"slice.Tensor">, {shaped, dim, 1}), left});
}

Result<int64_t> check_integrand(const Tensor& y, int64_t dim) {
  PT2_TRY_VOID(check_rank_at_least(y, 1, "y"));
  PT2_TRY_VOID(expect_not_bool(y.dtype()));
  return wrap_dim(dim, y.dim());
}
Result<Tensor> zero_integral(Emitter& e, const Tensor& y, int64_t dim) {
  return e(aten<"zeros.default">, {reduced_sizes(y, {dim}, false), y.dtype()});
}
// The sum of all elements, minus half of both end elements.
Result<Tensor> trapezoid_dx(Emitter& e, const Tensor& y, const Scalar& dx, int64_t dim) {
  PT2_TRY(const int64_t at, check_integrand(y, dim));
  if (y.size(at) == 0) return zero_integral(e, y, at);
  const auto last = e(aten<"select.int">, {y, at, -1});
  const auto ends = e(aten<"add.Tensor">, {e(aten<"select.int">, {y, at, 0}), last});
  const auto half = e(aten<"mul.Scalar">, {ends, 0.5});
  const auto total = e(aten<"sum.dim_IntList">, {y, Sizes{at}});
  return e(aten<"mul.Scalar">, {e(aten<"sub.Tensor">, {total, half}), dx});
}
Result<Tensor> trapezoid_x(Emitter& e, const Tensor& y, const Tensor& x, int64_t dim) {
  PT2_TRY(const int64_t at, check_integrand(y, dim));
  PT2_TRY_VOID(expect_not_bool(x.dtype()));
  if (y.size(at) == 0) return zero_integral(e, y, at);
  const auto steps = distances_for(e, y, x, at);
  const auto areas = e(aten<"mul.Tensor">, {steps, neighbour_sums(e, y, at)});
  const auto total = e(aten<"sum.dim_IntList">, {areas, Sizes{at}});
  return e(aten<"div.Scalar">, {total, 2.0});
}
Result<Tensor> trapz_dx(Emitter& e, const Tensor& y, double dx, int64_t dim) {
  return trapezoid_dx(e, y, Scalar(dx), dim);
}
Result<Tensor> cumulative_dx(Emitter& e, const Tensor& y, const Scalar& dx, int64_t dim) {
  PT2_TRY(const int64_t at, check_integrand(y, dim));
  const auto areas = e(aten<"mul.Scalar">, {neighbour_sums(e, y, at), dx.to_double() / 2});
  return e(aten<"cumsum.default">, {areas, dim});
}
Result<Tensor> cumulative_x(Emitter& e, const Tensor& y, const Tensor& x, int64_t dim) {
  PT2_TRY(const int64_t at, check_integrand(y, dim));
  PT2_TRY_VOID(expect_not_bool(x.dtype()));
  const auto steps = distances_for(e, y, x, at);
  const auto areas = e(aten<"mul.Tensor">, {steps, neighbour_sums(e, y, at)});
  return e(aten<"div.Scalar">, {e(aten<"cumsum.default">, {areas, at}), 2.0});
}

// --- Others

// Scales the slices along dim whose norm exceeds maxnorm to that norm
// (ATen/native/Normalization.cpp renorm).
Result<Tensor> renorm(Emitter& e, const Tensor& self, const Scalar& p, int64_t dim,
                      const Scalar& maxnorm) {
  PT2_TRY_VOID(check_rank_at_least(self, 2, "self"));
  PT2_TRY_VOID(check_floating_or_complex(self, "self"));
  if (!(p.to_double() > 0) || !(maxnorm.to_double() >= 0))
    return operator_error("found p " + print_float(p.to_double()) + " and maxnorm " +
                          print_float(maxnorm.to_double()) + ", expected positive numbers");
  PT2_TRY(const int64_t kept, wrap_dim(dim, self.dim()));
  Value::List others;
  for (int64_t i = 0; i < self.dim(); ++i)
    if (i != kept) others.emplace_back(i);
  // For half floats the norm is a float, and only the factor is rounded to half.
  const Dtype dtype = real_dtype(self.dtype());
  PT2_TRY(const Tensor norm, e(aten<"linalg_vector_norm.default">,
                               {self, box(p), others, true, wide_dtype(self.dtype())}));
  const double most = maxnorm.to_double();
  const auto factor = e(aten<"reciprocal.default">, {e(aten<"add.Scalar">, {norm, 1e-7})});
  const auto large = e(aten<"gt.Scalar">, {norm, most});
  PT2_TRY(Tensor chosen,
          e(aten<"where.ScalarOther">, {large, e(aten<"mul.Scalar">, {factor, most}), 1.0}));
  if (chosen.dtype() != dtype) {
    PT2_TRY(chosen, e(aten<"to.dtype">, {chosen, dtype}));
  }
  PT2_TRY(const Tensor product, e(aten<"mul.Tensor">, {self, chosen}));
  return product.is_contiguous() ? Result<Tensor>(product)
                                 : e(aten<"contiguous.default">, {product});
}

Result<Tensor> index_reduce(const Tensor& self, int64_t dim, const Tensor& index,
                            const Tensor& source, const std::string& reduce, bool include_self) {
  PT2_TRY(const int64_t at, wrap_dim(dim, self.dim()));
  PT2_TRY_VOID(check_index_dtype(index, "index"));
  PT2_TRY_VOID(check_same_dtype(source, self, "source"));
  if (index.dim() > 1 || source.dim() != self.dim() || length_of(source, at) != index.numel())
    return operator_error("index: found " + index.type_text() + " for source " +
                          source.type_text() + ", expected a number for each of its slices");
  for (int64_t i = 0; i < self.dim(); ++i)
    if (i != at && self.size(i) != source.size(i))
      return operator_error("source: found " + source.type_text() + " for self " +
                            self.type_text() +
                            ", expected its sizes in all dims but the indexed one");
  if (reduce != "prod" && reduce != "mean" && reduce != "amax" && reduce != "amin")
    return operator_error("reduce: found '" + reduce + "', expected prod, mean, amax or amin");
  Sizes shape(source.sizes().size(), 1);
  if (!shape.empty()) shape[static_cast<size_t>(at)] = index.numel();
  PT2_TRY(const Tensor shaped, reshape(index, shape));
  PT2_TRY(const Tensor whole, expand(shaped, source.sizes()));
  PT2_TRY(const Tensor wide, apply(aten<"to.dtype">, {whole, Dtype::int64}));
  return apply(aten<"scatter_reduce.two">, {self, at, wide, source, reduce, include_self});
}

using Extremes = std::tuple<Tensor, Tensor>;
Result<Extremes> old_aminmax(Emitter& e, const Tensor& self) {
  PT2_TRY(Tensor low, e(aten<"amin.default">, {self}));
  PT2_TRY(Tensor high, e(aten<"amax.default">, {self}));
  return Extremes{std::move(low), std::move(high)};
}
Result<Extremes> aminmax_dim(Emitter& e, const Tensor& self, int64_t dim, bool keepdim) {
  PT2_TRY(Tensor low, e(aten<"amin.default">, {self, Value::List{dim}, keepdim}));
  PT2_TRY(Tensor high, e(aten<"amax.default">, {self, Value::List{dim}, keepdim}));
  return Extremes{std::move(low), std::move(high)};
}

Result<bool> allclose(const Tensor& self, const Tensor& other, double rtol, double atol,
                      bool equal_nan) {
  PT2_TRY(const Tensor close, apply(aten<"isclose.default">, {self, other, rtol, atol, equal_nan}));
  PT2_TRY(const Tensor all, apply(aten<"all.default">, {close}));
  return Input<int64_t>(all)[0] != 0;
}

// clang-format off
constexpr OpDef kStatisticsOps[] = {
    op<"aten::quantile(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation=\"linear\") -> Tensor", quantile<false>>.with({.autocast = AutocastRule::float32}),
    op<"aten::quantile.scalar(Tensor self, float q, int? dim=None, bool keepdim=False, *, str interpolation=\"linear\") -> Tensor", quantile_number<false>>.with({.autocast = AutocastRule::float32}),
    op<"aten::nanquantile(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation=\"linear\") -> Tensor", quantile<true>>.with({.autocast = AutocastRule::float32}),
    op<"aten::nanquantile.scalar(Tensor self, float q, int? dim=None, bool keepdim=False, *, str interpolation=\"linear\") -> Tensor", quantile_number<true>>.with({.autocast = AutocastRule::float32}),
    op<"aten::nanmean(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", nanmean>.with({.takes_dtype_of_out = true}),
    op<"aten::cov(Tensor self, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None) -> Tensor", cov>,
    op<"aten::corrcoef(Tensor self) -> Tensor", corrcoef>,
    op<"aten::trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor", trapezoid_dx>.with({.slope = Slope::linear, .linear_in = "y"}),
    op<"aten::trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor", trapezoid_x>,
    op<"aten::trapz.dx(Tensor y, *, float dx=1., int dim=-1) -> Tensor", trapz_dx>.with({.slope = Slope::linear, .linear_in = "y"}),
    op<"aten::trapz.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor", trapezoid_x>,
    op<"aten::cumulative_trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor", cumulative_dx>.with({.slope = Slope::linear, .linear_in = "y"}),
    op<"aten::cumulative_trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor", cumulative_x>,
    op<"aten::renorm(Tensor self, Scalar p, int dim, Scalar maxnorm) -> Tensor", renorm>,
    composed<"aten::index_reduce(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True) -> Tensor", like_first, index_reduce>,
    op<"aten::_aminmax(Tensor self) -> (Tensor, Tensor)", old_aminmax>,
    op<"aten::_aminmax.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor, Tensor)", aminmax_dim>,
    op<"aten::allclose(Tensor self, Tensor other, float rtol=1.0000000000000001e-05, float atol=1e-08, bool equal_nan=False) -> bool", allclose>,
};
// clang-format on

}  // namespace

std::span<const OpDef> statistics_ops() { return kStatisticsOps; }

}  // namespace pt2::ops
