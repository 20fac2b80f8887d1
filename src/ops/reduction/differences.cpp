// Numerical derivatives: torch.gradient (ATen/native/ReduceOps.cpp gradient_helper,
// gradient_helper_float).
#include "ops/checks.h"
#include "ops/compose.h"
#include "ops/op_def.h"
#include "ops/shape/view.h"

namespace pt2::ops {
namespace {

using OptionalInt = std::optional<int64_t>;
using Number = Scalar;
using Numbers = std::vector<Scalar>;

Result<Tensor> part(Emitter& e, const Tensor& self, int64_t dim, int64_t start,
                    OptionalInt end = std::nullopt) {
  return e(aten<"slice.Tensor">, {self, dim, start, end});
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
Result<Tensor> joined(Emitter& e, const Result<Tensor>& first, const Result<Tensor>& middle,
                      const Result<Tensor>& last, int64_t dim) {
  Tensors parts;
  for (const Result<Tensor>* each : {&first, &middle, &last}) {
    PT2_TRY_VOID(*each);
    parts.push_back(**each);
  }
  return e(aten<"cat.default">, {parts, dim});
}

// The derivative for neighbors at distance `width`.
Result<Tensor> slope(Emitter& e, const Tensor& self, int64_t dim, const Scalar& width,
                     int64_t edge_order) {
  PT2_TRY_VOID(check_length(self, dim, edge_order));
  const auto at = [&](int64_t start, OptionalInt end = std::nullopt) {
    return part(e, self, dim, start, end);
  };
  const auto quotient = [&](const Result<Tensor>& dividend) {
    return e(aten<"div.Scalar">, {dividend, width});
  };
  const auto times = [&](const Result<Tensor>& x, const Scalar& factor) {
    return e(aten<"mul.Scalar">, {x, factor});
  };
  const auto sum = [&](const Result<Tensor>& a, const Result<Tensor>& b) {
    return e(aten<"add.Tensor">, {a, b});
  };
  const auto twice = quotient(e(aten<"sub.Tensor">, {at(2), at(0, -2)}));
  const auto middle = e(aten<"div.Scalar">, {twice, 2});
  if (edge_order == 1)
    return joined(e, quotient(e(aten<"sub.Tensor">, {at(1, 2), at(0, 1)})), middle,
                  quotient(e(aten<"sub.Tensor">, {at(-1), at(-2, -1)})), dim);
  // The factor 2 is an integer, so that its product with integers stays an integer.
  const auto before = quotient(sum(sum(times(at(0, 1), Scalar(-1.5)), times(at(1, 2), Scalar(2))),
                                   times(at(2, 3), Scalar(-0.5))));
  const auto after =
      quotient(sum(sum(times(at(-3, -2), Scalar(0.5)), times(at(-2, -1), Scalar(-2))),
                   times(at(-1), Scalar(1.5))));
  return joined(e, before, middle, after, dim);
}

// The derivative for elements at the coordinates `places`.
Result<Tensor> slope(Emitter& e, const Tensor& self, int64_t dim, const Tensor& places,
                     int64_t edge_order) {
  PT2_TRY_VOID(check_length(self, dim, edge_order));
  PT2_TRY_VOID(check_sizes(places, {self.size(dim)}, "spacing"));
  using Tested = Result<Tensor>;
  const auto sum = [&](const Tested& a, const Tested& b) { return e(aten<"add.Tensor">, {a, b}); };
  const auto less = [&](const Tested& a, const Tested& b) { return e(aten<"sub.Tensor">, {a, b}); };
  const auto times = [&](const Tested& a, const Tested& b) {
    return e(aten<"mul.Tensor">, {a, b});
  };
  const auto over = [&](const Tested& a, const Tested& b) { return e(aten<"div.Tensor">, {a, b}); };
  const auto minus = [&](const Tested& a) { return e(aten<"neg.default">, {a}); };
  const auto at = [&](int64_t start, OptionalInt end = std::nullopt) {
    return part(e, self, dim, start, end);
  };
  Sizes shape(self.sizes().size(), 1);
  shape[static_cast<size_t>(dim)] = -1;
  const auto shaped = [&](const Tested& x) { return e(aten<"view.default">, {x, shape}); };
  PT2_TRY(const Tensor gaps, less(part(e, places, 0, 1), part(e, places, 0, 0, -1)));
  const auto left = part(e, gaps, 0, 0, -1);
  const auto right = part(e, gaps, 0, 1);
  const auto both = sum(left, right);
  const auto a = shaped(over(minus(right), times(left, both)));
  const auto b = shaped(over(less(right, left), times(left, right)));
  const auto c = shaped(over(left, times(right, both)));
  const auto middle = sum(sum(times(a, at(0, -2)), times(b, at(1, -1))), times(c, at(2)));
  const auto gap = [&](int64_t i) { return e(aten<"select.int">, {gaps, 0, i}); };
  if (edge_order == 1)
    return joined(e, over(less(at(1, 2), at(0, 1)), gap(0)), middle,
                  over(less(at(-1), at(-2, -1)), gap(-1)), dim);
  // Fits parabolas through three points at either end. Gaps of integers stay integers until the
  // quotients, except for two times the first gap (ATen/native/ReduceOps.cpp gradient_helper).
  const auto edge = [&](const Tested& low, const Tested& first, const Tested& mid,
                        const Tested& second, const Tested& high, const Tested& third) {
    return sum(sum(times(low, first), times(mid, second)), times(high, third));
  };
  const auto start = gap(0), next = gap(1), last = gap(-1), previous = gap(-2);
  const auto begin = sum(start, next), end = sum(previous, last);
  const auto before = edge(
      over(minus(sum(e(aten<"mul.Scalar">, {start, 2.0}), next)), times(start, begin)), at(0, 1),
      over(begin, times(start, next)), at(1, 2), over(minus(start), times(next, begin)), at(2, 3));
  const auto after =
      edge(over(last, times(previous, end)), at(-3, -2), over(minus(end), times(previous, last)),
           at(-2, -1), over(sum(sum(last, last), previous), times(last, end)), at(-1));
  return joined(e, before, middle, after, dim);
}
// Returns one result for each of `dims`, with one spacing per dim or one for all.
template <class Spacing>
Result<Tensors> slopes(Emitter& e, const Tensor& self, const std::vector<Spacing>& spacing,
                       const Sizes& dim, int64_t edge_order) {
  PT2_TRY(const std::vector<int64_t> dims, wrap_distinct_dims(dim, self.dim()));
  if (spacing.size() != dims.size())
    return operator_error("spacing: found " + std::to_string(spacing.size()) + " for " +
                          std::to_string(dims.size()) + " dims, expected one for each");
  Tensors out;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (self.dim() == 0) return operator_error("found a 0-dim tensor, expected neighbours");
    PT2_TRY(Tensor result, slope(e, self, dims[i], spacing[i], edge_order));
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
Result<Tensors> by_number(Emitter& e, const Tensor& self, const std::optional<Number>& spacing,
                          const OptionalInt& dim, int64_t edge_order) {
  const Sizes dims = dims_of(self, dim);
  return slopes(e, self, Numbers(dims.size(), spacing.value_or(Scalar(1))), dims, edge_order);
}
Result<Tensors> by_number_along(Emitter& e, const Tensor& self, const Number& spacing,
                                const Sizes& dim, int64_t edge_order) {
  return slopes(e, self, Numbers(dim.size(), spacing), dim, edge_order);
}
Result<Tensors> by_ones_along(Emitter& e, const Tensor& self, const Sizes& dim,
                              int64_t edge_order) {
  return by_number_along(e, self, Scalar(1), dim, edge_order);
}
template <class Spacing>
Result<Tensors> by_list(Emitter& e, const Tensor& self, const std::vector<Spacing>& spacing,
                        const OptionalInt& dim, int64_t edge_order) {
  return slopes(e, self, spacing, dims_of(self, dim), edge_order);
}
template <class Spacing>
Result<Tensors> by_list_along(Emitter& e, const Tensor& self, const std::vector<Spacing>& spacing,
                              const Sizes& dim, int64_t edge_order) {
  return slopes(e, self, spacing, dim, edge_order);
}

// clang-format off
constexpr OpDef kDifferencesOps[] = {
    op<"aten::gradient.scalarint(Tensor self, *, Scalar? spacing=None, int? dim=None, int edge_order=1) -> Tensor[]", by_number>.with({.slope = Slope::linear}),
    op<"aten::gradient.scalararray(Tensor self, *, Scalar spacing, int[] dim, int edge_order=1) -> Tensor[]", by_number_along>,
    op<"aten::gradient.array(Tensor self, *, int[] dim, int edge_order=1) -> Tensor[]", by_ones_along>,
    op<"aten::gradient.scalarrayint(Tensor self, *, Scalar[] spacing, int? dim=None, int edge_order=1) -> Tensor[]", by_list<Scalar>>,
    op<"aten::gradient.scalarrayarray(Tensor self, *, Scalar[] spacing, int[] dim, int edge_order=1) -> Tensor[]", by_list_along<Scalar>>,
    op<"aten::gradient.tensorarrayint(Tensor self, *, Tensor[] spacing, int? dim=None, int edge_order=1) -> Tensor[]", by_list<Tensor>>,
    op<"aten::gradient.tensorarray(Tensor self, *, Tensor[] spacing, int[] dim, int edge_order=1) -> Tensor[]", by_list_along<Tensor>>,
};
// clang-format on

}  // namespace

std::span<const OpDef> differences_ops() { return kDifferencesOps; }

}  // namespace pt2::ops
