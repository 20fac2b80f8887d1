#include "run/plan/steps/quantized/requantization.h"

namespace pt2::run {
namespace {

// Returns the levels that the node rounds to, if its scale and zero point are the same in every
// call.
std::optional<kernels::Levels> fixed_levels(const Planner& planner, const BoundNode& node,
                                            Dtype& dtype) {
  const std::optional<Quantization> to = find_quantization(planner, node);
  if (!to || !to->numbers.fixed()) return std::nullopt;
  dtype = to->dtype;
  return to_levels_of(*to, *to->numbers.fixed());
}

}  // namespace

std::optional<Quantization> find_quantization(const Planner& planner, const BoundNode& node) {
  if (!is_operator(node, "quantized_decomposed::quantize_per_tensor") &&
      !is_operator(node, "quantized_decomposed::quantize_per_tensor", "tensor"))
    return std::nullopt;
  const auto dtype = planner.dtype(node, "dtype");
  const auto low = planner.integer(node, "quant_min"), high = planner.integer(node, "quant_max");
  if (!dtype || !has_levels(*dtype) || !low || !high || *low > *high) return std::nullopt;
  // Bounds beyond the dtype are an error.
  if (!is_level(*low, *dtype) || !is_level(*high, *dtype)) return std::nullopt;
  std::optional<LevelNumbers> numbers = LevelNumbers::find(planner, node);
  if (!numbers) return std::nullopt;
  return Quantization{*dtype, *low, *high, *std::move(numbers)};
}

std::optional<kernels::Levels> to_levels_of(const Quantization& to, LevelNumbers::Numbers numbers) {
  constexpr int64_t kLargest = kernels::Levels::kLargestZero;
  if (numbers.zero < -kLargest || numbers.zero > kLargest) return std::nullopt;
  kernels::Levels out{};
  out.inverse = static_cast<float>(1.0 / numbers.scale);
  out.zero = static_cast<float>(numbers.zero);
  out.low = static_cast<float>(to.low - numbers.zero);
  out.high = static_cast<float>(to.high - numbers.zero);
  return out;
}

void add_way_back(LevelNumbers::Numbers numbers, kernels::Levels& levels) {
  levels.scale = static_cast<float>(numbers.scale);
  levels.back_zero = static_cast<float>(numbers.zero);
}

LevelTail match_level_tail(const Planner& planner, const BoundNode& node) {
  LevelTail tail;
  Step::Nodes& nodes = tail.nodes;
  std::vector<kernels::Requantization::Rounding>& roundings = tail.requantization.roundings;
  size_t end = 0, rounded = 0;  // of nodes and roundings up to the last levels
  for (const BoundNode* last = &node;;) {
    const BoundNode* to = planner.only_user(*last);
    Dtype dtype{};
    std::optional<kernels::Levels> levels =
        to == nullptr ? std::nullopt : fixed_levels(planner, *to, dtype);
    if (!levels) break;
    nodes.push_back(to);
    end = nodes.size();
    rounded = roundings.size();
    tail.requantization.last = *levels;
    tail.dtype = dtype;

    const BoundNode* back = planner.only_user(*to);
    const auto from = back == nullptr ? std::nullopt : find_dequantization(planner, *back);
    if (!from || from->dtype != dtype || !from->numbers.fixed()) break;
    add_way_back(*from->numbers.fixed(), *levels);
    nodes.push_back(back);
    kernels::Requantization::Rounding rounding{*levels};
    rounding.activation = take_activation(planner, nodes);
    roundings.push_back(rounding);
    last = nodes.back();
  }
  nodes.resize(end);
  roundings.resize(rounded);
  return tail;
}

}  // namespace pt2::run
