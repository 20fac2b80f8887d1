// Numerical derivatives: torch.gradient (ATen/native/ReduceOps.cpp gradient_helper,
// gradient_helper_float).
#include "ops/checks.h"
#include "ops/compose.h"
#include "ops/dense.h"
#include "ops/op_def.h"
#include "ops/shape/view.h"

namespace pt2::ops {
namespace {

using OptionalInt = std::optional<int64_t>;
using Number = Scalar;
using Numbers = std::vector<Scalar>;

// A linear combination of tensors; a weight is one number, or one per position of a dim.
struct Term {
  Value factor;
  Tensor values;
};
Result<Tensor> sum_of(std::initializer_list<Term> terms) {
  std::optional<Tensor> sum;
  for (const Term& term : terms) {
    PT2_TRY(Tensor product, apply(aten<"mul.Tensor">, {term.values, term.factor}));
    if (sum) {
      PT2_TRY(product, apply(aten<"add.Tensor">, {*sum, product}));
    }
    sum = std::move(product);
  }
  return *std::move(sum);
}
Result<Tensor> part(const Tensor& self, int64_t dim, int64_t start, OptionalInt end) {
  return slice(self, dim, start, end, 1);
}
Result<Tensor> quotient(Result<Tensor> dividend, double divisor) {
  if (!dividend) return dividend;
  return apply(aten<"div.Tensor">, {*dividend, divisor});
}

Result<void> check_length(const Tensor& self, int64_t dim, int64_t edge_order) {
  if (edge_order != 1 && edge_order != 2)
    return operator_error("edge_order: found " + std::to_string(edge_order) + ", expected 1 or 2");
  if (self.size(dim) < edge_order + 1)
    return operator_error("found size " + std::to_string(self.size(dim)) + " of dim " +
                          std::to_string(dim) + ", expected at least " +
                          std::to_string(edge_order + 1));
  return {};
}
Result<Tensor> joined(const Tensor& first, const Tensor& middle, const Tensor& last, int64_t dim) {
  return apply(aten<"cat.default">, {Value::List{first, middle, last}, dim});
}

// The neighbours are `width` apart.
Result<Tensor> even_slope(const Tensor& self, int64_t dim, double width, int64_t edge_order) {
  PT2_TRY_VOID(check_length(self, dim, edge_order));
  auto at = [&](int64_t start, OptionalInt end) { return part(self, dim, start, end); };
  PT2_TRY(const Tensor second, at(1, 2));
  PT2_TRY(const Tensor first, at(0, 1));
  PT2_TRY(const Tensor last, at(-1, std::nullopt));
  PT2_TRY(const Tensor last_but_one, at(-2, -1));
  PT2_TRY(const Tensor later, at(2, std::nullopt));
  PT2_TRY(const Tensor earlier, at(0, -2));
  PT2_TRY(const Tensor difference, apply(aten<"sub.Tensor">, {later, earlier}));
  PT2_TRY(const Tensor twice, quotient(difference, width));
  PT2_TRY(const Tensor middle, quotient(twice, 2));
  if (edge_order == 1) {
    PT2_TRY(const Tensor before, quotient(apply(aten<"sub.Tensor">, {second, first}), width));
    PT2_TRY(const Tensor after, quotient(apply(aten<"sub.Tensor">, {last, last_but_one}), width));
    return joined(before, middle, after, dim);
  }
  PT2_TRY(const Tensor third, at(2, 3));
  PT2_TRY(const Tensor last_but_two, at(-3, -2));
  PT2_TRY(const Tensor before,
          quotient(sum_of({{-1.5, first}, {2.0, second}, {-0.5, third}}), width));
  PT2_TRY(const Tensor after,
          quotient(sum_of({{0.5, last_but_two}, {-2.0, last_but_one}, {1.5, last}}), width));
  return joined(before, middle, after, dim);
}

// The weights of three neighbours, from their distances.
struct Weights {
  double a;
  double b;
  double c;
};
Weights inner_weights(double left, double right) {
  return {-right / (left * (left + right)), (right - left) / (left * right),
          left / (right * (left + right))};
}
Weights first_weights(double left, double right) {
  return {-(2 * left + right) / (left * (left + right)), (left + right) / (left * right),
          -left / (right * (left + right))};
}
Weights last_weights(double left, double right) {
  return {right / (left * (left + right)), -(right + left) / (right * left),
          (2 * right + left) / (right * (right + left))};
}

Result<Tensor> uneven_slope(const Tensor& self, int64_t dim, const Tensor& places,
                            int64_t edge_order) {
  PT2_TRY_VOID(check_length(self, dim, edge_order));
  PT2_TRY_VOID(check_sizes(places, {self.size(dim)}, "spacing"));
  const Input<double> x(places);
  const int64_t count = x.size();
  auto gap = [&](int64_t i) { return x[i + 1] - x[i]; };
  auto at = [&](int64_t start, OptionalInt end) { return part(self, dim, start, end); };
  Sizes shape(self.sizes().size(), 1);
  shape[static_cast<size_t>(dim)] = std::max<int64_t>(count - 2, 0);
  std::array<Tensor, 3> factors;
  for (size_t k = 0; k < 3; ++k) {
    PT2_TRY(factors[k], allocate({Dtype::float64, shape}));
    for (int64_t i = 0; i + 2 < count; ++i) {
      const Weights weights = inner_weights(gap(i), gap(i + 1));
      factors[k].data<double>()[i] = k == 0 ? weights.a : k == 1 ? weights.b : weights.c;
    }
    PT2_TRY(factors[k], apply(aten<"to.dtype">, {factors[k], float_or_default(places.dtype())}));
  }
  PT2_TRY(const Tensor first, at(0, 1));
  PT2_TRY(const Tensor second, at(1, 2));
  PT2_TRY(const Tensor last, at(-1, std::nullopt));
  PT2_TRY(const Tensor last_but_one, at(-2, -1));
  PT2_TRY(const Tensor left, at(0, -2));
  PT2_TRY(const Tensor centre, at(1, -1));
  PT2_TRY(const Tensor right, at(2, std::nullopt));
  PT2_TRY(const Tensor middle,
          sum_of({{factors[0], left}, {factors[1], centre}, {factors[2], right}}));
  if (edge_order == 1) {
    PT2_TRY(const Tensor before, quotient(apply(aten<"sub.Tensor">, {second, first}), gap(0)));
    PT2_TRY(const Tensor after,
            quotient(apply(aten<"sub.Tensor">, {last, last_but_one}), gap(count - 2)));
    return joined(before, middle, after, dim);
  }
  PT2_TRY(const Tensor third, at(2, 3));
  PT2_TRY(const Tensor last_but_two, at(-3, -2));
  const Weights begin = first_weights(gap(0), gap(1));
  const Weights end = last_weights(gap(count - 3), gap(count - 2));
  PT2_TRY(const Tensor before, sum_of({{begin.a, first}, {begin.b, second}, {begin.c, third}}));
  PT2_TRY(const Tensor after,
          sum_of({{end.a, last_but_two}, {end.b, last_but_one}, {end.c, last}}));
  return joined(before, middle, after, dim);
}

Result<Tensor> slope(const Tensor& self, int64_t dim, const Scalar& width, int64_t edge_order) {
  return even_slope(self, dim, width.to_double(), edge_order);
}
Result<Tensor> slope(const Tensor& self, int64_t dim, const Tensor& places, int64_t edge_order) {
  return uneven_slope(self, dim, places, edge_order);
}
// One result for each of `dims`, with one spacing per dim or one for all.
template <class Spacing>
Result<Tensors> slopes(const Tensor& self, const std::vector<Spacing>& spacing, const Sizes& dim,
                       int64_t edge_order) {
  PT2_TRY(const std::vector<int64_t> dims, wrap_distinct_dims(dim, self.dim()));
  if (spacing.size() != dims.size())
    return operator_error("spacing: found " + std::to_string(spacing.size()) + " for " +
                          std::to_string(dims.size()) + " dims");
  Tensors out;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (self.dim() == 0) return operator_error("found a 0-dim tensor, expected neighbours");
    PT2_TRY(Tensor result, slope(self, dims[i], spacing[i], edge_order));
    out.push_back(std::move(result));
  }
  return out;
}

Sizes dims_of(const Tensor& self, const OptionalInt& dim) {
  if (dim) return {*dim};
  Sizes all;
  for (int64_t i = 0; i < self.dim(); ++i) all.push_back(i);
  return all;
}
Result<Tensors> by_number(const Tensor& self, const std::optional<Number>& spacing,
                          const OptionalInt& dim, int64_t edge_order) {
  const Sizes dims = dims_of(self, dim);
  return slopes(self, Numbers(dims.size(), spacing.value_or(Scalar(1))), dims, edge_order);
}
Result<Tensors> by_number_along(const Tensor& self, const Number& spacing, const Sizes& dim,
                                int64_t edge_order) {
  return slopes(self, Numbers(dim.size(), spacing), dim, edge_order);
}
Result<Tensors> by_ones_along(const Tensor& self, const Sizes& dim, int64_t edge_order) {
  return by_number_along(self, Scalar(1), dim, edge_order);
}
template <class Spacing>
Result<Tensors> by_list(const Tensor& self, const std::vector<Spacing>& spacing,
                        const OptionalInt& dim, int64_t edge_order) {
  return slopes(self, spacing, dims_of(self, dim), edge_order);
}
template <class Spacing>
Result<Tensors> by_list_along(const Tensor& self, const std::vector<Spacing>& spacing,
                              const Sizes& dim, int64_t edge_order) {
  return slopes(self, spacing, dim, edge_order);
}

// clang-format off
constexpr OpDef kOps[] = {
    op<"aten::gradient.scalarint(Tensor self, *, Scalar? spacing=None, int? dim=None, int edge_order=1) -> Tensor[]", by_number>.with({.composite = true}),
    op<"aten::gradient.scalararray(Tensor self, *, Scalar spacing, int[] dim, int edge_order=1) -> Tensor[]", by_number_along>.with({.composite = true}),
    op<"aten::gradient.array(Tensor self, *, int[] dim, int edge_order=1) -> Tensor[]", by_ones_along>.with({.composite = true}),
    op<"aten::gradient.scalarrayint(Tensor self, *, Scalar[] spacing, int? dim=None, int edge_order=1) -> Tensor[]", by_list<Scalar>>.with({.composite = true}),
    op<"aten::gradient.scalarrayarray(Tensor self, *, Scalar[] spacing, int[] dim, int edge_order=1) -> Tensor[]", by_list_along<Scalar>>.with({.composite = true}),
    op<"aten::gradient.tensorarrayint(Tensor self, *, Tensor[] spacing, int? dim=None, int edge_order=1) -> Tensor[]", by_list<Tensor>>.with({.composite = true}),
    op<"aten::gradient.tensorarray(Tensor self, *, Tensor[] spacing, int[] dim, int edge_order=1) -> Tensor[]", by_list_along<Tensor>>.with({.composite = true}),
};
// clang-format on

}  // namespace

std::span<const OpDef> differences_ops() { return kOps; }

}  // namespace pt2::ops
