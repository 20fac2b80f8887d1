#include "ops/shape/view.h"

#include <algorithm>
#include <numeric>

#include "ops/compose.h"
#include "ops/op_def.h"
#include "ops/shape/pieces.h"

namespace pt2::ops {
namespace {

// count * stride; 0 on overflow. It overflows only in tensors without elements, where any offset is
// valid.
int64_t way(int64_t count, int64_t stride) {
  int64_t out = 0;
  return __builtin_mul_overflow(count, stride, &out) ? 0 : out;
}
int64_t offset_behind(int64_t offset, int64_t steps) {
  int64_t out = 0;
  return __builtin_add_overflow(offset, steps, &out) ? offset : out;
}

}  // namespace

bool is_set_to(const Tensor& self, const Tensor& tensor) {
  return self.storage() == tensor.storage() && self.storage_offset() == tensor.storage_offset() &&
         self.sizes() == tensor.sizes() && self.strides() == tensor.strides();
}

std::optional<Sizes> view_strides(const Tensor& tensor, const Sizes& sizes) {
  if (tensor.numel() == 0)
    return tensor.sizes() == sizes ? tensor.strides() : contiguous_strides(sizes);
  // From the innermost dimension outward: runs of old dimensions that form one even stride are
  // split into new dimensions.
  Sizes strides(sizes.size(), 1);
  int64_t next = static_cast<int64_t>(sizes.size()) - 1;
  int64_t base = tensor.dim() > 0 ? tensor.strides().back() : 1;
  int64_t old_count = 1;
  int64_t new_count = 1;
  for (int64_t i = tensor.dim() - 1; i >= 0; --i) {
    old_count *= tensor.size(i);
    const bool run_ends =
        i == 0 || (tensor.size(i - 1) != 1 && tensor.stride(i - 1) != way(old_count, base));
    if (!run_ends) continue;
    while (next >= 0 && (new_count < old_count || sizes[static_cast<size_t>(next)] == 1)) {
      strides[static_cast<size_t>(next)] = way(new_count, base);
      new_count = way(new_count, sizes[static_cast<size_t>(next--)]);
    }
    if (new_count != old_count) return std::nullopt;
    if (i > 0) {
      base = tensor.stride(i - 1);
      old_count = new_count = 1;
    }
  }
  if (next >= 0 && tensor.dim() > 0) return std::nullopt;
  return strides;
}

Result<Sizes> infer_sizes(const Sizes& sizes, int64_t numel) {
  auto mismatch = [&] {
    return operator_error("sizes " + sizes_text(sizes) + " do not fit " + std::to_string(numel) +
                          " elements");
  };
  Sizes out = sizes;
  std::optional<size_t> unknown;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == -1) {
      if (unknown)
        return operator_error("found two sizes -1 in " + sizes_text(sizes) +
                              ", expected at most one");
      unknown = i;
      out[i] = 1;
    } else if (sizes[i] < 0) {
      return operator_error("found size " + std::to_string(sizes[i]) + ", expected -1 or more");
    }
  }
  const std::optional<int64_t> known = checked_numel(out);
  if (!known) return mismatch();
  if (unknown) {
    if (*known == 0 || numel % *known != 0) return mismatch();
    out[*unknown] = numel / *known;
  } else if (*known != numel) {
    return mismatch();
  }
  return out;
}

Result<std::vector<int64_t>> wrap_distinct_dims(const std::vector<int64_t>& dims, int64_t rank) {
  std::vector<int64_t> out;
  for (int64_t dim : dims) {
    PT2_TRY(const int64_t wrapped, wrap_dim(dim, rank));
    if (std::ranges::count(out, wrapped) > 0)
      return operator_error("dim " + std::to_string(dim) + " appears twice");
    out.push_back(wrapped);
  }
  return out;
}

Result<Tensor> view(const Tensor& self, const Sizes& size) {
  PT2_TRY(Sizes sizes, infer_sizes(size, self.numel()));
  auto strides = view_strides(self, sizes);
  if (!strides)
    return operator_error("a tensor of sizes " + sizes_text(self.sizes()) + " and strides " +
                          sizes_text(self.strides()) + " has no view of sizes " +
                          sizes_text(sizes) + ": expected reshape");
  return self.with_view(std::move(sizes), *std::move(strides), self.storage_offset());
}

Result<Tensor> reshape(const Tensor& self, const Sizes& shape) {
  PT2_TRY(Sizes sizes, infer_sizes(shape, self.numel()));
  if (auto strides = view_strides(self, sizes))
    return self.with_view(std::move(sizes), *std::move(strides), self.storage_offset());
  PT2_TRY(Tensor copy, allocate({self.dtype(), std::move(sizes)}));
  copy_to_contiguous(self, copy.raw_data());
  return copy;
}

Result<Tensor> expand(const Tensor& self, const Sizes& size, bool) {
  if (size.size() < self.sizes().size())
    return operator_error("found " + std::to_string(size.size()) + " sizes, expected at least " +
                          std::to_string(self.dim()));
  const size_t lead = size.size() - self.sizes().size();
  Sizes sizes = size;
  for (size_t i = 0; i < size.size(); ++i) {
    if (i < lead) {
      if (size[i] < 0)
        return operator_error("found size " + std::to_string(size[i]) + " for a new dim " +
                              std::to_string(i) + ", expected 0 or more");
      continue;
    }
    const int64_t own = self.sizes()[i - lead];
    if (size[i] == -1) sizes[i] = own;
    if (sizes[i] != own && (own != 1 || sizes[i] < 0))
      return operator_error("found size " + std::to_string(size[i]) + " for dim " +
                            std::to_string(i) + ", expected " + std::to_string(own));
  }
  // Strides of 0 need no memory, so the allocation does not bound the element count.
  if (!checked_numel(sizes))
    return operator_error("sizes " + sizes_text(sizes) + " exceed 64 bits");
  Sizes strides(sizes.size(), 0);
  for (size_t i = lead; i < sizes.size(); ++i)
    strides[i] = sizes[i] == self.sizes()[i - lead] ? self.strides()[i - lead] : 0;
  // A new dimension of size 1 gets the stride that a contiguous tensor would give it.
  for (size_t i = lead; i-- > 0;)
    strides[i] = sizes[i] == 1 && i + 1 < sizes.size() ? way(sizes[i + 1], strides[i + 1]) : 0;
  return self.with_view(std::move(sizes), std::move(strides), self.storage_offset());
}

Result<Tensor> permute(const Tensor& self, const std::vector<int64_t>& dims) {
  if (dims.size() != self.sizes().size())
    return operator_error("found " + std::to_string(dims.size()) + " dims, expected " +
                          std::to_string(self.dim()));
  PT2_TRY(const auto order, wrap_distinct_dims(dims, self.dim()));
  Sizes sizes;
  Sizes strides;
  for (int64_t dim : order) {
    sizes.push_back(self.size(dim));
    strides.push_back(self.stride(dim));
  }
  return self.with_view(std::move(sizes), std::move(strides), self.storage_offset());
}

Result<Tensor> transpose(const Tensor& self, int64_t dim0, int64_t dim1) {
  PT2_TRY(const int64_t a, wrap_dim(dim0, self.dim()));
  PT2_TRY(const int64_t b, wrap_dim(dim1, self.dim()));
  if (a == b) return self;
  Sizes sizes = self.sizes();
  Sizes strides = self.strides();
  std::swap(sizes[static_cast<size_t>(a)], sizes[static_cast<size_t>(b)]);
  std::swap(strides[static_cast<size_t>(a)], strides[static_cast<size_t>(b)]);
  return self.with_view(std::move(sizes), std::move(strides), self.storage_offset());
}

Result<Tensor> unsqueeze(const Tensor& self, int64_t dim) {
  PT2_TRY(const int64_t at, wrap_dim(dim, self.dim() + 1));
  Sizes sizes = self.sizes();
  Sizes strides = self.strides();
  const int64_t stride = at < self.dim() ? way(self.size(at), self.stride(at)) : 1;
  sizes.insert(sizes.begin() + at, 1);
  strides.insert(strides.begin() + at, stride);
  return self.with_view(std::move(sizes), std::move(strides), self.storage_offset());
}

Result<int64_t> wrap_existing_dim(int64_t dim, const Tensor& self) {
  if (self.dim() == 0) return operator_error("found a 0-dim tensor, expected one with dims");
  return wrap_dim(dim, self.dim());
}

namespace {

// Removes the dimensions of size 1 for which `drop` returns true.
template <class F>
Tensor squeeze_where(const Tensor& self, F&& drop) {
  Sizes sizes;
  Sizes strides;
  for (int64_t i = 0; i < self.dim(); ++i) {
    if (self.size(i) == 1 && drop(i)) continue;
    sizes.push_back(self.size(i));
    strides.push_back(self.stride(i));
  }
  return self.with_view(std::move(sizes), std::move(strides), self.storage_offset());
}

}  // namespace

Result<Tensor> select(const Tensor& self, int64_t dim, int64_t index) {
  PT2_TRY(const int64_t at, wrap_existing_dim(dim, self));
  const int64_t size = self.size(at);
  if (index < -size || index >= size)
    return operator_error("index " + std::to_string(index) + " is out of range for size " +
                          std::to_string(size) + " of dim " + std::to_string(at));
  if (index < 0) index += size;
  Sizes sizes = self.sizes();
  Sizes strides = self.strides();
  sizes.erase(sizes.begin() + at);
  strides.erase(strides.begin() + at);
  return self.with_view(std::move(sizes), std::move(strides),
                        offset_behind(self.storage_offset(), way(index, self.stride(at))));
}

Result<Tensor> slice(const Tensor& self, int64_t dim, std::optional<int64_t> start,
                     std::optional<int64_t> end, int64_t step) {
  PT2_TRY(const int64_t at, wrap_existing_dim(dim, self));
  if (step <= 0)
    return operator_error("found step " + std::to_string(step) + ", expected 1 or more");
  const int64_t size = self.size(at);
  auto clamped = [size](int64_t position) {
    return std::clamp<int64_t>(position < 0 ? position + size : position, 0, size);
  };
  const int64_t first = clamped(start.value_or(0));
  const int64_t last = std::max(first, clamped(end.value_or(size)));
  Sizes sizes = self.sizes();
  Sizes strides = self.strides();
  const int64_t span = last - first;
  sizes[static_cast<size_t>(at)] = span / step + (span % step != 0 ? 1 : 0);
  const int64_t stride = self.stride(at);
  // A step beyond the end selects one element, whose stride has no meaning.
  strides[static_cast<size_t>(at)] = way(std::min(step, std::max<int64_t>(size, 1)), stride);
  return self.with_view(std::move(sizes), std::move(strides),
                        offset_behind(self.storage_offset(), way(first, stride)));
}

Result<Tensor> narrow(const Tensor& self, int64_t dim, int64_t start, int64_t length) {
  PT2_TRY(const int64_t at, wrap_existing_dim(dim, self));
  const int64_t size = self.size(at);
  if (start < -size || start > size)
    return operator_error("start " + std::to_string(start) + " is out of range for size " +
                          std::to_string(size));
  if (start < 0) start += size;
  if (length < 0 || length > size - start)
    return operator_error("found start " + std::to_string(start) + " and length " +
                          std::to_string(length) + ", expected them within size " +
                          std::to_string(size));
  return slice(self, at, start, start + length, 1);
}

Result<Tensor> diagonal(const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2) {
  PT2_TRY(const int64_t a, wrap_dim(dim1, self.dim()));
  PT2_TRY(const int64_t b, wrap_dim(dim2, self.dim()));
  if (a == b || self.dim() < 2)
    return operator_error("found equal dims, expected two different ones");
  const int64_t down = offset < 0 ? (offset == INT64_MIN ? INT64_MAX : -offset) : 0;
  const int64_t right = std::max<int64_t>(offset, 0);
  const int64_t size = std::max<int64_t>(std::min(self.size(a) - std::min(down, self.size(a)),
                                                  self.size(b) - std::min(right, self.size(b))),
                                         0);
  // Moves down or right: one of both is 0.
  const int64_t start = size == 0 ? 0 : way(down, self.stride(a)) + way(right, self.stride(b));
  Sizes sizes;
  Sizes strides;
  for (int64_t i = 0; i < self.dim(); ++i) {
    if (i == a || i == b) continue;
    sizes.push_back(self.size(i));
    strides.push_back(self.stride(i));
  }
  sizes.push_back(size);
  // Strides that overflow belong to a diagonal of at most one element, so any stride is valid.
  int64_t step = 0;
  if (__builtin_add_overflow(self.stride(a), self.stride(b), &step)) step = 1;
  strides.push_back(step);
  return self.with_view(std::move(sizes), std::move(strides),
                        offset_behind(self.storage_offset(), start));
}

Result<Tensor> as_strided(const Tensor& self, const Sizes& size, const Sizes& stride,
                          std::optional<int64_t> storage_offset) {
  if (!self.defined()) return operator_error("found no storage to view");
  return Tensor::view_of(self.storage(), self.dtype(), size, stride,
                         storage_offset.value_or(self.storage_offset()));
}

Result<Sizes> flattened_sizes(const Tensor& self, int64_t start_dim, int64_t end_dim) {
  PT2_TRY(const int64_t first, wrap_dim(start_dim, self.dim()));
  PT2_TRY(const int64_t last, wrap_dim(end_dim, self.dim()));
  if (first > last)
    return operator_error("start_dim: found " + std::to_string(first) +
                          ", expected at most end_dim, " + std::to_string(last));
  if (self.dim() == 0) return Sizes{1};
  Sizes sizes(self.sizes().begin(), self.sizes().begin() + first);
  int64_t count = 1;
  for (int64_t i = first; i <= last; ++i) count *= self.size(i);
  sizes.push_back(count);
  sizes.insert(sizes.end(), self.sizes().begin() + last + 1, self.sizes().end());
  return sizes;
}

Result<Tensor> flatten(const Tensor& self, int64_t start_dim, int64_t end_dim) {
  PT2_TRY(const Sizes sizes, flattened_sizes(self, start_dim, end_dim));
  return sizes == self.sizes() ? self : reshape(self, sizes);
}

Result<Tensor> movedim(const Tensor& self, const std::vector<int64_t>& source,
                       const std::vector<int64_t>& destination) {
  if (source.size() != destination.size())
    return operator_error("found " + std::to_string(source.size()) + " sources and " +
                          std::to_string(destination.size()) + " destinations, expected as many");
  PT2_TRY(const auto from, wrap_distinct_dims(source, self.dim()));
  PT2_TRY(const auto to, wrap_distinct_dims(destination, self.dim()));
  if (self.dim() == 0) return self;
  std::vector<int64_t> order(self.sizes().size(), -1);
  for (size_t i = 0; i < from.size(); ++i) order[static_cast<size_t>(to[i])] = from[i];
  int64_t rest = 0;
  for (int64_t& dim : order) {
    if (dim >= 0) continue;
    while (std::ranges::count(from, rest) > 0) ++rest;
    dim = rest++;
  }
  return permute(self, order);
}

Result<Tensor> unfold(const Tensor& self, int64_t dimension, int64_t size, int64_t step) {
  PT2_TRY(const int64_t at, wrap_dim(dimension, self.dim()));
  const int64_t length = self.dim() == 0 ? 1 : self.size(at);
  if (size < 0 || size > length)
    return operator_error("found size " + std::to_string(size) + ", expected at most " +
                          std::to_string(length));
  if (step <= 0)
    return operator_error("found step " + std::to_string(step) + ", expected 1 or more");
  Sizes sizes = self.sizes();
  Sizes strides = self.strides();
  if (self.dim() == 0) return self.with_view({size}, {1}, self.storage_offset());
  const int64_t stride = self.stride(at);
  sizes[static_cast<size_t>(at)] = (length - size) / step + 1;
  strides[static_cast<size_t>(at)] = stride * std::min(step, std::max<int64_t>(length, 1));
  sizes.push_back(size);
  strides.push_back(stride);
  if (!checked_numel(sizes))
    return operator_error("sizes " + sizes_text(sizes) + " exceed 64 bits");
  return self.with_view(std::move(sizes), std::move(strides), self.storage_offset());
}

// --- Views that split a tensor

Result<std::vector<Tensor>> split_with_sizes(const Tensor& self, const std::vector<int64_t>& sizes,
                                             int64_t dim) {
  PT2_TRY(const int64_t at, wrap_existing_dim(dim, self));
  PT2_TRY_VOID(check_pieces(std::ssize(sizes), self.dim()));
  std::vector<Tensor> out;
  int64_t start = 0;
  for (int64_t size : sizes) {
    if (size < 0 || size > self.size(at) - start)
      return operator_error("split sizes " + sizes_text(sizes) + " do not sum to size " +
                            std::to_string(self.size(at)) + " of dim " + std::to_string(at));
    PT2_TRY(Tensor piece, slice(self, at, start, start + size, 1));
    out.push_back(std::move(piece));
    start += size;
  }
  if (start != self.size(at))
    return operator_error("split sizes sum to " + std::to_string(start) + ", expected " +
                          std::to_string(self.size(at)));
  return out;
}

Result<std::vector<Tensor>> split(const Tensor& self, int64_t split_size, int64_t dim) {
  PT2_TRY(const int64_t at, wrap_existing_dim(dim, self));
  const int64_t size = self.size(at);
  if (split_size < 0 || (split_size == 0 && size != 0))
    return operator_error("found split_size " + std::to_string(split_size) +
                          ", expected 1 or more");
  if (split_size == 0) return std::vector<Tensor>{self};
  PT2_TRY_VOID(check_pieces(size / split_size, self.dim()));
  std::vector<Tensor> out;
  for (int64_t start = 0; start == 0 || start < size; start += split_size) {
    PT2_TRY(Tensor piece, slice(self, at, start, start + std::min(split_size, size - start), 1));
    out.push_back(std::move(piece));
    if (split_size >= size - start) break;
  }
  return out;
}

namespace {

// --- Operators that are these functions under another signature

Result<Tensor> unsafe_view(const Tensor& self, const Sizes& size) { return view(self, size); }
Result<Meta> unsafe_view_meta(const Tensor& self, const Sizes& size) {
  PT2_TRY(const Tensor out, view(self, size));
  return Meta(out.dtype(), out.sizes(), out.strides());
}
Result<Tensor> reshape_alias(Emitter& e, const Tensor& self, const Sizes& size,
                             const Sizes& stride) {
  return e(aten<"as_strided.default">, {self, size, stride});
}

Result<Tensor> t(const Tensor& self) {
  if (self.dim() > 2)
    return operator_error("found rank " + std::to_string(self.dim()) + ", expected at most 2");
  return self.dim() < 2 ? Result<Tensor>(self) : transpose(self, 0, 1);
}
Tensor squeeze(const Tensor& self) {
  return squeeze_where(self, [](int64_t) { return true; });
}
Result<Tensor> squeeze_dim(const Tensor& self, int64_t dim) {
  PT2_TRY(const int64_t at, wrap_dim(dim, self.dim()));
  return squeeze_where(self, [at](int64_t i) { return i == at; });
}
Result<Tensor> squeeze_dims(const Tensor& self, const std::vector<int64_t>& dims) {
  PT2_TRY(const auto at, wrap_distinct_dims(dims, self.dim()));
  return squeeze_where(self, [&](int64_t i) { return std::ranges::count(at, i) > 0; });
}

Result<std::vector<Tensor>> unbind(const Tensor& self, int64_t dim) {
  PT2_TRY(const int64_t at, wrap_existing_dim(dim, self));
  PT2_TRY_VOID(check_pieces(self.size(at), self.dim()));
  std::vector<Tensor> out;
  for (int64_t i = 0; i < self.size(at); ++i) {
    PT2_TRY(Tensor piece, select(self, at, i));
    out.push_back(std::move(piece));
  }
  return out;
}

Result<Meta> as_strided_meta(const Tensor& self, const Sizes& size, const Sizes&,
                             std::optional<int64_t>) {
  return Meta(self.dtype(), size);
}

// --- Formulas that emit views with the sizes of the functions above

Result<Tensor> flatten_formula(Emitter& e, const Tensor& self, int64_t start_dim, int64_t end_dim) {
  PT2_TRY(const Sizes sizes, flattened_sizes(self, start_dim, end_dim));
  if (sizes == self.sizes()) return self;
  return self.dim() == 0 ? e(aten<"view.default">, {self, sizes})
                         : e(aten<"reshape.default">, {self, sizes});
}
Result<Tensor> unflatten(Emitter& e, const Tensor& self, int64_t dim, const Sizes& sizes) {
  PT2_TRY(const int64_t at, wrap_existing_dim(dim, self));
  if (sizes.empty()) return operator_error("sizes: found none, expected one or more");
  PT2_TRY(const Sizes inner, infer_sizes(sizes, self.size(at)));
  Sizes out = self.sizes();
  out.erase(out.begin() + at);
  out.insert(out.begin() + at, inner.begin(), inner.end());
  return e(aten<"view.default">, {self, out});
}
// The operator Of with the sizes of another tensor.
template <Handle Of>
Result<Tensor> sized_as(Emitter& e, const Tensor& self, const Tensor& other) {
  return e(Of, {self, other.sizes()});
}
Result<Tensor> broadcast_to_size(Emitter& e, const Tensor& self, const Sizes& size) {
  return e(aten<"expand.default">, {self, size});
}
Result<Tensors> broadcast_tensors(Emitter& e, const Tensors& tensors) {
  std::vector<Sizes> sizes;
  for (const Tensor& tensor : tensors) sizes.push_back(tensor.sizes());
  PT2_TRY(const Sizes common, broadcast_sizes(sizes));
  PT2_TRY_VOID(check_pieces(std::ssize(tensors), std::ssize(common)));
  Tensors out;
  for (const Tensor& tensor : tensors) {
    PT2_TRY(Tensor view, e(aten<"expand.default">, {tensor, common}));
    out.push_back(std::move(view));
  }
  return out;
}
Result<Tensor> swap_formula(Emitter& e, const Tensor& self, int64_t dim0, int64_t dim1) {
  PT2_TRY(const int64_t a, wrap_dim(dim0, self.dim()));
  PT2_TRY(const int64_t b, wrap_dim(dim1, self.dim()));
  if (a == b) return self;
  Sizes order(self.sizes().size());
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[static_cast<size_t>(a)], order[static_cast<size_t>(b)]);
  return e(aten<"permute.default">, {self, order});
}
Result<Tensor> numpy_t(Emitter& e, const Tensor& self) {
  Sizes order(self.sizes().size());
  std::iota(order.rbegin(), order.rend(), 0);
  return e(aten<"permute.default">, {self, order});
}
Result<Tensor> matrix_t(Emitter& e, const Tensor& self) {
  if (self.dim() == 1) return operator_error("found rank 1, expected 0 or at least 2");
  return self.dim() == 0 ? Result<Tensor>(self) : swap_formula(e, self, -2, -1);
}
Result<Tensor> movedim_formula(Emitter& e, const Tensor& self, const std::vector<int64_t>& source,
                               const std::vector<int64_t>& destination) {
  // Distinct strides identify the dims after the move.
  Sizes numbers(self.sizes().size());
  std::iota(numbers.begin(), numbers.end(), 0);
  PT2_TRY(
      const Tensor moved,
      movedim(
          Tensor::without_elements(self.dtype(), self.sizes()).with_view(self.sizes(), numbers, 0),
          source, destination));
  return self.dim() == 0 ? Result<Tensor>(self)
                         : e(aten<"permute.default">, {self, moved.strides()});
}
Result<Tensor> movedim_int(Emitter& e, const Tensor& self, int64_t source, int64_t destination) {
  return movedim_formula(e, self, std::vector{source}, std::vector{destination});
}
Result<Tensor> narrow_formula(Emitter& e, const Tensor& self, int64_t dim, int64_t start,
                              int64_t length) {
  PT2_TRY_VOID(narrow(self, dim, start, length));
  PT2_TRY(const int64_t at, wrap_existing_dim(dim, self));
  const int64_t first = start < 0 ? start + self.size(at) : start;
  return e(aten<"slice.Tensor">, {self, at, first, first + length});
}
// ATen/native/TensorShape.cpp chunk.
Result<Tensors> chunk(Emitter& e, const Tensor& self, int64_t chunks, int64_t dim) {
  if (chunks <= 0)
    return operator_error("found " + std::to_string(chunks) + " chunks, expected 1 or more");
  PT2_TRY(const int64_t at, wrap_existing_dim(dim, self));
  const int64_t size = self.size(at);
  // The length of the pieces suffices for a size that is not fixed. It would not say how many
  // pieces no elements give.
  if (size > 0)
    return e.pieces(aten<"split.Tensor">, {self, size / chunks + (size % chunks != 0 ? 1 : 0), at});
  PT2_TRY_VOID(check_pieces(chunks, self.dim()));
  return e.pieces(aten<"split_with_sizes.default">,
                  {self, Sizes(static_cast<size_t>(chunks), 0), at});
}
// The first size % sections pieces have one element more.
Result<Tensors> tensor_split(Emitter& e, const Tensor& self, int64_t sections, int64_t dim) {
  PT2_TRY(const int64_t at, wrap_existing_dim(dim, self));
  if (sections <= 0)
    return operator_error("found " + std::to_string(sections) + " sections, expected 1 or more");
  PT2_TRY_VOID(check_pieces(sections, self.dim()));
  const int64_t size = self.size(at);
  Sizes sizes;
  for (int64_t i = 0; i < sections; ++i)
    sizes.push_back(size / sections + (i < size % sections ? 1 : 0));
  return e.pieces(aten<"split_with_sizes.default">, {self, sizes, at});
}
Result<Tensors> tensor_split_indices(Emitter& e, const Tensor& self,
                                     const std::vector<int64_t>& indices, int64_t dim) {
  PT2_TRY(const int64_t at, wrap_existing_dim(dim, self));
  PT2_TRY_VOID(check_pieces(std::ssize(indices), self.dim()));
  Tensors out;
  int64_t start = 0;
  for (size_t i = 0; i <= indices.size(); ++i) {
    const int64_t end = i < indices.size() ? indices[i] : self.size(at);
    PT2_TRY(Tensor piece, e(aten<"slice.Tensor">, {self, at, start, end}));
    out.push_back(std::move(piece));
    start = end;
  }
  return out;
}
// Splits along the dim that hsplit, vsplit and dsplit use, which need at least `Rank` dims.
template <int64_t Rank>
Result<Tensors> split_evenly(Emitter& e, const Tensor& self, int64_t sections) {
  if (self.dim() < Rank)
    return operator_error("found rank " + std::to_string(self.dim()) + ", expected " +
                          std::to_string(Rank) + " or more");
  const int64_t dim = Rank == 2 || self.dim() == 1 ? 0 : Rank == 1 ? 1 : 2;
  if (sections <= 0 || self.size(dim) % sections != 0)
    return operator_error("found " + std::to_string(sections) +
                          " sections, expected a divisor of size " +
                          std::to_string(self.size(dim)));
  return tensor_split(e, self, sections, dim);
}
template <int64_t Rank>
Result<Tensor> atleast(Emitter& e, const Tensor& self) {
  if (self.dim() == 0) return e(aten<"reshape.default">, {self, Sizes(Rank, 1)});
  Result<Tensor> out = self;
  if (Rank >= 2 && self.dim() == 1) out = e(aten<"unsqueeze.default">, {out, 0});
  if (Rank == 3 && self.dim() <= 2) out = e(aten<"unsqueeze.default">, {out, -1});
  return out;
}

// A view of self if possible, else a view of a copy.
Result<Tensor> reshape_formula(Emitter& e, const Tensor& self, const Sizes& shape) {
  PT2_TRY(const Sizes sizes, infer_sizes(shape, self.numel()));
  if (!e.strides_vary() && view_strides(self, sizes)) return e(aten<"view.default">, {self, shape});
  return e(aten<"view.default">,
           {e(aten<"clone.default">, {self, MemoryFormat::contiguous}), shape});
}

// Operators such as squeeze_ change self's sizes and strides. Here they return the view, and the
// executor replaces self by it.
constexpr OpDef kViewOps[] = {
    op<"aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)", view>.with({.inverse = Inverse::reshape, .slope = Slope::linear}),
    composed<"aten::_unsafe_view(Tensor self, SymInt[] size) -> Tensor", unsafe_view_meta, unsafe_view>.with({.sharing = Sharing::always, .inverse = Inverse::reshape, .slope = Slope::linear}),
    kept<"aten::_reshape_alias(Tensor(a) self, SymInt[] size, SymInt[] stride) -> Tensor(a)", reshape_alias>.with({.inverse = Inverse::reshape, .slope = Slope::linear}),
    op<"aten::reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)", reshape, reshape_formula>.with({.sharing = Sharing::where_strides_allow, .slope = Slope::linear}),
    op<"aten::view_as(Tensor(a) self, Tensor other) -> Tensor(a)", sized_as<aten<"view.default">>>.with({.inverse = Inverse::reshape, .slope = Slope::linear, .looks_at_sizes_alone = true}),
    op<"aten::reshape_as(Tensor(a) self, Tensor other) -> Tensor(a)", sized_as<aten<"reshape.default">>>.with({.sharing = Sharing::where_strides_allow, .slope = Slope::linear, .looks_at_sizes_alone = true}),
    op<"aten::expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)", expand>.with({.inverse = Inverse::expand, .slope = Slope::linear}),
    op<"aten::expand_as(Tensor(a) self, Tensor other) -> Tensor(a)", sized_as<aten<"expand.default">>>.with({.inverse = Inverse::expand, .slope = Slope::linear, .looks_at_sizes_alone = true}),
    op<"aten::broadcast_to(Tensor(a) self, SymInt[] size) -> Tensor(a)", broadcast_to_size>.with({.inverse = Inverse::expand, .slope = Slope::linear}),
    op<"aten::broadcast_tensors(Tensor[] tensors) -> Tensor[]", broadcast_tensors>.with({.sharing = Sharing::possibly, .slope = Slope::linear, .linear_in = "tensors", .looks_at_sizes_alone = true}),
    op<"aten::permute(Tensor(a) self, int[] dims) -> Tensor(a)", permute>.with({.inverse = Inverse::permute, .slope = Slope::linear}),
    op<"aten::transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)", transpose>.with({.inverse = Inverse::repeat, .slope = Slope::linear}),
    op<"aten::swapaxes(Tensor(a) self, int axis0, int axis1) -> Tensor(a)", transpose, swap_formula>.with({.inverse = Inverse::repeat, .slope = Slope::linear}),
    op<"aten::swapdims(Tensor(a) self, int dim0, int dim1) -> Tensor(a)", transpose, swap_formula>.with({.inverse = Inverse::repeat, .slope = Slope::linear}),
    op<"aten::t(Tensor(a) self) -> Tensor(a)", t>.with({.inverse = Inverse::repeat, .slope = Slope::linear}),
    op<"aten::numpy_T(Tensor(a) self) -> Tensor(a)", numpy_t>.with({.inverse = Inverse::repeat, .slope = Slope::linear}),
    op<"aten::mT(Tensor(a) self) -> Tensor(a)", matrix_t>.with({.inverse = Inverse::repeat, .slope = Slope::linear}),
    op<"aten::movedim.int(Tensor(a) self, int source, int destination) -> Tensor(a)", movedim_int>.with({.inverse = Inverse::move, .slope = Slope::linear}),
    op<"aten::movedim.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)", movedim, movedim_formula>.with({.inverse = Inverse::move, .slope = Slope::linear}),
    op<"aten::moveaxis.int(Tensor(a) self, int source, int destination) -> Tensor(a)", movedim_int>.with({.inverse = Inverse::move, .slope = Slope::linear}),
    op<"aten::moveaxis.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)", movedim, movedim_formula>.with({.inverse = Inverse::move, .slope = Slope::linear}),
    op<"aten::squeeze(Tensor(a) self) -> Tensor(a)", squeeze>.with({.inverse = Inverse::reshape, .slope = Slope::linear}),
    op<"aten::squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)", squeeze_dim>.with({.inverse = Inverse::reshape, .slope = Slope::linear}),
    op<"aten::squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)", squeeze_dims>.with({.inverse = Inverse::reshape, .slope = Slope::linear}),
    op<"aten::unsqueeze(Tensor(a) self, int dim) -> Tensor(a)", unsqueeze>.with({.inverse = Inverse::reshape, .slope = Slope::linear}),
    op<"aten::select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)", select>.with({.inverse = Inverse::scatter, .scatter = "select_scatter", .slope = Slope::linear}),
    op<"aten::slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor(a)", slice>.with({.inverse = Inverse::scatter, .scatter = "slice_scatter", .slope = Slope::linear}),
    op<"aten::narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> Tensor(a)", narrow, narrow_formula>.with({.inverse = Inverse::narrow, .slope = Slope::linear}),
    op<"aten::diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)", diagonal>.with({.inverse = Inverse::scatter, .scatter = "diagonal_scatter", .slope = Slope::linear}),
    composed<"aten::as_strided(Tensor(a) self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor(a)", as_strided_meta, as_strided>.with({.sharing = Sharing::possibly, .slope = Slope::linear, .looks_at_strides = true}),
    op<"aten::flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)", flatten, flatten_formula>.with({.sharing = Sharing::where_strides_allow, .slope = Slope::linear}),
    op<"aten::unflatten.int(Tensor(a) self, int dim, SymInt[] sizes) -> Tensor(a)", unflatten>.with({.inverse = Inverse::reshape, .slope = Slope::linear}),
    op<"aten::unfold(Tensor(a) self, int dimension, int size, int step) -> Tensor(a)", unfold>.with({.slope = Slope::linear}),
    op<"aten::split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]", split>.with({.inverse = Inverse::pieces, .slope = Slope::linear}),
    op<"aten::split.sizes(Tensor(a -> *) self, SymInt[] split_size, int dim=0) -> Tensor(a)[]", split_with_sizes>.with({.inverse = Inverse::pieces, .slope = Slope::linear, .same_as = "split_with_sizes.default"}),
    op<"aten::split_with_sizes(Tensor(a -> *) self, SymInt[] split_sizes, int dim=0) -> Tensor(a)[]", split_with_sizes>.with({.inverse = Inverse::pieces, .slope = Slope::linear}),
    op<"aten::chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]", chunk>.with({.inverse = Inverse::pieces, .slope = Slope::linear}),
    op<"aten::tensor_split.sections(Tensor(a -> *) self, SymInt sections, int dim=0) -> Tensor(a)[]", tensor_split>.with({.inverse = Inverse::pieces, .slope = Slope::linear}),
    op<"aten::tensor_split.indices(Tensor(a -> *) self, SymInt[] indices, int dim=0) -> Tensor(a)[]", tensor_split_indices>.with({.inverse = Inverse::pieces, .slope = Slope::linear}),
    op<"aten::hsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]", split_evenly<1>>.with({.slope = Slope::linear}),
    op<"aten::vsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]", split_evenly<2>>.with({.slope = Slope::linear}),
    op<"aten::dsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]", split_evenly<3>>.with({.slope = Slope::linear}),
    op<"aten::unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]", unbind>.with({.inverse = Inverse::unbind, .slope = Slope::linear}),
    composed<"aten::as_strided_(Tensor(a!) self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor(a!)", as_strided_meta, as_strided>.with({.looks_at_strides = true, .functional_form = "as_strided.default"}),
    op<"aten::squeeze_(Tensor(a!) self) -> Tensor(a!)", squeeze>.with({.looks_at_sizes_alone = true, .functional_form = "squeeze.default"}),
    op<"aten::squeeze_.dim(Tensor(a!) self, int dim) -> Tensor(a!)", squeeze_dim>.with({.looks_at_sizes_alone = true, .functional_form = "squeeze.dim"}),
    op<"aten::squeeze_.dims(Tensor(a!) self, int[] dim) -> Tensor(a!)", squeeze_dims>.with({.looks_at_sizes_alone = true, .functional_form = "squeeze.dims"}),
    op<"aten::t_(Tensor(a!) self) -> Tensor(a!)", t>.with({.looks_at_sizes_alone = true, .functional_form = "t.default"}),
    op<"aten::transpose_(Tensor(a!) self, int dim0, int dim1) -> Tensor(a!)", transpose>.with({.looks_at_sizes_alone = true, .functional_form = "transpose.int"}),
    op<"aten::swapaxes_(Tensor(a!) self, int axis0, int axis1) -> Tensor(a!)", transpose>.with({.looks_at_sizes_alone = true, .functional_form = "swapaxes.default", .same_as = "transpose_.default"}),
    op<"aten::unsqueeze_(Tensor(a!) self, int dim) -> Tensor(a!)", unsqueeze>.with({.looks_at_sizes_alone = true, .functional_form = "unsqueeze.default"}),
    op<"aten::atleast_1d(Tensor self) -> Tensor", atleast<1>>.with({.sharing = Sharing::possibly, .slope = Slope::linear}),
    op<"aten::atleast_2d(Tensor self) -> Tensor", atleast<2>>.with({.sharing = Sharing::possibly, .slope = Slope::linear}),
    op<"aten::atleast_3d(Tensor self) -> Tensor", atleast<3>>.with({.sharing = Sharing::possibly, .slope = Slope::linear}),
};
// clang-format on

}  // namespace

std::span<const OpDef> view_ops() { return kViewOps; }

}  // namespace pt2::ops
