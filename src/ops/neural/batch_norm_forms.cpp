// Other forms of batch normalisation. Their additional results, a reserve and the number of the
// implementation, matter only on other devices (ATen/native/Normalization.cpp).
#include "ops/compose.h"
#include "ops/op_def.h"

namespace pt2::ops {
namespace {

// For inputs without elements, PyTorch allocates the statistics in its accumulation dtype.
Result<std::tuple<Tensor, Tensor, Tensor, Tensor, int64_t>> impl_index(
    const Tensor& input, const OptionalTensor& weight, const OptionalTensor& bias,
    const OptionalTensor& running_mean, const OptionalTensor& running_var, bool training,
    double momentum, double eps, bool) {
  Context context;
  PT2_TRY(auto parts,
          (Runner(context).several<Tensor, Tensor, Tensor>(
              aten<"native_batch_norm.default">,
              {input, weight, bias, running_mean, running_var, training, momentum, eps})));
  auto& [out, mean, deviation] = parts;
  if (input.numel() == 0) {
    const Dtype wide = dtype_size(input.dtype()) == 2 ? Dtype::float32 : Dtype::float64;
    PT2_TRY(mean, apply(aten<"to.dtype">, {mean, wide}));
    PT2_TRY(deviation, apply(aten<"to.dtype">, {deviation, wide}));
  }
  return std::tuple(out, mean, deviation, Tensor::zeros(Dtype::uint8, {0}), int64_t{0});
}

Result<Tensor> no_reserve(Emitter& e) {
  return e(aten<"empty.memory_format">, {Sizes{0}, Dtype::uint8});
}

template <bool Training, class Running>
Result<std::tuple<Tensor, Tensor, Tensor, Tensor>> with_reserve(
    Emitter& e, const Tensor& input, const OptionalTensor& weight, const OptionalTensor& bias,
    const Running& running_mean, const Running& running_var, double momentum, double eps) {
  PT2_TRY(auto parts, (e.several<Tensor, Tensor, Tensor>(aten<"native_batch_norm.default">,
                                                         {input, weight, bias, running_mean,
                                                          running_var, Training, momentum, eps})));
  PT2_TRY(Tensor reserve, no_reserve(e));
  return std::tuple_cat(std::move(parts), std::tuple(std::move(reserve)));
}

Result<std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor, Tensor>> with_update_functional(
    Emitter& e, const Tensor& input, const OptionalTensor& weight, const OptionalTensor& bias,
    const Tensor& running_mean, const Tensor& running_var, double momentum, double eps) {
  PT2_TRY(auto parts, e.several<Tensor, Tensor, Tensor, Tensor, Tensor>(
                          aten<"_native_batch_norm_legit_functional.default">,
                          {input, weight, bias, running_mean, running_var, true, momentum, eps}));
  auto& [out, save_mean, save_deviation, mean, variance] = parts;
  PT2_TRY(Tensor reserve, no_reserve(e));
  return std::tuple(std::move(out), std::move(save_mean), std::move(save_deviation),
                    std::move(reserve), std::move(mean), std::move(variance));
}

// Gradients that the mask excludes are None.
using Gradients = std::tuple<OptionalTensor, OptionalTensor, OptionalTensor>;

Result<Gradients> backward_update(Emitter& e, const Tensor& grad_out, const Tensor& input,
                                  const Tensor& weight, const OptionalTensor& running_mean,
                                  const OptionalTensor& running_var,
                                  const OptionalTensor& save_mean, const OptionalTensor& save_var,
                                  bool update, double eps, const std::vector<bool>& output_mask,
                                  const Tensor&) {
  return e.several<OptionalTensor, OptionalTensor, OptionalTensor>(
      aten<"native_batch_norm_backward.default">,
      {grad_out, input, weight, running_mean, running_var, save_mean, save_var, update, eps,
       output_mask});
}
Result<Gradients> impl_index_backward(Emitter& e, int64_t index, const Tensor& input,
                                      const Tensor& grad_output, const OptionalTensor& weight,
                                      const OptionalTensor& running_mean,
                                      const OptionalTensor& running_var,
                                      const OptionalTensor& save_mean,
                                      const OptionalTensor& save_var, bool train, double eps,
                                      const std::vector<bool>& output_mask, const Tensor&) {
  if (index != 0)
    return Error{ErrorCode::unsupported,
                 "batch normalisation of implementation " + std::to_string(index), ""};
  return e.several<OptionalTensor, OptionalTensor, OptionalTensor>(
      aten<"native_batch_norm_backward.default">,
      {grad_output, input, weight, running_mean, running_var, save_mean, save_var, train, eps,
       output_mask});
}

// clang-format off
constexpr OpDef kBatchNormFormsOps[] = {
    op<"aten::_batch_norm_impl_index(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, float momentum, float eps, bool cudnn_enabled) -> (Tensor, Tensor, Tensor, Tensor, int)", impl_index>.with({.updates_statistics_if = "training", .undecomposed = Undecomposed::gives_numbers}),
    kept<"aten::_batch_norm_with_update(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) running_mean, Tensor(b!) running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor)", with_reserve<true, Tensor>>.with({.functional_form = "_batch_norm_with_update_functional.default"}),
    op<"aten::_batch_norm_with_update_functional(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, Tensor running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor, Tensor running_mean_out, Tensor running_var_out)", with_update_functional>,
    kept<"aten::_batch_norm_no_update(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor)", with_reserve<false, OptionalTensor>>,
    kept<"aten::batch_norm_backward(Tensor grad_out, Tensor input, Tensor weight, Tensor? running_mean, Tensor? running_var, Tensor? save_mean, Tensor? save_var, bool update, float eps, bool[3] output_mask, Tensor reserve) -> (Tensor, Tensor, Tensor)", backward_update>,
    op<"aten::_batch_norm_impl_index_backward(int impl_index, Tensor input, Tensor grad_output, Tensor? weight, Tensor? running_mean, Tensor? running_var, Tensor? save_mean, Tensor? save_var_transform, bool train, float eps, bool[3] output_mask, Tensor reservedSpace) -> (Tensor, Tensor, Tensor)", impl_index_backward>,
};
// clang-format on

}  // namespace

std::span<const OpDef> batch_norm_forms_ops() { return kBatchNormFormsOps; }

}  // namespace pt2::ops
