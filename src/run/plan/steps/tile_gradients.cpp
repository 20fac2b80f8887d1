// Gradients of elementwise functions in joint graphs, as instructions. They compute as
// ATen/native/cpu/Activation.cpp does, in floats that are rounded once.
#include <numbers>

#include "run/plan/halves.h"
#include "run/plan/steps/tile_builder.h"

namespace pt2::run {
namespace {

using kernels::Activation;
using kernels::Binary;
using kernels::TileSource;
using kernels::Unary;

}  // namespace

bool TileBuilder::add_gradient(const BoundNode& node) {
  constexpr struct {
    std::string_view name;
    std::optional<TileSource> (TileBuilder::*write)(const BoundNode& node);
  } kGradients[] = {
      {"aten::sigmoid_backward", &TileBuilder::sigmoid_gradient},
      {"aten::tanh_backward", &TileBuilder::tanh_gradient},
      {"aten::silu_backward", &TileBuilder::silu_gradient},
      {"aten::mish_backward", &TileBuilder::mish_gradient},
      {"aten::gelu_backward", &TileBuilder::gelu_gradient},
      {"aten::elu_backward", &TileBuilder::elu_gradient},
      {"aten::leaky_relu_backward", &TileBuilder::leaky_relu_gradient},
      {"aten::hardtanh_backward", &TileBuilder::hardtanh_gradient},
      {"aten::hardsigmoid_backward", &TileBuilder::hardsigmoid_gradient},
      {"aten::hardswish_backward", &TileBuilder::hardswish_gradient},
      {"aten::hardshrink_backward", &TileBuilder::shrink_gradient},
      {"aten::softshrink_backward", &TileBuilder::shrink_gradient},
      {"aten::threshold_backward", &TileBuilder::threshold_gradient},
      {"aten::softplus_backward", &TileBuilder::softplus_gradient},
      {"aten::log_sigmoid_backward", &TileBuilder::log_sigmoid_gradient},
      {"aten::mse_loss_backward", &TileBuilder::squared_loss_gradient},
  };
  const ops::OpDef* own = own_row(node);
  if (own == nullptr || !own->signature->name.ends_with("_backward")) return false;
  for (const auto& row : kGradients) {
    if (!is_operator(node, row.name)) continue;
    const auto gradient = (this->*row.write)(node);
    return gradient && finish(node, *gradient);
  }
  return false;
}

// The slope in terms of the function's result y: (1 - y) * y.
std::optional<TileSource> TileBuilder::sigmoid_gradient(const BoundNode& node) {
  const TileSource gradient = source(node.arguments[0]), y = source(node.arguments[1]);
  return multiply(multiply(gradient, emit(Binary::subtract, number(1), y)), y);
}

// 1 - y * y.
std::optional<TileSource> TileBuilder::tanh_gradient(const BoundNode& node) {
  const TileSource gradient = source(node.arguments[0]), y = source(node.arguments[1]);
  return multiply(gradient, emit(Binary::subtract, number(1), emit(Unary::square, y)));
}

// sigmoid(x) * (1 + x * (1 - sigmoid(x))).
std::optional<TileSource> TileBuilder::silu_gradient(const BoundNode& node) {
  const TileSource gradient = source(node.arguments[0]), x = source(node.arguments[1]);
  const TileSource sigmoid = emit(Activation::sigmoid, x);
  const TileSource rest = multiply(x, emit(Binary::subtract, number(1), sigmoid));
  return multiply(multiply(gradient, sigmoid), emit(Binary::add, rest, number(1)));
}

// tanh(softplus(x)) + x * sigmoid(x) * (1 - tanh(softplus(x))^2).
std::optional<TileSource> TileBuilder::mish_gradient(const BoundNode& node) {
  // The result has the dtype of self, whatever that of the gradient.
  const TensorMeta *given = planner_.record(node.arguments[0]),
                   *taken = planner_.record(node.arguments[1]);
  if (given == nullptr || taken == nullptr || given->dtype != taken->dtype) return std::nullopt;
  const TileSource gradient = source(node.arguments[0]), x = source(node.arguments[1]);
  const TileSource bent = emit(Activation::tanh, emit(Unary::softplus, x));
  const TileSource scaled = multiply(x, emit(Activation::sigmoid, x));
  const TileSource rest = emit(Binary::subtract, number(1), emit(Unary::square, bent));
  return multiply(gradient, emit(Binary::add, bent, multiply(scaled, rest)));
}

std::optional<TileSource> TileBuilder::gelu_gradient(const BoundNode& node) {
  const auto* text = planner_.constant_of<std::string>(node, "approximate");
  if (text == nullptr || (*text != "none" && *text != "tanh")) return std::nullopt;
  const TileSource gradient = source(node.arguments[0]), x = source(node.arguments[1]);
  const TileSource square = emit(Unary::square, x);
  if (*text == "none") {
    // The cumulative normal distribution, and x times its density.
    const TileSource odd =
        emit(Unary::error_function, multiply(x, number(std::numbers::sqrt2 / 2)));
    const TileSource share = multiply(emit(Binary::add, odd, number(1)), number(0.5));
    const TileSource density = multiply(emit(Unary::exponential, multiply(square, number(-0.5))),
                                        number(std::numbers::inv_sqrtpi * std::numbers::sqrt2 / 2));
    return multiply(gradient, emit(Binary::add, share, multiply(x, density)));
  }
  constexpr double kBeta = std::numbers::sqrt2 * std::numbers::inv_sqrtpi, kKappa = 0.044715;
  const TileSource cube = multiply(multiply(square, x), number(kKappa));
  const TileSource bent =
      emit(Activation::tanh, multiply(emit(Binary::add, x, cube), number(kBeta)));
  const TileSource rest = emit(Binary::subtract, number(1), emit(Unary::square, bent));
  const TileSource inner =
      multiply(emit(Binary::add, multiply(square, number(3 * kKappa)), number(1)), number(kBeta));
  const TileSource left = multiply(emit(Binary::add, bent, number(1)), number(0.5));
  const TileSource right = multiply(multiply(x, number(0.5)), multiply(rest, inner));
  return multiply(gradient, emit(Binary::add, left, right));
}

std::optional<TileSource> TileBuilder::elu_gradient(const BoundNode& node) {
  const auto alpha = planner_.number(node, "alpha"), scale = planner_.number(node, "scale"),
             input_scale = planner_.number(node, "input_scale");
  const auto is_result = planner_.flag(node, "is_result");
  if (!alpha || !scale || !input_scale || !is_result || (*is_result && *alpha < 0))
    return std::nullopt;
  const double negative = *alpha * *scale;
  const TileSource gradient = source(node.arguments[0]), x = source(node.arguments[5]);
  const TileSource inner = multiply(gradient, number(*input_scale));
  const TileSource below =
      *is_result ? multiply(inner, emit(Binary::add, x, number(negative)))
                 : multiply(multiply(inner, number(negative)),
                            emit(Unary::exponential, multiply(x, number(*input_scale))));
  return choose(emit(Binary::greater, x, number(0)), multiply(gradient, number(*scale)), below);
}

std::optional<TileSource> TileBuilder::leaky_relu_gradient(const BoundNode& node) {
  const auto slope = planner_.number(node, "negative_slope");
  const auto is_result = planner_.flag(node, "self_is_result");
  if (!slope || !is_result || (*is_result && *slope < 0)) return std::nullopt;
  const TileSource gradient = source(node.arguments[0]), x = source(node.arguments[1]);
  return choose(emit(Binary::greater, x, number(0)), gradient, multiply(gradient, number(*slope)));
}

// 0 at the bounds and outside of them.
std::optional<TileSource> TileBuilder::hardtanh_gradient(const BoundNode& node) {
  const auto low = planner_.number(node, "min_val"), high = planner_.number(node, "max_val");
  if (!low || !high) return std::nullopt;
  const TileSource gradient = source(node.arguments[0]), x = source(node.arguments[1]);
  const TileSource is_out = emit(Binary::either, emit(Binary::less_equal, x, number(*low)),
                                 emit(Binary::greater_equal, x, number(*high)));
  return choose(is_out, number(0), gradient);
}

std::optional<TileSource> TileBuilder::hardsigmoid_gradient(const BoundNode& node) {
  const TileSource gradient = source(node.arguments[0]), x = source(node.arguments[1]);
  return choose(emit(Binary::less, emit(Unary::absolute, x), number(3)),
                emit(Binary::divide, gradient, number(6)), number(0));
}

// In halves the gradient passes where the input is NaN.
std::optional<TileSource> TileBuilder::hardswish_gradient(const BoundNode& node) {
  const TileSource gradient = source(node.arguments[0]), x = source(node.arguments[1]);
  const TileSource slope = emit(Binary::add, emit(Binary::divide, x, number(3)), number(0.5));
  const TileSource between = multiply(gradient, slope);
  const TileSource above =
      is_half(node_.dtype) ? choose(emit(Binary::less, x, number(3)), between, gradient)
                           : choose(emit(Binary::greater_equal, x, number(3)), gradient, between);
  return choose(emit(Binary::less_equal, x, number(-3)), number(0), above);
}

std::optional<TileSource> TileBuilder::shrink_gradient(const BoundNode& node) {
  auto bound = planner_.number(node, "lambd");
  if (!bound) return std::nullopt;
  ops::round_elements(node_.dtype, 1, &*bound);
  const TileSource gradient = source(node.arguments[0]), x = source(node.arguments[1]);
  return choose(emit(Binary::less_equal, emit(Unary::absolute, x), number(*bound)), number(0),
                gradient);
}

std::optional<TileSource> TileBuilder::threshold_gradient(const BoundNode& node) {
  const auto bound = planner_.number(node, "threshold");
  if (!bound) return std::nullopt;
  const TileSource gradient = source(node.arguments[0]), x = source(node.arguments[1]);
  return *bound == 0 ? emit(Binary::gate, gradient, x)
                     : choose(emit(Binary::less_equal, x, number(*bound)), number(0), gradient);
}

std::optional<TileSource> TileBuilder::softplus_gradient(const BoundNode& node) {
  const auto beta = planner_.number(node, "beta"), bound = planner_.number(node, "threshold");
  if (!beta || !bound) return std::nullopt;
  const TileSource gradient = source(node.arguments[0]), x = source(node.arguments[1]);
  const TileSource scaled = multiply(x, number(*beta));
  const TileSource power = emit(Unary::exponential, scaled);
  const TileSource bent =
      emit(Binary::divide, multiply(gradient, power), emit(Binary::add, power, number(1)));
  return choose(emit(Binary::greater, scaled, number(*bound)), gradient, bent);
}

std::optional<TileSource> TileBuilder::log_sigmoid_gradient(const BoundNode& node) {
  const TileSource gradient = source(node.arguments[0]), x = source(node.arguments[1]);
  const TileSource bottom = emit(Binary::add, emit(Unary::exponential, x), number(1));
  return emit(Binary::divide, gradient, bottom);
}

// 2 * (x - y) * gradient; for a mean, divided by the number of elements.
std::optional<TileSource> TileBuilder::squared_loss_gradient(const BoundNode& node) {
  const auto reduction = planner_.integer(node, "reduction");
  const TensorMeta* made = planner_.record(node);
  if (!reduction || made == nullptr) return std::nullopt;
  double scale = 2;
  constexpr int64_t kMean = 1;
  for (const SymInt& size : made->sizes) {
    if (*reduction == kMean && size.is_symbolic()) return std::nullopt;
    if (*reduction == kMean) scale /= static_cast<double>(size.literal());
  }
  const TileSource gradient = source(node.arguments[0]), x = source(node.arguments[1]),
                   y = source(node.arguments[2]);
  return multiply(multiply(emit(Binary::subtract, x, y), number(scale)), gradient);
}

}  // namespace pt2::run
