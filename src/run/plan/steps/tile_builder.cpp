#include "run/plan/steps/tile_builder.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>
#include <span>

#include "ops/convert.h"
#include "run/plan/halves.h"
#include "run/plan/layout.h"

namespace pt2::run {
namespace {

using kernels::Binary;
using kernels::Ternary;
using kernels::TileInstruction;
using kernels::TileSource;
using kernels::Unary;

// Until tiles are assigned, a TileSource holds the index of an instruction, which is a byte. Two
// more instructions may copy the parts of a complex result.
constexpr size_t kMostInstructions = 256 - 2;

bool is_real(Dtype dtype) {
  return dtype == Dtype::float32 || dtype == Dtype::float64 || is_half(dtype);
}

// Rounds a number to the dtype, as PyTorch does when it makes an element of it.
TileSource as_element(Dtype dtype, TileSource source) {
  if (source.from == TileSource::From::number) ops::round_elements(dtype, 1, &source.number);
  return source;
}

// Returns whether a tensor has one element; nothing if symbols decide that.
std::optional<bool> has_one_element(const TensorMeta& tensor) {
  bool is_known = true;
  for (const SymInt& size : tensor.sizes) {
    if (!size.is_symbolic() && size.literal() != 1) return false;
    is_known = is_known && !size.is_symbolic();
  }
  return is_known ? std::optional(true) : std::nullopt;
}

// True if a cast from one dtype to the other may go through a floating-point number.
bool may_pass_floats(Dtype from, Dtype to) {
  return is_real(from) || dtype_size(from) == 1 || is_real(to) || to == Dtype::bool_;
}

// True if the operator returns floats for integers, too.
bool makes_floats(const BoundNode& node, Unary function) {
  constexpr Unary kOthers[] = {Unary::negate,   Unary::absolute, Unary::square,   Unary::floor,
                               Unary::ceiling,  Unary::round,    Unary::truncate, Unary::sign,
                               Unary::fraction, Unary::softplus};
  return std::ranges::find(kOthers, function) == std::end(kOthers) &&
         !is_operator(node, "aten::pow", "Tensor_Scalar");
}

}  // namespace

bool TileBuilder::add(const BoundNode& node) {
  // Without a record the result counts as float32, and so must its operands.
  const auto recorded = planner_.recorded_dtype(node);
  node_ = {.dtype = recorded.value_or(Dtype::float32), .is_recorded = recorded.has_value()};
  if (const auto dtype = cast_of(planner_, node))
    return recorded == dtype && tile_element(*dtype) && add_cast(node);
  if (is_complex(node_.dtype)) return add_complex(node);
  if (node_.dtype == Dtype::bool_) return add_condition(node);
  if (!is_real(node_.dtype)) return false;
  if (takes_complex(node)) return add_real_of_complex(node);
  if (const auto activation = activation_of(planner_, node)) {
    node_.makes_floats =
        *activation == kernels::Activation::sigmoid || *activation == kernels::Activation::tanh;
    return finish(node, emit(*activation, source(node.arguments[0])));
  }
  if (const auto unary = unary_of(planner_, node)) {
    node_.makes_floats = makes_floats(node, *unary);
    const TileSource value = source(node.arguments[0]);
    const TileSource result = emit(*unary, value);
    // In double, PyTorch's threshold shows.
    return finish(node, *unary == Unary::softplus && node_.dtype == Dtype::float64
                            ? choose(emit(Binary::greater, value, number(20)), value, result)
                            : result);
  }
  if (is_operator(node, "aten::pow", "Tensor_Scalar") && planner_.number(node, "exponent") == 3.0) {
    const TileSource value = source(node.arguments[0]);
    TileSource square = emit(Unary::square, value);
    // PyTorch has a power function of float16; for bfloat16 it rounds each product.
    if (node_.dtype == Dtype::bfloat16) square = rounded(square);
    return finish(node, emit(Binary::multiply, square, value));
  }
  if (is_operator(node, "aten::pow", "Scalar") && planner_.number(node, "self") == 2.0) {
    node_.makes_floats = true;
    return finish(node, emit(Unary::exponential_2, source(node.arguments[1])));
  }
  if (const auto binary = binary_of(planner_, node)) return add_binary(node, *binary);
  if (const auto bounds = bounds_of(planner_, node)) {
    TileSource value = source(node.arguments[0]);
    if (bounds->low) value = emit(Binary::maximum, value, number(*bounds->low));
    if (bounds->high) value = emit(Binary::minimum, value, number(*bounds->high));
    return finish(node, value);
  }
  return add_bent(node) || add_rare(node) || add_choice(node) || add_gradient(node);
}

bool TileBuilder::add_cast(const BoundNode& node) {
  // A cast to the operand's own dtype makes no copy.
  const TensorMeta* taken = planner_.record(node.arguments[0]);
  if (taken == nullptr || taken->dtype.dtype() == node_.dtype) return false;
  node_.takes = Takes::anything;
  const TileSource value = source(node.arguments[0]);
  return finish(node, node_.dtype == Dtype::bool_ ? emit(Binary::not_equal, value, number(0))
                                                  : emit(kernels::Activation::none, value));
}

bool TileBuilder::add_binary(const BoundNode& node, const BinaryNode& binary) {
  node_.subtracts = binary.function == Binary::subtract;
  node_.makes_floats = binary.function == Binary::divide || binary.function == Binary::arctangent;
  TileSource a = source(node.arguments[0]), b = source(node.arguments[1]);
  // PyTorch rounds each intermediate result of this function to halves.
  if (binary.function == Binary::floor_quotient && is_half(node_.dtype)) return false;
  // Products and quotients of halves take numbers without rounding them first.
  if (binary.function != Binary::multiply && binary.function != Binary::divide) {
    a = as_element(node_.dtype, a);
    b = as_element(node_.dtype, b);
  }
  const double scale = as_element(node_.dtype, number(binary.scale)).number;
  return finish(
      node, binary.swaps ? emit(binary.function, b, a, scale) : emit(binary.function, a, b, scale));
}

bool TileBuilder::add_bent(const BoundNode& node) {
  if (is_operator(node, "aten::leaky_relu") || is_operator(node, "aten::rrelu"))
    return add_leaky_relu(node);
  if (is_operator(node, "aten::elu"))
    return add_elu(node, planner_.number(node, "alpha"), planner_.number(node, "scale"),
                   planner_.number(node, "input_scale"));
  // Constants of ATen/native/Activation.cpp.
  if (is_operator(node, "aten::selu"))
    return add_elu(node, 1.6732632423543772848170429916717, 1.0507009873554804934193349852946, 1);
  if (is_operator(node, "aten::celu"))
    if (const auto alpha = planner_.number(node, "alpha"); alpha && *alpha != 0)
      return add_elu(node, alpha, 1, 1 / *alpha);
  if (is_operator(node, "aten::prelu") || is_operator(node, "aten::_prelu_kernel"))
    return add_prelu(node);
  if (is_operator(node, "aten::addcmul")) return add_product(node);
  if (is_operator(node, "aten::lerp", "Scalar")) return add_lerp(node);
  if (is_operator(node, "aten::mish")) {
    const TileSource value = source(node.arguments[0]);
    const TileSource bent = emit(kernels::Activation::tanh, emit(Unary::softplus, value));
    return finish(node, emit(Binary::multiply, value, bent));
  }
  if (is_operator(node, "aten::log_sigmoid")) {
    const TileSource negated = emit(Unary::negate, source(node.arguments[0]));
    // A difference: the logarithm of 1 is 0, not -0.
    return finish(node, emit(Binary::subtract, number(0), emit(Unary::softplus, negated)));
  }
  return false;
}

bool TileBuilder::is_all_float32() const {
  return dtype() == Dtype::float32 && std::ranges::all_of(operands_, [](const TileArgument& each) {
           return each.dtype == Dtype::float32;
         });
}

std::optional<std::vector<TileInstruction>> TileBuilder::instructions() const {
  std::vector<TileInstruction> all(instructions_);
  const Parts& result = made_.back().value;
  // Each result is rounded as its node would round it. The last result is rounded when it is
  // stored.
  for (const Made& made : std::span(made_).first(made_.size() - 1))
    if (made.value.real.from == TileSource::From::tile)
      all[made.value.real.index].rounding = rounding_of(made.dtype);
  std::vector<bool> needed(all.size());
  if (is_complex(dtype())) {
    const auto is_made_by = [](const TileSource& part, size_t instruction) {
      return part.from == TileSource::From::tile && part.index == instruction;
    };
    if (!is_made_by(result.real, all.size() - 2) || !is_made_by(result.imaginary, all.size() - 1))
      for (const TileSource& part : {result.real, result.imaginary})
        all.push_back({.function = kernels::Activation::none, .a = part, .b = {}});
    needed.resize(all.size());
    needed[all.size() - 2] = needed[all.size() - 1] = true;
  } else if (result.real.from == TileSource::From::tile) {
    needed[result.real.index] = true;
  } else {
    return std::nullopt;
  }
  std::vector<size_t> last_use(all.size(), 0);
  for (size_t i = all.size(); i-- > 0;)
    if (needed[i])
      for (const TileSource* source : {&all[i].a, &all[i].b, &all[i].c})
        if (source->from == TileSource::From::tile) {
          needed[source->index] = true;
          last_use[source->index] = std::max(last_use[source->index], i);
        }
  std::vector<TileInstruction> out;
  std::vector<uint8_t> tile(all.size(), 0);
  std::array<bool, kernels::kMostTiles> taken{};
  for (size_t i = 0; i < all.size(); ++i) {
    if (!needed[i]) continue;
    for (TileSource* source : {&all[i].a, &all[i].b, &all[i].c}) {
      if (source->from != TileSource::From::tile) continue;
      const size_t made = source->index;
      source->index = tile[made];
      if (last_use[made] == i) taken[tile[made]] = false;
    }
    const auto free = std::ranges::find(taken, false);
    if (free == taken.end()) return std::nullopt;
    *free = true;
    all[i].to = tile[i] = static_cast<uint8_t>(free - taken.begin());
    out.push_back(all[i]);
  }
  return out;
}

bool TileBuilder::add_leaky_relu(const BoundNode& node) {
  auto slope = planner_.number(node, "negative_slope");
  if (is_operator(node, "aten::rrelu")) {
    const auto low = planner_.number(node, "lower"), high = planner_.number(node, "upper");
    if (low && high && *low <= *high && planner_.flag(node, "training") == false)
      slope = (*low + *high) / 2;
  }
  if (!slope) return false;
  return finish(node, emit(Binary::bend, source(node.arguments[0]), number(*slope)));
}

bool TileBuilder::add_prelu(const BoundNode& node) {
  const TileSource value = source(node.arguments[0]),
                   weight = source(node.arguments[1], is_operator(node, "aten::prelu"));
  return finish(node, emit(Binary::bend, value, weight));
}

bool TileBuilder::add_product(const BoundNode& node) {
  const auto scale = planner_.number(node, "value");
  if (!scale) return false;
  const TileSource first = source(node.arguments[1]);
  const TileSource factor = *scale == 1 ? first : emit(Binary::multiply, first, number(*scale));
  return finish(node, emit_of_three(Ternary::multiply_add, factor, source(node.arguments[2]),
                                    source(node.arguments[0])));
}

bool TileBuilder::add_lerp(const BoundNode& node) {
  const auto weight = planner_.number(node, "weight");
  if (!weight) return false;
  const TileSource from = source(node.arguments[0]), to = source(node.arguments[1]);
  const TileSource way = emit(Binary::subtract, to, from);
  const bool is_near = std::abs(*weight) < 0.5;
  return finish(node, emit(Binary::add, is_near ? from : to, way, is_near ? *weight : *weight - 1));
}

bool TileBuilder::add_elu(const BoundNode& node, std::optional<double> alpha,
                          std::optional<double> scale, std::optional<double> input_scale) {
  if (!alpha || !scale || !input_scale) return false;
  // Both branches are computed for each element, so neither may multiply 0 by infinity.
  for (const double factor : {*alpha * *scale, *scale, *input_scale})
    if (!std::isfinite(static_cast<float>(factor))) return false;
  const TileSource value = source(node.arguments[0]);
  // Of two zeros, both take the second: a zero keeps its sign.
  const TileSource below = emit(Binary::minimum, number(0), value);
  const TileSource inner = emit(Binary::multiply, below, number(*input_scale));
  const TileSource bent =
      emit(Binary::multiply, emit(Unary::exponential_minus_1, inner), number(*alpha * *scale));
  const TileSource above = emit(Binary::maximum, number(0), value);
  return finish(node, emit(Binary::add, bent, emit(Binary::multiply, above, number(*scale))));
}

bool TileBuilder::add_condition(const BoundNode& node) {
  for (const Condition& row : conditions()) {
    if (!is_operator(node, row.name) && !is_operator(node, row.name, "Tensor") &&
        !is_operator(node, row.name, "Scalar"))
      continue;
    node_.takes = row.takes;
    const TileSource a = source(node.arguments[0]), b = source(node.arguments[1]);
    const Dtype compared = node_.compared.value_or(Dtype::float64);
    return finish(node, emit(row.function, as_element(compared, a), as_element(compared, b)));
  }
  const auto is = [&](std::string_view name) { return is_operator(node, name); };
  if (is("aten::logical_not") || is("aten::bitwise_not")) {
    node_.takes = is("aten::logical_not") ? Takes::truth : Takes::mask;
    return finish(node, emit(Binary::equal, source(node.arguments[0]), number(0)));
  }
  node_.takes = Takes::compared;
  constexpr double kEnd = std::numeric_limits<double>::infinity();
  const TileSource value = source(node.arguments[0]);
  if (is("aten::isnan")) return finish(node, emit(Binary::not_equal, value, value));
  if (is("aten::isposinf")) return finish(node, emit(Binary::equal, value, number(kEnd)));
  if (is("aten::isneginf")) return finish(node, emit(Binary::equal, value, number(-kEnd)));
  if (is("aten::signbit"))
    return finish(node, emit(Binary::less, emit(Binary::copy_sign, number(1), value), number(0)));
  if (!is("aten::isinf") && !is("aten::isfinite")) return false;
  return finish(node, emit(is("aten::isinf") ? Binary::equal : Binary::less,
                           emit(Unary::absolute, value), number(kEnd)));
}

bool TileBuilder::add_choice(const BoundNode& node) {
  const bool fills = is_operator(node, "aten::masked_fill", "Scalar");
  bool chooses = false;
  for (const std::string_view overload : {"self", "ScalarOther", "ScalarSelf"})
    chooses = chooses || is_operator(node, "aten::where", overload);
  if (!fills && !chooses) return false;
  const BoundArgument& mask = node.arguments[fills ? 1 : 0];
  const TileSource a = source(node.arguments[fills ? 2 : 1]),
                   b = source(node.arguments[fills ? 0 : 2]);
  node_.takes = Takes::mask;
  return finish(node, choose(source(mask), a, b));
}

bool TileBuilder::add_rare(const BoundNode& node) {
  const auto is = [&](std::string_view name, std::string_view overload = "") {
    return is_operator(node, name, overload);
  };
  const auto operand = [&](size_t i) { return source(node.arguments[i]); };
  if (is("aten::div", "Tensor_mode") || is("aten::div", "Scalar_mode")) {
    const auto* text = planner_.constant_of<std::string>(node, "rounding_mode");
    if (text == nullptr || *text != "trunc") return false;
    // The quotient by a number or by a divisor of one element stays a float, unrounded.
    const TensorMeta* divisor = planner_.record(node.arguments[1]);
    const auto by_number = divisor == nullptr ? std::optional(true) : has_one_element(*divisor);
    if (!by_number && is_half(node_.dtype)) return false;
    const TileSource quotient = emit(Binary::divide, operand(0), operand(1));
    return finish(node, emit(Unary::truncate, by_number == false ? rounded(quotient) : quotient));
  }
  if (is("aten::addcdiv")) {
    const auto value = planner_.number(node, "value");
    if (!value) return false;
    const TileSource top =
        *value == 1 ? operand(1) : emit(Binary::multiply, operand(1), number(*value));
    return finish(node, emit(Binary::add, operand(0), emit(Binary::divide, top, operand(2))));
  }
  if (is("aten::fmax") || is("aten::fmin")) {
    const TileSource a = operand(0), b = operand(1);
    // Both functions return the second of equal operands, where PyTorch returns the first.
    return finish(node, emit(is("aten::fmax") ? Binary::maximum : Binary::minimum,
                             emit(Binary::or_else, b, a), emit(Binary::or_else, a, b)));
  }
  if (is("aten::threshold")) {
    const auto bound = planner_.number(node, "threshold"), value = planner_.number(node, "value");
    const TileSource x = operand(0);
    return bound && value &&
           finish(node, choose(emit(Binary::less_equal, x, number(*bound)), number(*value), x));
  }
  if (is("aten::clamp", "Tensor")) {
    TileSource value = operand(0);
    const bool has_low = !planner_.is_none(node, "min"), has_high = !planner_.is_none(node, "max");
    if (has_low) value = emit(Binary::maximum, value, operand(1));
    if (has_high) value = emit(Binary::minimum, value, operand(2));
    return (has_low || has_high) && finish(node, value);
  }
  if (is("aten::deg2rad") || is("aten::rad2deg"))
    return finish(
        node, emit(Binary::multiply, operand(0),
                   number(is("aten::deg2rad") ? std::numbers::pi / 180 : 180 / std::numbers::pi)));
  if (is("aten::logit")) {
    if (!planner_.is_none(node, "eps")) return false;
    const TileSource x = operand(0);
    const TileSource rest = rounded(emit(Binary::subtract, number(1), x));
    return finish(node, emit(Unary::logarithm, rounded(emit(Binary::divide, x, rest))));
  }
  if (is("aten::lerp", "Tensor")) {
    const TileSource from = operand(0), end = operand(1), weight = operand(2);
    return finish(node, emit_of_three(Ternary::interpolate, from, end, weight));
  }
  if (is("aten::sinc") || is("aten::special_sinc")) {
    const TileSource x = operand(0);
    const TileSource angle = emit(Binary::multiply, x, number(std::numbers::pi));
    const TileSource share = emit(Binary::divide, emit(Unary::sine, angle), angle);
    return finish(node, choose(emit(Binary::equal, x, number(0)), number(1), share));
  }
  if (is("aten::special_ndtr")) return add_normal_distribution(node);
  if (is("aten::round", "decimals")) return add_rounding(node);
  if (is("aten::logaddexp") || is("aten::logaddexp2")) return add_log_of_sum(node);
  if (is("aten::nan_to_num")) return add_numbers_for_others(node);
  return is("aten::softshrink") || is("aten::hardshrink") ? add_shrink(node) : false;
}

bool TileBuilder::add_log_of_sum(const BoundNode& node) {
  const TileSource a = source(node.arguments[0]), b = source(node.arguments[1]);
  const bool is_binary = is_operator(node, "aten::logaddexp2");
  const TileSource larger = emit(Binary::maximum, a, b);
  const TileSource distance = emit(Unary::absolute, emit(Binary::subtract, a, b));
  const TileSource below =
      emit(Binary::multiply, distance, number(is_binary ? -std::numbers::ln2 : -1));
  TileSource rest = emit(Unary::softplus, below);
  if (is_binary) rest = emit(Binary::multiply, rest, number(std::numbers::log2e));
  return finish(node, emit(Binary::or_else, emit(Binary::add, larger, rest), larger));
}

bool TileBuilder::add_normal_distribution(const BoundNode& node) {
  const TileSource x = source(node.arguments[0]);
  const TileSource scaled = rounded(emit(Binary::multiply, x, number(std::numbers::sqrt2 / 2)));
  const TileSource odd = rounded(emit(Unary::error_function, scaled));
  const TileSource whole = rounded(emit(Binary::add, odd, number(1)));
  return finish(node, emit(Binary::multiply, whole, number(0.5)));
}

bool TileBuilder::add_rounding(const BoundNode& node) {
  const auto decimals = planner_.integer(node, "decimals");
  constexpr int64_t kMostDecimals = 10;  // powers of ten up to this one are exact floats
  if (!decimals || *decimals < -kMostDecimals || *decimals > kMostDecimals) return false;
  const TileSource x = source(node.arguments[0]);
  const TileSource ten = number(std::pow(10.0, static_cast<double>(std::abs(*decimals))));
  const bool multiplies = *decimals >= 0;
  const TileSource scaled =
      emit(Unary::round, emit(multiplies ? Binary::multiply : Binary::divide, x, ten));
  return finish(node, emit(multiplies ? Binary::divide : Binary::multiply, scaled, ten));
}

bool TileBuilder::add_numbers_for_others(const BoundNode& node) {
  const double largest = node_.dtype == Dtype::float64    ? std::numeric_limits<double>::max()
                         : node_.dtype == Dtype::float32  ? std::numeric_limits<float>::max()
                         : node_.dtype == Dtype::bfloat16 ? 0x1.fep127
                                                          : 65504.0;
  const auto number_for = [&](std::string_view name, double otherwise) {
    return planner_.is_none(node, name) ? std::optional(otherwise) : planner_.number(node, name);
  };
  const auto nan = number_for("nan", 0), high = number_for("posinf", largest),
             low = number_for("neginf", -largest);
  if (!nan || !high || !low) return false;
  const double infinity = std::numeric_limits<double>::infinity();
  const TileSource x = source(node.arguments[0]);
  const TileSource is_high = emit(Binary::equal, x, number(infinity)),
                   is_low = emit(Binary::equal, x, number(-infinity));
  const TileSource below = choose(is_low, number(*low), emit(Binary::or_else, x, number(*nan)));
  return finish(node, choose(is_high, number(*high), below));
}

bool TileBuilder::add_shrink(const BoundNode& node) {
  auto bound = planner_.number(node, "lambd");
  if (!bound || *bound < 0) return false;
  ops::round_elements(node_.dtype, 1, &*bound);
  const TileSource x = source(node.arguments[0]);
  if (is_operator(node, "aten::softshrink")) {
    const TileSource near =
        emit(Binary::minimum, emit(Binary::maximum, x, number(-*bound)), number(*bound));
    return finish(node, emit(Binary::subtract, x, near));
  }
  const TileSource beyond = emit(Binary::subtract, emit(Unary::absolute, x), number(*bound));
  return finish(node, emit(Binary::gate, x, beyond));
}

TileSource TileBuilder::choose(const TileSource& condition, const TileSource& a,
                               const TileSource& b) {
  return emit_of_three(Ternary::choose, a, b, condition);
}

TileSource TileBuilder::emit_of_three(Ternary function, const TileSource& a, const TileSource& b,
                                      const TileSource& c) {
  const TileSource value = emit(function, a, b);
  instructions_.back().c = c;
  return value;
}

TileSource TileBuilder::emit(decltype(TileInstruction::function) function, const TileSource& a,
                             const TileSource& b, double scale) {
  instructions_.push_back({.function = function, .a = a, .b = b, .scale = scale});
  return {TileSource::From::tile, static_cast<uint8_t>(instructions_.size() - 1), 0};
}

TileSource TileBuilder::rounded(const TileSource& value) {
  instructions_.back().rounding = rounding_of(node_.dtype);
  return value;
}

bool TileBuilder::finish(const BoundNode& node, const TileSource& value) {
  if (value.from != TileSource::From::tile) return false;
  // Halves result from halves alone. Numbers and 0-dim operands do not decide the dtype. A few
  // functions return floats for integers alone.
  if (node_.mixes && !node_.takes_floats &&
      (!node_.makes_floats || node_.takes_reals || node_.dtype != Dtype::float32))
    return false;
  return finish(node, {.real = value, .imaginary = number(0)});
}

bool TileBuilder::finish(const BoundNode& node, const Parts& value) {
  // A chain computes in floats or in doubles. Its operands and its result must show which.
  if (!takes_operands_ || (node_.is_of_floats && node_.is_of_doubles)) return false;
  (node_.is_of_floats ? has_floats_ : has_doubles_) |= node_.is_of_floats || node_.is_of_doubles;
  if (has_doubles_ && (has_floats_ || !shows_doubles())) return false;
  made_.push_back({&node, value, node_.dtype});
  return operands_.size() <= kernels::kMostTileOperands &&
         instructions_.size() <= kMostInstructions;
}

TileSource TileBuilder::source(const BoundArgument& argument, bool is_channels) {
  for (const Made& made : made_)
    if (Planner::takes(argument, *made.node)) {
      note_operand(made.dtype, planner_.record(argument));
      // Integers are made only when results are stored, so the chain cannot use them.
      takes_operands_ &= is_real(made.dtype) || made.dtype == Dtype::bool_;
      // A chain that computes in double does not round this result to float.
      node_.is_of_floats |= is_real(made.dtype) && made.dtype != Dtype::float64;
      return made.value.real;
    }
  if (const Value* constant = planner_.constant(&argument))
    if (const auto found = number_of(*constant)) {
      takes_operands_ &= node_.takes != Takes::mask;
      return number(*found);
    }
  const TensorMeta* record = planner_.record(argument);
  // A number has the precision that the node computes in.
  const Dtype of_number = node_.dtype == Dtype::float64 ? Dtype::float64 : Dtype::float32;
  const Dtype recorded =
      record == nullptr ? of_number : record->dtype.dtype().value_or(Dtype::float32);
  note_operand(recorded, record);
  return operand({.value = &argument,
                  .dtype = recorded,
                  .is_channels = is_channels,
                  .is_number = record == nullptr});
}

TileSource TileBuilder::operand(const TileArgument& argument) {
  const auto known = std::ranges::find_if(operands_, [&](const TileArgument& other) {
    const auto a = Frame::value_id(*other.value), b = Frame::value_id(*argument.value);
    return a && b && *a == *b && other.is_channels == argument.is_channels &&
           other.part == argument.part;
  });
  const auto index = static_cast<uint8_t>(known - operands_.begin());
  if (known == operands_.end()) operands_.push_back(argument);
  return {TileSource::From::operand, index, 0};
}

void TileBuilder::note_operand(Dtype dtype, const TensorMeta* record) {
  if (!tile_element(dtype)) {
    takes_operands_ = false;
    return;
  }
  note_precision(dtype);
  switch (node_.takes) {
    case Takes::anything:
      takes_operands_ &= may_pass_floats(dtype, node_.dtype);
      return;
    case Takes::truth:
      takes_operands_ &= dtype == Dtype::bool_ || is_real(dtype);
      return;
    case Takes::mask:
      takes_operands_ &= dtype == Dtype::bool_;
      return;
    case Takes::compared:
      takes_operands_ &= is_real(dtype) && dtype == node_.compared.value_or(dtype);
      node_.compared = dtype;
      return;
    case Takes::numbers:
      break;
  }
  node_.takes_reals |= is_real(dtype);
  if (dtype == node_.dtype) {
    node_.takes_floats |= record != nullptr && !record->sizes.empty();
    return;
  }
  node_.mixes = true;
  const bool becomes_it =
      node_.dtype == Dtype::float64 || (node_.dtype == Dtype::float32 && dtype != Dtype::float64);
  // PyTorch refuses to subtract bools.
  takes_operands_ &= becomes_it && node_.is_recorded && !(node_.subtracts && dtype == Dtype::bool_);
}

void TileBuilder::note_precision(Dtype dtype) {
  node_.is_of_doubles |= dtype == Dtype::float64 || node_.dtype == Dtype::float64;
  const bool makes_floats = is_real(node_.dtype) && node_.takes != Takes::anything;
  node_.is_of_floats |= !node_.is_of_doubles && (is_real(dtype) || makes_floats);
}

bool TileBuilder::shows_doubles() const {
  return real_dtype(node_.dtype) == Dtype::float64 ||
         std::ranges::any_of(operands_, [](const TileArgument& each) {
           return real_dtype(each.dtype) == Dtype::float64;
         });
}

}  // namespace pt2::run
