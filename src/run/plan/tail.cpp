#include "run/plan/planner.h"

namespace pt2::run {
namespace {

using kernels::Activation;

constexpr struct {
  std::string_view name;
  Activation activation;
} kActivations[] = {
    {"aten::relu", Activation::relu},           {"aten::relu6", Activation::relu6},
    {"aten::sigmoid", Activation::sigmoid},     {"aten::tanh", Activation::tanh},
    {"aten::silu", Activation::silu},           {"aten::hardsigmoid", Activation::hardsigmoid},
    {"aten::hardswish", Activation::hardswish},
};

}  // namespace

std::optional<Activation> activation_of(const Planner& planner, const BoundNode& node) {
  for (const auto& row : kActivations)
    if (is_operator(node, row.name)) return row.activation;
  if (is_operator(node, "aten::gelu")) {
    const auto* text = planner.constant_of<std::string>(node, "approximate");
    if (text == nullptr) return std::nullopt;
    return *text == "tanh" ? Activation::gelu_tanh : Activation::gelu;
  }
  const auto is_relu6 = [&](std::string_view low, std::string_view high) {
    return planner.number(node, low) == 0.0 && planner.number(node, high) == 6.0;
  };
  if ((is_operator(node, "aten::hardtanh") && is_relu6("min_val", "max_val")) ||
      (is_operator(node, "aten::clamp") && is_relu6("min", "max")))
    return Activation::relu6;
  return std::nullopt;
}

Tail match_tail(const Planner& planner, const BoundNode& node, bool reshapes) {
  Tail tail;
  size_t fused = 0;  // nodes up to the last addition or activation
  for (const BoundNode* last = &node;;) {
    if (auto found = match_activation(planner, *last)) {
      tail.activation = found->activation;
      tail.nodes.insert(tail.nodes.end(), found->nodes.begin(), found->nodes.end());
      fused = tail.nodes.size();
      break;
    }
    const BoundNode* next = planner.only_user(*last);
    if (next == nullptr) break;
    const bool adds = tail.addend == nullptr && is_operator(*next, "aten::add", "Tensor") &&
                      planner.number(*next, "alpha") == 1.0;
    if (adds) {
      const BoundArgument &self = next->arguments[0], &other = next->arguments[1];
      const BoundArgument& addend = Planner::takes(self, *last) ? other : self;
      // The addend must be a value other than the product itself, and neither operand may
      // broadcast.
      if (!Frame::value_id(addend) || Planner::takes(addend, *last)) break;
      if (planner.is_broadcast(*next, self) || planner.is_broadcast(*next, other)) break;
      tail.addend = &addend;
    } else if (!reshapes || !is_reshape(*next) || !Planner::takes(next->arguments[0], *last)) {
      break;
    }
    tail.nodes.push_back(next);
    if (adds) fused = tail.nodes.size();
    last = next;
  }
  tail.nodes.resize(fused);
  return tail;
}

}  // namespace pt2::run
