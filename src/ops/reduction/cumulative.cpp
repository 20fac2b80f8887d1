// Cumulative sums, products and extremes along one dimension.
#include <algorithm>
#include <cmath>

#include "ops/checks.h"
#include "ops/compose.h"
#include "ops/op_def.h"
#include "ops/pointwise/pointwise.h"
#include "ops/reduction/reduce.h"
#include "ops/reduction/sums.h"

namespace pt2::ops {
namespace {

Result<Meta> cumulative_meta(const Tensor& self, int64_t dim, const OptionalDtype& dtype) {
  PT2_TRY_VOID(wrap_dim(dim, self.dim()));
  const bool integers = dtype_category(self.dtype()) < DtypeCategory::floating;
  return Meta(dtype.value_or(integers ? Dtype::int64 : self.dtype()), self.sizes());
}

// Calls row_function(x, y, length) for every row x of self, cast to out's dtype, and row y of out.
template <class C, class F>
void along_rows(Tensor& out, const Tensor& self, int64_t dim, F&& row_function) {
  const int64_t wrapped = *wrap_dim(dim, self.dim());
  const int64_t length = length_of(self, wrapped);
  const Input<C> rows(dim_last(self, wrapped), out.dtype());
  Tensor view = dim_last(out, wrapped);
  Output<C> results(view);
  for (int64_t row = 0; row < row_count(self.numel(), length); ++row)
    row_function(rows.data() + row * length, results.data() + row * length, length);
}

struct Sum {
  static constexpr int kStart = 0;
  template <class A>
  A operator()(A a, A b) const {
    return a + b;
  }
};
struct Product {
  static constexpr int kStart = 1;
  template <class A>
  A operator()(A a, A b) const {
    return times(a, b);
  }
};

// Accumulates rows whose elements are `distance` apart; `distance` is also the number of rows.
// Adjacent rows advance together at memory speed, whereas a single sum has to wait for its latency.
template <class F, class C>
void cumulate_lanes(const C* x, C* y, int64_t length, int64_t distance) {
  if (distance == 1) {
    Accumulator<C> total(F::kStart);
    for (int64_t i = 0; i < length; ++i) {
      total = F()(total, static_cast<Accumulator<C>>(x[i]));
      y[i] = static_cast<C>(total);
    }
    return;
  }
  constexpr int64_t kLanes = 64;
  for (int64_t begin = 0; begin < distance; begin += kLanes) {
    const int64_t lanes = std::min(kLanes, distance - begin);
    Accumulator<C> totals[kLanes];
    std::fill_n(totals, lanes, Accumulator<C>(F::kStart));
    for (int64_t i = 0; i < length; ++i)
      for (int64_t lane = 0; lane < lanes; ++lane) {
        const int64_t at = i * distance + begin + lane;
        totals[lane] = F()(totals[lane], static_cast<Accumulator<C>>(x[at]));
        y[at] = static_cast<C>(totals[lane]);
      }
  }
}

template <class F>
void cumulate(Tensor& out, const Tensor& self, int64_t dim, const OptionalDtype&) {
  if (out.numel() == 0) return;
  const int64_t wrapped = *wrap_dim(dim, self.dim()), length = length_of(self, wrapped);
  int64_t distance = 1;
  for (int64_t i = wrapped + 1; i < self.dim(); ++i) distance *= self.size(i);
  with_compute_type(out.dtype(), [&]<class C>() {
    const Input<C> x(self, out.dtype());
    Output<C> y(out);
    for (int64_t begin = 0; begin < out.numel(); begin += length * distance)
      cumulate_lanes<F>(x.data() + begin, y.data() + begin, length, distance);
  });
}

Result<Meta> logcumsumexp_meta(const Tensor& self, int64_t dim) {
  PT2_TRY_VOID(check_floating_or_complex(self, "self"));
  PT2_TRY_VOID(wrap_dim(dim, self.dim()));
  return Meta(self.dtype(), self.sizes());
}

double log_add_exp(double a, double b) {
  const double smaller = std::isnan(b) ? b : std::min(a, b);
  const double larger = std::isnan(b) ? b : std::max(a, b);
  if (smaller == larger && std::isinf(larger)) return larger;
  return larger + std::log1p(std::exp(smaller - larger));
}

void logcumsumexp(Tensor& out, const Tensor& self, int64_t dim) {
  if (dtype_category(out.dtype()) == DtypeCategory::complex)
    return along_rows<Complex>(out, self, dim, [](const Complex* x, Complex* y, int64_t count) {
      Complex total = -std::numeric_limits<double>::infinity();
      for (int64_t i = 0; i < count; ++i) y[i] = total = ops::log_add_exp(total, x[i]);
    });
  with_float_compute_type(out.dtype(), [&]<class C>() {
    along_rows<C>(out, self, dim, [](const C* x, C* y, int64_t count) {
      double total = -std::numeric_limits<double>::infinity();
      for (int64_t i = 0; i < count; ++i) {
        total = log_add_exp(total, static_cast<double>(x[i]));
        y[i] = static_cast<C>(total);
      }
    });
  });
}

Result<std::array<Meta, 2>> cummax_meta(const Tensor& self, int64_t dim) {
  // In PyTorch, only numbers that are compared must be real.
  if (self.dim() > 0 && self.numel() > 0) PT2_TRY_VOID(check_not_complex(self, "self"));
  PT2_TRY_VOID(wrap_dim(dim, self.dim()));
  return std::array{Meta(self.dtype(), self.sizes()), Meta(Dtype::int64, self.sizes())};
}

// The last of equal elements is chosen. After a NaN every result is NaN, with the index of the last
// NaN.
template <bool Largest>
void cummax(Tensor& values, Tensor& indices, const Tensor& self, int64_t dim) {
  if (self.dim() == 0) return copy_elements(values, self);
  const int64_t wrapped = *wrap_dim(dim, self.dim());
  const int64_t length = length_of(self, wrapped);
  Tensor index_view = dim_last(indices, wrapped);
  Output<int64_t> index(index_view);
  with_real_compute_type(self.dtype(), [&]<class C>() {
    int64_t* where = index.data();
    along_rows<C>(values, self, dim, [&](const C* x, C* y, int64_t count) {
      int64_t best = 0;
      for (int64_t i = 0; i < count; ++i) {
        const bool nan = x[i] != x[i];
        const bool best_nan = x[best] != x[best];
        if (nan || (!best_nan && (Largest ? x[i] >= x[best] : x[i] <= x[best]))) best = i;
        y[i] = x[best];
        where[i] = best;
      }
      where += length;
    });
  });
}

template <Handle Of>
Result<void> write_extremes(Emitter& e, const Tensor& self, const Tensor& values,
                            const Tensor& indices, int64_t dim) {
  PT2_TRY_VOID(check_sizes(values, self.sizes(), "values"));
  PT2_TRY_VOID(check_sizes(indices, self.sizes(), "indices"));
  PT2_TRY_VOID(check_same_dtype(values, self, "values"));
  PT2_TRY_VOID(check_dtype(indices, Dtype::int64, "indices"));
  PT2_TRY(const auto results, (e.several<Tensor, Tensor>(Of, {self, dim})));
  PT2_TRY_VOID(e(aten<"copy_.default">, {values, std::get<0>(results)}));
  PT2_TRY_VOID(e(aten<"copy_.default">, {indices, std::get<1>(results)}));
  return {};
}

// clang-format off
constexpr OpDef kCumulativeOps[] = {
    op<"aten::cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", cumulative_meta, cumulate<Sum>>.with({.slope = Slope::linear, .takes_dtype_of_out = true}),
    op<"aten::cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", cumulative_meta, cumulate<Product>>.with({.takes_dtype_of_out = true}),
    op<"aten::logcumsumexp(Tensor self, int dim) -> Tensor", logcumsumexp_meta, logcumsumexp>,
    op<"aten::cummax(Tensor self, int dim) -> (Tensor values, Tensor indices)", cummax_meta, cummax<true>>,
    op<"aten::cummin(Tensor self, int dim) -> (Tensor values, Tensor indices)", cummax_meta, cummax<false>>,
    op<"aten::_cummax_helper(Tensor self, Tensor(a!) values, Tensor(b!) indices, int dim) -> ()", write_extremes<aten<"cummax.default">>>,
    op<"aten::_cummin_helper(Tensor self, Tensor(a!) values, Tensor(b!) indices, int dim) -> ()", write_extremes<aten<"cummin.default">>>,
};
// clang-format on

}  // namespace

std::span<const OpDef> cumulative_ops() { return kCumulativeOps; }

}  // namespace pt2::ops
