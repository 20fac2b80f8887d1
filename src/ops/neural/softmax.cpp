// Softmax and log softmax along one dimension.
#include "ops/neural/softmax.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/gradients/rows.h"
#include "kernels/rows.h"
#include "ops/checks.h"
#include "ops/compose.h"
#include "ops/dense.h"
#include "ops/loops.h"
#include "ops/neural/dense_rows.h"
#include "ops/op_def.h"
#include "ops/pointwise/copying.h"
#include "ops/reduction/over_dims.h"
#include "ops/reduction/reduce.h"
#include "ops/reduction/sums.h"

namespace pt2::ops {
namespace {

// The largest element, or NaN if an element is NaN.
template <class C>
C row_maximum(const C* x, int64_t count) {
  C maximum = -std::numeric_limits<C>::infinity();
  for (int64_t i = 0; i < count; ++i)
    if (x[i] > maximum || std::isnan(x[i])) maximum = x[i];
  return maximum;
}

// The sum of exponentials and its logarithm are rounded to `sums`.
template <class C>
void log_softmax_row(const C* x, int64_t count, C* y, Dtype sums) {
  const C maximum = row_maximum(x, count);
  double shift = kernels::sum_of_exponentials(x, count, maximum);
  round_elements(sums, 1, &shift);
  shift = std::log(shift);
  round_elements(sums, 1, &shift);
  for (int64_t i = 0; i < count; ++i)
    y[i] = static_cast<C>(static_cast<double>(x[i]) - static_cast<double>(maximum) - shift);
}

// If rows are contiguous, PyTorch keeps their sums in the dtype of the result
// (vec_log_softmax_lastdim_kernel in ATen/native/cpu/SoftMaxKernel.cpp), else in a wider dtype.
template <template <class> class Row>
void along_dim(Tensor& out, const Tensor& self, int64_t dim) {
  const int64_t wrapped = *wrap_dim(dim, self.dim());
  const Dtype sums = wrapped == self.dim() - 1 ? out.dtype() : Dtype::float64;
  const int64_t length = length_of(self, wrapped);
  const int64_t rows = row_count(self.numel(), length);
  with_float_compute_type(out.dtype(), [&]<class C>() {
    Tensor view = dim_last(out, wrapped);
    if (out.dtype() != self.dtype()) {
      const Input<C> x(dim_last(self, wrapped), out.dtype());
      fill_rows<C>(view, rows, length,
                   [&](int64_t row, C* y) { Row<C>()(x.data() + row * length, length, y, sums); });
      return;
    }
    InputRows<C> x(dim_last(self, wrapped), length);
    fill_rows<C>(view, rows, length,
                 [&](int64_t row, C* y) { Row<C>()(x.row(row), length, y, sums); });
  });
}

template <class C>
struct Softmax {
  void operator()(const C* x, int64_t count, C* y, Dtype) const { softmax_row(x, count, y); }
};
template <class C>
struct LogSoftmax {
  void operator()(const C* x, int64_t count, C* y, Dtype sums) const {
    if (dtype_size(sums) < dtype_size(Dtype::float32)) return log_softmax_row(x, count, y, sums);
    kernels::softmax_rows(true, {1, count, count, count}, x, y);
  }
};
// A row of only -inf gives zeros, not NaN.
template <class C>
struct SafeSoftmax {
  void operator()(const C* x, int64_t count, C* y, Dtype) const {
    if (row_maximum(x, count) == -std::numeric_limits<C>::infinity())
      std::fill(y, y + count, C(0));
    else
      softmax_row(x, count, y);
  }
};

// The result of an empty tensor may have an integer dtype.
Result<void> check_normalizable(const Tensor& self, Dtype result) {
  if (dtype_category(result) == DtypeCategory::floating ||
      (self.numel() == 0 && dtype_category(result) < DtypeCategory::floating))
    return {};
  return operator_error("self: found " + std::string(dtype_name(result)) +
                        ", expected a floating dtype");
}

Result<Meta> half_meta(const Tensor& self, int64_t dim, bool half_to_float) {
  PT2_TRY_VOID(check_normalizable(self, self.dtype()));
  PT2_TRY_VOID(wrap_dim(dim, self.dim()));
  if (half_to_float)
    return operator_error("found half_to_float, expected none: PyTorch has it on CUDA only");
  return Meta::like(self);
}

template <template <class> class Row>
void half_kernel(Tensor& out, const Tensor& self, int64_t dim, bool) {
  along_dim<Row>(out, self, dim);
}

Result<Meta> safe_meta(const Tensor& self, int64_t dim, const std::optional<Dtype>& dtype) {
  PT2_TRY_VOID(check_not_complex(self, "self"));
  PT2_TRY_VOID(wrap_dim(dim, self.dim()));
  const Dtype result = dtype.value_or(self.dtype());
  PT2_TRY_VOID(check_normalizable(self, result));
  return Meta(result, self.sizes());
}

void safe_kernel(Tensor& out, const Tensor& self, int64_t dim, const std::optional<Dtype>&) {
  along_dim<SafeSoftmax>(out, self, dim);
}

Result<Meta> logsumexp_meta(const Tensor& self, const OverDims& over) {
  // An empty list of dims means all dims for the sum, but no dims for the squeeze that follows
  // (ATen/native/ReduceOps.cpp logsumexp_out_impl).
  if (over.is_empty && !over.keepdim && self.dim() > 0 && self.numel() > 0)
    return operator_error("dim: found [], expected a dim unless keepdim is set");
  return Meta(float_or_default(self.dtype()), reduced_sizes(self, over.dims, over.keepdim));
}

// log(sum(exp(x))). Subtracts the largest real part before exp.
template <class C>
C log_sum_exp(const C* values, int64_t count) {
  auto real = [](C v) {
    if constexpr (std::is_same_v<C, Complex>)
      return v.real();
    else
      return v;
  };
  using Real = decltype(real(C()));
  Real maximum = -std::numeric_limits<Real>::infinity();
  for (int64_t i = 0; i < count; ++i)
    if (real(values[i]) > maximum || std::isnan(real(values[i]))) maximum = real(values[i]);
  // Infinity minus infinity would be NaN.
  if (std::isinf(maximum)) {
    if (!std::is_same_v<C, Complex> && maximum > 0) return maximum;
    maximum = 0;
  }
  if constexpr (!std::is_same_v<C, Complex>) {
    const double sum = kernels::sum_of_exponentials(values, count, maximum);
    return static_cast<C>(std::log(sum) + static_cast<double>(maximum));
  }
  const auto sum = sum_terms(values, count, [maximum](C v) {
    return std::exp(static_cast<Accumulator<C>>(v) - static_cast<double>(maximum));
  });
  return static_cast<C>(std::log(sum) + static_cast<double>(maximum));
}

void logsumexp(Tensor& out, const Tensor& self, const OverDims& over) {
  with_fraction_compute_type(out.dtype(), [&]<class C>() {
    reduce_rows<C, C>(out, self, over.dims, self.dtype(), log_sum_exp<C>);
  });
}

Result<Meta> backward_meta(const Tensor& grad_output, const Tensor& output, int64_t dim,
                           Dtype input_dtype) {
  PT2_TRY_VOID(check_floating(output, "output"));
  PT2_TRY_VOID(check_same_dtype(grad_output, output, "grad_output"));
  PT2_TRY_VOID(check_sizes(grad_output, output.sizes(), "grad_output"));
  PT2_TRY_VOID(wrap_dim(dim, output.dim()));
  if (input_dtype != output.dtype())
    return operator_error("input_dtype: found " + std::string(dtype_name(input_dtype)) +
                          ", expected " + std::string(dtype_name(output.dtype())));
  return Meta(input_dtype, output.sizes());
}

// The gradient of the input, for output y and its gradient g: y (g - sum(g y)) for softmax, g -
// exp(y) sum(g) for log softmax.
template <bool Logarithm>
void backward(Tensor& out, const Tensor& grad_output, const Tensor& output, int64_t dim, Dtype) {
  const int64_t wrapped = *wrap_dim(dim, output.dim());
  const int64_t length = length_of(output, wrapped);
  with_float_compute_type(output.dtype(), [&]<class C>() {
    const Input<C> grads(dim_last(grad_output, wrapped));
    const Input<C> outputs(dim_last(output, wrapped));
    Tensor view = dim_last(out, wrapped);
    Output<C> results(view);
    const auto gradient =
        Logarithm ? kernels::log_softmax_gradient_row<C> : kernels::softmax_gradient_row<C>;
    for (int64_t row = 0; row < row_count(output.numel(), length); ++row)
      gradient(grads.data() + row * length, outputs.data() + row * length, length,
               results.data() + row * length);
  });
}

template <Handle Of>
Result<Tensor> converted_softmax(Emitter& e, const Tensor& self, int64_t dim,
                                 const std::optional<Dtype>& dtype) {
  return e(Of, {converted(e, self, dtype.value_or(self.dtype())), dim, false});
}

// The softmax over the elements whose mask is false. The mask covers queries and keys for mask_type
// 0, batch and keys for mask_type 1, all elements for mask_type 2.
Result<Tensor> masked_softmax(Emitter& e, const Tensor& self, const Tensor& mask,
                              const std::optional<int64_t>& dim,
                              const std::optional<int64_t>& mask_type) {
  PT2_TRY_VOID(check_floating(self, "self"));
  PT2_TRY_VOID(check_dtype(mask, Dtype::bool_, "mask"));
  Tensor excluded = mask;
  if (mask.sizes() != self.sizes()) {
    PT2_TRY_VOID(check_rank(self, 4, "self"));
    const bool of_keys = mask_type == 1;
    PT2_TRY_VOID(check_sizes(
        mask, of_keys ? Sizes{self.size(0), self.size(3)} : Sizes{self.size(2), self.size(3)},
        "mask"));
    if (of_keys) {
      PT2_TRY(excluded, e(aten<"view.default">, {mask, Sizes{self.size(0), 1, 1, self.size(3)}}));
    }
  }
  PT2_TRY(const Tensor kept, e(aten<"masked_fill.Scalar">, {self, excluded, Scalar(-HUGE_VAL)}));
  return e(aten<"_softmax.default">, {kept, dim.value_or(-1), false});
}

Result<Tensor> masked_softmax_backward(Emitter& e, const Tensor& grad_output, const Tensor& output,
                                       const Tensor& mask, const std::optional<int64_t>& dim) {
  PT2_TRY_VOID(check_sizes(mask, grad_output.sizes(), "mask"));
  PT2_TRY_VOID(check_dtype(mask, Dtype::bool_, "mask"));
  const auto hidden = [&](const Tensor& tensor) {
    return e(aten<"masked_fill.Scalar">, {tensor, mask, int64_t{0}});
  };
  return e(aten<"_softmax_backward_data.default">,
           {hidden(grad_output), hidden(output), dim.value_or(grad_output.dim() - 1),
            grad_output.dtype()});
}

// clang-format off
constexpr OpDef kSoftmaxOps[] = {
    op<"aten::_masked_softmax(Tensor self, Tensor mask, int? dim=None, int? mask_type=None) -> Tensor", masked_softmax>,
    op<"aten::_masked_softmax_backward(Tensor grad_output, Tensor output, Tensor mask, int? dim=None) -> Tensor", masked_softmax_backward>,
    op<"aten::_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor", backward_meta, backward<false>>,
    op<"aten::_log_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor", backward_meta, backward<true>>,
    op<"aten::_softmax(Tensor self, int dim, bool half_to_float) -> Tensor", half_meta, half_kernel<Softmax>>,
    op<"aten::_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor", half_meta, half_kernel<LogSoftmax>>,
    op<"aten::softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", converted_softmax<aten<"_softmax.default">>>,
    op<"aten::log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", converted_softmax<aten<"_log_softmax.default">>>,
    op<"aten::_safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", safe_meta, safe_kernel>,
    reduces<"aten::logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor", logsumexp_meta, logsumexp>,
};
// clang-format on

}  // namespace

template <class C>
void softmax_row(const C* x, int64_t count, C* y) {
  kernels::softmax_rows(false, {1, count, count, count}, x, y);
}
template void softmax_row<float>(const float*, int64_t, float*);
template void softmax_row<double>(const double*, int64_t, double*);

std::span<const OpDef> softmax_ops() { return kSoftmaxOps; }

}  // namespace pt2::ops
