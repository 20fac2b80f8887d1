// Row look-ups by index.
#include <algorithm>
#include <utility>

#include "base/memory_account.h"
#include "kernels/lines.h"
#include "ops/checks.h"
#include "ops/compose.h"
#include "ops/dense.h"
#include "ops/loops.h"
#include "ops/op_def.h"
#include "ops/shape/view.h"

namespace pt2::ops {
namespace {

Result<Meta> embedding_meta(const Tensor& weight, const Tensor& indices, int64_t, bool, bool) {
  PT2_TRY_VOID(check_rank(weight, 2, "weight"));
  PT2_TRY_VOID(check_index_dtype(indices, "indices"));
  Sizes sizes = indices.sizes();
  sizes.push_back(weight.size(1));
  return Meta(weight.dtype(), std::move(sizes));
}

Result<void> check_row(int64_t row, int64_t rows) {
  if (row < 0 || row >= rows)
    return operator_error("indices: found " + std::to_string(row) + ", expected 0 to " +
                          std::to_string(rows - 1));
  return {};
}
Result<void> check_rows(const Tensor& indices, int64_t rows) {
  const Input<int64_t> numbers(indices);
  for (int64_t i = 0; i < numbers.size(); ++i) PT2_TRY_VOID(check_row(numbers[i], rows));
  return {};
}

Result<void> embedding(Tensor& out, const Tensor& weight, const Tensor& indices, int64_t, bool,
                       bool) {
  const Tensor table = weight.contiguous();
  const Input<int64_t> rows(indices);
  const int64_t bytes = weight.size(1) * dtype_size(weight.dtype());
  for (int64_t i = 0; i < rows.size(); ++i) {
    PT2_TRY_VOID(check_row(rows[i], weight.size(0)));
    std::copy_n(table.raw_data() + rows[i] * bytes, bytes, out.raw_data() + i * bytes);
  }
  return {};
}

// Scales each looked-up row whose norm exceeds `max_norm` to that norm
// (aten/src/ATen/native/Embedding.cpp, embedding_renorm_cpu_).
Result<void> embedding_renorm(Tensor& self, const Tensor& indices, double max_norm,
                              double norm_type) {
  PT2_TRY_VOID(check_rank(self, 2, "self"));
  PT2_TRY_VOID(check_floating(self, "self"));
  PT2_TRY_VOID(check_index_dtype(indices, "indices"));
  PT2_TRY_VOID(check_rows(indices, self.size(0)));
  const Input<int64_t> looked_up(indices);
  Scratch<uint8_t> seen(static_cast<size_t>(self.size(0)), 0);
  for (int64_t i = 0; i < looked_up.size(); ++i) {
    const int64_t index = looked_up[i];
    if (std::exchange(seen[static_cast<size_t>(index)], 1) != 0) continue;
    PT2_TRY(Tensor row, select(self, 0, index));
    PT2_TRY(const Tensor norm, apply(aten<"linalg_vector_norm.default">, {row, norm_type}));
    double length = 0;
    load_elements<double>(norm.raw_data(), 1, norm.dtype(), 1, &length);
    if (!(length > max_norm)) continue;
    constexpr double kNotZero = 1e-7;
    PT2_TRY(const Tensor scaled, apply(aten<"mul.Tensor">, {row, max_norm / (length + kNotZero)}));
    copy_elements(row, scaled);
  }
  return {};
}

Result<Meta> embedding_dense_backward_meta(const Tensor& grad_output, const Tensor& indices,
                                           int64_t num_weights, int64_t, bool) {
  PT2_TRY_VOID(check_floating(grad_output, "grad_output"));
  PT2_TRY_VOID(check_index_dtype(indices, "indices"));
  PT2_TRY_VOID(check_rank_at_least(grad_output, 1, "grad_output"));
  const int64_t width = grad_output.size(grad_output.dim() - 1);
  Sizes expected = indices.sizes();
  expected.push_back(width);
  PT2_TRY_VOID(check_sizes(grad_output, expected, "grad_output"));
  if (num_weights < 0)
    return operator_error("num_weights: found " + std::to_string(num_weights) +
                          ", expected 0 or more");
  return Meta(grad_output.dtype(), {num_weights, width});
}
// Sums the gradients of all look-ups of a row; the padding row gets none. `scale_grad_by_freq`
// divides by the number of look-ups of the row.
Result<void> embedding_dense_backward(Tensor& out, const Tensor& grad_output, const Tensor& indices,
                                      int64_t num_weights, int64_t padding_idx,
                                      bool scale_grad_by_freq) {
  const int64_t width = out.size(1);
  const Input<int64_t> rows(indices);
  Scratch<int64_t> counts(static_cast<size_t>(num_weights), 0);
  for (int64_t i = 0; i < rows.size(); ++i) {
    PT2_TRY_VOID(check_row(rows[i], num_weights));
    ++counts[static_cast<size_t>(rows[i])];
  }
  with_float_compute_type(out.dtype(), [&]<class C>() {
    const Input<C> grads(grad_output);
    Output<C> sums(out);
    for (int64_t i = 0; i < rows.size(); ++i) {
      if (rows[i] == padding_idx) continue;
      const C scale =
          scale_grad_by_freq ? C(1) / static_cast<C>(counts[static_cast<size_t>(rows[i])]) : C(1);
      for (int64_t j = 0; j < width; ++j) sums[rows[i] * width + j] += grads[i * width + j] * scale;
    }
  });
  return {};
}

enum BagMode : int64_t { kSum = 0, kMean = 1, kMax = 2 };
Result<void> check_mode(int64_t mode) {
  if (mode < kSum || mode > kMax)
    return operator_error("mode: found " + std::to_string(mode) + ", expected 0 to 2");
  return {};
}

// The range of indices of each bag.
struct Bags {
  std::vector<int64_t> begin;
  std::vector<int64_t> end;
};

Result<Bags> make_bags(const Tensor& offsets, int64_t indices, bool include_last_offset) {
  const Input<int64_t> starts(offsets);
  if (include_last_offset && starts.size() == 0)
    return operator_error("offsets: found none, expected at least the last one");
  if (starts.size() > 0 && starts[0] != 0)
    return operator_error("offsets: found " + std::to_string(starts[0]) + " first, expected 0");
  const int64_t count = starts.size() - (include_last_offset ? 1 : 0);
  Bags bags;
  for (int64_t i = 0; i < count; ++i) {
    bags.begin.push_back(starts[i]);
    bags.end.push_back(i + 1 < starts.size() ? starts[i + 1] : indices);
    if (bags.begin.back() < 0 || bags.begin.back() > bags.end.back() || bags.end.back() > indices)
      return operator_error("offsets: found " + std::to_string(bags.begin.back()) + " to " +
                            std::to_string(bags.end.back()) +
                            ", expected an ascending part of 0 to " + std::to_string(indices));
  }
  return bags;
}

struct BagCall {
  int64_t mode;
  const OptionalTensor& per_sample_weights;
  int64_t padding_idx;
};

// Computes one bag: out[width] receives its sum, mean or maximum, and `largest` the row of each
// maximum. Returns the number of rows that count; rows in [end, counted_end) count but are not
// added. `total` is scratch space of `width` elements.
template <class C>
int64_t fill_bag(const C* table, const Input<int64_t>& rows, const std::optional<Input<C>>& weights,
                 const BagCall& call, int64_t begin, int64_t end, int64_t counted_end,
                 Scratch<double>& total, C* out, int64_t* largest) {
  const auto width = static_cast<int64_t>(total.size());
  std::ranges::fill(total, 0.0);
  int64_t counted = 0;
  for (int64_t i = begin; i < end; ++i) {
    if (rows[i] == call.padding_idx) continue;
    const C* row = table + rows[i] * width;
    const double scale = weights ? static_cast<double>((*weights)[i]) : 1.0;
    for (int64_t j = 0; j < width; ++j) {
      const auto value = static_cast<double>(row[j]);
      double& slot = total[static_cast<size_t>(j)];
      if (call.mode != kMax) {
        slot += value * scale;
      } else if (counted == 0 || value > slot) {
        slot = value;
        largest[j] = rows[i];
      }
    }
    ++counted;
  }
  counted += counted_end - end;
  for (int64_t j = 0; j < width; ++j) {
    const double value = total[static_cast<size_t>(j)];
    out[j] = static_cast<C>(call.mode == kMean && counted > 0 ? value / static_cast<double>(counted)
                                                              : value);
  }
  return counted;
}

// The rows of a bag and their scales, for float tables.
struct BagLines {
  Scratch<const float*> lines;
  Scratch<float> scales;
};

// As fill_bag, for sums and means of floats, with the kernel for weighted sums of lines.
int64_t sum_bag(const float* table, const Input<int64_t>& rows,
                const std::optional<Input<float>>& weights, const BagCall& call, int64_t begin,
                int64_t end, int64_t counted_end, BagLines& bag, int64_t width, float* out) {
  auto& [lines, scales] = bag;
  lines.clear();
  scales.clear();
  for (int64_t i = begin; i < end; ++i) {
    if (rows[i] == call.padding_idx) continue;
    lines.push_back(table + rows[i] * width);
    if (weights) scales.push_back((*weights)[i]);
  }
  const auto added = static_cast<int64_t>(lines.size());
  kernels::sum_lines({lines.data(), weights ? scales.data() : nullptr, added, width}, out);
  const int64_t counted = added + counted_end - end;
  if (call.mode == kMean && counted > 0)
    for (int64_t j = 0; j < width; ++j) out[j] /= static_cast<float>(counted);
  return counted;
}

Result<void> check_bag_arguments(const Tensor& weight, const Tensor& indices, const Tensor& offsets,
                                 const BagCall& call) {
  PT2_TRY_VOID(check_floating(weight, "weight"));
  PT2_TRY_VOID(check_rank(weight, 2, "weight"));
  PT2_TRY_VOID(check_rank(indices, 1, "indices"));
  PT2_TRY_VOID(check_rank(offsets, 1, "offsets"));
  PT2_TRY_VOID(check_index_dtype(indices, "indices"));
  PT2_TRY_VOID(check_index_dtype(offsets, "offsets"));
  PT2_TRY_VOID(check_mode(call.mode));
  if (call.per_sample_weights) {
    if (call.mode != kSum)
      return operator_error("per_sample_weights: found some, expected them with sums only");
    PT2_TRY_VOID(check_same_dtype(*call.per_sample_weights, weight, "per_sample_weights"));
    PT2_TRY_VOID(check_sizes(*call.per_sample_weights, indices.sizes(), "per_sample_weights"));
  }
  return {};
}

// The results after the first serve the backward pass: the bag of each index, the size of each bag,
// the row of each maximum. Plain sums do not need them and leave zeros
// (ATen/native/EmbeddingBag.cpp _embedding_bag_cpu_impl_out).
template <bool ForwardOnly>
Result<std::array<Meta, 4>> embedding_bag_meta(const Tensor& weight, const Tensor& indices,
                                               const Tensor& offsets, bool, int64_t mode, bool,
                                               const OptionalTensor& per_sample_weights,
                                               bool include_last_offset, int64_t padding_idx) {
  PT2_TRY_VOID(
      check_bag_arguments(weight, indices, offsets, {mode, per_sample_weights, padding_idx}));
  const int64_t count = std::max<int64_t>(offsets.numel() - (include_last_offset ? 1 : 0), 0);
  const bool plain = mode == kSum;
  const bool fast =
      plain && padding_idx < 0 && weight.dtype() != Dtype::float64 && weight.stride(1) == 1;
  const Dtype numbers = promote_types(indices.dtype(), offsets.dtype());
  const Sizes bag_sizes{plain && ForwardOnly ? offsets.numel() : count};
  return std::array{Meta(weight.dtype(), {count, weight.size(1)}),
                    Meta(numbers, {fast ? 0 : indices.numel()}), Meta(numbers, bag_sizes),
                    Meta(numbers, mode == kMax ? Sizes{count, weight.size(1)} : bag_sizes)};
}
Result<void> embedding_bag(Tensor& out, Tensor& offset2bag, Tensor& bag_size,
                           Tensor& maximum_indices, const Tensor& weight, const Tensor& indices,
                           const Tensor& offsets, bool, int64_t mode, bool,
                           const OptionalTensor& per_sample_weights, bool include_last_offset,
                           int64_t padding_idx) {
  const BagCall call{mode, per_sample_weights, padding_idx};
  PT2_TRY(Bags bags, make_bags(offsets, indices.numel(), include_last_offset));
  const auto count = static_cast<int64_t>(bags.begin.size());
  const int64_t width = weight.size(1);
  // The last bag ends at the last index, even if the last offset is another one. However, FBGEMM
  // adds rows only up to the offset but divides by the full count.
  const int64_t last = count > 0 ? bags.end.back() : 0;
  if (include_last_offset && count > 0) bags.end.back() = indices.numel();
  const bool cut =
      mode != kMax && padding_idx < 0 && weight.dtype() != Dtype::float64 && weight.stride(1) == 1;
  PT2_TRY_VOID(check_rows(indices, weight.size(0)));
  const Input<int64_t> rows(indices);
  Output<int64_t> bag_of_each(offset2bag), counts(bag_size), largest(maximum_indices);
  with_float_compute_type(weight.dtype(), [&]<class C>() {
    const Input<C> table(weight);
    std::optional<Input<C>> weights;
    if (per_sample_weights) weights.emplace(*per_sample_weights);
    Output<C> result(out);
    Scratch<double> total(static_cast<size_t>(width));
    BagLines lines;
    for (int64_t bag = 0; bag < count; ++bag) {
      const auto b = static_cast<size_t>(bag);
      const int64_t end = cut && bag + 1 == count ? last : bags.end[b];
      C* sums = result.data() + bag * width;
      const int64_t counted = [&] {
        if constexpr (std::is_same_v<C, float>)
          if (mode != kMax)
            return sum_bag(table.data(), rows, weights, call, bags.begin[b], end, bags.end[b],
                           lines, width, sums);
        return fill_bag<C>(table.data(), rows, weights, call, bags.begin[b], end, bags.end[b],
                           total, sums, mode == kMax ? largest.data() + bag * width : nullptr);
      }();
      if (offset2bag.numel() > 0)
        std::fill(bag_of_each.data() + bags.begin[b], bag_of_each.data() + bags.end[b], bag);
      if (mode != kSum) counts[bag] = counted;
      if (mode == kMean) largest[bag] = counted;
    }
  });
  return {};
}

using BagResult = std::tuple<Tensor, Tensor, Tensor, Tensor>;

// ATen/native/EmbeddingBag.cpp embedding_bag.
Result<BagResult> embedding_bag_padding(Emitter& e, const Tensor& weight, const Tensor& indices,
                                        const Tensor& offsets, bool scale_grad_by_freq,
                                        int64_t mode, bool sparse,
                                        const OptionalTensor& per_sample_weights,
                                        bool include_last_offset,
                                        const std::optional<int64_t>& padding_idx) {
  int64_t padding = -1;
  if (padding_idx) {
    const int64_t rows = weight.dim() > 0 ? weight.size(0) : 0;
    if (*padding_idx < -rows || *padding_idx >= rows)
      return operator_error("padding_idx: found " + std::to_string(*padding_idx) +
                            ", expected a row of " + std::to_string(rows));
    padding = *padding_idx < 0 ? *padding_idx + rows : *padding_idx;
  }
  const Handle bag = e.requires_grad(weight) ? &aten<"_embedding_bag.default">
                                             : &aten<"_embedding_bag_forward_only.default">;
  return e.several<Tensor, Tensor, Tensor, Tensor>(
      bag, {weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights,
            include_last_offset, padding});
}
Result<BagResult> embedding_bag_default(Emitter& e, const Tensor& weight, const Tensor& indices,
                                        const Tensor& offsets, bool scale_grad_by_freq,
                                        int64_t mode, bool sparse,
                                        const OptionalTensor& per_sample_weights,
                                        bool include_last_offset) {
  return embedding_bag_padding(e, weight, indices, offsets, scale_grad_by_freq, mode, sparse,
                               per_sample_weights, include_last_offset, std::nullopt);
}

// --- Gradients of bags

// Returns the bag of each index. Recomputes it from the offsets if the forward pass omitted it.
Result<std::vector<int64_t>> bag_numbers(const Tensor& offset2bag, const Tensor& offsets,
                                         int64_t indices, int64_t bags) {
  std::vector<int64_t> out(static_cast<size_t>(indices));
  if (offset2bag.numel() > 0 || indices == 0) {
    PT2_TRY_VOID(check_index_dtype(offset2bag, "offset2bag"));
    PT2_TRY_VOID(check_sizes(offset2bag, {indices}, "offset2bag"));
    const Input<int64_t> numbers(offset2bag);
    std::copy_n(numbers.data(), indices, out.begin());
  } else {
    PT2_TRY(const Bags spans, make_bags(offsets, indices, false));
    for (size_t bag = 0; bag < spans.begin.size(); ++bag)
      std::fill(out.begin() + spans.begin[bag], out.begin() + spans.end[bag],
                static_cast<int64_t>(bag));
  }
  for (int64_t bag : out)
    if (bag < 0 || bag >= bags)
      return operator_error("offset2bag: found " + std::to_string(bag) + ", expected 0 to " +
                            std::to_string(bags - 1));
  return out;
}

struct BagGradient {
  const Tensor& grad;
  const Tensor& indices;
  const Tensor& bag_size;
  const Tensor& maximum_indices;
  int64_t num_weights;
  bool scale_grad_by_freq;
  BagCall call;
};

Result<void> check_bag_gradient(const BagGradient& bag) {
  if (bag.call.mode == kMax) {
    PT2_TRY_VOID(check_sizes(bag.maximum_indices, bag.grad.sizes(), "maximum_indices"));
    PT2_TRY_VOID(check_index_dtype(bag.maximum_indices, "maximum_indices"));
  } else if (bag.call.mode == kMean) {
    PT2_TRY_VOID(check_sizes(bag.bag_size, {bag.grad.size(0)}, "bag_size"));
    PT2_TRY_VOID(check_index_dtype(bag.bag_size, "bag_size"));
  }
  if (bag.call.per_sample_weights)
    PT2_TRY_VOID(
        check_sizes(*bag.call.per_sample_weights, bag.indices.sizes(), "per_sample_weights"));
  return check_rows(bag.indices, bag.num_weights);
}

// Each maximum passes its gradient to the row that it came from; empty bags pass none.
Result<void> add_maxima(const BagGradient& bag, Output<double>& sums) {
  const Input<double> grads(bag.grad);
  const Input<int64_t> rows(bag.maximum_indices);
  const Input<int64_t> sizes(bag.bag_size);
  const int64_t width = bag.grad.size(1);
  for (int64_t i = 0; i < rows.size(); ++i) {
    if (sizes.size() == bag.grad.size(0) && sizes[i / width] == 0) continue;
    PT2_TRY_VOID(check_row(rows[i], bag.num_weights));
    sums[rows[i] * width + i % width] += grads[i];
  }
  return {};
}

void add_bags(const BagGradient& bag, const std::vector<int64_t>& bags, Output<double>& sums) {
  const Input<double> grads(bag.grad);
  const Input<int64_t> rows(bag.indices);
  const Input<int64_t> sizes(bag.bag_size);
  const Tensor none = Tensor::zeros(Dtype::float64, {0});
  const Input<double> weights(bag.call.per_sample_weights.value_or(none));
  Scratch<int64_t> counts(static_cast<size_t>(bag.num_weights), 0);
  for (int64_t i = 0; i < rows.size(); ++i) ++counts[static_cast<size_t>(rows[i])];
  const int64_t width = bag.grad.size(1);
  for (int64_t i = 0; i < rows.size(); ++i) {
    if (rows[i] == bag.call.padding_idx) continue;
    const int64_t from = bags[static_cast<size_t>(i)];
    double scale = bag.call.per_sample_weights ? weights[i] : 1;
    if (bag.scale_grad_by_freq) scale /= static_cast<double>(counts[static_cast<size_t>(rows[i])]);
    if (bag.call.mode == kMean) scale /= static_cast<double>(std::max<int64_t>(sizes[from], 1));
    for (int64_t j = 0; j < width; ++j)
      sums[rows[i] * width + j] += grads[from * width + j] * scale;
  }
}

// Leaves out the statistics of the bags: torch.export may record other sizes of them.
Result<Meta> embedding_bag_backward_meta(const Tensor& grad, const Tensor& indices, const Tensor&,
                                         const Tensor&, const Tensor&, const Tensor&,
                                         int64_t num_weights, bool, int64_t mode, bool sparse,
                                         const OptionalTensor&, int64_t) {
  PT2_TRY_VOID(check_dense_gradient(sparse));
  PT2_TRY_VOID(check_floating(grad, "grad"));
  PT2_TRY_VOID(check_rank(grad, 2, "grad"));
  PT2_TRY_VOID(check_rank(indices, 1, "indices"));
  PT2_TRY_VOID(check_index_dtype(indices, "indices"));
  if (num_weights < 0)
    return operator_error("num_weights: found " + std::to_string(num_weights) +
                          ", expected 0 or more");
  PT2_TRY_VOID(check_mode(mode));
  return Meta(grad.dtype(), {num_weights, grad.size(1)});
}
Result<void> embedding_bag_backward(Tensor& out, const Tensor& grad, const Tensor& indices,
                                    const Tensor& offsets, const Tensor& offset2bag,
                                    const Tensor& bag_size, const Tensor& maximum_indices,
                                    int64_t num_weights, bool scale_grad_by_freq, int64_t mode,
                                    bool, const OptionalTensor& per_sample_weights,
                                    int64_t padding_idx) {
  const BagGradient bag{grad,
                        indices,
                        bag_size,
                        maximum_indices,
                        num_weights,
                        scale_grad_by_freq,
                        {mode, per_sample_weights, padding_idx}};
  PT2_TRY_VOID(check_bag_gradient(bag));
  Output<double> sums(out);
  if (mode == kMax) return add_maxima(bag, sums);
  PT2_TRY(const std::vector<int64_t> bags,
          bag_numbers(offset2bag, offsets, indices.numel(), grad.size(0)));
  add_bags(bag, bags, sums);
  return {};
}
Result<Tensor> embedding_bag_dense_backward(Emitter& e, const Tensor& grad, const Tensor& indices,
                                            const Tensor& offset2bag, const Tensor& bag_size,
                                            const Tensor& maximum_indices, int64_t num_weights,
                                            bool scale_grad_by_freq, int64_t mode,
                                            const OptionalTensor& per_sample_weights,
                                            int64_t padding_idx) {
  const auto offsets = e(aten<"zeros.default">, {Sizes{1}, Dtype::int64});
  return e(aten<"_embedding_bag_backward.default">,
           {grad, indices, offsets, offset2bag, bag_size, maximum_indices, num_weights,
            scale_grad_by_freq, mode, false, per_sample_weights, padding_idx});
}

Result<Meta> per_sample_weights_backward_meta(const Tensor& grad, const Tensor& weight,
                                              const Tensor& indices, const Tensor& offsets,
                                              const Tensor&, int64_t mode, int64_t padding_idx) {
  const OptionalTensor none;
  PT2_TRY_VOID(check_bag_arguments(weight, indices, offsets, {mode, none, padding_idx}));
  if (mode != kSum)
    return operator_error("mode: found " + std::to_string(mode) + ", expected sums, 0");
  PT2_TRY_VOID(check_rank(grad, 2, "grad"));
  PT2_TRY_VOID(check_sizes(grad, {grad.size(0), weight.size(1)}, "grad"));
  return Meta(grad.dtype(), indices.sizes());
}
// The gradient of an index's weight is the dot product of its row and the gradient of its bag.
Result<void> per_sample_weights_backward(Tensor& out, const Tensor& grad, const Tensor& weight,
                                         const Tensor& indices, const Tensor& offsets,
                                         const Tensor& offset2bag, int64_t, int64_t padding_idx) {
  PT2_TRY_VOID(check_rows(indices, weight.size(0)));
  PT2_TRY(const std::vector<int64_t> bags,
          bag_numbers(offset2bag, offsets, indices.numel(), grad.size(0)));
  const Input<double> table(weight);
  const Input<double> grads(grad);
  const Input<int64_t> rows(indices);
  Output<double> result(out);
  const int64_t width = weight.size(1);
  for (int64_t i = 0; i < rows.size(); ++i) {
    if (rows[i] == padding_idx) continue;
    double sum = 0;
    for (int64_t j = 0; j < width; ++j)
      sum += table[rows[i] * width + j] * grads[bags[static_cast<size_t>(i)] * width + j];
    result[i] = sum;
  }
  return {};
}

// clang-format off
constexpr OpDef kEmbeddingOps[] = {
    op<"aten::embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False) -> Tensor",
       embedding_meta, embedding>.with({.slope = Slope::linear, .linear_in = "weight"}),
    changed<"aten::embedding_renorm(Tensor self, Tensor indices, float max_norm, float norm_type) -> Tensor", embedding_renorm>,
    op<"aten::embedding_dense_backward(Tensor grad_output, Tensor indices, SymInt num_weights, SymInt padding_idx, bool scale_grad_by_freq) -> Tensor",
       embedding_dense_backward_meta, embedding_dense_backward>.with({.slope = Slope::linear, .linear_in = "grad_output"}),
    op<"aten::_embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False, int padding_idx=-1) -> (Tensor, Tensor, Tensor, Tensor)",
       embedding_bag_meta<false>, embedding_bag>,
    op<"aten::_embedding_bag_forward_only(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False, int padding_idx=-1) -> (Tensor, Tensor, Tensor, Tensor)",
       embedding_bag_meta<true>, embedding_bag>,
    op<"aten::embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False) -> (Tensor, Tensor, Tensor, Tensor)",
       embedding_bag_default>,
    op<"aten::embedding_bag.padding_idx(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq, int mode, bool sparse, Tensor? per_sample_weights, bool include_last_offset, int? padding_idx) -> (Tensor, Tensor, Tensor, Tensor)",
       embedding_bag_padding>,
    kept<"aten::_embedding_bag_dense_backward(Tensor grad, Tensor indices, Tensor offset2bag, Tensor bag_size, Tensor maximum_indices, SymInt num_weights, bool scale_grad_by_freq, int mode, Tensor? per_sample_weights, int padding_idx=-1) -> Tensor",
       embedding_bag_dense_backward>,
    op<"aten::_embedding_bag_backward(Tensor grad, Tensor indices, Tensor offsets, Tensor offset2bag, Tensor bag_size, Tensor maximum_indices, SymInt num_weights, bool scale_grad_by_freq, int mode, bool sparse, Tensor? per_sample_weights, int padding_idx=-1) -> Tensor",
       embedding_bag_backward_meta, embedding_bag_backward>,
    op<"aten::_embedding_bag_per_sample_weights_backward(Tensor grad, Tensor weight, Tensor indices, Tensor offsets, Tensor offset2bag, int mode, int padding_idx=-1) -> Tensor",
       per_sample_weights_backward_meta, per_sample_weights_backward>,
};
// clang-format on

}  // namespace

std::span<const OpDef> embedding_ops() { return kEmbeddingOps; }

}  // namespace pt2::ops
