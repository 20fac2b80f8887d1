// Products of several tensors that sum over chosen dimensions: einsum and tensordot.
#include <algorithm>
#include <map>
#include <numeric>

#include "ops/compose.h"
#include "ops/linear/matmul.h"
#include "ops/op_def.h"
#include "ops/reduction/reduce.h"
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

// Both have one rank; a size of 1 stands for a dimension that an operand lacks. Dims in `summed`
// have size 1 in the result (ATen/native/Linear.cpp sumproduct_pair).
Result<Tensor> multiply_pair(Tensor left, Tensor right, const std::vector<bool>& summed) {
  Sizes batch;
  Sizes left_only;
  Sizes right_only;
  Sizes inner;
  for (int64_t dim = 0; dim < left.dim(); ++dim) {
    const bool in_left = left.size(dim) != 1;
    const bool in_right = right.size(dim) != 1;
    if (summed[static_cast<size_t>(dim)]) {
      if (in_left && !in_right) {
        PT2_TRY(left, sum_over(left, {dim}, true));
      } else if (in_right && !in_left) {
        PT2_TRY(right, sum_over(right, {dim}, true));
      } else if (left.size(dim) != right.size(dim)) {
        return operator_error("sizes do not match");
      }
      inner.push_back(dim);
      continue;
    }
    (in_left && in_right ? batch : in_left ? left_only : right_only).push_back(dim);
  }
  auto matrices = [&](const Tensor& tensor, const Sizes& rows,
                      const Sizes& columns) -> Result<Tensor> {
    Sizes order = batch;
    append(order, rows);
    append(order, columns);
    for (int64_t dim = 0; dim < tensor.dim(); ++dim)
      if (std::ranges::find(order, dim) == order.end()) order.push_back(dim);
    PT2_TRY(const Tensor permuted, permute(tensor, order));
    return reshape(permuted, {product_of(tensor, batch), product_of(tensor, rows),
                              product_of(tensor, columns)});
  };
  PT2_TRY(const Tensor a, matrices(left, left_only, inner));
  PT2_TRY(const Tensor b, matrices(right, inner, right_only));
  // Without a sum it is a product of elements, which bools have too.
  PT2_TRY(const Tensor flat, left.dtype() == Dtype::bool_ && inner.empty()
                                 ? apply("mul.Tensor", {a, b})
                                 : matmul(a, b));
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
  PT2_TRY(const Tensor shaped, reshape(flat, sizes));
  return permute(shaped, inverse);
}

// Labels are letters; an ellipsis is several labels of its own, aligned at its right end.
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

// Without "->" the result has the labels that occur once, in the order of their letters, after the
// ellipsis.
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
                            " labels for operand " + tensors[i].type_text());
    equation.ellipsis_rank = std::max(equation.ellipsis_rank, rest);
  }
  if (arrow == std::string_view::npos) {
    equation.output = implied_output(equation.operands);
  } else {
    PT2_TRY(equation.output, parse_labels(text.substr(arrow + 2)));
  }
  return equation;
}

// Where each label stands in the common order of dimensions: output first, then those summed.
struct Positions {
  std::map<int, int64_t> of_label;
  int64_t output_rank = 0;
  int64_t rank = 0;
};

Result<Positions> label_positions(const Equation& equation) {
  Positions positions;
  for (int label : equation.output) {
    if (positions.of_label.contains(label))
      return operator_error("equation: found a label twice in the output");
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
      return operator_error("equation: found an output label that no operand has");
  }
  return positions;
}

// `tensor` with the common order of dimensions, repeated labels being its diagonal.
Result<Tensor> align(const Tensor& tensor, const Labels& labels, const Equation& equation,
                     const Positions& positions) {
  Sizes sizes(static_cast<size_t>(positions.rank), 1);
  Sizes strides(static_cast<size_t>(positions.rank), 0);
  std::vector<bool> taken(sizes.size(), false);
  int64_t dim = 0;
  auto place = [&](int64_t position) -> Result<void> {
    const auto p = static_cast<size_t>(position);
    if (taken[p] && sizes[p] != tensor.size(dim))
      return operator_error("equation: found sizes " + std::to_string(tensor.size(dim)) + " and " +
                            std::to_string(sizes[p]) + " for one label of an operand");
    taken[p] = true;
    sizes[p] = tensor.size(dim);
    strides[p] += tensor.stride(dim);
    ++dim;
    return {};
  };
  const int64_t covered = tensor.dim() - static_cast<int64_t>(labels.size()) + 1;
  for (int label : labels) {
    const int64_t position = positions.of_label.at(label);
    if (label != kEllipsis) {
      PT2_TRY_VOID(place(position));
      continue;
    }
    for (int64_t i = 0; i < covered; ++i)
      PT2_TRY_VOID(place(position + equation.ellipsis_rank - covered + i));
  }
  return tensor.with_view(std::move(sizes), std::move(strides), tensor.storage_offset());
}

Result<void> check_label_sizes(const Tensors& aligned) {
  std::vector<Sizes> sizes;
  for (const Tensor& tensor : aligned) sizes.push_back(tensor.sizes());
  PT2_TRY_VOID(broadcast_sizes(sizes));
  return {};
}

Result<Tensor> einsum(const std::string& text, const Tensors& tensors,
                      const std::optional<Sizes>&) {
  if (tensors.empty()) return operator_error("tensors: found none, expected at least one");
  PT2_TRY(const Equation equation, parse_equation(text, tensors));
  PT2_TRY(const Positions positions, label_positions(equation));
  Tensors aligned;
  for (size_t i = 0; i < tensors.size(); ++i) {
    PT2_TRY(Tensor tensor, align(tensors[i], equation.operands[i], equation, positions));
    aligned.push_back(std::move(tensor));
  }
  PT2_TRY_VOID(check_label_sizes(aligned));
  Tensor result = aligned[0];
  for (size_t i = 1; i < aligned.size(); ++i) {
    // A label is summed as soon as no later operand has it.
    std::vector<bool> summed(static_cast<size_t>(positions.rank), false);
    for (int64_t dim = positions.output_rank; dim < positions.rank; ++dim)
      summed[static_cast<size_t>(dim)] =
          std::all_of(aligned.begin() + static_cast<int64_t>(i) + 1, aligned.end(),
                      [dim](const Tensor& later) { return later.size(dim) == 1; });
    PT2_TRY(result, multiply_pair(result, aligned[i], summed));
  }
  Sizes left;
  for (int64_t dim = positions.output_rank; dim < positions.rank; ++dim) left.push_back(dim);
  if (left.empty()) return result;
  if (product_of(result, left) == 1 && aligned.size() > 1)
    return result.with_view(
        {result.sizes().begin(), result.sizes().begin() + positions.output_rank},
        {result.strides().begin(), result.strides().begin() + positions.output_rank},
        result.storage_offset());
  return sum_over(result, left, false);
}

Result<Tensor> tensordot(const Tensor& self, const Tensor& other, const Sizes& dims_self,
                         const Sizes& dims_other) {
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
    // A size of 1 is broadcast, so the other one is summed first.
    auto sum = [](const Tensor& tensor, int64_t dim) {
      return apply("sum.dim_IntList", {tensor, Value::List{dim}, true, tensor.dtype()});
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
  PT2_TRY(const Tensor left_permuted, permute(left, left_order));
  PT2_TRY(const Tensor right_permuted, permute(right, right_order));
  PT2_TRY(const Tensor a, reshape(left_permuted, {rows, depth}));
  PT2_TRY(const Tensor b, reshape(right_permuted, {depth, columns}));
  PT2_TRY(const Tensor flat, matmul(a, b));
  return reshape(flat, sizes);
}

Result<Meta> einsum_meta(const std::string& text, const Tensors& tensors,
                         const std::optional<Sizes>&) {
  if (tensors.empty()) return operator_error("tensors: found none, expected at least one");
  PT2_TRY(const Equation equation, parse_equation(text, tensors));
  PT2_TRY(const Positions positions, label_positions(equation));
  std::vector<Sizes> aligned;
  for (size_t i = 0; i < tensors.size(); ++i) {
    PT2_TRY(const Tensor tensor, align(tensors[i], equation.operands[i], equation, positions));
    aligned.push_back(tensor.sizes());
  }
  PT2_TRY(const Sizes sizes, broadcast_sizes(aligned));
  // The sum over one operand counts integers in int64.
  const bool sums_integers = tensors.size() == 1 && positions.rank > positions.output_rank &&
                             dtype_category(tensors[0].dtype()) < DtypeCategory::floating;
  return Meta(sums_integers ? Dtype::int64 : tensors[0].dtype(),
              {sizes.begin(), sizes.begin() + positions.output_rank});
}

Result<Meta> tensordot_meta(const Tensor& self, const Tensor& other, const Sizes& dims_self,
                            const Sizes& dims_other) {
  PT2_TRY(const Sizes left, wrap_dims(dims_self, self.dim()));
  PT2_TRY(const Sizes right, wrap_dims(dims_other, other.dim()));
  Sizes sizes;
  const auto keep = [&](const Tensor& tensor, const Sizes& summed) {
    for (int64_t dim = 0; dim < tensor.dim(); ++dim)
      if (std::ranges::find(summed, dim) == summed.end()) sizes.push_back(tensor.size(dim));
  };
  keep(self, left);
  keep(other, right);
  return Meta(self.dtype(), std::move(sizes));
}

// clang-format off
constexpr OpDef kOps[] = {
    composed<"aten::einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor", einsum_meta, einsum>.with({.autocast = AutocastRule::lower_precision, .sharing = Sharing::possibly}),
    composed<"aten::tensordot(Tensor self, Tensor other, int[] dims_self, int[] dims_other) -> Tensor", tensordot_meta, tensordot>.with({.autocast = AutocastRule::lower_precision}),
};
// clang-format on

}  // namespace

std::span<const OpDef> contraction_ops() { return kOps; }

}  // namespace pt2::ops
