// Elementwise functions, one for each step.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/memory_account.h"
#include "kernels/pointwise.h"
#include "ops/pointwise/pointwise.h"
#include "run/plan/layout.h"
#include "run/plan/planner.h"
#include "run/plan/pointwise.h"

namespace pt2::run {
namespace {

using kernels::Binary;
using kernels::TypedFunction;
using kernels::Unary;

constexpr struct {
  std::string_view name;
  Unary function;
} kUnaries[] = {
    {"aten::neg", Unary::negate},
    {"aten::abs", Unary::absolute},
    {"aten::square", Unary::square},
    {"aten::sqrt", Unary::square_root},
    {"aten::rsqrt", Unary::reciprocal_square_root},
    {"aten::reciprocal", Unary::reciprocal},
    {"aten::exp", Unary::exponential},
    {"aten::expm1", Unary::exponential_minus_1},
    {"aten::log", Unary::logarithm},
    {"aten::log1p", Unary::logarithm_of_1_plus},
    {"aten::erf", Unary::error_function},
    {"aten::log2", Unary::logarithm_2},
    {"aten::log10", Unary::logarithm_10},
    {"aten::sin", Unary::sine},
    {"aten::cos", Unary::cosine},
    {"aten::floor", Unary::floor},
    {"aten::ceil", Unary::ceiling},
    {"aten::round", Unary::round},
    {"aten::trunc", Unary::truncate},
    {"aten::sign", Unary::sign},
    {"aten::sgn", Unary::sign},
    {"aten::atan", Unary::arctangent},
    {"aten::frac", Unary::fraction},
    {"aten::exp2", Unary::exponential_2},
    {"aten::tan", Unary::tangent},
    {"aten::asin", Unary::arcsine},
    {"aten::acos", Unary::arccosine},
    {"aten::sinh", Unary::hyperbolic_sine},
    {"aten::cosh", Unary::hyperbolic_cosine},
    {"aten::asinh", Unary::inverse_hyperbolic_sine},
    {"aten::acosh", Unary::inverse_hyperbolic_cosine},
    {"aten::atanh", Unary::inverse_hyperbolic_tangent},
    {"aten::erfc", Unary::error_function_complement},
    {"aten::erfinv", Unary::inverse_error_function},
    {"aten::lgamma", Unary::logarithm_of_gamma},
};

constexpr struct {
  double exponent;
  Unary function;
} kPowers[] = {{2, Unary::square},
               {0.5, Unary::square_root},
               {-0.5, Unary::reciprocal_square_root},
               {-1, Unary::reciprocal}};

constexpr struct {
  std::string_view name;
  Binary function;
} kBinaries[] = {
    {"aten::add", Binary::add},
    {"aten::sub", Binary::subtract},
    {"aten::mul", Binary::multiply},
    {"aten::div", Binary::divide},
    {"aten::maximum", Binary::maximum},
    {"aten::minimum", Binary::minimum},
    {"aten::atan2", Binary::arctangent},
    {"aten::remainder", Binary::remainder},
    {"aten::fmod", Binary::fmod},
    {"aten::floor_divide", Binary::floor_quotient},
    {"aten::copysign", Binary::copy_sign},
    {"aten::hypot", Binary::hypotenuse},
};

constexpr Condition kConditions[] = {
    {"aten::lt", Binary::less, TypedFunction::less},
    {"aten::le", Binary::less_equal, TypedFunction::less_equal},
    {"aten::gt", Binary::greater, TypedFunction::greater},
    {"aten::ge", Binary::greater_equal, TypedFunction::greater_equal},
    {"aten::eq", Binary::equal, TypedFunction::equal},
    {"aten::ne", Binary::not_equal, TypedFunction::not_equal},
    {"aten::logical_and", Binary::both, TypedFunction::both, Takes::truth},
    {"aten::logical_or", Binary::either, TypedFunction::either, Takes::truth},
    {"aten::logical_xor", Binary::one_alone, TypedFunction::one_alone, Takes::truth},
    {"aten::bitwise_and", Binary::both, TypedFunction::both, Takes::mask},
    {"aten::bitwise_or", Binary::either, TypedFunction::either, Takes::mask},
    {"aten::bitwise_xor", Binary::one_alone, TypedFunction::one_alone, Takes::mask},
    {"aten::__and__", Binary::both, TypedFunction::both, Takes::mask},
    {"aten::__or__", Binary::either, TypedFunction::either, Takes::mask},
    {"aten::__xor__", Binary::one_alone, TypedFunction::one_alone, Takes::mask},
};

class UnaryStep final : public Step {
 public:
  UnaryStep(const BoundNode& node, std::optional<kernels::Activation> activation, Unary function)
      : Step({&node}), activation_(activation), function_(function) {}

  std::string_view name() const override { return "pointwise"; }

  Result<bool> run(Frame& frame) const override {
    const BoundArgument& input = first().arguments[0];
    const Tensor* from = frame.tensor(input);
    if (!is_float(from)) return false;
    if (!fills_block(*from)) return run_apart(frame, *from);
    if (!activation_)
      MemoryAccount::count_loops({from->numel(), kernels::extra_nanoseconds(function_)}, 1);
    Tensor out = frame.make(from->sizes(), from->strides());
    frame.launch([activation = activation_, function = function_, in = from->data<float>(),
                  to = out.data<float>(), count = from->numel(), threads = frame.threads()] {
      if (activation)
        kernels::apply(*activation, in, to, count, threads);
      else
        kernels::apply(function, in, to, count, threads);
    });
    const auto id = Frame::value_id(input);
    frame.set(result(), std::move(out), id && frame.is_rearranged(*id));
    return true;
  }

 private:
  // Computes operands that do not fill a block of memory.
  bool run_apart(Frame& frame, const Tensor& from) const {
    Tensor out = frame.make(from.sizes());
    Tensor seen = from;
    auto loops = tile_loops(out.sizes(), out.strides(), std::span(&seen, 1));
    if (!loops || loops->operands[0].strides.back() > 1) {
      seen = to_row_major(frame, from);
      loops = tile_loops(out.sizes(), out.strides(), std::span(&seen, 1));
    }
    kernels::TileInstruction instruction{.function = function_, .a = {}, .b = {}};
    if (activation_) instruction.function = *activation_;
    launch_tiles(frame, *loops, {instruction}, out);
    frame.set(result(), std::move(out), false);
    return true;
  }

  std::optional<kernels::Activation> activation_;
  Unary function_;
};

// Sizes, and strides of the result and of two operands, from the outermost dimension to the
// innermost.
struct Loop {
  struct Dim {
    int64_t size, out, a, b;
  };
  std::vector<Dim> dims;
};

// Orders the dimensions by the result's strides and merges adjacent ones.
Loop make_loop(const Tensor& out, const Tensor& a, const Tensor& b) {
  std::vector<Loop::Dim> dims;
  const size_t rank = out.sizes().size();
  for (size_t dim = 0; dim < rank; ++dim)
    if (out.sizes()[dim] != 1)
      dims.push_back({out.sizes()[dim], out.strides()[dim], stride_along(a, dim, rank),
                      stride_along(b, dim, rank)});
  std::ranges::stable_sort(dims, [](const auto& x, const auto& y) { return x.out > y.out; });
  Loop loop;
  for (const Loop::Dim& dim : dims) {
    if (!loop.dims.empty()) {
      Loop::Dim& outer = loop.dims.back();
      if (outer.out == dim.size * dim.out && outer.a == dim.size * dim.a &&
          outer.b == dim.size * dim.b) {
        outer = {outer.size * dim.size, dim.out, dim.a, dim.b};
        continue;
      }
    }
    loop.dims.push_back(dim);
  }
  return loop;
}

class BinaryStep final : public Step {
 public:
  BinaryStep(const BoundNode& node, const BinaryNode& binary)
      : Step({&node}), function_(binary.function), alpha_(static_cast<float>(binary.scale)) {}

  std::string_view name() const override { return "pointwise"; }

  Result<bool> run(Frame& frame) const override {
    const BoundArgument &self = first().arguments[0], &other = first().arguments[1];
    const Tensor* a = frame.tensor(self);
    const Tensor* b = frame.tensor(other);
    Tensor number;
    if (b == nullptr || b->is_wrapped_number()) {
      const auto found = number_in(frame, other, Dtype::float32);
      if (!found || a == nullptr) return false;
      number = frame.make({});
      frame.launch(
          [to = number.data<float>(), value = static_cast<float>(*found)] { *to = value; });
      b = &number;
    }
    if (!is_float(a) || !is_float(b)) return false;
    const auto sizes = ops::broadcast_sizes(std::array{a->sizes(), b->sizes()});
    if (!sizes) return false;
    // The result has the layout of the operand that has its sizes.
    const bool like_b = b->sizes() == *sizes && (a->sizes() != *sizes || !fills_block(*a));
    const Tensor& model = like_b ? *b : *a;
    const auto id = Frame::value_id(like_b ? other : self);
    const bool rearranged =
        model.sizes() == *sizes && id && frame.is_rearranged(*id) && is_channels_last(model);
    Tensor out = frame.make(*sizes, rearranged ? channels_last_strides(*sizes) : Sizes());
    if (!compute(frame, *a, *b, out)) {
      // Neighbours in the result are not adjacent in an operand, which is copied then.
      const auto beside = [&](const Tensor& tensor, const BoundArgument& argument) {
        return rearranged && tensor.sizes() == *sizes ? channels_last_value(frame, argument)
                                                      : to_row_major(frame, tensor);
      };
      const Tensor left = beside(*a, self), right = beside(*b, other);
      if (!compute(frame, left, right, out)) return false;
    }
    frame.set(result(), std::move(out), rearranged);
    return true;
  }

 private:
  bool compute(Frame& frame, const Tensor& a, const Tensor& b, Tensor& out) const {
    Loop loop = make_loop(out, a, b);
    std::vector<Loop::Dim>& dims = loop.dims;
    if (dims.empty()) dims.push_back({1, 1, 0, 0});
    const Loop::Dim inner = dims.back();
    if (inner.a > 1 || inner.b > 1 || inner.out != 1) return false;
    dims.pop_back();
    Loop::Dim rows{1, 0, 0, 0};
    if (!dims.empty()) {
      rows = dims.back();
      dims.pop_back();
    }
    const kernels::Extent extent{rows.size, inner.size};
    walk(dims, 0, a.data<float>(), b.data<float>(), out.data<float>(),
         [&](const float* left, const float* right, float* to) {
           const kernels::Rows x{left, rows.a, inner.a}, y{right, rows.b, inner.b};
           const kernels::RowsOut z{to, rows.out};
           frame.launch([=, alpha = alpha_, function = function_, threads = frame.threads()] {
             if (alpha != 1)
               kernels::add_scaled(extent, x, y, alpha, z, threads);
             else
               kernels::combine(function, extent, x, y, z, threads);
           });
         });
    return true;
  }

  template <class Visit>
  static void walk(const std::vector<Loop::Dim>& dims, size_t at, const float* a, const float* b,
                   float* out, const Visit& visit) {
    if (at == dims.size()) return visit(a, b, out);
    for (int64_t i = 0; i < dims[at].size; ++i)
      walk(dims, at + 1, a + i * dims[at].a, b + i * dims[at].b, out + i * dims[at].out, visit);
  }

  Binary function_;
  float alpha_;  // factor of b, in sums only
};

}  // namespace

std::optional<Unary> unary_of(const Planner& planner, const BoundNode& node) {
  const TensorMeta* made = planner.record(node);
  const bool is_double = made != nullptr && made->dtype.dtype() == Dtype::float64;
  for (const auto& row : kUnaries)
    if (is_operator(node, row.name))
      return is_double && row.function == Unary::logarithm_of_gamma ? std::nullopt
                                                                    : std::optional(row.function);
  // Beyond PyTorch's threshold softplus(x) is x, here to the last bit of a float, too.
  if (is_operator(node, "aten::softplus"))
    return planner.number(node, "beta") == 1.0 && planner.number(node, "threshold") == 20.0
               ? std::optional(Unary::softplus)
               : std::nullopt;
  // PyTorch takes no roots of float16 here, so the powers of -inf are those of pow
  // (ATen/native/cpu/PowKernel.cpp).
  const bool takes_roots = made == nullptr || made->dtype.dtype() != Dtype::float16;
  if (is_operator(node, "aten::pow", "Tensor_Scalar"))
    for (const auto& row : kPowers)
      if (planner.number(node, "exponent") == row.exponent &&
          (takes_roots || std::fabs(row.exponent) != 0.5))
        return row.function;
  return std::nullopt;
}

std::optional<BinaryNode> binary_of(const Planner& planner, const BoundNode& node) {
  const auto is = [&](std::string_view name) {
    return is_operator(node, name, "Tensor") || is_operator(node, name, "Scalar");
  };
  if (is("aten::rsub"))
    return planner.number(node, "alpha") == 1.0
               ? std::optional(BinaryNode{.function = Binary::subtract, .swaps = true})
               : std::nullopt;
  if (is_operator(node, "aten::pow", "Tensor_Tensor") || is_operator(node, "aten::pow", "Scalar") ||
      is_operator(node, "aten::pow", "Tensor_Scalar"))
    return BinaryNode{.function = Binary::power};
  if (is_operator(node, "aten::div", "Tensor_mode") ||
      is_operator(node, "aten::div", "Scalar_mode")) {
    const auto* text = planner.constant_of<std::string>(node, "rounding_mode");
    return text != nullptr && *text == "floor"
               ? std::optional(BinaryNode{.function = Binary::floor_quotient})
               : std::nullopt;
  }
  for (const auto& row : kBinaries) {
    if (!is(row.name) && !is_operator(node, row.name)) continue;
    const bool scales = row.function == Binary::add || row.function == Binary::subtract;
    const auto scale = scales ? planner.number(node, "alpha") : std::optional(1.0);
    if (!scale || (row.function == Binary::subtract && *scale != 1)) return std::nullopt;
    return BinaryNode{.function = row.function, .scale = *scale};
  }
  return std::nullopt;
}

std::span<const Condition> conditions() { return kConditions; }

std::optional<Bounds> bounds_of(const Planner& planner, const BoundNode& node) {
  constexpr struct {
    std::string_view name, low, high;
  } kNames[] = {{"aten::clamp", "min", "max"},
                {"aten::clamp_min", "min", ""},
                {"aten::clamp_max", "", "max"},
                {"aten::hardtanh", "min_val", "max_val"}};
  for (const auto& row : kNames) {
    if (!is_operator(node, row.name)) continue;
    Bounds bounds;
    for (const auto& [name, bound] :
         {std::pair(row.low, &bounds.low), std::pair(row.high, &bounds.high)}) {
      if (name.empty() || planner.is_none(node, name)) continue;
      *bound = planner.number(node, name);
      if (!*bound) return std::nullopt;
    }
    return bounds;
  }
  return std::nullopt;
}

std::optional<Dtype> cast_of(const Planner& planner, const BoundNode& node) {
  const bool casts = is_operator(node, "aten::to", "dtype") ||
                     is_operator(node, "aten::_to_copy") ||
                     is_operator(node, "prims::convert_element_type");
  if (!casts || (Planner::argument(node, "layout") != nullptr && !planner.is_none(node, "layout")))
    return std::nullopt;
  return planner.dtype(node, "dtype");
}

std::optional<double> number_in(const Frame& frame, const BoundArgument& argument, Dtype dtype) {
  const auto id = Frame::value_id(argument);
  if (!id && argument.dynamic != nullptr) return std::nullopt;
  const auto number = number_of(id ? frame.values[static_cast<size_t>(*id)] : argument.constant);
  return number && ops::expect_representable(*number, dtype) ? number : std::nullopt;
}

StepPointer make_pointwise(const Planner& planner, const BoundNode& node) {
  if (StepPointer typed = make_typed(planner, node)) return typed;
  if (const auto activation = activation_of(planner, node))
    return std::make_unique<UnaryStep>(node, activation, Unary::negate);
  if (const auto unary = unary_of(planner, node))
    return std::make_unique<UnaryStep>(node, std::nullopt, *unary);
  if (const auto binary = binary_of(planner, node);
      binary && !binary->swaps && Frame::value_id(node.arguments[0]))
    return std::make_unique<BinaryStep>(node, *binary);
  return nullptr;
}

}  // namespace pt2::run
