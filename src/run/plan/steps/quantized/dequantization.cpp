#include "run/plan/steps/quantized/dequantization.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "ops/loops.h"
#include "run/plan/layout.h"

namespace pt2::run {
namespace {

double element_of(const Tensor& tensor) {
  double out = 0;
  ops::load_elements<double>(tensor.raw_data(), 1, tensor.dtype(), 1, &out);
  return out;
}
// True for a tensor of one number. Scales are floats and zero points integers: doubles hold either.
bool has_number(const Tensor* tensor) {
  constexpr Dtype kNumbers[] = {Dtype::float32, Dtype::float64, Dtype::int32, Dtype::int64};
  return tensor != nullptr && tensor->defined() && tensor->numel() == 1 && is_aligned(*tensor) &&
         std::ranges::find(kNumbers, tensor->dtype()) != std::end(kNumbers);
}

}  // namespace

std::optional<LevelNumbers> LevelNumbers::find(const Planner& planner, const BoundNode& node) {
  LevelNumbers out;
  out.scale_ = Planner::argument(node, "scale");
  out.zero_ = Planner::argument(node, "zero_point");
  if (out.scale_ == nullptr || out.zero_ == nullptr) return std::nullopt;
  const auto scale = planner.number(node, "scale");
  const auto zero = planner.integer(node, "zero_point");
  if (scale && zero) out.fixed_ = Numbers{*scale, *zero};
  if (!out.fixed_ && (!Frame::value_id(*out.scale_) || !Frame::value_id(*out.zero_)))
    return std::nullopt;
  return out;
}

std::optional<LevelNumbers::Place> LevelNumbers::place(const Frame& frame) const {
  Place out;
  if (fixed_) {
    out.fixed_ = *fixed_;
    return out;
  }
  const Tensor *scale = frame.tensor(*scale_), *zero = frame.tensor(*zero_);
  if (!has_number(scale) || !has_number(zero)) return std::nullopt;
  out.scale_ = *scale;
  out.zero_ = *zero;
  return out;
}

LevelNumbers::Numbers LevelNumbers::Place::read() const {
  if (!scale_.defined()) return fixed_;
  return {element_of(scale_), static_cast<int64_t>(element_of(zero_))};
}

bool may_multiply(const LevelNumbers::Numbers& numbers, Dtype dtype, const Tensor& scales) {
  // The largest distance of a level from its zero point.
  constexpr float kLargest = 256;
  const float largest = static_cast<float>(numbers.scale) * kLargest;
  const std::span<const float> factors(scales.data<float>(), static_cast<size_t>(scales.numel()));
  return is_level(numbers.zero, dtype) && std::ranges::all_of(factors, [&](float factor) {
           return std::isfinite(factor * kLargest) && std::isfinite(factor * kLargest * largest);
         });
}

const Tensor* Dequantization::find(const Frame& frame) const {
  const Tensor* tensor = frame.tensor(*levels);
  return has_elements(tensor, dtype) ? tensor : nullptr;
}

std::optional<Dequantization> find_dequantization(const Planner& planner, const BoundNode& node) {
  if (!is_operator(node, "quantized_decomposed::dequantize_per_tensor") &&
      !is_operator(node, "quantized_decomposed::dequantize_per_tensor", "tensor"))
    return std::nullopt;
  const auto dtype = planner.dtype(node, "dtype");
  if (!dtype || !has_levels(*dtype)) return std::nullopt;
  if (!planner.is_none(node, "out_dtype") && planner.dtype(node, "out_dtype") != Dtype::float32)
    return std::nullopt;
  std::optional<LevelNumbers> numbers = LevelNumbers::find(planner, node);
  if (!numbers) return std::nullopt;
  return Dequantization{&node, Planner::argument(node, "input"), *dtype, *std::move(numbers)};
}

std::optional<Dequantization> dequantization_for(const Planner& planner,
                                                 const BoundArgument& argument,
                                                 const BoundNode& user) {
  const BoundNode* maker = planner.maker_for(argument, user);
  auto out = maker == nullptr ? std::nullopt : find_dequantization(planner, *maker);
  // The floats of constant levels are constants, which no step needs to make.
  return out && planner.constant(out->levels) == nullptr ? std::move(out) : std::nullopt;
}

}  // namespace pt2::run
