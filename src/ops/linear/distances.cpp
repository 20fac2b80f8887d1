// Distances between vectors.
#include <algorithm>
#include <cmath>

#include "base/memory_account.h"
#include "base/text.h"
#include "kernels/pointwise.h"
#include "ops/checks.h"
#include "ops/compose.h"
#include "ops/dense.h"
#include "ops/linear/gemm.h"
#include "ops/linear/matrices.h"
#include "ops/loops.h"
#include "ops/op_def.h"
#include "ops/reduction/sums.h"

namespace pt2::ops {
namespace {

// The sum of term(a[i] - b[i]): partial sums of type C over short blocks, added up in double.
template <class C, class F>
double sum_differences(const C* a, const C* b, int64_t count, F&& term) {
  constexpr int64_t kLanes = 16;
  constexpr int64_t kBlock = 1024;
  double total = 0;
  int64_t i = 0;
  while (count - i >= kLanes) {
    C lanes[kLanes] = {};
    const int64_t end = i + std::min(kBlock, (count - i) / kLanes * kLanes);
    for (; i < end; i += kLanes)
      for (int64_t lane = 0; lane < kLanes; ++lane) lanes[lane] += term(a[i + lane] - b[i + lane]);
    for (const C lane : lanes) total += static_cast<double>(lane);
  }
  for (; i < count; ++i) total += static_cast<double>(term(a[i] - b[i]));
  return total;
}

// The p-norm of a - b. p = 0 counts differing coordinates; p = infinity takes the maximum, which
// skips NaN unless `keeps_nan`.
template <class C>
double distance(const C* a, const C* b, int64_t count, double p, bool keeps_nan) {
  p = static_cast<C>(p);  // PyTorch has p in the vectors' dtype
  if (p == 0)
    return sum_differences(a, b, count, [](C x) {
      return std::isnan(x) ? x : x == 0 ? C(0) : C(1);
    });
  if (p == 1) return sum_differences(a, b, count, [](C x) { return std::fabs(x); });
  if (p == 2) return std::sqrt(sum_differences(a, b, count, [](C x) { return x * x; }));
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double difference = std::fabs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    if (std::isinf(p))
      sum = std::isnan(difference) && keeps_nan ? difference : std::max(sum, difference);
    else
      sum += std::pow(difference, p);
  }
  return std::isinf(p) ? sum : std::pow(sum, 1 / p);
}

Result<void> check_order(double p) {
  if (!(p >= 0))
    return operator_error("p: found " + print_float(p) + ", expected no negative number");
  return {};
}

// Counts the coordinates of pairs of points. A power takes longer than everything else.
void count_coordinates(int64_t pairs, int64_t width, double p) {
  constexpr int64_t kWorkOfPower = 24;
  const bool is_power = p != 0 && p != 1 && p != 2 && !std::isinf(p);
  MemoryAccount::count_loops({pairs, width, is_power ? kWorkOfPower : 1}, 1);
}

// Values of `compute_mode` (ATen/native/Distance.cpp cdist_impl). In automatic mode, PyTorch uses
// products if either side has more than kFewVectors vectors.
enum ComputeMode : int64_t { kAutomatic = 0, kProducts = 1 };
constexpr int64_t kFewVectors = 25;
bool uses_products(double p, const std::optional<int64_t>& compute_mode, int64_t rows,
                   int64_t columns) {
  const int64_t mode = compute_mode.value_or(kAutomatic);
  return p == 2 &&
         (mode == kProducts || (mode == kAutomatic && std::max(rows, columns) > kFewVectors));
}

Result<Meta> cdist_meta(const Tensor& x1, const Tensor& x2, double p,
                        const std::optional<int64_t>& compute_mode) {
  PT2_TRY_VOID(check_order(p));
  if (compute_mode && (*compute_mode < 0 || *compute_mode > 2))
    return operator_error("compute_mode: found " + std::to_string(*compute_mode) +
                          ", expected 0 to 2");
  PT2_TRY_VOID(check_same_dtype(x2, x1, "x2"));
  for (const Tensor* tensor : {&x1, &x2}) {
    PT2_TRY_VOID(check_floating(*tensor, "x1 and x2"));
    PT2_TRY_VOID(check_rank_at_least(*tensor, 2, "x1 and x2"));
  }
  if (x1.size(x1.dim() - 1) != x2.size(x2.dim() - 1))
    return operator_error("x2: found " + x2.type_text() + ", expected the columns of " +
                          x1.type_text());
  PT2_TRY(Sizes sizes, broadcast_sizes(std::array{batch_of(x1), batch_of(x2)}));
  const int64_t rows = rows_of(x1), columns = rows_of(x2);
  sizes.insert(sizes.end(), {rows, columns});
  // PyTorch has no distances of halves, only products of them.
  const bool computes = std::ranges::count(sizes, 0) == 0 && x1.size(x1.dim() - 1) != 0;
  if (computes && !uses_products(p, compute_mode, rows, columns))
    PT2_TRY_VOID(check_float_or_double(x1, "x1 and x2"));
  return Meta(promote_types(x1.dtype(), x2.dtype()), std::move(sizes));
}

template <class C>
Scratch<double> squared_norms(const C* vectors, int64_t count, int64_t width) {
  Scratch<double> norms;
  for (int64_t i = 0; i < count; ++i)
    norms.push_back(sum_terms(vectors + i * width, width,
                              [](C x) { return static_cast<double>(x) * static_cast<double>(x); }));
  return norms;
}

// Euclidean distances as the square root of |a|^2 + |b|^2 - 2 a b.
template <class C>
void distances_by_products(const C* a, int64_t rows, const C* b, int64_t columns, int64_t width,
                           C* out) {
  const MatrixOperand<C> left(a, width, 1);
  const MatrixOperand<C> right(b, width, 1);
  gemm<C>(rows, columns, width, left, right, out, columns, 1);
  const Scratch<double> of_rows = squared_norms(a, rows, width);
  const Scratch<double> of_columns = squared_norms(b, columns, width);
  // The norms in C: double would not make the result more exact than the products, and floats fill
  // wider vector registers.
  Scratch<C> columns_alone;
  for (const double norm : of_columns) columns_alone.push_back(static_cast<C>(norm));
  for (int64_t i = 0; i < rows; ++i) {
    C* line = out + i * columns;
    const C own = static_cast<C>(of_rows[static_cast<size_t>(i)]);
    const C* of_column = columns_alone.data();
    for (int64_t j = 0; j < columns; ++j) {
      const C square = own + of_column[j] - 2 * line[j];
      line[j] = square < 0 ? C(0) : square;
    }
    if constexpr (std::is_same_v<C, float>)
      kernels::apply(kernels::Unary::square_root, line, line, columns);
    else
      for (int64_t j = 0; j < columns; ++j) line[j] = std::sqrt(line[j]);
  }
}

void cdist(Tensor& out, const Tensor& x1, const Tensor& x2, double p,
           const std::optional<int64_t>& compute_mode) {
  if (out.numel() == 0) return;
  const int64_t width = x1.size(x1.dim() - 1);
  count_coordinates(out.numel(), width, p);
  const int64_t rows = out.size(out.dim() - 2);
  const int64_t columns = out.size(out.dim() - 1);
  const bool by_products = uses_products(p, compute_mode, rows, columns);
  with_float_compute_type(out.dtype(), [&]<class C>() {
    const Input<C> a(with_batch(x1, batch_of(out)));
    const Input<C> b(with_batch(x2, batch_of(out)));
    Output<C> result(out);
    for (int64_t batch = 0; batch < out.numel() / (rows * columns); ++batch) {
      const C* left = a.data() + batch * rows * width;
      const C* right = b.data() + batch * columns * width;
      C* line = result.data() + batch * rows * columns;
      if (by_products) {
        distances_by_products(left, rows, right, columns, width, line);
        continue;
      }
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j)
          line[i * columns + j] =
              static_cast<C>(distance(left + i * width, right + j * width, width, p, false));
    }
  });
}

Result<Meta> pdist_meta(const Tensor& self, double p) {
  PT2_TRY_VOID(check_order(p));
  PT2_TRY_VOID(check_floating(self, "self"));
  PT2_TRY_VOID(check_rank(self, 2, "self"));
  const int64_t n = self.size(0);
  if (n > 1 && self.size(1) > 0) PT2_TRY_VOID(check_float_or_double(self, "self"));
  PT2_TRY(const int64_t twice, multiply_add(n, std::max<int64_t>(n - 1, 0)));
  return Meta(self.dtype(), {twice / 2});
}

void pdist(Tensor& out, const Tensor& self, double p) {
  count_coordinates(out.numel(), self.size(1), p);
  with_float_compute_type(out.dtype(), [&]<class C>() {
    const Input<C> x(self);
    Output<C> result(out);
    const int64_t width = self.size(1);
    int64_t next = 0;
    for (int64_t i = 0; i < self.size(0); ++i)
      for (int64_t j = i + 1; j < self.size(0); ++j)
        result[next++] =
            static_cast<C>(distance(x.data() + i * width, x.data() + j * width, width, p, true));
  });
}

// The derivative of the distance of two points with respect to one coordinate of the first, times
// `grad` (ATen/native/cpu/DistanceOpsKernel.cpp). `difference` must be rounded to the points'
// dtype: for p = infinity, the largest difference is recognised by its equality with the distance.
double distance_slope(double difference, double grad, double distance, double p) {
  const double sign = difference > 0 ? 1 : difference < 0 ? -1 : 0;
  if (p == 0) return 0;
  if (p == 1) return grad * sign;
  if (std::isinf(p)) return std::fabs(difference) == distance ? grad * sign : 0;
  if (distance == 0) return 0;
  if (p == 2) return grad * difference / distance;
  if (p < 1 && difference == 0) return 0;
  if (p < 2)
    return sign * std::pow(std::fabs(difference), p - 1) * grad / std::pow(distance, p - 1);
  return difference * std::pow(std::fabs(difference), p - 2) * grad / std::pow(distance, p - 1);
}

Result<Meta> cdist_backward_meta(const Tensor& grad_output, const Tensor& x1, const Tensor& x2,
                                 double p, const Tensor& cdist) {
  PT2_TRY(const Meta forward, cdist_meta(x1, x2, p, std::nullopt));
  PT2_TRY_VOID(check_sizes(cdist, forward.sizes, "cdist"));
  PT2_TRY_VOID(check_sizes(grad_output, forward.sizes, "grad_output"));
  const std::optional<int64_t> count = checked_numel(forward.sizes);
  if (!count || *count == 0) return Meta::like(x1);
  PT2_TRY_VOID(check_float_or_double(x1, "x1 and x2"));
  Sizes sizes = forward.sizes;
  sizes.back() = x1.size(x1.dim() - 1);
  return Meta(x1.dtype(), std::move(sizes));
}

void cdist_backward(Tensor& out, const Tensor& grad_output, const Tensor& x1, const Tensor& x2,
                    double p, const Tensor& cdist) {
  const Input<double> grads(grad_output);
  const Input<double> distances(cdist);
  Output<double> result(out);
  const int64_t width = x1.size(x1.dim() - 1);
  const int64_t rows = cdist.size(cdist.dim() - 2);
  const int64_t columns = cdist.size(cdist.dim() - 1);
  count_coordinates(2 * cdist.numel(), width, p);
  with_float_compute_type(x1.dtype(), [&]<class C>() {
    const Input<C> a(with_batch(x1, batch_of(cdist)));
    const Input<C> b(with_batch(x2, batch_of(cdist)));
    const double order = static_cast<C>(p);
    for (int64_t i = 0; i < cdist.numel(); ++i) {
      const int64_t row = i / columns;
      const int64_t column = row / rows * columns + i % columns;
      for (int64_t k = 0; k < width; ++k)
        result[row * width + k] += distance_slope(a[row * width + k] - b[column * width + k],
                                                  grads[i], distances[i], order);
    }
  });
}

Result<Meta> pdist_backward_meta(const Tensor& grad_output, const Tensor& self, double p,
                                 const Tensor& pdist) {
  PT2_TRY(const Meta forward, pdist_meta(self, p));
  PT2_TRY_VOID(check_sizes(pdist, forward.sizes, "pdist"));
  PT2_TRY_VOID(check_sizes(grad_output, forward.sizes, "grad"));
  return Meta::like(self);
}

void pdist_backward(Tensor& out, const Tensor& grad_output, const Tensor& self, double p,
                    const Tensor& pdist) {
  count_coordinates(2 * pdist.numel(), self.size(1), p);
  const Input<double> grads(grad_output);
  const Input<double> distances(pdist);
  Output<double> result(out);
  const int64_t width = self.size(1);
  with_float_compute_type(self.dtype(), [&]<class C>() {
    const Input<C> x(self);
    const double order = static_cast<C>(p);
    int64_t pair = 0;
    for (int64_t i = 0; i < self.size(0); ++i)
      for (int64_t j = i + 1; j < self.size(0); ++j, ++pair)
        for (int64_t k = 0; k < width; ++k) {
          const double slope = distance_slope(x[i * width + k] - x[j * width + k], grads[pair],
                                              distances[pair], order);
          result[i * width + k] += slope;
          result[j * width + k] -= slope;
        }
  });
}

// --- Formulas (ATen/native/Distance.cpp)

Result<Tensor> cdist_formula(Emitter& e, const Tensor& x1, const Tensor& x2, double p,
                             const std::optional<int64_t>& compute_mode) {
  return e(aten<"_cdist_forward.default">, {x1, x2, p, compute_mode});
}
Result<Tensor> pdist_formula(Emitter& e, const Tensor& self, double p) {
  PT2_TRY_VOID(check_rank(self, 2, "self"));
  return e(aten<"_pdist_forward.default">, {e(aten<"contiguous.default">, {self}), p});
}

// The product of both vectors, each divided by its norm or by eps.
Result<Tensor> cosine_similarity(Emitter& e, const Tensor& x1, const Tensor& x2, int64_t dim,
                                 double eps) {
  const Dtype dtype = Promotion().add(x1).add(x2).result();
  if (dtype_category(dtype) != DtypeCategory::floating)
    return operator_error("x1: found " + std::string(dtype_name(dtype)) +
                          ", expected a floating dtype");
  const std::array both{x1.sizes(), x2.sizes()};
  PT2_TRY(const Sizes sizes, broadcast_sizes(both));
  const auto expanded = [&](const Tensor& x) {
    const bool is_integer = dtype_category(x.dtype()) < DtypeCategory::floating;
    const auto cast = is_integer ? e(aten<"to.dtype">, {x, dtype}) : Result<Tensor>(x);
    return x.sizes() == sizes ? cast : e(aten<"expand.default">, {cast, sizes});
  };
  const auto a = expanded(x1);
  const auto b = expanded(x2);
  const auto divided = [&](const Result<Tensor>& x) {
    const auto norm = e(aten<"linalg_vector_norm.default">, {x, 2.0, Sizes{dim}, true});
    return e(aten<"div.Tensor">, {x, e(aten<"clamp_min.default">, {norm, eps})});
  };
  const auto product = e(aten<"mul.Tensor">, {divided(a), divided(b)});
  return e(aten<"sum.dim_IntList">, {product, Sizes{dim}});
}

Result<Tensor> pairwise_distance(Emitter& e, const Tensor& x1, const Tensor& x2, double p,
                                 double eps, bool keepdim) {
  const int64_t last = std::max(x1.dim(), x2.dim()) - 1;
  const auto difference = e(aten<"sub.Tensor">, {x1, x2});
  return e(aten<"norm.ScalarOpt_dim">,
           {e(aten<"add.Scalar">, {difference, eps}), p, Sizes{last}, keepdim});
}

Result<Tensor> euclidean_dist(Emitter& e, const Tensor& x1, const Tensor& x2) {
  return e(aten<"_cdist_forward.default">, {x1, x2, 2.0, int64_t{kProducts}});
}

// clang-format off
constexpr OpDef kDistancesOps[] = {
    op<"aten::cdist(Tensor x1, Tensor x2, float p=2., int? compute_mode=None) -> Tensor", cdist_formula>.with({.autocast = AutocastRule::float32}),
    op<"aten::_cdist_forward(Tensor x1, Tensor x2, float p, int? compute_mode) -> Tensor", cdist_meta, cdist>,
    kept<"aten::_euclidean_dist(Tensor x1, Tensor x2) -> Tensor", euclidean_dist>,
    op<"aten::pdist(Tensor self, float p=2.) -> Tensor", pdist_formula>,
    op<"aten::_pdist_forward(Tensor self, float p=2.) -> Tensor", pdist_meta, pdist>,
    op<"aten::_cdist_backward(Tensor grad_output, Tensor x1, Tensor x2, float p, Tensor cdist) -> Tensor", cdist_backward_meta, cdist_backward>,
    op<"aten::_pdist_backward(Tensor grad_output, Tensor self, float p, Tensor pdist) -> Tensor", pdist_backward_meta, pdist_backward>,
    op<"aten::cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor", cosine_similarity>,
    op<"aten::pairwise_distance(Tensor x1, Tensor x2, float p=2., float eps=9.9999999999999995e-07, bool keepdim=False) -> Tensor", pairwise_distance>,
};
// clang-format on

}  // namespace

std::span<const OpDef> distances_ops() { return kDistancesOps; }

}  // namespace pt2::ops
