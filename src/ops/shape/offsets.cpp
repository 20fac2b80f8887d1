#include "ops/shape/offsets.h"

#include <algorithm>

#include "ops/checks.h"
#include "ops/dense.h"
#include "ops/loops.h"

namespace pt2::ops {
namespace {

using OptionalTensors = std::vector<std::optional<Tensor>>;

bool is_mask(const Tensor& index) {
  return index.dtype() == Dtype::bool_ || index.dtype() == Dtype::uint8;
}

// Replaces masks by index tensors. The result has one entry per dimension of self.
Result<OptionalTensors> expand_masks(const Tensor& self, const OptionalTensors& indices) {
  OptionalTensors out;
  for (const std::optional<Tensor>& index : indices) {
    if (!index || !is_mask(*index)) {
      if (index) PT2_TRY_VOID(check_index_dtype(*index, "indices"));
      out.push_back(index);
      continue;
    }
    const auto first = static_cast<int64_t>(out.size());
    for (int64_t dim = 0; dim < index->dim(); ++dim)
      if (first + dim >= self.dim() || index->size(dim) != self.size(first + dim))
        return operator_error("indices: found a mask of sizes " + sizes_text(index->sizes()) +
                              " at dim " + std::to_string(first) + ", expected those of self " +
                              sizes_text(self.sizes()));
    for (Tensor& positions : true_positions(*index)) out.emplace_back(std::move(positions));
  }
  if (static_cast<int64_t>(out.size()) > self.dim())
    return operator_error("found " + std::to_string(out.size()) + " indices, expected at most " +
                          std::to_string(self.dim()));
  out.resize(static_cast<size_t>(self.dim()));
  return out;
}

Result<Sizes> index_sizes(const OptionalTensors& indices) {
  std::vector<Sizes> all;
  for (const std::optional<Tensor>& index : indices)
    if (index) all.push_back(index->sizes());
  return broadcast_sizes(all);
}

// Returns, for every position of the indices, the sum of index times stride over the indexed dims.
Result<Scratch<int64_t>> index_offsets(const Tensor& self, const OptionalTensors& indices,
                                       const Sizes& sizes, bool wrap) {
  const auto count = checked_numel(sizes);
  if (!count || *count > static_cast<int64_t>(Scratch<int64_t>().max_size()))
    return operator_error("the indices of sizes " + sizes_text(sizes) + " are too many");
  Scratch<int64_t> offsets(static_cast<size_t>(*count), 0);
  for (int64_t dim = 0; dim < self.dim(); ++dim) {
    const std::optional<Tensor>& index = indices[static_cast<size_t>(dim)];
    if (!index) continue;
    const Input<int64_t> values(broadcast_to(*index, sizes));
    const int64_t size = self.size(dim), stride = self.stride(dim);
    for (int64_t i = 0; i < *count; ++i) {
      const int64_t value = values[i];
      if (value >= size || value < (wrap ? -size : 0))
        return operator_error("index " + std::to_string(value) + " is out of range for dim " +
                              std::to_string(dim) + " of size " + std::to_string(size));
      offsets[static_cast<size_t>(i)] += (value < 0 ? value + size : value) * stride;
    }
  }
  return offsets;
}

Scratch<int64_t> all_offsets(const Sizes& sizes, const Sizes& strides) {
  Scratch<int64_t> out;
  for_each_offset(sizes, strides, [&](int64_t, int64_t offset) { out.push_back(offset); });
  return out;
}

// The dims of self without an index, before and after the index dims of the result.
struct FreeDims {
  Sizes before;
  Sizes after;
};

FreeDims free_dims(const Tensor& self, const OptionalTensors& indices) {
  const auto indexed = [&](int64_t dim) { return indices[static_cast<size_t>(dim)].has_value(); };
  int64_t first = 0;
  while (first < self.dim() && !indexed(first)) ++first;
  int64_t last = self.dim() - 1;
  while (last > first && !indexed(last)) --last;
  bool adjacent = true;
  for (int64_t dim = first; dim < last; ++dim) adjacent = adjacent && indexed(dim);
  FreeDims dims;
  for (int64_t dim = 0; dim < self.dim(); ++dim) {
    if (indexed(dim)) continue;
    // If the indices are not adjacent, their dims come first in the result.
    (adjacent && dim < first ? dims.before : dims.after).push_back(dim);
  }
  return dims;
}

Sizes sizes_along(const Tensor& self, const Sizes& dims) {
  Sizes sizes;
  for (int64_t dim : dims) sizes.push_back(self.size(dim));
  return sizes;
}
Sizes strides_along(const Tensor& self, const Sizes& dims) {
  Sizes strides;
  for (int64_t dim : dims) strides.push_back(self.stride(dim));
  return strides;
}

Sizes joined(Sizes sizes, const Sizes& middle, const Sizes& last) {
  sizes.insert(sizes.end(), middle.begin(), middle.end());
  sizes.insert(sizes.end(), last.begin(), last.end());
  return sizes;
}

}  // namespace

Result<Sizes> indexed_sizes(const Tensor& self, const OptionalTensors& indices) {
  for (const std::optional<Tensor>& index : indices)
    if (index && is_mask(*index))
      return Error{ErrorCode::unsupported, "the size depends on the elements of a mask", ""};
  // Masks were refused above, so nothing is expanded.
  PT2_TRY(const OptionalTensors expanded, expand_masks(self, indices));
  PT2_TRY(const Sizes sizes, index_sizes(expanded));
  const FreeDims dims = free_dims(self, expanded);
  return joined(sizes_along(self, dims.before), sizes, sizes_along(self, dims.after));
}

Result<Sizes> indexed_strides(const Tensor& self, const OptionalTensors& indices) {
  PT2_TRY(const OptionalTensors expanded, expand_masks(self, indices));
  PT2_TRY(const Sizes sizes, index_sizes(expanded));
  const FreeDims dims = free_dims(self, expanded);
  const Sizes whole = joined(sizes_along(self, dims.before), sizes, sizes_along(self, dims.after));
  // Operands of TensorIterator: self has stride 0 along the index dims, the indices along all
  // others.
  std::vector<Tensor> views{
      self.with_view(whole,
                     joined(strides_along(self, dims.before), Sizes(sizes.size(), 0),
                            strides_along(self, dims.after)),
                     self.storage_offset())};
  const Sizes before(dims.before.size(), 0), after(dims.after.size(), 0);
  for (const std::optional<Tensor>& index : expanded) {
    if (!index) continue;
    const Tensor view = broadcast_to(*index, sizes);
    views.push_back(
        view.with_view(whole, joined(before, view.strides(), after), view.storage_offset()));
  }
  std::vector<const Tensor*> operands;
  for (const Tensor& view : views) operands.push_back(&view);
  return elementwise_strides(whole, operands);
}

Result<IndexPlan> plan_index(const Tensor& self, const OptionalTensors& indices, bool wrap) {
  PT2_TRY(const OptionalTensors expanded, expand_masks(self, indices));
  PT2_TRY(const Sizes sizes, index_sizes(expanded));
  const FreeDims dims = free_dims(self, expanded);
  const Sizes before_sizes = sizes_along(self, dims.before);
  Sizes after_sizes = sizes_along(self, dims.after);

  IndexPlan plan;
  plan.sizes = joined(before_sizes, sizes, after_sizes);
  const auto numel = checked_numel(plan.sizes);
  if (!numel)
    return operator_error("the result of sizes " + sizes_text(plan.sizes) + " is too large");
  PT2_TRY(plan.index, index_offsets(self, expanded, sizes, wrap));
  if (*numel == 0) {
    plan.index.clear();
    return plan;
  }
  plan.before = all_offsets(before_sizes, strides_along(self, dims.before));
  Sizes after_strides = strides_along(self, dims.after);
  while (!after_sizes.empty() && (after_sizes.back() == 1 || after_strides.back() == plan.line)) {
    plan.line *= after_sizes.back();
    after_sizes.pop_back();
    after_strides.pop_back();
  }
  plan.after = all_offsets(after_sizes, after_strides);
  return plan;
}

Result<IndexPlan> plan_index_dim(const Tensor& self, int64_t dim, const Tensor& index, bool wrap) {
  PT2_TRY(const int64_t wrapped, wrap_dim(dim, self.dim()));
  PT2_TRY_VOID(check_index_dtype(index, "index"));
  if (index.dim() > 1)
    return operator_error("index: found " + index.type_text() + ", expected at most 1 dim");
  if (self.dim() == 0) {
    const Tensor row = self.with_view({1}, {1}, self.storage_offset());
    PT2_TRY(IndexPlan plan, plan_index_dim(row, 0, index, wrap));
    plan.sizes.clear();
    if (index.numel() != 1)
      return operator_error("index: found " + index.type_text() + ", expected one element");
    return plan;
  }
  OptionalTensors indices(static_cast<size_t>(wrapped));
  indices.emplace_back(index.dim() == 1 ? index
                                        : index.with_view({1}, {1}, index.storage_offset()));
  return plan_index(self, indices, wrap);
}

Scratch<uint8_t> true_flags(const Tensor& mask) {
  Scratch<uint8_t> flags(static_cast<size_t>(mask.numel()));
  if (dtype_size(mask.dtype()) == 1) {
    // Every nonzero byte is true, also for bool.
    const Tensor dense = mask.contiguous();
    const auto* bytes = dense.data<uint8_t>();
    if (is_mask(mask) || mask.dtype() == Dtype::int8) {
      for (size_t i = 0; i < flags.size(); ++i) flags[i] = bytes[i] != 0;
      return flags;
    }
  }
  with_compute_type(mask.dtype(), [&]<class C>() {
    const Input<C> values(mask);
    for (size_t i = 0; i < flags.size(); ++i) flags[i] = values[static_cast<int64_t>(i)] != C(0);
  });
  return flags;
}

int64_t count_of(const Scratch<uint8_t>& flags) {
  int64_t count = 0;
  for (const uint8_t flag : flags) count += flag;
  return count;
}

void write_positions(const Sizes& sizes, const Scratch<uint8_t>& flags, int64_t count,
                     int64_t* columns) {
  if (count == 0 || sizes.empty()) return;
  const size_t last = sizes.size() - 1;
  const int64_t length = sizes[last];
  Sizes row(last, 0);
  int64_t next = 0;
  for (const uint8_t* flag = flags.data(); next < count; flag += length) {
    const int64_t begin = next;
    int64_t* column = columns + static_cast<int64_t>(last) * count;
    // Writes before testing the flag: mispredicted branches cost more than writes.
    for (int64_t i = 0; i < length && next < count; ++i) {
      column[next] = i;
      next += flag[i];
    }
    for (size_t dim = 0; dim < last; ++dim)
      std::fill(columns + static_cast<int64_t>(dim) * count + begin,
                columns + static_cast<int64_t>(dim) * count + next, row[dim]);
    for (size_t dim = last; dim > 0 && ++row[dim - 1] == sizes[dim - 1]; --dim) row[dim - 1] = 0;
  }
}

std::vector<Tensor> true_positions(const Tensor& mask) {
  const Scratch<uint8_t> flags = true_flags(mask);
  const int64_t count = count_of(flags);
  Tensor columns = Tensor::zeros(Dtype::int64, {mask.dim(), count});
  std::vector<Tensor> out;
  write_positions(mask.sizes(), flags, count, columns.data<int64_t>());
  for (int64_t dim = 0; dim < mask.dim(); ++dim)
    out.push_back(columns.with_view({count}, {1}, dim * count));
  return out;
}

}  // namespace pt2::ops
