// Functions element by element.
#include <algorithm>
#include <array>

#include "kernels/pointwise.h"
#include "run/plan/layout.h"
#include "run/plan/planner.h"

namespace pt2::run {
namespace {

using kernels::Binary;
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
    {"aten::erf", Unary::error_function},
};

// A dense tensor's elements lie in one block, in some order that its strides say.
bool is_block(const Tensor& tensor) { return tensor.is_contiguous() || is_channels_last(tensor); }

class UnaryStep final : public Step {
 public:
  UnaryStep(const BoundNode& node, std::optional<kernels::Activation> activation, Unary function)
      : Step({&node}), activation_(activation), function_(function) {}

  std::string_view name() const override { return "pointwise"; }

  Result<bool> run(Frame& frame) const override {
    const BoundArgument& input = first().arguments[0];
    const Tensor* from = frame.tensor(input);
    if (!is_float(from) || !is_block(*from)) return false;
    Tensor out = frame.make(from->sizes(), from->strides());
    if (activation_)
      kernels::apply(*activation_, from->data<float>(), out.data<float>(), from->numel(),
                     frame.threads());
    else
      kernels::apply(function_, from->data<float>(), out.data<float>(), from->numel(),
                     frame.threads());
    const auto id = Frame::value_id(input);
    frame.set(result(), std::move(out), id && frame.is_rearranged(*id));
    return true;
  }

 private:
  std::optional<kernels::Activation> activation_;
  Unary function_;
};

// What two operands have in common with the result, from the outermost dimension to the innermost.
struct Loop {
  struct Dim {
    int64_t size, out, a, b;
  };
  std::vector<Dim> dims;
};

int64_t stride_of(const Tensor& tensor, int64_t dim, int64_t rank) {
  const int64_t own = dim - (rank - tensor.dim());
  return own < 0 || tensor.size(own) == 1 ? 0 : tensor.stride(own);
}

// Dimensions in the order of the result's strides, those that lie behind one another joined.
Loop make_loop(const Tensor& out, const Tensor& a, const Tensor& b) {
  std::vector<Loop::Dim> dims;
  for (int64_t dim = 0; dim < out.dim(); ++dim)
    if (out.size(dim) != 1)
      dims.push_back({out.size(dim), out.stride(dim), stride_of(a, dim, out.dim()),
                      stride_of(b, dim, out.dim())});
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
  BinaryStep(const BoundNode& node, Binary function, double alpha)
      : Step({&node}), function_(function), alpha_(static_cast<float>(alpha)) {}

  std::string_view name() const override { return "pointwise"; }

  Result<bool> run(Frame& frame) const override {
    const BoundArgument &self = first().arguments[0], &other = first().arguments[1];
    const Tensor* a = frame.tensor(self);
    const Tensor* b = frame.tensor(other);
    Tensor number;
    if (b == nullptr || b->is_wrapped_number()) {
      const auto found = number_of(frame, other);
      if (!found || a == nullptr) return false;
      number = frame.make({});
      *number.data<float>() = static_cast<float>(*found);
      b = &number;
    }
    if (!is_float(a) || !is_float(b)) return false;
    const auto sizes = ops::broadcast_sizes(std::array{a->sizes(), b->sizes()});
    if (!sizes) return false;
    // The result lies as the operand that has its sizes.
    const bool like_b = b->sizes() == *sizes && (a->sizes() != *sizes || !is_block(*a));
    const Tensor& model = like_b ? *b : *a;
    const auto id = Frame::value_id(like_b ? other : self);
    const bool rearranged =
        model.sizes() == *sizes && id && frame.is_rearranged(*id) && is_channels_last(model);
    Tensor out = frame.make(*sizes, rearranged ? channels_last_strides(*sizes) : Sizes());
    if (!compute(frame, *a, *b, out)) return false;
    frame.set(result(), std::move(out), rearranged);
    return true;
  }

 private:
  static std::optional<double> number_of(const Frame& frame, const BoundArgument& argument) {
    if (argument.dynamic == nullptr) return run::number_of(argument.constant);
    const auto id = Frame::value_id(argument);
    return id ? run::number_of(frame.values[static_cast<size_t>(*id)]) : std::nullopt;
  }

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
           if (alpha_ != 1)
             kernels::add_scaled(extent, x, y, alpha_, {to, rows.out}, frame.threads());
           else
             kernels::combine(function_, extent, x, y, {to, rows.out}, frame.threads());
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
  float alpha_;  // of b, in sums alone
};

}  // namespace

StepPointer make_pointwise(const Planner& planner, const BoundNode& node) {
  if (const auto activation = activation_of(planner, node))
    return std::make_unique<UnaryStep>(node, activation, Unary::negate);
  for (const auto& row : kUnaries)
    if (is_operator(node, row.name))
      return std::make_unique<UnaryStep>(node, std::nullopt, row.function);
  return nullptr;
}

StepPointer make_binary(const Planner& planner, const BoundNode& node) {
  const std::string_view name = node.op.def->signature->name;
  const auto is = [&](std::string_view operation) { return name == operation; };
  double alpha = 1;
  if (is("aten::add") || is("aten::sub")) {
    const auto given = planner.number(node, "alpha");
    if (!given || (is("aten::sub") && *given != 1)) return nullptr;
    alpha = *given;
  }
  return std::make_unique<BinaryStep>(node,
                                      is("aten::add")       ? Binary::add
                                      : is("aten::sub")     ? Binary::subtract
                                      : is("aten::mul")     ? Binary::multiply
                                      : is("aten::div")     ? Binary::divide
                                      : is("aten::maximum") ? Binary::maximum
                                                            : Binary::minimum,
                                      alpha);
}

}  // namespace pt2::run
