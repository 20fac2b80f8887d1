// Products of several tensors that sum over chosen dimensions: einsum and tensordot.
#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "ops/checks.h"
#include "ops/compose.h"
#include "ops/op_def.h"
#include "ops/shape/view.h"

namespace pt2::ops {
namespace {

int64_t product_of(const Tensor& tensor, const Sizes& dims) {
  int64_t out = 1;
  for (int64_t dim : dims) out *= tensor.size(dim);
  return out;
}

void append(Sizes& target, const Sizes& more) {
  target.insert(target.end(), more.begin(), more.end());
}

// Both operands have the same rank; a size of 1 stands for a dimension that an operand lacks. Dims
// in `summed` get size 1 in the result (ATen/native/Linear.cpp sumproduct_pair).
Result<Tensor> multiply_pair(Emitter& e, Tensor left, Tensor right,
                             const std::vector<bool>& summed) {
  if (std::ranges::find(summed, true) == summed.end()) return e(aten<"mul.Tensor">, {left, right});
  Sizes batch;
  Sizes left_only;
  Sizes right_only;
  Sizes inner;
  bool contracts = false;
  for (int64_t dim = 0; dim < left.dim(); ++dim) {
    const bool in_left = left.size(dim) != 1;
    const bool in_right = right.size(dim) != 1;
    if (summed[static_cast<size_t>(dim)]) {
      if (in_left && !in_right) {
        PT2_TRY(left, e(aten<"sum.dim_IntList">, {left, Sizes{dim}, true}));
      } else if (in_right && !in_left) {
        PT2_TRY(right, e(aten<"sum.dim_IntList">, {right, Sizes{dim}, true}));
      } else if (left.size(dim) != right.size(dim)) {
        return operator_error("sizes: found " + std::to_string(left.size(dim)) + " and " +
                              std::to_string(right.size(dim)) + " for dim " + std::to_string(dim) +
                              ", expected equal ones");
      } else if (in_left) {
        contracts = true;
      }
      inner.push_back(dim);
      continue;
    }
    (in_left && in_right ? batch : in_left ? left_only : right_only).push_back(dim);
  }
  // Sums of small integers are int64, so the operands may differ in dtype.
  if (!contracts) return e(aten<"mul.Tensor">, {left, right});
  // The product is in the order of the result if the operand whose dims come first is on the left.
  if (!left_only.empty() && !right_only.empty() && right_only.back() < left_only.front()) {
    std::swap(left, right);
    std::swap(left_only, right_only);
  }
  auto matrices = [&](const Tensor& tensor, const Sizes& rows,
                      const Sizes& columns) -> Result<Tensor> {
    Sizes order = batch;
    append(order, rows);
    append(order, columns);
    for (int64_t dim = 0; dim < tensor.dim(); ++dim)
      if (std::ranges::find(order, dim) == order.end()) order.push_back(dim);
    return e(aten<"reshape.default">, {e(aten<"permute.default">, {tensor, order}),
                                       Sizes{product_of(tensor, batch), product_of(tensor, rows),
                                             product_of(tensor, columns)}});
  };
  PT2_TRY(const Tensor a, matrices(left, left_only, inner));
  PT2_TRY(const Tensor b, matrices(right, inner, right_only));
  const auto flat = e(aten<"bmm.default">, {a, b});
  Sizes order = batch;
  append(order, left_only);
  append(order, right_only);
  append(order, inner);
  Sizes sizes;
  Sizes inverse(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    const int64_t dim = order[i];
    const bool gone = std::ranges::find(inner, dim) != inner.end();
    sizes.push_back(gone ? 1 : left.size(dim) != 1 ? left.size(dim) : right.size(dim));
    inverse[static_cast<size_t>(dim)] = static_cast<int64_t>(i);
  }
  return e(aten<"permute.default">, {e(aten<"view.default">, {flat, sizes}), inverse});
}

// Labels are letters. An ellipsis stands for several unnamed labels, aligned at the right.
constexpr int kEllipsis = 1000;

using Labels = std::vector<int>;

Result<Labels> parse_labels(std::string_view text) {
  Labels labels;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == ' ') continue;
    if (c == '.') {
      if (text.substr(i, 3) != "..." || std::ranges::find(labels, kEllipsis) != labels.end())
        return operator_error("equation: found a stray '.', expected at most one '...'");
      labels.push_back(kEllipsis);
      i += 2;
      continue;
    }
    if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z'))
      return operator_error(std::string("equation: found '") + c + "', expected letters");
    labels.push_back(c);
  }
  return labels;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> out;
  for (;;) {
    const size_t at = text.find(separator);
    out.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return out;
    text.remove_prefix(at + 1);
  }
}

struct Equation {
  std::vector<Labels> operands;
  Labels output;
  int64_t ellipsis_rank = 0;
};

// The output labels of an equation without "->": the ellipsis, then the labels that occur once, in
// alphabetical order.
Labels implied_output(const std::vector<Labels>& operands) {
  std::map<int, int> counts;
  for (const Labels& labels : operands)
    for (int label : labels) ++counts[label];
  Labels out;
  if (counts.contains(kEllipsis)) out.push_back(kEllipsis);
  for (auto [label, count] : counts)
    if (label != kEllipsis && count == 1) out.push_back(label);
  return out;
}

Result<Equation> parse_equation(std::string_view text, const Tensors& tensors) {
  Equation equation;
  const size_t arrow = text.find("->");
  for (std::string_view part : split(text.substr(0, arrow), ',')) {
    PT2_TRY(Labels labels, parse_labels(part));
    equation.operands.push_back(std::move(labels));
  }
  if (equation.operands.size() != tensors.size())
    return operator_error("equation: found " + std::to_string(equation.operands.size()) +
                          " operands, expected " + std::to_string(tensors.size()));
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Labels& labels = equation.operands[i];
    const bool open = std::ranges::find(labels, kEllipsis) != labels.end();
    const int64_t rest = tensors[i].dim() - static_cast<int64_t>(labels.size()) + (open ? 1 : 0);
    if (rest < 0 || (!open && rest > 0))
      return operator_error("equation: found " + std::to_string(labels.size()) +
                            " labels for operand " + tensors[i].type_text() +
                            ", expected one for each dim");
    equation.ellipsis_rank = std::max(equation.ellipsis_rank, rest);
  }
  if (arrow == std::string_view::npos) {
    equation.output = implied_output(equation.operands);
  } else {
    PT2_TRY(equation.output, parse_labels(text.substr(arrow + 2)));
  }
  return equation;
}

// The position of each label in the common order of dimensions: output labels first, then summed
// labels.
struct Positions {
  std::map<int, int64_t> of_label;
  int64_t output_rank = 0;
  int64_t rank = 0;
};

Result<Positions> label_positions(const Equation& equation) {
  Positions positions;
  for (int label : equation.output) {
    if (positions.of_label.contains(label))
      return operator_error("equation: found a label twice in the output, expected it once");
    positions.of_label[label] = positions.output_rank;
    positions.output_rank += label == kEllipsis ? equation.ellipsis_rank : 1;
  }
  positions.rank = positions.output_rank;
  for (const Labels& labels : equation.operands)
    for (int label : labels)
      if (!positions.of_label.contains(label)) {
        positions.of_label[label] = positions.rank;
        positions.rank += label == kEllipsis ? equation.ellipsis_rank : 1;
      }
  for (int label : equation.output) {
    const bool known = std::ranges::any_of(equation.operands, [label](const Labels& labels) {
      return std::ranges::find(labels, label) != labels.end();
    });
    if (!known && label != kEllipsis)
      return operator_error(
          "equation: found an output label that no operand has, expected labels of the operands");
  }
  return positions;
}

// The position of each dimension of an operand in the common order.
Sizes positions_of(const Tensor& tensor, const Labels& labels, const Equation& equation,
                   const Positions& positions) {
  Sizes out;
  const int64_t covered = tensor.dim() - static_cast<int64_t>(labels.size()) + 1;
  for (int label : labels) {
    const int64_t position = positions.of_label.at(label);
    if (label != kEllipsis) out.push_back(position);
    for (int64_t i = 0; label == kEllipsis && i < covered; ++i)
      out.push_back(position + equation.ellipsis_rank - covered + i);
  }
  return out;
}

// Permutes `tensor` to the common order of dimensions. A repeated label takes the diagonal.
Result<Tensor> align(Emitter& e, Tensor tensor, Sizes places, int64_t rank) {
  for (size_t first = 0; first < places.size(); ++first) {
    const auto again =
        std::find(places.begin() + static_cast<int64_t>(first) + 1, places.end(), places[first]);
    if (again == places.end()) continue;
    const int64_t a = static_cast<int64_t>(first), b = again - places.begin();
    if (tensor.size(a) != tensor.size(b))
      return operator_error("equation: found sizes " + std::to_string(tensor.size(a)) + " and " +
                            std::to_string(tensor.size(b)) +
                            " for one label of an operand, expected equal ones");
    PT2_TRY(tensor, e(aten<"diagonal.default">, {tensor, 0, a, b}));
    places.push_back(places[first]);
    places.erase(places.begin() + b);
    places.erase(places.begin() + a);
    --first;
  }
  Sizes order(places.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](int64_t dim) { return places[static_cast<size_t>(dim)]; });
  if (!std::ranges::is_sorted(order)) {
    PT2_TRY(tensor, e(aten<"permute.default">, {tensor, order}));
  }
  for (int64_t place = 0; place < rank; ++place)
    if (std::ranges::find(places, place) == places.end()) {
      PT2_TRY(tensor, e(aten<"unsqueeze.default">, {tensor, place}));
    }
  return tensor;
}

Result<void> check_label_sizes(const Tensors& aligned) {
  std::vector<Sizes> sizes;
  for (const Tensor& tensor : aligned) sizes.push_back(tensor.sizes());
  PT2_TRY_VOID(broadcast_sizes(sizes));
  return {};
}

Result<void> check_path(const Sizes& path, size_t operands) {
  const size_t expected = operands == 1 ? 1 : 2 * (operands - 1);
  if (path.size() != expected)
    return operator_error("path: found " + std::to_string(path.size()) + " numbers, expected " +
                          std::to_string(expected));
  auto left = static_cast<int64_t>(operands);
  for (size_t i = 0; i + 1 < path.size(); i += 2, --left) {
    const auto [first, second] = std::minmax({path[i], path[i + 1]});
    if (first < 0 || second >= left || first == second)
      return operator_error("path: found operands " + std::to_string(path[i]) + " and " +
                            std::to_string(path[i + 1]) + ", expected two different ones of " +
                            std::to_string(left));
  }
  return {};
}

// Multiplies two operands at a time until one is left: from left to right, or those that `path`
// names by their positions among the ones that are left. There a product becomes the last operand
// (ATen/native/Linear.cpp einsum).
Result<Tensor> contract(Emitter& e, Tensors operands, const Positions& positions,
                        const std::optional<Sizes>& path) {
  for (size_t at = 0; operands.size() > 1; at += 2) {
    int64_t first = 0;
    int64_t second = 1;
    if (path) std::tie(first, second) = std::minmax({(*path)[at], (*path)[at + 1]});
    const Tensor left = operands[static_cast<size_t>(first)];
    const Tensor right = operands[static_cast<size_t>(second)];
    operands.erase(operands.begin() + second);
    operands.erase(operands.begin() + first);
    // Sums over a label as soon as no other operand has it.
    std::vector<bool> summed(static_cast<size_t>(positions.rank), false);
    for (int64_t dim = positions.output_rank; dim < positions.rank; ++dim)
      summed[static_cast<size_t>(dim)] = std::ranges::all_of(
          operands, [dim](const Tensor& other) { return other.size(dim) == 1; });
    PT2_TRY(Tensor product, multiply_pair(e, left, right, summed));
    operands.insert(path ? operands.end() : operands.begin(), std::move(product));
  }
  return operands[0];
}

Result<Tensor> einsum(Emitter& e, const std::string& text, const Tensors& tensors,
                      const std::optional<Sizes>& path) {
  if (tensors.empty()) return operator_error("tensors: found none, expected at least one");
  if (path) PT2_TRY_VOID(check_path(*path, tensors.size()));
  PT2_TRY(const Equation equation, parse_equation(text, tensors));
  PT2_TRY(const Positions positions, label_positions(equation));
  Tensors aligned;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Sizes places = positions_of(tensors[i], equation.operands[i], equation, positions);
    PT2_TRY(Tensor tensor, align(e, tensors[i], places, positions.rank));
    aligned.push_back(std::move(tensor));
  }
  PT2_TRY_VOID(check_label_sizes(aligned));
  PT2_TRY(const Tensor result, contract(e, std::move(aligned), positions, path));
  Sizes left;
  for (int64_t dim = positions.output_rank; dim < positions.rank; ++dim) left.push_back(dim);
  if (left.empty()) return result;
  if (product_of(result, left) == 1 && tensors.size() > 1)
    return e(aten<"squeeze.dims">, {result, left});
  return e(aten<"sum.dim_IntList">, {result, left});
}

Result<Tensor> tensordot(Emitter& e, const Tensor& self, const Tensor& other,
                         const Sizes& dims_self, const Sizes& dims_other) {
  if (dims_self.size() != dims_other.size())
    return operator_error("found " + std::to_string(dims_self.size()) + " dims of self and " +
                          std::to_string(dims_other.size()) + " of other, expected as many");
  Sizes left_dims;
  Sizes right_dims;
  if (!dims_self.empty()) {
    PT2_TRY_VOID(check_rank_at_least(self, 1, "self"));
    PT2_TRY_VOID(check_rank_at_least(other, 1, "other"));
    PT2_TRY(left_dims, wrap_dims(dims_self, self.dim()));
    PT2_TRY(right_dims, wrap_dims(dims_other, other.dim()));
  }
  Tensor left = self;
  Tensor right = other;
  for (size_t i = 0; i < left_dims.size(); ++i) {
    const int64_t a = left.size(left_dims[i]);
    const int64_t b = right.size(right_dims[i]);
    if (a != b && a != 1 && b != 1)
      return operator_error("dims: found sizes " + std::to_string(a) + " and " + std::to_string(b) +
                            ", expected equal ones");
    // To broadcast a size of 1, sums the other operand first.
    auto sum = [&](const Tensor& tensor, int64_t dim) {
      return e(aten<"sum.dim_IntList">, {tensor, Sizes{dim}, true, tensor.dtype()});
    };
    if (b == 1 && a != 1) {
      PT2_TRY(left, sum(left, left_dims[i]));
    } else if (a == 1 && b != 1) {
      PT2_TRY(right, sum(right, right_dims[i]));
    }
  }
  Sizes sizes;
  Sizes left_order;
  for (int64_t dim = 0; dim < left.dim(); ++dim)
    if (std::ranges::find(left_dims, dim) == left_dims.end()) left_order.push_back(dim);
  const int64_t rows = product_of(left, left_order);
  for (int64_t dim : left_order) sizes.push_back(left.size(dim));
  append(left_order, left_dims);
  Sizes right_order = right_dims;
  int64_t columns = 1;
  for (int64_t dim = 0; dim < right.dim(); ++dim)
    if (std::ranges::find(right_dims, dim) == right_dims.end()) {
      right_order.push_back(dim);
      sizes.push_back(right.size(dim));
      columns *= right.size(dim);
    }
  const int64_t depth = product_of(left, left_dims);
  const auto as_matrix = [&](const Tensor& tensor, const Sizes& order, const Sizes& matrix) {
    return e(aten<"reshape.default">, {e(aten<"permute.default">, {tensor, order}), matrix});
  };
  const auto flat = e(aten<"mm.default">, {as_matrix(left, left_order, {rows, depth}),
                                           as_matrix(right, right_order, {depth, columns})});
  return e(aten<"view.default">, {flat, sizes});
}

// Weighted sums of the slices of `input` along its first dimension; each row of `coefficients`
// gives one sum.
Result<Tensor> linear_combination(Emitter& e, const Tensor& input, const Tensor& coefficients) {
  PT2_TRY_VOID(check_rank_at_least(input, 1, "input"));
  PT2_TRY_VOID(check_rank(coefficients, 2, "coefficients"));
  PT2_TRY_VOID(check_same_dtype(coefficients, input, "coefficients"));
  PT2_TRY_VOID(check_sizes(coefficients, {coefficients.size(0), input.size(0)}, "coefficients"));
  return e(aten<"tensordot.default">, {coefficients, input, Sizes{1}, Sizes{0}});
}

// clang-format off
constexpr OpDef kContractionOps[] = {
    op<"aten::einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor", einsum>.with({.autocast = AutocastRule::lower_precision, .sharing = Sharing::possibly}),
    op<"aten::_compute_linear_combination(Tensor input, Tensor coefficients) -> Tensor", linear_combination>,
    op<"aten::tensordot(Tensor self, Tensor other, int[] dims_self, int[] dims_other) -> Tensor", tensordot>.with({.autocast = AutocastRule::lower_precision}),
};
// clang-format on

}  // namespace

std::span<const OpDef> contraction_ops() { return kContractionOps; }

}  // namespace pt2::ops
