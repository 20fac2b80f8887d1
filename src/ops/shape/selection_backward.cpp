// Gradients of operators that select elements. PyTorch composes each of other operators
// (CompositeImplicitAutograd), so they occur only in programs that differentiate within forward.
#include <array>

#include "ops/checks.h"
#include "ops/compose.h"
#include "ops/op_def.h"

namespace pt2::ops {
namespace {

// ATen/native/Embedding.cpp embedding_backward_symint.
Result<Tensor> embedding_backward(Emitter& e, const Tensor& grad, const Tensor& indices,
                                  int64_t num_weights, int64_t padding_idx, bool by_frequency,
                                  bool sparse) {
  PT2_TRY_VOID(check_dense_gradient(sparse));
  return e(aten<"embedding_dense_backward.default">,
           {grad, indices, num_weights, padding_idx, by_frequency});
}

// ATen/native/TensorAdvancedIndexing.cpp gather_backward, masked_select_backward.
Result<Tensor> gather_backward(Emitter& e, const Tensor& grad, const Tensor& self, int64_t dim,
                               const Tensor& index, bool sparse) {
  PT2_TRY_VOID(check_dense_gradient(sparse));
  return e(aten<"scatter_add.default">,
           {e(aten<"new_zeros.default">, {grad, self.sizes()}), dim, index, grad});
}
Result<Tensor> masked_select_backward(Emitter& e, const Tensor& grad, const Tensor& input,
                                      const Tensor& mask) {
  PT2_TRY(const Sizes sizes, broadcast_sizes(std::array{input.sizes(), mask.sizes()}));
  const auto zeros = e(aten<"zeros_like.default">, {e(aten<"expand.default">, {input, sizes})});
  return e(aten<"masked_scatter.default">, {zeros, mask, grad});
}

// ATen/native/ReduceOps.cpp cummaxmin_backward.
Result<Tensor> cummaxmin_backward(Emitter& e, const Tensor& grad, const Tensor& input,
                                  const Tensor& indices, int64_t dim) {
  return e(aten<"scatter_add.default">,
           {e(aten<"new_zeros.default">, {input, input.sizes()}), dim, indices, grad});
}

// ATen/native/ReduceOps.cpp cumprod_backward. It distinguishes three cases along a line. Before the
// first zero, sums of products are divided by the element. At the first zero, the products up to
// the second zero are computed without it. After it, the gradient is zero.
Result<Tensor> cumprod_backward(Emitter& e, const Tensor& grad, const Tensor& input, int64_t dim,
                                const Tensor& output) {
  PT2_TRY(const int64_t along, wrap_dim(dim, input.dim()));
  if (input.numel() <= 1 || input.size(along) == 1) return grad;
  const auto all = e(aten<"conj.default">, {input});
  const auto is_zero = e(aten<"eq.Scalar">, {input, 0});
  const auto zeros = e(aten<"cumsum.default">, {is_zero, dim});
  const auto before = e(aten<"eq.Scalar">, {zeros, 0});
  const auto behind = e(aten<"eq.Scalar">, {zeros, 1});
  const auto first = e(aten<"logical_and.default">, {behind, is_zero});
  const auto choose = [&](const auto& mask, const auto& chosen, int64_t other) {
    return e(aten<"where.ScalarOther">, {mask, chosen, other});
  };
  const auto factors = choose(before, all, 1);
  const auto weighted = e(aten<"mul.Tensor">, {e(aten<"conj.default">, {output}), grad});
  const auto reversed = e(aten<"flip.default">, {choose(before, weighted, 0), Sizes{dim}});
  const auto sums =
      e(aten<"flip.default">, {e(aten<"cumsum.default">, {reversed, dim}), Sizes{dim}});
  const auto between =
      e(aten<"logical_and.default">, {behind, e(aten<"logical_not.default">, {is_zero})});
  const auto without =
      e(aten<"mul.Tensor">,
        {e(aten<"cumprod.default">, {choose(between, all, 1), dim}), choose(behind, grad, 0)});
  const auto at_first =
      e(aten<"mul.Tensor">, {e(aten<"sum.dim_IntList">, {without, Sizes{dim}, true}),
                             e(aten<"prod.dim_int">, {factors, dim, true})});
  const auto divided = choose(before, e(aten<"div.Tensor">, {sums, factors}), 0);
  return e(aten<"where.self">, {first, at_first, divided});
}

// clang-format off
constexpr OpDef kSelectionBackwardOps[] = {
    op<"aten::embedding_backward(Tensor grad, Tensor indices, SymInt num_weights, SymInt padding_idx, bool scale_grad_by_freq, bool sparse) -> Tensor", embedding_backward>.with({.slope = Slope::linear, .linear_in = "grad"}),
    op<"aten::gather_backward(Tensor grad, Tensor self, int dim, Tensor index, bool sparse_grad) -> Tensor", gather_backward>.with({.slope = Slope::linear, .linear_in = "grad"}),
    op<"aten::masked_select_backward(Tensor grad, Tensor input, Tensor mask) -> Tensor", masked_select_backward>.with({.slope = Slope::linear, .linear_in = "grad"}),
    op<"aten::cummaxmin_backward(Tensor grad, Tensor input, Tensor indices, int dim) -> Tensor", cummaxmin_backward>.with({.slope = Slope::linear, .linear_in = "grad"}),
    op<"aten::cumprod_backward(Tensor grad, Tensor input, int dim, Tensor output) -> Tensor", cumprod_backward>.with({.sharing = Sharing::possibly, .slope = Slope::linear, .linear_in = "grad"}),
};
// clang-format on

}  // namespace

std::span<const OpDef> selection_backward_ops() { return kSelectionBackwardOps; }

}  // namespace pt2::ops
