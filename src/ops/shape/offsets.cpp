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

// Replaces masks by positions; one entry per dimension of self.
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

// For every position of the indices, the sum of index times stride over the indexed dims.
Result<std::vector<int64_t>> index_offsets(const Tensor& self, const OptionalTensors& indices,
                                           const Sizes& sizes, bool wrap) {
  const auto count = checked_numel(sizes);
  if (!count || *count > static_cast<int64_t>(std::vector<int64_t>().max_size()))
    return operator_error("the indices of sizes " + sizes_text(sizes) + " are too many");
  std::vector<int64_t> offsets(static_cast<size_t>(*count), 0);
  for (int64_t dim = 0; dim < self.dim(); ++dim) {
    const std::optional<Tensor>& index = indices[static_cast<size_t>(dim)];
    if (!index) continue;
    const Input<int64_t> values(broadcast_to(*index, sizes));
    const int64_t size = self.size(dim);
    for (int64_t i = 0; i < *count; ++i) {
      const int64_t value = values[i];
      if (value >= size || value < (wrap ? -size : 0))
        return operator_error("index " + std::to_string(value) + " is out of range for dim " +
                              std::to_string(dim) + " of size " + std::to_string(size));
      offsets[static_cast<size_t>(i)] += (value < 0 ? value + size : value) * self.stride(dim);
    }
  }
  return offsets;
}

std::vector<int64_t> all_offsets(const Sizes& sizes, const Sizes& strides) {
  std::vector<int64_t> out;
  for_each_offset(sizes, strides, [&](int64_t, int64_t offset) { out.push_back(offset); });
  return out;
}

}  // namespace

namespace {

// The dims of self without an index: those before the index dims of the result, and those after.
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
    // When the indices are not adjacent, their dims come first in the result.
    (adjacent && dim < first ? dims.before : dims.after).push_back(dim);
  }
  return dims;
}

Sizes sizes_of(const Tensor& self, const Sizes& dims) {
  Sizes sizes;
  for (int64_t dim : dims) sizes.push_back(self.size(dim));
  return sizes;
}
Sizes strides_of(const Tensor& self, const Sizes& dims) {
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
    if (index && (index->dtype() == Dtype::bool_ || index->dtype() == Dtype::uint8))
      return Error{ErrorCode::unsupported, "the size depends on the elements of a mask", ""};
  // Masks were refused above, so this expands nothing.
  PT2_TRY(const OptionalTensors expanded, expand_masks(self, indices));
  PT2_TRY(const Sizes sizes, index_sizes(expanded));
  const FreeDims dims = free_dims(self, expanded);
  return joined(sizes_of(self, dims.before), sizes, sizes_of(self, dims.after));
}

Result<IndexPlan> plan_index(const Tensor& self, const OptionalTensors& indices, bool wrap) {
  PT2_TRY(const OptionalTensors expanded, expand_masks(self, indices));
  PT2_TRY(const Sizes sizes, index_sizes(expanded));
  const FreeDims dims = free_dims(self, expanded);
  const Sizes before_sizes = sizes_of(self, dims.before);
  const Sizes after_sizes = sizes_of(self, dims.after);

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
  plan.before = all_offsets(before_sizes, strides_of(self, dims.before));
  plan.after = all_offsets(after_sizes, strides_of(self, dims.after));
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

std::vector<Tensor> true_positions(const Tensor& mask) {
  const int64_t rank = mask.dim();
  std::vector<std::vector<int64_t>> positions(static_cast<size_t>(rank));
  int64_t count = 0;
  with_compute_type(mask.dtype(), [&]<class C>() {
    const Input<C> values(mask);
    for (int64_t i = 0; i < values.size(); ++i) {
      if (values[i] == C(0)) continue;
      ++count;
      int64_t rest = i;
      for (int64_t dim = rank - 1; dim >= 0; --dim) {
        positions[static_cast<size_t>(dim)].push_back(rest % mask.size(dim));
        rest /= mask.size(dim);
      }
    }
  });
  std::vector<Tensor> out;
  for (const std::vector<int64_t>& column : positions)
    out.push_back(Tensor::from(Dtype::int64, {count}, std::span<const int64_t>(column)));
  return out;
}

}  // namespace pt2::ops
