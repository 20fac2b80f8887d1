// Quantiles, covariances, integrals and other statistics composed of simpler operators.
#include <algorithm>
#include <cmath>

#include "base/memory_account.h"
#include "ops/compose.h"
#include "ops/op_def.h"
#include "ops/pointwise/pointwise.h"
#include "ops/reduction/reduce.h"
#include "ops/shape/view.h"

namespace pt2::ops {
namespace {

// --- Quantiles

enum class Interpolation { linear, lower, higher, midpoint, nearest };

Result<Interpolation> parse_interpolation(const std::string& name) {
  constexpr std::string_view kNames[] = {"linear", "lower", "higher", "midpoint", "nearest"};
  const auto* found = std::ranges::find(kNames, name);
  if (found == std::end(kNames))
    return operator_error("interpolation: found '" + name +
                          "', expected linear, lower, higher, midpoint or nearest");
  return static_cast<Interpolation>(found - std::begin(kNames));
}

// The value at `rank`, interpolated between two elements of a sorted row in the precision C.
template <class C>
C value_at(const C* row, C rank, Interpolation interpolation) {
  if (interpolation == Interpolation::lower) rank = std::floor(rank);
  if (interpolation == Interpolation::higher) rank = std::ceil(rank);
  if (interpolation == Interpolation::nearest) rank = std::nearbyint(rank);
  const C below = std::floor(rank);
  const C low = row[static_cast<int64_t>(below)];
  const C high = row[static_cast<int64_t>(std::ceil(rank))];
  const C weight = interpolation == Interpolation::midpoint ? C(0.5) : rank - below;
  if (interpolation != Interpolation::linear && interpolation != Interpolation::midpoint)
    return low;
  // torch.lerp is exact at both ends.
  return weight < C(0.5) ? low + weight * (high - low) : high - (high - low) * (C(1) - weight);
}

template <class C>
void fill_quantiles(Tensor& out, const Tensor& rows, const Tensor& q, Interpolation interpolation,
                    bool ignore_nan) {
  const Input<C> values(rows);
  const Input<C> fractions(q);
  Output<C> result(out);
  const int64_t length = rows.size(rows.dim() - 1);
  const int64_t count = row_count(rows.numel(), length);
  Scratch<C> row(static_cast<size_t>(length));
  for (int64_t r = 0; r < count; ++r) {
    std::copy_n(values.data() + r * length, length, row.begin());
    const auto end = std::partition(row.begin(), row.end(), [](C x) { return x == x; });
    const auto numbers = static_cast<int64_t>(end - row.begin());
    std::sort(row.begin(), end);
    const bool undefined = numbers == 0 || (!ignore_nan && numbers < length);
    for (int64_t k = 0; k < fractions.size(); ++k)
      result[k * count + r] =
          undefined
              ? std::numeric_limits<C>::quiet_NaN()
              : value_at(row.data(), fractions[k] * static_cast<C>(numbers - 1), interpolation);
  }
}

// The results for all q come first, in a dimension of their own unless q is a number.
template <bool IgnoreNan>
Result<Tensor> quantile(const Tensor& self, const Tensor& q, const std::optional<int64_t>& dim,
                        bool keepdim, const std::string& name) {
  PT2_TRY(const Interpolation interpolation, parse_interpolation(name));
  if (self.dtype() != Dtype::float32 && self.dtype() != Dtype::float64)
    return operator_error("self: found " + std::string(dtype_name(self.dtype())) +
                          ", expected float32 or float64");
  PT2_TRY_VOID(check_same_dtype(q, self, "q"));
  if (q.dim() > 1) return operator_error("q: found " + q.type_text() + ", expected at most 1 dim");
  if (self.numel() == 0) return operator_error("self: found no elements, expected some");
  const Input<double> fractions(q);
  for (int64_t i = 0; i < fractions.size(); ++i)
    if (!(fractions[i] >= 0 && fractions[i] <= 1))
      return operator_error("q: found " + std::to_string(fractions[i]) + ", expected 0 to 1");
  PT2_TRY(const Sizes dims, one_dim(dim, self.dim()));
  Sizes sizes = reduced_sizes(self, dims, keepdim);
  // The results of one row are contiguous.
  Sizes strides;
  if (q.dim() == 1) {
    strides = contiguous_strides(sizes);
    for (int64_t& stride : strides) {
      PT2_TRY(stride, multiply_add(stride, std::max<int64_t>(q.size(0), 1)));
    }
    strides.insert(strides.begin(), 1);
    sizes.insert(sizes.begin(), q.size(0));
  }
  PT2_TRY(Tensor out, allocate(Meta(self.dtype(), std::move(sizes), std::move(strides))));
  Tensor rows = dims_last(self, dims);
  if (!dim || self.dim() == 0) {
    PT2_TRY(rows, reshape(self, {1, -1}));
  }
  if (self.dtype() == Dtype::float64)
    fill_quantiles<double>(out, rows, q, interpolation, IgnoreNan);
  else
    fill_quantiles<float>(out, rows, q, interpolation, IgnoreNan);
  return out;
}
template <bool IgnoreNan>
Result<Tensor> quantile_number(const Tensor& self, double q, const std::optional<int64_t>& dim,
                               bool keepdim, const std::string& interpolation) {
  if (dtype_category(self.dtype()) != DtypeCategory::floating)
    return operator_error("self: found " + std::string(dtype_name(self.dtype())) +
                          ", expected float32 or float64");
  return quantile<IgnoreNan>(self, scalar_tensor(Scalar(q), self.dtype()), dim, keepdim,
                             interpolation);
}

// --- Means and covariances

Result<Tensor> nanmean(const Tensor& self, const std::optional<Sizes>& dim, bool keepdim,
                       const std::optional<Dtype>& dtype) {
  PT2_TRY_VOID(check_floating_or_complex(self, "self"));
  const Value dims = dim ? box(*dim) : Value();
  PT2_TRY(const Tensor nan, apply(aten<"isnan.default">, {self}));
  PT2_TRY(const Tensor number, apply(aten<"logical_not.default">, {nan}));
  PT2_TRY(const Tensor count, apply(aten<"sum.dim_IntList">, {number, dims, keepdim}));
  PT2_TRY(const Tensor sum, apply(aten<"nansum.default">, {self, dims, keepdim, box(dtype)}));
  return apply(aten<"div.Tensor">, {sum, count});
}

// Rows are variables, columns observations (ATen/native/Correlation.cpp cov).
Result<Tensor> cov(const Tensor& self, int64_t correction, const OptionalTensor& fweights,
                   const OptionalTensor& aweights) {
  if (self.dim() > 2 || self.dtype() == Dtype::bool_)
    return operator_error("self: found " + self.type_text() +
                          ", expected numbers in at most 2 dims");
  PT2_TRY(const Tensor in, self.dim() < 2 ? reshape(self, {1, -1}) : Result<Tensor>(self));
  const int64_t observations = in.size(1);
  std::optional<Tensor> weights;
  for (const OptionalTensor* given : {&fweights, &aweights}) {
    if (!*given) continue;
    PT2_TRY_VOID(check_sizes(**given, {observations}, "weights"));
    const bool integers = dtype_category((*given)->dtype()) == DtypeCategory::integer;
    if (integers != (given == &fweights))
      return operator_error("found " + (*given)->type_text() +
                            ", expected integers for fweights and floats for aweights");
    const Input<double> values(**given);
    for (int64_t i = 0; i < values.size(); ++i)
      if (values[i] < 0) return operator_error("weights: found a negative one");
    PT2_TRY(weights,
            weights ? apply(aten<"mul.Tensor">, {*weights, **given}) : Result<Tensor>(**given));
  }
  Tensor sum = scalar_tensor(observations, Dtype::int64);
  Tensor average;
  const Value::List along{int64_t{1}};
  if (weights) {
    PT2_TRY(sum, apply(aten<"sum.default">, {*weights}));
    PT2_TRY(const Tensor weighted, apply(aten<"mul.Tensor">, {in, *weights}));
    PT2_TRY(const Tensor total, apply(aten<"sum.dim_IntList">, {weighted, along, true}));
    PT2_TRY(average, apply(aten<"div.Tensor">, {total, sum}));
  } else {
    PT2_TRY(const Tensor total, apply(aten<"sum.dim_IntList">, {in, along, true}));
    PT2_TRY(average, apply(aten<"div.Tensor">, {total, observations}));
  }
  double norm = Input<double>(sum)[0] - static_cast<double>(correction);
  if (weights && aweights && correction != 0) {
    PT2_TRY(const Tensor squares, apply(aten<"mul.Tensor">, {*weights, *aweights}));
    PT2_TRY(const Tensor total, apply(aten<"sum.default">, {squares}));
    const double whole = Input<double>(sum)[0];
    norm = whole - static_cast<double>(correction) * Input<double>(total)[0] / whole;
  }
  PT2_TRY(const Tensor centered, apply(aten<"sub.Tensor">, {in, average}));
  Tensor right = centered;
  if (weights) {
    PT2_TRY(right, apply(aten<"mul.Tensor">, {centered, *weights}));
  }
  PT2_TRY(const Tensor turned, apply(aten<"mH.default">, {right}));
  PT2_TRY(const Tensor product, apply(aten<"mm.default">, {centered, turned}));
  PT2_TRY(const Tensor out, apply(aten<"div.Tensor">, {product, norm > 0 ? norm : 0.0}));
  return apply(aten<"squeeze.default">, {out});
}

Result<Tensor> corrcoef(const Tensor& self) {
  PT2_TRY(const Tensor c, cov(self, 1, std::nullopt, std::nullopt));
  if (c.dim() == 0) return apply(aten<"div.Tensor">, {c, c});
  PT2_TRY(const Tensor variances, diagonal(c, 0, 0, 1));
  PT2_TRY(const Tensor real, dtype_category(c.dtype()) == DtypeCategory::complex
                                 ? apply(aten<"real.default">, {variances})
                                 : Result<Tensor>(variances));
  PT2_TRY(const Tensor deviations, apply(aten<"sqrt.default">, {real}));
  PT2_TRY(const Tensor column, unsqueeze(deviations, 1));
  PT2_TRY(const Tensor by_row, apply(aten<"div.Tensor">, {c, column}));
  PT2_TRY(const Tensor row, unsqueeze(deviations, 0));
  PT2_TRY(const Tensor out, apply(aten<"div.Tensor">, {by_row, row}));
  if (dtype_category(c.dtype()) == DtypeCategory::complex) return out;
  return apply(aten<"clamp.default">, {out, int64_t{-1}, int64_t{1}});
}

// --- Integrals by the trapezoid rule

// The sums of neighbours along dim.
Result<Tensor> neighbour_sums(const Tensor& y, int64_t dim) {
  PT2_TRY(const Tensor left, slice(y, dim, std::nullopt, -1, 1));
  PT2_TRY(const Tensor right, slice(y, dim, 1, std::nullopt, 1));
  return apply(aten<"add.Tensor">, {left, right});
}
// The distances between neighbours, shaped to broadcast along `dim` of y.
Result<Tensor> distances_for(const Tensor& y, const Tensor& x, int64_t dim) {
  PT2_TRY(const int64_t at, wrap_dim(dim, y.dim()));
  Tensor shaped = x;
  if (x.dim() == 1) {
    if (x.size(0) != y.size(at))
      return operator_error("x: found " + x.type_text() + ", expected " +
                            std::to_string(y.size(at)) + " elements");
    Sizes sizes(y.sizes().size(), 1);
    sizes[static_cast<size_t>(at)] = x.size(0);
    PT2_TRY(shaped, reshape(x, sizes));
  } else {
    while (shaped.dim() < y.dim()) {
      PT2_TRY(shaped, unsqueeze(shaped, 0));
    }
  }
  if (shaped.dim() != y.dim())
    return operator_error("x: found " + x.type_text() + " for y " + y.type_text());
  PT2_TRY(const Tensor left, slice(shaped, at, std::nullopt, -1, 1));
  PT2_TRY(const Tensor right, slice(shaped, at, 1, std::nullopt, 1));
  return apply(aten<"sub.Tensor">, {right, left});
}
Result<Tensor> halved(const Tensor& tensor) { return apply(aten<"div.Scalar">, {tensor, 2.0}); }

Result<Tensor> zero_integral(const Tensor& y, int64_t dim) {
  PT2_TRY(const int64_t at, wrap_dim(dim, y.dim()));
  return apply(aten<"zeros.default">, {box(reduced_sizes(y, {at}, false)), y.dtype()});
}
Result<Tensor> trapezoid_dx(const Tensor& y, const Scalar& dx, int64_t dim) {
  PT2_TRY_VOID(check_rank_at_least(y, 1, "y"));
  PT2_TRY(const int64_t at, wrap_dim(dim, y.dim()));
  PT2_TRY_VOID(expect_not_bool(y.dtype()));
  if (y.size(at) == 0) return zero_integral(y, dim);
  PT2_TRY(const Tensor sums, neighbour_sums(y, at));
  PT2_TRY(const Tensor total, apply(aten<"sum.dim_IntList">, {sums, Value::List{at}}));
  PT2_TRY(const Tensor scaled, apply(aten<"mul.Scalar">, {total, box(dx)}));
  return halved(scaled);
}
Result<Tensor> trapezoid_x(const Tensor& y, const Tensor& x, int64_t dim) {
  PT2_TRY_VOID(check_rank_at_least(y, 1, "y"));
  PT2_TRY(const int64_t at, wrap_dim(dim, y.dim()));
  PT2_TRY_VOID(expect_not_bool(y.dtype()));
  PT2_TRY_VOID(expect_not_bool(x.dtype()));
  if (y.size(at) == 0) return zero_integral(y, dim);
  PT2_TRY(const Tensor steps, distances_for(y, x, at));
  PT2_TRY(const Tensor sums, neighbour_sums(y, at));
  PT2_TRY(const Tensor areas, apply(aten<"mul.Tensor">, {steps, sums}));
  PT2_TRY(const Tensor total, apply(aten<"sum.dim_IntList">, {areas, Value::List{at}}));
  return halved(total);
}
Result<Tensor> trapz_dx(const Tensor& y, double dx, int64_t dim) {
  return trapezoid_dx(y, Scalar(dx), dim);
}
Result<Tensor> cumulative_dx(const Tensor& y, const Scalar& dx, int64_t dim) {
  PT2_TRY_VOID(check_rank_at_least(y, 1, "y"));
  PT2_TRY_VOID(expect_not_bool(y.dtype()));
  PT2_TRY(const Tensor sums, neighbour_sums(y, dim));
  PT2_TRY(const Tensor total, apply(aten<"cumsum.default">, {sums, dim}));
  return apply(aten<"mul.Tensor">, {total, dx.to_double() / 2});
}
Result<Tensor> cumulative_x(const Tensor& y, const Tensor& x, int64_t dim) {
  PT2_TRY_VOID(check_rank_at_least(y, 1, "y"));
  PT2_TRY_VOID(expect_not_bool(y.dtype()));
  PT2_TRY_VOID(expect_not_bool(x.dtype()));
  PT2_TRY(const Tensor steps, distances_for(y, x, dim));
  PT2_TRY(const Tensor sums, neighbour_sums(y, dim));
  PT2_TRY(const Tensor areas, apply(aten<"mul.Tensor">, {steps, sums}));
  PT2_TRY(const Tensor total, apply(aten<"cumsum.default">, {areas, dim}));
  return halved(total);
}

// --- Others

// Scales slices along dim down to the norm maxnorm where they exceed it
// (ATen/native/Normalization.cpp renorm).
Result<Tensor> renorm(const Tensor& self, const Scalar& p, int64_t dim, const Scalar& maxnorm) {
  PT2_TRY_VOID(check_rank_at_least(self, 2, "self"));
  PT2_TRY_VOID(check_floating_or_complex(self, "self"));
  if (!(p.to_double() > 0) || !(maxnorm.to_double() >= 0))
    return operator_error("found p " + std::to_string(p.to_double()) + " and maxnorm " +
                          std::to_string(maxnorm.to_double()) + ", expected positive numbers");
  PT2_TRY(const int64_t kept, wrap_dim(dim, self.dim()));
  Value::List others;
  for (int64_t i = 0; i < self.dim(); ++i)
    if (i != kept) others.emplace_back(i);
  PT2_TRY(const Tensor norm,
          apply(aten<"linalg_vector_norm.default">, {self, box(p), others, true}));
  PT2_TRY(const Tensor padded, apply(aten<"add.Scalar">, {norm, 1e-7}));
  PT2_TRY(const Tensor factor, apply(aten<"reciprocal.default">, {padded}));
  PT2_TRY(const Tensor scaled, apply(aten<"mul.Scalar">, {factor, maxnorm.to_double()}));
  PT2_TRY(const Tensor large, apply(aten<"gt.Scalar">, {norm, maxnorm.to_double()}));
  PT2_TRY(const Tensor chosen, apply(aten<"where.ScalarOther">, {large, scaled, 1.0}));
  PT2_TRY(const Tensor cast, apply(aten<"to.dtype">, {chosen, norm.dtype()}));
  return apply(aten<"mul.Tensor">, {self, cast});
}

Result<Tensor> index_reduce(const Tensor& self, int64_t dim, const Tensor& index,
                            const Tensor& source, const std::string& reduce, bool include_self) {
  PT2_TRY(const int64_t at, wrap_dim(dim, self.dim()));
  PT2_TRY_VOID(check_index_dtype(index, "index"));
  PT2_TRY_VOID(check_same_dtype(source, self, "source"));
  if (index.dim() > 1 || source.dim() != self.dim() || length_of(source, at) != index.numel())
    return operator_error("index: found " + index.type_text() + " for source " +
                          source.type_text());
  for (int64_t i = 0; i < self.dim(); ++i)
    if (i != at && self.size(i) != source.size(i))
      return operator_error("source: found " + source.type_text() + " for self " +
                            self.type_text());
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
Result<Extremes> aminmax(const Tensor& self) {
  PT2_TRY(Tensor low, apply(aten<"amin.default">, {self}));
  PT2_TRY(Tensor high, apply(aten<"amax.default">, {self}));
  return Extremes{std::move(low), std::move(high)};
}
Result<Extremes> aminmax_dim(const Tensor& self, int64_t dim, bool keepdim) {
  PT2_TRY(Tensor low, apply(aten<"amin.default">, {self, Value::List{dim}, keepdim}));
  PT2_TRY(Tensor high, apply(aten<"amax.default">, {self, Value::List{dim}, keepdim}));
  return Extremes{std::move(low), std::move(high)};
}

Result<bool> allclose(const Tensor& self, const Tensor& other, double rtol, double atol,
                      bool equal_nan) {
  PT2_TRY(const Tensor close, apply(aten<"isclose.default">, {self, other, rtol, atol, equal_nan}));
  PT2_TRY(const Tensor all, apply(aten<"all.default">, {close}));
  return Input<int64_t>(all)[0] != 0;
}

// clang-format off
constexpr OpDef kOps[] = {
    op<"aten::quantile(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation=\"linear\") -> Tensor", quantile<false>>.with({.autocast = AutocastRule::float32, .composite = true}),
    op<"aten::quantile.scalar(Tensor self, float q, int? dim=None, bool keepdim=False, *, str interpolation=\"linear\") -> Tensor", quantile_number<false>>.with({.autocast = AutocastRule::float32, .composite = true}),
    op<"aten::nanquantile(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation=\"linear\") -> Tensor", quantile<true>>.with({.autocast = AutocastRule::float32, .composite = true}),
    op<"aten::nanquantile.scalar(Tensor self, float q, int? dim=None, bool keepdim=False, *, str interpolation=\"linear\") -> Tensor", quantile_number<true>>.with({.autocast = AutocastRule::float32, .composite = true}),
    op<"aten::nanmean(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", nanmean>.with({.composite = true}),
    op<"aten::cov(Tensor self, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None) -> Tensor", cov>.with({.composite = true}),
    op<"aten::corrcoef(Tensor self) -> Tensor", corrcoef>.with({.composite = true}),
    op<"aten::trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor", trapezoid_dx>.with({.composite = true}),
    op<"aten::trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor", trapezoid_x>.with({.composite = true}),
    op<"aten::trapz.dx(Tensor y, *, float dx=1., int dim=-1) -> Tensor", trapz_dx>.with({.composite = true}),
    op<"aten::trapz.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor", trapezoid_x>.with({.composite = true}),
    op<"aten::cumulative_trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor", cumulative_dx>.with({.composite = true}),
    op<"aten::cumulative_trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor", cumulative_x>.with({.composite = true}),
    op<"aten::renorm(Tensor self, Scalar p, int dim, Scalar maxnorm) -> Tensor", renorm>,
    op<"aten::index_reduce(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True) -> Tensor", index_reduce>,
    op<"aten::_aminmax(Tensor self) -> (Tensor, Tensor)", aminmax>,
    op<"aten::_aminmax.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor, Tensor)", aminmax_dim>,
    op<"aten::allclose(Tensor self, Tensor other, float rtol=1.0000000000000001e-05, float atol=1e-08, bool equal_nan=False) -> bool", allclose>,
};
// clang-format on

}  // namespace

std::span<const OpDef> statistics_ops() { return kOps; }

}  // namespace pt2::ops
