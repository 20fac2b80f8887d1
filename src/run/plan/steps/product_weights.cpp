#include "run/plan/steps/product_weights.h"

#include "run/plan/halves.h"

namespace pt2::run {
namespace {

const Tensor* find_halves(const Planner& planner, const BoundNode& node, std::string_view name) {
  const Tensor* weight = planner.elements(node, name);
  return weight != nullptr && is_half(weight->dtype()) && is_aligned(*weight) ? weight : nullptr;
}
// Of float32, which weights of halves are where they are widened, or of halves.
const Tensor* find_weight(const Planner& planner, const BoundNode& node, std::string_view name) {
  const Tensor* floats = planner.floats(node, name);
  return floats != nullptr ? floats : find_halves(planner, node, name);
}

std::string_view weight_name(const BoundNode& node) {
  if (is_operator(node, "aten::linear")) return "weight";
  return is_operator(node, "aten::matmul") ? "other" : "mat2";
}

// False where there is a bias that is none for these weights.
bool take_bias(const Planner& planner, const BoundNode& node, std::string_view name,
               ProductWeights& weights) {
  const Tensor* bias = find_weight(planner, node, name);
  if (bias == nullptr || bias->dtype() != weights.tensor.dtype() || bias->dim() != 1 ||
      bias->size(0) != weights.columns)
    return false;
  const Tensor* floats = is_half(bias->dtype()) ? planner.widened(*bias) : bias;
  if (floats == nullptr) return false;
  weights.bias = planner.row_major(*floats);
  return weights.bias.has_value();
}

}  // namespace

bool has_half_weights(const Planner& planner, const BoundNode& node) {
  const Tensor* weight = find_halves(planner, node, weight_name(node));
  return weight != nullptr && weight->dim() == 2;
}

std::optional<ProductWeights> find_product_weights(const Planner& planner, const BoundNode& node) {
  const bool is_linear = is_operator(node, "aten::linear");
  const Tensor* weight = find_weight(planner, node, weight_name(node));
  if (weight == nullptr || weight->dim() != 2) return std::nullopt;
  const int64_t depth_dim = is_linear ? 1 : 0;
  ProductWeights out{.tensor = *weight,
                     .depth = weight->size(depth_dim),
                     .columns = weight->size(1 - depth_dim),
                     .depth_stride = weight->stride(depth_dim),
                     .column_stride = weight->stride(1 - depth_dim)};
  const bool is_addmm = is_operator(node, "aten::addmm");
  if (is_addmm && (planner.number(node, "beta") != 1.0 || planner.number(node, "alpha") != 1.0))
    return std::nullopt;
  const std::string_view bias_name = is_addmm ? "self" : "bias";
  if ((is_addmm || (is_linear && !planner.is_none(node, bias_name))) &&
      !take_bias(planner, node, bias_name, out))
    return std::nullopt;
  return out;
}

std::optional<ProductWeights> find_pixel_weights(const Planner& planner, const BoundNode& node) {
  const Tensor* weight = find_halves(planner, node, "weight");
  if (weight == nullptr || weight->dim() < 3 ||
      weight->numel() != weight->size(0) * weight->size(1) || planner.integer(node, "groups") != 1)
    return std::nullopt;
  const auto spatial = static_cast<size_t>(weight->dim() - 2);
  if (planner.integers(node, "stride", spatial) != Sizes(spatial, 1) ||
      planner.integers(node, "padding", spatial) != Sizes(spatial, 0) ||
      (is_operator(node, "aten::convolution") && planner.flag(node, "transposed") != false))
    return std::nullopt;
  std::optional<Tensor> lying = planner.row_major(*weight);
  if (!lying) return std::nullopt;
  ProductWeights out{.tensor = *std::move(lying),
                     .depth = weight->size(1),
                     .columns = weight->size(0),
                     .depth_stride = 1,
                     .column_stride = weight->size(1)};
  if (!planner.is_none(node, "bias") && !take_bias(planner, node, "bias", out)) return std::nullopt;
  return out;
}

}  // namespace pt2::run
