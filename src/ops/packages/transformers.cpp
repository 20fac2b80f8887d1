// Products of experts that Hugging Face transformers exports if PyTorch has no grouped product
// (transformers/integrations/moe.py).
#include <array>
#include <tuple>
#include <utility>

#include "ops/checks.h"
#include "ops/linear/grouped_products.h"
#include "ops/linear/matmul.h"
#include "ops/op_def.h"
#include "ops/shape/view.h"

namespace pt2::ops {
namespace {

// `input` [rows, depth] is sorted by expert; `weight` is [experts, depth, columns]. Result rows
// after the last end stay zero.
Result<Meta> grouped_mm_fallback_meta(const Tensor& input, const Tensor& weight,
                                      const Tensor& offs) {
  PT2_TRY_VOID(check_same_dtype(weight, input, "weight"));
  PT2_TRY_VOID(check_rank(input, 2, "input"));
  PT2_TRY_VOID(check_rank(weight, 3, "weight"));
  PT2_TRY_VOID(check_sizes(offs, {weight.size(0)}, "offs"));
  PT2_TRY_VOID(check_index_dtype(offs, "offs"));
  return Meta(input.dtype(), {input.size(0), weight.size(2)});
}

Result<Tensor> grouped_mm_fallback(const Tensor& input, const Tensor& weight, const Tensor& offs) {
  PT2_TRY(const Meta meta, grouped_mm_fallback_meta(input, weight, offs));
  PT2_TRY(const std::vector<int64_t> ends, group_ends(offs, input.size(0)));
  PT2_TRY(Tensor out, allocate(meta));
  int64_t begin = 0;
  for (size_t expert = 0; expert < ends.size(); begin = ends[expert++]) {
    PT2_TRY(const Tensor rows, narrow(input, 0, begin, ends[expert] - begin));
    PT2_TRY(const Tensor matrix, select(weight, 0, static_cast<int64_t>(expert)));
    PT2_TRY(const Tensor product, matmul(rows, matrix));
    PT2_TRY(Tensor target, narrow(out, 0, begin, ends[expert] - begin));
    PT2_TRY_VOID(copy_into(target, product));
  }
  return out;
}

using GroupedGradients = std::tuple<Tensor, Tensor>;

Result<std::array<Meta, 2>> grouped_mm_fallback_backward_meta(const Tensor& input,
                                                              const Tensor& weight,
                                                              const Tensor& offs,
                                                              const Tensor& grad_output) {
  PT2_TRY(const Meta product, grouped_mm_fallback_meta(input, weight, offs));
  PT2_TRY_VOID(check_sizes(grad_output, product.sizes, "grad_output"));
  PT2_TRY_VOID(check_same_dtype(grad_output, input, "grad_output"));
  return std::array{Meta::like(input), Meta::like(weight)};
}
Result<GroupedGradients> grouped_mm_fallback_backward(const Tensor& input, const Tensor& weight,
                                                      const Tensor& offs,
                                                      const Tensor& grad_output) {
  PT2_TRY(const auto metas, grouped_mm_fallback_backward_meta(input, weight, offs, grad_output));
  PT2_TRY(const std::vector<int64_t> ends, group_ends(offs, input.size(0)));
  PT2_TRY(Tensor grad_input, allocate(metas[0]));
  PT2_TRY(Tensor grad_weight, allocate(metas[1]));
  int64_t begin = 0;
  for (size_t expert = 0; expert < ends.size(); begin = ends[expert++]) {
    const int64_t count = ends[expert] - begin;
    if (count == 0) continue;
    PT2_TRY(const Tensor rows, narrow(input, 0, begin, count));
    PT2_TRY(const Tensor gradient, narrow(grad_output, 0, begin, count));
    PT2_TRY(const Tensor matrix, select(weight, 0, static_cast<int64_t>(expert)));
    PT2_TRY(const Tensor matrix_t, transpose(matrix, 0, 1));
    PT2_TRY(const Tensor rows_t, transpose(rows, 0, 1));
    PT2_TRY(const Tensor to_input, matmul(gradient, matrix_t));
    PT2_TRY(const Tensor to_weight, matmul(rows_t, gradient));
    PT2_TRY(Tensor input_target, narrow(grad_input, 0, begin, count));
    PT2_TRY(Tensor weight_target, select(grad_weight, 0, static_cast<int64_t>(expert)));
    PT2_TRY_VOID(copy_into(input_target, to_input));
    PT2_TRY_VOID(copy_into(weight_target, to_weight));
  }
  return GroupedGradients{std::move(grad_input), std::move(grad_weight)};
}

// clang-format off
constexpr OpDef kTransformersOps[] = {
    composed<"transformers::grouped_mm_fallback(Tensor input, Tensor weight, Tensor offs) -> Tensor", grouped_mm_fallback_meta, grouped_mm_fallback>,
    composed<"transformers::grouped_mm_fallback_backward(Tensor input, Tensor weight, Tensor offs, Tensor grad_output) -> (Tensor, Tensor)",
       grouped_mm_fallback_backward_meta, grouped_mm_fallback_backward>,
};
// clang-format on

}  // namespace

std::span<const OpDef> transformers_ops() { return kTransformersOps; }

}  // namespace pt2::ops
