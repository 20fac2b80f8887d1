#include "run/reference/autocast.h"

#include <algorithm>
#include <span>

#include "ops/pointwise/copying.h"
#include "run/reference/executor.h"

namespace pt2::run {
namespace {

// The overloads with a kernel for AutocastCPU in torch 2.15, without "aten::". Operators that are
// made of others (einsum, the recurrent layers) are on no list of PyTorch's; those whose arithmetic
// is all in listed ones stand here with them.
constexpr std::string_view kLowerPrecision[] = {"_addmm_activation",
                                                "_convolution.deprecated",
                                                "_native_multi_head_attention",
                                                "addbmm",
                                                "addmm",
                                                "baddbmm",
                                                "bmm",
                                                "conv1d",
                                                "conv1d.padding",
                                                "conv2d",
                                                "conv2d.padding",
                                                "conv3d",
                                                "conv3d.padding",
                                                "conv_tbc",
                                                "conv_transpose1d",
                                                "conv_transpose2d.input",
                                                "conv_transpose3d.input",
                                                "linalg_vecdot",
                                                "linear",
                                                "matmul",
                                                "mkldnn_rnn_layer",
                                                "mm",
                                                "prelu",
                                                "scaled_dot_product_attention",
                                                "bilinear",
                                                "chain_matmul",
                                                "einsum",
                                                "linalg_matmul",
                                                "linalg_multi_dot",
                                                "tensordot"};
constexpr std::string_view kFloat32[] = {"_grid_sampler_2d_cpu_fallback",
                                         "_lu_with_info",
                                         "adaptive_avg_pool3d",
                                         "adaptive_max_pool3d",
                                         "avg_pool3d",
                                         "binary_cross_entropy",
                                         "binary_cross_entropy_with_logits",
                                         "cdist",
                                         "cholesky_inverse",
                                         "cholesky_solve",
                                         "cosine_embedding_loss",
                                         "cross_entropy_loss",
                                         "ctc_loss.IntList",
                                         "ctc_loss.Tensor",
                                         "fake_quantize_per_tensor_affine",
                                         "fft_fft",
                                         "fft_fft2",
                                         "fft_fftn",
                                         "fft_hfft",
                                         "fft_ifft",
                                         "fft_ifft2",
                                         "fft_ifftn",
                                         "fft_ihfft",
                                         "fft_irfft",
                                         "fft_irfft2",
                                         "fft_irfftn",
                                         "fft_rfft",
                                         "fft_rfft2",
                                         "fft_rfftn",
                                         "fractional_max_pool2d",
                                         "fractional_max_pool3d",
                                         "geqrf",
                                         "grid_sampler",
                                         "grid_sampler_2d",
                                         "grid_sampler_3d",
                                         "hinge_embedding_loss",
                                         "huber_loss",
                                         "inverse",
                                         "kl_div",
                                         "l1_loss",
                                         "linalg_cholesky",
                                         "linalg_cholesky_ex",
                                         "linalg_cond",
                                         "linalg_cond.p_str",
                                         "linalg_eig",
                                         "linalg_eigh",
                                         "linalg_eigvals",
                                         "linalg_eigvalsh",
                                         "linalg_householder_product",
                                         "linalg_inv",
                                         "linalg_inv_ex",
                                         "linalg_lstsq",
                                         "linalg_matrix_rank",
                                         "linalg_matrix_rank.atol_rtol_float",
                                         "linalg_matrix_rank.atol_rtol_tensor",
                                         "linalg_matrix_rank.tol_tensor",
                                         "linalg_qr",
                                         "linalg_solve",
                                         "linalg_svd",
                                         "linalg_svdvals",
                                         "linalg_tensorinv",
                                         "linalg_tensorsolve",
                                         "lu_solve",
                                         "margin_ranking_loss",
                                         "max_pool3d",
                                         "max_unpool2d",
                                         "max_unpool3d",
                                         "mse_loss",
                                         "multi_margin_loss",
                                         "multilabel_margin_loss",
                                         "multilabel_margin_loss_forward",
                                         "nanquantile",
                                         "nanquantile.scalar",
                                         "nll_loss",
                                         "nll_loss2d",
                                         "orgqr",
                                         "ormqr",
                                         "pinverse",
                                         "poisson_nll_loss",
                                         "polar",
                                         "prod",
                                         "prod.dim_int",
                                         "quantile",
                                         "quantile.scalar",
                                         "reflection_pad1d",
                                         "reflection_pad2d",
                                         "replication_pad1d",
                                         "replication_pad2d",
                                         "replication_pad3d",
                                         "smooth_l1_loss",
                                         "soft_margin_loss",
                                         "stft",
                                         "stft.center",
                                         "svd",
                                         "trace",
                                         "triangular_solve",
                                         "triplet_margin_loss",
                                         "view_as_complex"};
constexpr std::string_view kPromote[] = {"cat", "index_copy", "stack"};

bool contains(std::span<const std::string_view> list, std::string_view name) {
  return std::ranges::find(list, name) != list.end();
}

// at::autocast::is_autocast_eligible: double stays as it is.
bool is_eligible(const Value& value) {
  const auto* tensor = value.get_if<Tensor>();
  return tensor != nullptr && dtype_category(tensor->dtype()) == DtypeCategory::floating &&
         tensor->dtype() != Dtype::float64;
}

// Calls visit(Value&) for every tensor that may be cast, lists included.
template <class Visit>
Result<void> for_each_eligible(std::vector<Value>& arguments, Visit&& visit) {
  for (Value& argument : arguments) {
    if (is_eligible(argument)) PT2_TRY_VOID(visit(argument));
    auto* list = argument.get_if<Value::List>();
    if (list == nullptr) continue;
    for (Value& item : *list)
      if (is_eligible(item)) PT2_TRY_VOID(visit(item));
  }
  return {};
}

Result<void> cast(std::vector<Value>& arguments, Dtype dtype) {
  return for_each_eligible(arguments, [&](Value& value) -> Result<void> {
    const Tensor& tensor = *value.get_if<Tensor>();
    if (tensor.dtype() == dtype) return {};
    PT2_TRY(Tensor converted, ops::copy_as(tensor, dtype, std::nullopt));
    value = Value(std::move(converted));
    return {};
  });
}

// at::autocast::promote_type: float32 as soon as one argument is.
Result<Dtype> widest(std::vector<Value>& arguments, Dtype lower) {
  Dtype out = lower;
  PT2_TRY_VOID(for_each_eligible(arguments, [&](Value& value) -> Result<void> {
    const Dtype dtype = value.get_if<Tensor>()->dtype();
    if (dtype == Dtype::float32) out = dtype;
    if (dtype != Dtype::float32 && dtype != lower)
      return ops::operator_error("found " + std::string(dtype_name(dtype)) + " in a region of " +
                                 std::string(dtype_name(lower)));
    return {};
  }));
  return out;
}

// (device, dtype, enabled, cache_enabled, ...), the arguments of torch.autocast.
Result<Autocast> autocast_of(const std::vector<Value>& arguments) {
  const auto* device = arguments.size() < 3 ? nullptr : arguments[0].get_if<std::string>();
  const auto* enabled = device == nullptr ? nullptr : arguments[2].get_if<bool>();
  if (enabled == nullptr)
    return ops::operator_error("autocast takes a device, a dtype and whether it is enabled");
  if (*enabled && *device != "cpu")
    return Error{ErrorCode::unsupported, "autocast for the device '" + *device + "'", ""};
  const auto* dtype = arguments[1].get_if<Dtype>();
  return Autocast{*enabled, dtype == nullptr ? Autocast{}.dtype : *dtype};
}

}  // namespace

Result<void> apply_autocast(const Autocast& autocast, const ops::Operator& op,
                            std::vector<Value>& arguments) {
  constexpr std::string_view kAten = "aten::";
  const ops::Signature& signature = op.signature();
  if (!autocast.enabled || op.form != ops::Operator::Form::as_written ||
      !signature.name.starts_with(kAten))
    return {};
  std::string name(signature.name.substr(kAten.size()));
  if (!signature.overload.empty()) name += "." + std::string(signature.overload);
  if (contains(kLowerPrecision, name)) return cast(arguments, autocast.dtype);
  if (contains(kFloat32, name)) return cast(arguments, Dtype::float32);
  if (!contains(kPromote, name)) return {};
  PT2_TRY(const Dtype dtype, widest(arguments, autocast.dtype));
  return cast(arguments, dtype);
}

// wrap_with_autocast(device, dtype, enabled, cache_enabled, graph, *operands).
Result<std::vector<Value>> wrap_with_autocast(Executor& executor, const BoundNode& node,
                                              std::vector<Value> arguments) {
  PT2_TRY(const Autocast autocast, autocast_of(arguments));
  executor.autocasts().push_back(autocast);
  PT2_TRY(std::vector<Value> results,
          run_subgraph(executor, node, 4, operands_from(node, std::move(arguments), 5)));
  executor.autocasts().pop_back();
  return results;
}

// torch.amp._enter_autocast(device, dtype, enabled, cache_enabled).
Result<std::vector<Value>> enter_autocast(Executor& executor, const BoundNode&,
                                          std::vector<Value> arguments) {
  PT2_TRY(const Autocast autocast, autocast_of(arguments));
  executor.autocasts().push_back(autocast);
  return std::vector<Value>{Value()};
}

// torch.amp._exit_autocast(mode).
Result<std::vector<Value>> exit_autocast(Executor& executor, const BoundNode&, std::vector<Value>) {
  if (executor.autocasts().empty())
    return ops::operator_error("an autocast region is left that was not entered");
  executor.autocasts().pop_back();
  return std::vector<Value>{Value()};
}

}  // namespace pt2::run
