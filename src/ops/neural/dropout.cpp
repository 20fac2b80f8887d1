// Dropout: in training, random elements become zero and the others are scaled up.
#include <cmath>

#include "base/text.h"
#include "ops/checks.h"
#include "ops/compose.h"
#include "ops/dense.h"
#include "ops/loops.h"
#include "ops/op_def.h"
#include "ops/pointwise/copying.h"
#include "ops/pointwise/pointwise.h"

namespace pt2::ops {
namespace {

Result<void> check_dropout(double p) {
  if (!(p >= 0 && p <= 1))
    return operator_error("p: found " + print_float(p) + ", expected 0 to 1");
  return {};
}

// A mask with 1 for kept elements and 0 for dropped ones, drawn in memory order.
Result<Tensor> draw_mask(Context& context, const Tensor& like, const Sizes& sizes, double keep,
                         Dtype dtype) {
  Meta meta(dtype, sizes);
  if (sizes == like.sizes()) {
    PT2_TRY(meta, meta_like(like, dtype, MemoryFormat::preserve));
  }
  PT2_TRY(Tensor mask, allocate(meta));
  Tensor flat = mask.with_view({mask.numel()}, {1}, 0);
  std::vector<float> drawn(static_cast<size_t>(mask.numel()));
  for (float& value : drawn) value = context.random().bernoulli(keep) ? 1.0f : 0.0f;
  store_elements<float>(drawn.data(), mask.numel(), dtype, 1, flat.raw_data());
  return mask;
}

// input * (factor * mask), rounded once.
Result<Tensor> apply_mask(const Tensor& input, const Tensor& mask, double factor) {
  PT2_TRY(const Meta meta, meta_like(input, input.dtype(), MemoryFormat::preserve));
  PT2_TRY(Tensor out, allocate(meta));
  with_compute_type(input.dtype(), [&]<class C>() {
    const C scale = static_cast<C>(factor);
    elementwise<C>(
        out, kDtypeOf<C>, [scale](C x, C kept) { return times(x, times(kept, scale)); }, input,
        mask);
  });
  return out;
}

Result<Tensor> drop(Context& context, const Tensor& input, const Sizes& mask_sizes, double p) {
  if (p == 1) return apply_mask(input, Tensor::zeros(Dtype::float32, {}), 1);
  PT2_TRY_VOID(check_floating_or_complex(input, "input"));
  PT2_TRY(const Tensor mask, draw_mask(context, input, mask_sizes, 1 - p, Dtype::float32));
  return apply_mask(input, mask, 1 / (1 - p));
}

// Returns the input itself if nothing can be dropped, as PyTorch does.
Result<Tensor> dropout(Context& context, const Tensor& input, double p, bool train) {
  PT2_TRY_VOID(check_dropout(p));
  if (p == 0 || !train || input.numel() == 0) return input;
  return drop(context, input, input.sizes(), p);
}

// The sizes of a mask that drops whole channels.
Result<Sizes> channel_sizes(const Tensor& input) {
  PT2_TRY_VOID(check_rank_at_least(input, 2, "input"));
  Sizes sizes(input.sizes().size(), 1);
  sizes[0] = input.size(0);
  sizes[1] = input.size(1);
  return sizes;
}
Result<Tensor> feature_dropout(Context& context, const Tensor& input, double p, bool train) {
  PT2_TRY_VOID(check_dropout(p));
  if (p == 0 || !train || input.numel() == 0) return input;
  PT2_TRY(const Sizes sizes, channel_sizes(input));
  return drop(context, input, sizes, p);
}

// Alpha dropout: dropped elements become selu's negative limit. The result is scaled and shifted to
// keep mean and variance (ATen/native/Dropout.cpp _dropout_impl).
template <bool Channels>
Result<Tensor> alpha_dropout(Context& context, const Tensor& input, double p, bool train) {
  PT2_TRY_VOID(check_dropout(p));
  if (p == 0 || !train || input.numel() == 0) return input;
  if (p == 1) return apply_mask(input, Tensor::zeros(Dtype::float32, {}), 1);
  PT2_TRY_VOID(check_floating_or_complex(input, "input"));
  Sizes sizes = input.sizes();
  if (Channels) {
    PT2_TRY(sizes, channel_sizes(input));
  }
  constexpr double kAlpha = 1.7580993408473766;
  const double scale = 1 / std::sqrt((kAlpha * kAlpha * p + 1) * (1 - p));
  PT2_TRY(const Tensor kept, draw_mask(context, input, sizes, 1 - p, input.dtype()));
  PT2_TRY(const Tensor lost, apply(aten<"add.Scalar">, {kept, int64_t{-1}}));
  PT2_TRY(const Tensor moved, apply(aten<"mul.Scalar">, {lost, kAlpha * scale}));
  PT2_TRY(const Tensor shift, apply(aten<"add.Scalar">, {moved, kAlpha * scale * p}));
  PT2_TRY(const Tensor factor, apply(aten<"mul.Scalar">, {kept, scale}));
  PT2_TRY(const Tensor product, apply(aten<"mul.Tensor">, {input, factor}));
  return apply(aten<"add.Tensor">, {product, shift});
}

// The in-place forms need their own rows, because PyTorch names their first argument differently.
template <auto kFunctional>
Result<Tensor> in_place(Context& context, const Tensor& self, double p, bool train) {
  PT2_TRY(const Tensor result, kFunctional(context, self, p, train));
  Tensor target = self;
  copy_elements(target, result);
  return target;
}

// In evaluation, `p` is ignored.
Result<std::array<Meta, 2>> native_dropout_meta(const Tensor& input, double p,
                                                const std::optional<bool>& train) {
  if (train.value_or(true) && input.numel() > 0) PT2_TRY_VOID(check_dropout(p));
  const Dtype dtype = input.numel() == 0 ? input.dtype() : Dtype::bool_;
  PT2_TRY(Meta mask, meta_like(input, dtype, MemoryFormat::preserve));
  PT2_TRY(Meta out, meta_like(input, input.dtype(), MemoryFormat::preserve));
  return std::array{std::move(out), std::move(mask)};
}

using DropoutResult = std::tuple<Tensor, Tensor>;

Result<DropoutResult> native_dropout(Context& context, const Tensor& input, double p,
                                     const std::optional<bool>& train) {
  PT2_TRY(auto metas, native_dropout_meta(input, p, train));
  if (input.numel() == 0) return DropoutResult{input, Tensor::zeros(input.dtype(), input.sizes())};
  if (!train.value_or(true) || p == 0) {
    PT2_TRY(Tensor mask, allocate(metas[1]));
    fill_elements(mask, Scalar(true));
    return DropoutResult{input.clone(), std::move(mask)};
  }
  PT2_TRY(const Tensor mask, draw_mask(context, input, input.sizes(), 1 - p, Dtype::bool_));
  PT2_TRY(Tensor out, apply_mask(input, mask, p == 1 ? 0.0 : 1 / (1 - p)));
  return DropoutResult{std::move(out), mask};
}

Result<Meta> native_dropout_backward_meta(const Tensor& grad_output, const Tensor& mask,
                                          double scale) {
  PT2_TRY_VOID(check_dtype(mask, Dtype::bool_, "mask"));
  PT2_TRY_VOID(check_sizes(mask, grad_output.sizes(), "mask"));
  const Dtype dtype = Promotion().add(grad_output).add(Scalar(scale)).result();
  return meta_like(grad_output, dtype, MemoryFormat::preserve);
}
Result<Tensor> native_dropout_backward(const Tensor& grad_output, const Tensor& mask,
                                       double scale) {
  PT2_TRY(const Meta meta, native_dropout_backward_meta(grad_output, mask, scale));
  PT2_TRY(const Tensor grad, copy_as(grad_output, meta.dtype, MemoryFormat::preserve));
  return apply_mask(grad, mask, scale);
}

Result<Tensor> dropout_formula(Emitter& e, const Tensor& input, double p, bool train) {
  PT2_TRY_VOID(check_dropout(p));
  if (p == 0 || !train) return input;
  return e(aten<"native_dropout.default">, {input, p, true});
}
Result<Tensor> dropout_in_place_formula(Emitter& e, const Tensor& self, double p, bool train) {
  PT2_TRY(const Tensor out, dropout_formula(e, self, p, train));
  return p == 0 || !train ? Result<Tensor>(self) : e(aten<"copy_.default">, {self, out});
}
// The formula of the channel forms. It exists only if nothing is dropped.
Result<Tensor> no_dropout(Emitter&, const Tensor& input, double p, bool train) {
  PT2_TRY_VOID(check_dropout(p));
  if (p == 0 || !train) return input;
  return Error{ErrorCode::unsupported, "it drops at random", ""};
}

// clang-format off
constexpr OpDef kDropoutOps[] = {
    composed<"aten::dropout(Tensor input, float p, bool train) -> Tensor", like_first, dropout, dropout_formula>.with({.sharing = Sharing::unless_dropping, .draws = Facts::Draws::by_elements}),
    composed<"aten::feature_dropout(Tensor input, float p, bool train) -> Tensor", like_first, feature_dropout, no_dropout>.with({.sharing = Sharing::unless_dropping}),
    composed<"aten::alpha_dropout(Tensor input, float p, bool train) -> Tensor", like_first, alpha_dropout<false>, no_dropout>.with({.sharing = Sharing::unless_dropping, .draws = Facts::Draws::by_elements}),
    op<"aten::feature_alpha_dropout(Tensor input, float p, bool train) -> Tensor", alpha_dropout<true>, no_dropout>.with({.sharing = Sharing::unless_dropping}),
    op<"aten::alpha_dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)", in_place<alpha_dropout<false>>, no_dropout>.with({.functional_form = "alpha_dropout.default"}),
    op<"aten::feature_alpha_dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)", in_place<alpha_dropout<true>>, no_dropout>.with({.functional_form = "feature_alpha_dropout.default"}),
    composed<"aten::dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)", like_first, in_place<dropout>, dropout_in_place_formula>.with({.functional_form = "dropout.default"}),
    op<"aten::feature_dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)", in_place<feature_dropout>, no_dropout>.with({.functional_form = "feature_dropout.default"}),
    composed<"aten::native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)", native_dropout_meta, native_dropout>,
    composed<"aten::native_dropout_backward(Tensor grad_output, Tensor mask, float scale) -> Tensor", native_dropout_backward_meta, native_dropout_backward>.with({.slope = Slope::linear, .linear_in = "grad_output"}),
};
// clang-format on

}  // namespace

std::span<const OpDef> dropout_ops() { return kDropoutOps; }

}  // namespace pt2::ops
