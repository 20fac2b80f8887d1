#include "run/plan/steps/product_weights.h"

#include <algorithm>

#include "ops/convert.h"
#include "run/plan/halves.h"

namespace pt2::run {
namespace {

const Tensor* find_halves(const Planner& planner, const BoundNode& node, std::string_view name) {
  const Tensor* weight = planner.elements(node, name);
  return weight != nullptr && is_half(weight->dtype()) && is_aligned(*weight) ? weight : nullptr;
}
// Returns a weight of float32 or of halves. While halves are widened, it is float32.
const Tensor* find_weight(const Planner& planner, const BoundNode& node, std::string_view name) {
  const Tensor* floats = planner.floats(node, name);
  return floats != nullptr ? floats : find_halves(planner, node, name);
}

std::string_view weight_name(const BoundNode& node) {
  if (is_operator(node, "aten::linear")) return "weight";
  return is_operator(node, "aten::matmul") ? "other" : "mat2";
}

// Below this number of weights, products of float rows are faster with float weights.
constexpr int64_t kFewLevels = 1 << 14;

// True if the node may convert int8 to floats, which is exact and without scales.
bool is_conversion(const BoundNode& node) {
  return is_operator(node, "aten::to", "dtype") || is_operator(node, "aten::_to_copy");
}
bool is_dequantization(const BoundNode& node) {
  return is_operator(node, "quantized_decomposed::dequantize_per_channel") ||
         is_operator(node, "quantized_decomposed::dequantize_per_tensor");
}
// True if the node transposes a matrix.
bool is_transposition(const Planner& planner, const BoundNode& node) {
  if (is_operator(node, "aten::t")) return true;
  const TensorMeta* record = planner.record(node);
  if (record == nullptr || record->sizes.size() != 2) return false;
  if (is_operator(node, "aten::permute")) return planner.integers(node, "dims", 2) == Sizes{1, 0};
  if (!is_operator(node, "aten::transpose", "int")) return false;
  const auto a = planner.integer(node, "dim0"), b = planner.integer(node, "dim1");
  return a && b && *a != *b;
}

// Returns the scales of `count` columns of quantized weights; nullopt if one has a zero point.
std::optional<Tensor> find_factors(const Planner& planner, const BoundNode& node, int64_t rank,
                                   int64_t axis, int64_t count) {
  if (planner.dtype(node, "dtype") != Dtype::int8 ||
      (!planner.is_none(node, "out_dtype") && planner.dtype(node, "out_dtype") != Dtype::float32))
    return std::nullopt;
  Tensor factors = Tensor::zeros(Dtype::float32, {count});
  float* const to = factors.data<float>();
  if (is_operator(node, "quantized_decomposed::dequantize_per_tensor")) {
    const auto scale = planner.number(node, "scale");
    if (!scale || planner.integer(node, "zero_point") != 0) return std::nullopt;
    std::fill_n(to, count, static_cast<float>(*scale));
    return factors;
  }
  const Tensor* scales = planner.elements(node, "scales");
  const auto given_axis = planner.integer(node, "axis");
  if (scales == nullptr || scales->dim() != 1 || scales->size(0) != count || !given_axis ||
      (*given_axis < 0 ? *given_axis + rank : *given_axis) != axis)
    return std::nullopt;
  const auto read = [](const Tensor& numbers, float* out) {
    const Tensor lying = numbers.contiguous();
    ops::load_elements<float>(lying.raw_data(), 1, lying.dtype(), lying.numel(), out);
  };
  if (!planner.is_none(node, "zero_points")) {
    const Tensor* zeros = planner.elements(node, "zero_points");
    if (zeros == nullptr || zeros->dim() != 1 || zeros->size(0) != count) return std::nullopt;
    read(*zeros, to);
    if (std::any_of(to, to + count, [](float zero) { return zero != 0; })) return std::nullopt;
  }
  if (scales->dtype() != Dtype::float32 && scales->dtype() != Dtype::float64) return std::nullopt;
  read(*scales, to);
  return factors;
}

// Returns weights of at least `least` int8 elements; nullopt for others.
std::optional<QuantizedWeights> find_levels(const Planner& planner, const BoundNode& product,
                                            const BoundArgument& weight, int64_t column_dim,
                                            int64_t least) {
  QuantizedWeights out;
  const BoundNode* user = &product;
  const BoundArgument* argument = &weight;
  bool turned = false;
  const BoundNode* maker = planner.maker_for(*argument, *user);
  for (; maker != nullptr && is_transposition(planner, *maker);
       maker = planner.maker_for(*argument, *user)) {
    out.made_by.insert(out.made_by.begin(), maker);
    turned = !turned;
    user = maker;
    argument = Planner::argument(*maker, "self");
  }
  if (maker == nullptr) return std::nullopt;
  out.made_by.insert(out.made_by.begin(), maker);
  const bool converts = is_conversion(*maker);
  if (!converts && !is_dequantization(*maker)) return std::nullopt;
  const TensorMeta* made = planner.record(product);
  const auto dtype = converts ? planner.dtype(*maker, "dtype") : Dtype::float32;
  if (made == nullptr || !dtype || made->dtype.dtype() != dtype) return std::nullopt;
  const Tensor* levels = planner.elements(*maker, converts ? "self" : "input");
  if (levels == nullptr || levels->dtype() != Dtype::int8 || levels->dim() != 2 ||
      levels->numel() < least)
    return std::nullopt;
  const int64_t axis = turned ? 1 - column_dim : column_dim;
  if (*dtype != Dtype::float32 && !is_half(*dtype)) return std::nullopt;
  if (!converts) {
    out.factors = find_factors(planner, *maker, 2, axis, levels->size(axis));
    if (!out.factors) return std::nullopt;
  }
  out.tensor =
      turned ? levels->with_view({levels->size(1), levels->size(0)},
                                 {levels->stride(1), levels->stride(0)}, levels->storage_offset())
             : *levels;
  return out;
}

// Takes the bias. False if it does not fit the weights.
bool take_bias(const Planner& planner, const BoundNode& node, std::string_view name,
               ProductWeights& weights) {
  const Tensor* bias = find_weight(planner, node, name);
  const Dtype dtype =
      weights.tensor.dtype() == Dtype::int8 ? Dtype::float32 : weights.tensor.dtype();
  if (bias == nullptr || bias->dtype() != dtype || bias->dim() != 1 ||
      bias->size(0) != weights.columns)
    return false;
  const Tensor* floats = is_half(bias->dtype()) ? planner.widened(*bias) : bias;
  if (floats == nullptr) return false;
  weights.bias = planner.row_major(*floats);
  return weights.bias.has_value();
}

// Returns the one matrix that all matrices of a bmm's right operand repeat, if it is a constant;
// nullopt otherwise.
std::optional<Tensor> find_repeated(const Planner& planner, const BoundArgument& operand) {
  if (const Value* value = planner.constant(&operand)) {
    const auto* tensor = value->get_if<Tensor>();
    if (tensor == nullptr || tensor->dim() != 3 || tensor->dtype() != Dtype::float32 ||
        (tensor->stride(0) != 0 && tensor->size(0) != 1) || !is_aligned(*tensor))
      return std::nullopt;
    return tensor->with_view({tensor->size(1), tensor->size(2)},
                             {tensor->stride(1), tensor->stride(2)}, tensor->storage_offset());
  }
  // Views that keep the matrices add and join only dimensions before them. Products may share a
  // chain of views, so the whole of a long one is not walked for each.
  constexpr int kMostViews = 4;
  const TensorMeta* wanted = planner.record(operand);
  if (wanted == nullptr || wanted->sizes.size() != 3) return std::nullopt;
  const BoundArgument* at = &operand;
  for (int views = 0; views < kMostViews; ++views) {
    const BoundNode* made = planner.maker(*at);
    const TensorMeta* record = made == nullptr ? nullptr : planner.record(*made);
    if (record == nullptr || record->sizes.size() < 2 ||
        !std::equal(record->sizes.end() - 2, record->sizes.end(), wanted->sizes.end() - 2) ||
        (!is_operator(*made, "aten::expand") && !is_operator(*made, "aten::view")))
      return std::nullopt;
    at = &made->arguments[0];
    const auto id = Frame::value_id(*at);
    const Tensor* weight = id ? planner.floats(*id) : nullptr;
    if (weight == nullptr) continue;
    if (weight->dim() != 2 || wanted->sizes.end()[-2] != weight->size(0) ||
        wanted->sizes.back() != weight->size(1))
      return std::nullopt;
    return *weight;
  }
  return std::nullopt;
}

// Takes the bias of a product of floats that has none itself: a vector that is added to its result.
void take_added_bias(const Planner& planner, const BoundNode& node, ProductWeights& weights) {
  Step::Nodes nodes;
  const BoundNode* last = &node;
  while (const BoundNode* next = planner.only_user(*last)) {
    const TensorMeta* record = planner.record(*next);
    if (record == nullptr || record->sizes.empty() || record->sizes.back() != weights.columns)
      return;
    nodes.push_back(next);
    const bool is_first = Planner::takes(next->arguments[0], *last);
    if (is_first && is_reshape(*next)) {
      last = next;
      continue;
    }
    if (!is_operator(*next, "aten::add", "Tensor") || planner.number(*next, "alpha") != 1.0) return;
    const auto id = Frame::value_id(next->arguments[is_first ? 1 : 0]);
    const Tensor* bias = id ? planner.floats(*id) : nullptr;
    if (bias == nullptr || bias->dim() != 1 || bias->size(0) != weights.columns) return;
    weights.bias = planner.row_major(*bias);
    if (weights.bias) weights.bias_nodes = std::move(nodes);
    return;
  }
}

}  // namespace

bool has_half_weights(const Planner& planner, const BoundNode& node) {
  const Tensor* weight = find_halves(planner, node, weight_name(node));
  return weight != nullptr && weight->dim() == 2;
}

std::optional<ProductWeights> find_product_weights(const Planner& planner, const BoundNode& node) {
  const bool is_linear = is_operator(node, "aten::linear");
  const int64_t depth_dim = is_linear ? 1 : 0;
  const std::string_view name = weight_name(node);
  const Tensor* weight = find_weight(planner, node, name);
  std::optional<QuantizedWeights> levels;
  std::optional<Dequantization> rows;
  std::optional<Tensor> repeated;
  if (is_operator(node, "aten::bmm")) {
    repeated = find_repeated(planner, *Planner::argument(node, name));
    if (repeated) weight = &*repeated;
  } else if (weight == nullptr) {
    rows = quantized_rows(planner, node);
    levels = find_levels(planner, node, *Planner::argument(node, name), 1 - depth_dim,
                         rows ? 1 : kFewLevels);
    if (levels) weight = &levels->tensor;
  }
  if (weight == nullptr || weight->dim() != 2) return std::nullopt;
  ProductWeights out{.tensor = *weight,
                     .depth = weight->size(depth_dim),
                     .columns = weight->size(1 - depth_dim),
                     .depth_stride = weight->stride(depth_dim),
                     .column_stride = weight->stride(1 - depth_dim)};
  if (levels) {
    out.factors = std::move(levels->factors);
    out.made_by = std::move(levels->made_by);
    if (out.factors) out.rows = std::move(rows);
  }
  const bool is_addmm = is_operator(node, "aten::addmm");
  if (is_addmm && (planner.number(node, "beta") != 1.0 || planner.number(node, "alpha") != 1.0))
    return std::nullopt;
  const std::string_view bias_name = is_addmm ? "self" : "bias";
  if ((is_addmm || (is_linear && !planner.is_none(node, bias_name))) &&
      !take_bias(planner, node, bias_name, out))
    return std::nullopt;
  if (!out.bias && out.tensor.dtype() == Dtype::float32) take_added_bias(planner, node, out);
  return out;
}

bool makes_floats_of_levels(const BoundNode& node, const std::vector<Value>& constants) {
  if (!is_conversion(node) && !is_dequantization(node)) return false;
  const auto id = Frame::value_id(node.arguments[0]);
  const auto* levels = id ? constants[static_cast<size_t>(*id)].get_if<Tensor>() : nullptr;
  return levels != nullptr && levels->defined() && levels->dtype() == Dtype::int8 &&
         levels->dim() >= 2;
}

std::optional<QuantizedWeights> find_quantized_kernels(const Planner& planner,
                                                       const BoundNode& node) {
  const BoundNode* maker = planner.maker_for(*Planner::argument(node, "weight"), node);
  if (maker == nullptr || !is_dequantization(*maker)) return std::nullopt;
  const Tensor* levels = planner.elements(*maker, "input");
  if (levels == nullptr || levels->dtype() != Dtype::int8 || levels->dim() < 3 ||
      !quantized_rows(planner, node))
    return std::nullopt;
  QuantizedWeights out{.tensor = *levels, .factors = {}, .made_by = {maker}};
  out.factors = find_factors(planner, *maker, levels->dim(), 0, levels->size(0));
  return out.factors ? std::optional(std::move(out)) : std::nullopt;
}

ProductRanks product_ranks(const BoundNode& node) {
  if (is_operator(node, "aten::matmul")) return {};
  if (is_operator(node, "aten::linear")) return {.right = 2};
  if (is_operator(node, "aten::bmm")) return {.left = 3, .right = 3};
  if (is_operator(node, "aten::mv")) return {.left = 2, .right = 1};
  return {.left = 2, .right = 2};
}

const BoundArgument& rows_argument(const BoundNode& node) {
  if (is_operator(node, "aten::addmm")) return *Planner::argument(node, "mat1");
  const BoundArgument* input = Planner::argument(node, "input");
  return input != nullptr ? *input : *Planner::argument(node, "self");
}

std::optional<Dequantization> quantized_rows(const Planner& planner, const BoundNode& node) {
  return dequantization_for(planner, rows_argument(node), node);
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
