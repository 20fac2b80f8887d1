// Products of float8 matrices with one scale for the matrix, or one for each row and column
// (ATen/native/Blas.cpp _scaled_mm_out_cpu_emulated).
#include <algorithm>

#include "ops/checks.h"
#include "ops/compose.h"
#include "ops/op_def.h"

namespace pt2::ops {
namespace {

Result<void> check_float8(const Tensor& tensor, std::string_view what) {
  if (dtype_size(tensor.dtype()) == 1 && dtype_category(tensor.dtype()) == DtypeCategory::floating)
    return {};
  return operator_error(std::string(what) + ": found " + tensor.type_text() + ", expected float8");
}
// Checks that the scale has one element, or `sizes`.
Result<void> check_scale(const Tensor& scale, const Sizes& sizes, std::string_view what) {
  if (scale.dtype() == Dtype::float32 && (scale.numel() == 1 || scale.sizes() == sizes)) return {};
  return operator_error(std::string(what) + ": found " + scale.type_text() +
                        ", expected float32 and one element or " + sizes_text(sizes));
}

// The result scale is accepted but ignored, as in PyTorch.
Result<Tensor> scaled_mm(Emitter& e, const Tensor& self, const Tensor& mat2, const Tensor& scale_a,
                         const Tensor& scale_b, const OptionalTensor& bias, const OptionalTensor&,
                         const OptionalDtype& out_dtype, bool) {
  PT2_TRY_VOID(check_rank(self, 2, "self"));
  PT2_TRY_VOID(check_rank(mat2, 2, "mat2"));
  PT2_TRY_VOID(check_float8(self, "self"));
  PT2_TRY_VOID(check_float8(mat2, "mat2"));
  if (self.size(1) != mat2.size(0))
    return operator_error("mat2: found " + mat2.type_text() + ", expected " +
                          std::to_string(self.size(1)) + " rows for self " + self.type_text());
  PT2_TRY_VOID(check_scale(scale_a, {self.size(0), 1}, "scale_a"));
  PT2_TRY_VOID(check_scale(scale_b, {1, mat2.size(1)}, "scale_b"));
  if (bias) PT2_TRY_VOID(check_sizes(*bias, {mat2.size(1)}, "bias"));
  const auto scaled = [&](const Tensor& matrix, const Tensor& scale) {
    return e(aten<"mul.Tensor">, {e(aten<"to.dtype">, {matrix, Dtype::float32}), scale});
  };
  const auto product = e(aten<"mm.default">, {scaled(self, scale_a), scaled(mat2, scale_b)});
  const auto out = bias ? e(aten<"add.Tensor">, {product, *bias}) : product;
  return e(aten<"to.dtype">, {out, out_dtype.value_or(self.dtype())});
}

// A recipe says what a scale applies to (c10/core/ScalingType.h): 0 the whole matrix, 1 each row.
Result<Tensor> scaled_mm_by_recipe(Emitter& e, const Tensor& self, const Tensor& mat2,
                                   const Tensors& scale_a, const Sizes& recipe_a,
                                   const Sizes& swizzle_a, const Tensors& scale_b,
                                   const Sizes& recipe_b, const Sizes& swizzle_b,
                                   const OptionalTensor& bias, const OptionalDtype& out_dtype,
                                   const Sizes& contraction_dim, bool use_fast_accum) {
  const bool is_known = recipe_a == Sizes{0} || recipe_a == Sizes{1};
  const auto is_swizzled = [](int64_t swizzle) { return swizzle != 0; };
  if (!is_known || recipe_b != recipe_a || std::ranges::any_of(swizzle_a, is_swizzled) ||
      std::ranges::any_of(swizzle_b, is_swizzled) ||
      (!contraction_dim.empty() && contraction_dim != Sizes{1, 0}))
    return Error{ErrorCode::unsupported,
                 "found scales of recipes " + sizes_text(recipe_a) + " and " +
                     sizes_text(recipe_b) + ", expected [0] or [1] for both and nothing swizzled",
                 ""};
  if (scale_a.size() != 1 || scale_b.size() != 1)
    return operator_error("found several scales of a matrix, expected one");
  PT2_TRY_VOID(check_rank(self, 2, "self"));
  PT2_TRY_VOID(check_rank(mat2, 2, "mat2"));
  if (recipe_a[0] == 1) {
    PT2_TRY_VOID(check_sizes(scale_a[0], {self.size(0), 1}, "scale_a"));
    PT2_TRY_VOID(check_sizes(scale_b[0], {1, mat2.size(1)}, "scale_b"));
  }
  return scaled_mm(e, self, mat2, scale_a[0], scale_b[0], bias, std::nullopt, out_dtype,
                   use_fast_accum);
}

// clang-format off
constexpr OpDef kScaledProductsOps[] = {
    kept<"aten::_scaled_mm(Tensor self, Tensor mat2, Tensor scale_a, Tensor scale_b, Tensor? bias=None, Tensor? scale_result=None, ScalarType? out_dtype=None, bool use_fast_accum=False) -> Tensor", scaled_mm>,
    kept<"aten::_scaled_mm_v2(Tensor self, Tensor mat2, Tensor[] scale_a, int[] recipe_a, int[] swizzle_a, Tensor[] scale_b, int[] recipe_b, int[] swizzle_b, Tensor? bias, ScalarType? out_dtype, int[] contraction_dim=[], bool use_fast_accum=False) -> Tensor", scaled_mm_by_recipe>,
};
// clang-format on

}  // namespace

std::span<const OpDef> scaled_products_ops() { return kScaledProductsOps; }

}  // namespace pt2::ops
