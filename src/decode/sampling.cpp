#include <algorithm>
#include <cmath>
#include <numeric>

#include "pt2/decoder.h"

namespace pt2 {
namespace {

// Maps NaN to -infinity, so that scores are ordered.
float ordered(float logit) { return std::isnan(logit) ? -INFINITY : logit; }

}  // namespace

// SplitMix64, which accepts any seed as its state.
double Sampler::uniform() {
  state_ += 0x9e3779b97f4a7c15;
  uint64_t mixed = state_;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
  mixed ^= mixed >> 31;
  return static_cast<double>(mixed >> 11) * 0x1p-53;
}

int64_t Sampler::draw(std::span<const float> logits) {
  if (logits.empty()) return -1;
  const auto is_better = [&](int64_t a, int64_t b) {
    const float x = ordered(logits[static_cast<size_t>(a)]),
                y = ordered(logits[static_cast<size_t>(b)]);
    return x > y || (x == y && a < b);
  };
  std::vector<int64_t> order(logits.size());
  std::iota(order.begin(), order.end(), int64_t{0});
  const int64_t best = *std::ranges::min_element(order, is_better);
  if (sampling_.temperature <= 0) return best;

  // Imitates TopKLogitsWarper: tokens as likely as the last of the top k stay.
  if (sampling_.top_k > 0 && static_cast<size_t>(sampling_.top_k) < order.size()) {
    const auto last = order.begin() + (sampling_.top_k - 1);
    std::ranges::nth_element(order, last, is_better);
    const float least = ordered(logits[static_cast<size_t>(*last)]);
    std::erase_if(
        order, [&](int64_t token) { return ordered(logits[static_cast<size_t>(token)]) < least; });
  }
  std::ranges::sort(order, is_better);
  const double highest = ordered(logits[static_cast<size_t>(best)]);
  if (!std::isfinite(highest)) return best;
  std::vector<double> weights;
  for (const int64_t token : order)
    weights.push_back(
        std::exp((ordered(logits[static_cast<size_t>(token)]) - highest) / sampling_.temperature));
  double sum = std::reduce(weights.begin(), weights.end());
  // Imitates TopPLogitsWarper: the first token always stays.
  if (sampling_.top_p < 1) {
    const double wanted = sampling_.top_p * sum;
    double before = 0;
    size_t kept = 0;
    while (kept < weights.size() && (kept == 0 || before < wanted)) before += weights[kept++];
    weights.resize(kept);
    sum = before;
  }
  double left = uniform() * sum;
  for (size_t i = 0; i < weights.size(); ++i) {
    left -= weights[i];
    if (left < 0) return order[i];
  }
  return order[weights.size() - 1];
}

}  // namespace pt2
