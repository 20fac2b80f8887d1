// Sequences of different lengths: packed by time step, and unpacked
// (ATen/native/PackedSequence.cpp); concatenated, and padded
// (ATen/native/nested/NestedTensorUtils.cpp).
#include <algorithm>

#include "base/memory_account.h"
#include "ops/checks.h"
#include "ops/dense.h"
#include "ops/loops.h"
#include "ops/op_def.h"
#include "ops/shape/view.h"

namespace pt2::ops {
namespace {

using TensorPair = std::tuple<Tensor, Tensor>;

Result<void> check_numbers(const Tensor& tensor, std::string_view what) {
  PT2_TRY_VOID(check_rank(tensor, 1, what));
  if (tensor.dtype() != Dtype::int64 || tensor.numel() == 0)
    return operator_error(std::string(what) + ": found " + tensor.type_text() +
                          ", expected int64 numbers");
  return {};
}
Result<std::vector<int64_t>> numbers_of(const Tensor& tensor, std::string_view what) {
  PT2_TRY_VOID(check_numbers(tensor, what));
  const Input<int64_t> numbers(tensor);
  return std::vector<int64_t>(numbers.data(), numbers.data() + numbers.size());
}

Tensor tensor_of(std::span<const int64_t> numbers) {
  return Tensor::from<int64_t>(Dtype::int64, {static_cast<int64_t>(numbers.size())}, numbers);
}

// Returns the view of `count` rows of `packed` that begins at `row`.
Tensor packed_rows(const Tensor& packed, int64_t row, int64_t count) {
  Sizes sizes = packed.sizes();
  sizes[0] = count;
  return packed.with_view(std::move(sizes), packed.strides(),
                          packed.storage_offset() + row * packed.stride(0));
}

Result<TensorPair> pack(const Tensor& input, const Tensor& lengths, bool batch_first) {
  PT2_TRY_VOID(check_rank_at_least(input, 2, "input"));
  PT2_TRY(const std::vector<int64_t> steps, numbers_of(lengths, "lengths"));
  PT2_TRY(const Tensor by_step, batch_first ? transpose(input, 0, 1) : Result<Tensor>(input));
  if (static_cast<int64_t>(steps.size()) != by_step.size(1))
    return operator_error("lengths: found " + std::to_string(steps.size()) + ", expected " +
                          std::to_string(by_step.size(1)));
  int64_t total = 0;
  for (size_t i = 0; i < steps.size(); ++i) {
    if (steps[i] < 1 || steps[i] > (i == 0 ? by_step.size(0) : steps[i - 1]))
      return operator_error("lengths: found " + std::to_string(steps[i]) +
                            ", expected numbers above 0 that fall from the number of steps, " +
                            std::to_string(by_step.size(0)));
    PT2_TRY(total, multiply_add(1, steps[i], total));
  }
  Meta meta(input.dtype(), {by_step.sizes().begin() + 1, by_step.sizes().end()});
  meta.sizes[0] = total;
  PT2_TRY(Tensor out, allocate(meta));
  std::vector<int64_t> sizes;
  int64_t row = 0;
  for (int64_t step = 0; step < steps[0]; ++step) {
    const int64_t count = std::ranges::lower_bound(steps, step, std::greater()) - steps.begin();
    PT2_TRY(const Tensor now, select(by_step, 0, step));
    PT2_TRY(const Tensor source, narrow(now, 0, 0, count));
    Tensor target = packed_rows(out, row, count);
    copy_elements(target, source);
    sizes.push_back(count);
    row += count;
  }
  return TensorPair(std::move(out), tensor_of(sizes));
}

Result<TensorPair> pad(const Tensor& data, const Tensor& batch_sizes, bool batch_first,
                       const Scalar& padding_value, int64_t total_length) {
  PT2_TRY_VOID(check_rank_at_least(data, 1, "data"));
  PT2_TRY(const std::vector<int64_t> counts, numbers_of(batch_sizes, "batch_sizes"));
  const auto steps = static_cast<int64_t>(counts.size());
  if (total_length > 0 && total_length < steps)
    return operator_error("total_length: found " + std::to_string(total_length) +
                          ", expected at least " + std::to_string(steps));
  int64_t total = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] < 1 || (i > 0 && counts[i] > counts[i - 1]))
      return operator_error("batch_sizes: found " + std::to_string(counts[i]) +
                            ", expected numbers above 0 that do not rise");
    PT2_TRY(total, multiply_add(1, counts[i], total));
  }
  if (total != data.size(0))
    return operator_error("batch_sizes: found " + std::to_string(total) + " in all, expected " +
                          std::to_string(data.size(0)));
  Meta meta(data.dtype(), data.sizes());
  meta.sizes[0] = counts[0];
  meta.sizes.insert(meta.sizes.begin(), std::max(steps, total_length));
  PT2_TRY(Tensor out, allocate(meta));
  fill_elements(out, padding_value);
  Scratch<int64_t> lengths(static_cast<size_t>(counts[0]), 0);
  int64_t row = 0;
  for (int64_t step = 0; step < steps; ++step) {
    const int64_t count = counts[static_cast<size_t>(step)];
    PT2_TRY(const Tensor now, select(out, 0, step));
    PT2_TRY(Tensor target, narrow(now, 0, 0, count));
    copy_elements(target, packed_rows(data, row, count));
    for (int64_t i = 0; i < count; ++i) ++lengths[static_cast<size_t>(i)];
    row += count;
  }
  if (batch_first) {
    PT2_TRY(out, transpose(out, 0, 1));
  }
  return TensorPair(std::move(out), tensor_of(lengths));
}

Sizes by_step(Sizes input_size, bool batch_first) {
  if (batch_first) std::swap(input_size[0], input_size[1]);
  return input_size;
}
Result<Meta> pack_backward_meta(const Tensor& grad, const Sizes& input_size,
                                const Tensor& batch_sizes, bool batch_first) {
  PT2_TRY_VOID(check_rank_at_least(grad, 1, "grad"));
  if (input_size.size() < 2)
    return operator_error("input_size: found " + sizes_text(input_size) +
                          ", expected two sizes or more");
  PT2_TRY_VOID(check_numbers(batch_sizes, "batch_sizes"));
  Sizes rows(input_size.begin() + 1, input_size.end());
  rows[0] = grad.size(0);
  PT2_TRY_VOID(check_sizes(grad, rows, "grad"));
  return Meta(grad.dtype(), input_size,
              by_step(contiguous_strides(by_step(input_size, batch_first)), batch_first));
}
Result<void> pack_backward(Tensor& out, const Tensor& grad, const Sizes& input_size,
                           const Tensor& batch_sizes, bool batch_first) {
  PT2_TRY(const std::vector<int64_t> counts, numbers_of(batch_sizes, "batch_sizes"));
  const Sizes sizes = by_step(input_size, batch_first);
  PT2_TRY(const Tensor steps, batch_first ? transpose(out, 0, 1) : Result<Tensor>(out));
  int64_t row = 0;
  for (int64_t step = 0; step < static_cast<int64_t>(counts.size()); ++step) {
    const int64_t count = counts[static_cast<size_t>(step)];
    if (step >= sizes[0] || count < 0 || count > sizes[1] || count > grad.size(0) - row)
      return operator_error("batch_sizes: found " + std::to_string(count) + " for " +
                            sizes_text(sizes) +
                            ", expected at most the batch, and in all the rows of grad");
    PT2_TRY(const Tensor now, select(steps, 0, step));
    PT2_TRY(Tensor target, narrow(now, 0, 0, count));
    copy_elements(target, packed_rows(grad, row, count));
    row += count;
  }
  return {};
}

// --- Jagged: the concatenated rows of sequences in `values`; sequence i begins at offsets[i]

Result<void> check_jagged(const Tensors& offsets, size_t lengths) {
  if (offsets.size() != 1 || lengths != 1)
    return operator_error("found " + std::to_string(offsets.size()) + " offsets and " +
                          std::to_string(lengths) + " lengths, expected one: one jagged dim");
  PT2_TRY_VOID(check_rank(offsets[0], 1, "offsets"));
  PT2_TRY_VOID(check_index_dtype(offsets[0], "offsets"));
  if (offsets[0].numel() == 0) return operator_error("offsets: found none, expected at least 0");
  return {};
}

// Returns the offsets. Error if they decrease or exceed `rows`.
Result<std::vector<int64_t>> jagged_offsets(const Tensor& offsets, int64_t rows) {
  const Input<int64_t> numbers(offsets);
  std::vector<int64_t> out(numbers.data(), numbers.data() + numbers.size());
  int64_t before = 0;
  for (const int64_t offset : out) {
    if (offset < before || offset > rows)
      return operator_error("offsets: found " + std::to_string(offset) + ", expected " +
                            std::to_string(before) + " to " + std::to_string(rows));
    before = offset;
  }
  return out;
}

Result<Meta> jagged_to_padded_meta(const Tensor& values, const Tensors& offsets,
                                   const Sizes& max_lengths, double) {
  PT2_TRY_VOID(check_rank_at_least(values, 1, "values"));
  PT2_TRY_VOID(check_not_complex(values, "values"));
  PT2_TRY_VOID(check_jagged(offsets, max_lengths.size()));
  if (max_lengths[0] < 0)
    return operator_error("max_lengths: found " + sizes_text(max_lengths) + ", expected 0 or more");
  Sizes sizes = values.sizes();
  sizes[0] = max_lengths[0];
  sizes.insert(sizes.begin(), offsets[0].numel() - 1);
  return Meta(values.dtype(), std::move(sizes));
}
// Sequences longer than max_lengths are truncated.
Result<void> jagged_to_padded(Tensor& out, const Tensor& values, const Tensors& offsets,
                              const Sizes& max_lengths, double padding_value) {
  PT2_TRY(const std::vector<int64_t> starts, jagged_offsets(offsets[0], values.size(0)));
  fill_elements(out, padding_value);
  for (size_t i = 0; i + 1 < starts.size(); ++i) {
    const int64_t count = std::min(starts[i + 1] - starts[i], max_lengths[0]);
    PT2_TRY(const Tensor sequence, select(out, 0, static_cast<int64_t>(i)));
    PT2_TRY(Tensor target, narrow(sequence, 0, 0, count));
    PT2_TRY(const Tensor source, narrow(values, 0, starts[i], count));
    copy_elements(target, source);
  }
  return {};
}

Result<void> check_padded(const Tensor& dense, const Tensors& offsets) {
  PT2_TRY_VOID(check_rank_at_least(dense, 2, "dense"));
  PT2_TRY_VOID(check_jagged(offsets, 1));
  if (offsets[0].numel() != dense.size(0) + 1)
    return operator_error("offsets: found " + offsets[0].type_text() + ", expected one more than " +
                          std::to_string(dense.size(0)));
  return {};
}
Meta jagged_meta(const Tensor& dense, int64_t rows) {
  Sizes sizes(dense.sizes().begin() + 1, dense.sizes().end());
  sizes[0] = rows;
  return Meta(dense.dtype(), std::move(sizes));
}
Result<Meta> padded_to_jagged_meta(const Tensor& dense, const Tensors& offsets,
                                   const std::optional<int64_t>& total) {
  PT2_TRY_VOID(check_padded(dense, offsets));
  if (!total) return Error{ErrorCode::unsupported, "the size depends on the last offset", ""};
  return jagged_meta(dense, *total);
}
Result<Tensor> padded_to_jagged(const Tensor& dense, const Tensors& offsets,
                                const std::optional<int64_t>& total) {
  PT2_TRY_VOID(check_padded(dense, offsets));
  PT2_TRY(const int64_t most, multiply_add(dense.size(0), dense.size(1)));
  PT2_TRY(const std::vector<int64_t> starts, jagged_offsets(offsets[0], most));
  if (total && *total != starts.back())
    return operator_error("total_L: found " + std::to_string(*total) +
                          ", expected the last offset, " + std::to_string(starts.back()));
  PT2_TRY(Tensor out, allocate(jagged_meta(dense, starts.back())));
  for (size_t i = 0; i + 1 < starts.size(); ++i) {
    const int64_t count = starts[i + 1] - starts[i];
    PT2_TRY(const Tensor sequence, select(dense, 0, static_cast<int64_t>(i)));
    PT2_TRY(const Tensor source, narrow(sequence, 0, 0, count));
    PT2_TRY(Tensor target, narrow(out, 0, starts[i], count));
    copy_elements(target, source);
  }
  return out;
}

// clang-format off
constexpr OpDef kPackingOps[] = {
    composed<"aten::_pack_padded_sequence(Tensor input, Tensor lengths, bool batch_first) -> (Tensor, Tensor)", depends_on_data, pack>.with({.slope = Slope::linear, .linear_in = "input"}),
    op<"aten::_pack_padded_sequence_backward(Tensor grad, SymInt[] input_size, Tensor batch_sizes, bool batch_first) -> Tensor", pack_backward_meta, pack_backward>.with({.slope = Slope::linear, .linear_in = "grad", .undecomposed = Undecomposed::reads_elements}),
    composed<"aten::_pad_packed_sequence(Tensor data, Tensor batch_sizes, bool batch_first, Scalar padding_value, int total_length) -> (Tensor, Tensor)", depends_on_data, pad>.with({.slope = Slope::linear, .linear_in = "data", .undecomposed = Undecomposed::reads_elements}),
    op<"aten::_jagged_to_padded_dense_forward(Tensor values, Tensor[] offsets, SymInt[] max_lengths, float padding_value=0.) -> Tensor", jagged_to_padded_meta, jagged_to_padded>,
    composed<"aten::_padded_dense_to_jagged_forward(Tensor dense, Tensor[] offsets, SymInt? total_L=None) -> Tensor", padded_to_jagged_meta, padded_to_jagged>.with({.slope = Slope::linear, .linear_in = "dense"}),
};
// clang-format on

}  // namespace

std::span<const OpDef> packing_ops() { return kPackingOps; }

}  // namespace pt2::ops
