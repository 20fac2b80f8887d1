// Cumulative sums, products and extremes along one dimension.
#include <cmath>

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

// Calls step(x, y, i) for every row x of self, cast to out's dtype, and row y of out.
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
    return a * b;
  }
};

template <class F>
void cumulate(Tensor& out, const Tensor& self, int64_t dim, const OptionalDtype&) {
  with_compute_type(out.dtype(), [&]<class C>() {
    along_rows<C>(out, self, dim, [](const C* x, C* y, int64_t count) {
      Accumulator<C> total(F::kStart);
      for (int64_t i = 0; i < count; ++i) {
        total = F()(total, static_cast<Accumulator<C>>(x[i]));
        y[i] = static_cast<C>(total);
      }
    });
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
  PT2_TRY_VOID(check_not_complex(self, "self"));
  PT2_TRY_VOID(wrap_dim(dim, self.dim()));
  return std::array{Meta(self.dtype(), self.sizes()), Meta(Dtype::int64, self.sizes())};
}

// The last of equal elements wins. After a NaN every result is NaN, with the index of the last NaN.
template <bool Largest>
void cummax(Tensor& values, Tensor& indices, const Tensor& self, int64_t dim) {
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

// clang-format off
constexpr OpDef kOps[] = {
    op<"aten::cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", cumulative_meta, cumulate<Sum>>.with({.slope = Slope::linear, .takes_dtype_of_out = true}),
    op<"aten::cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", cumulative_meta, cumulate<Product>>.with({.takes_dtype_of_out = true}),
    op<"aten::logcumsumexp(Tensor self, int dim) -> Tensor", logcumsumexp_meta, logcumsumexp>,
    op<"aten::cummax(Tensor self, int dim) -> (Tensor values, Tensor indices)", cummax_meta, cummax<true>>,
    op<"aten::cummin(Tensor self, int dim) -> (Tensor values, Tensor indices)", cummax_meta, cummax<false>>,
};
// clang-format on

}  // namespace

std::span<const OpDef> cumulative_ops() { return kOps; }

}  // namespace pt2::ops
