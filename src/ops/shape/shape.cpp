// Concatenating, repeating, permuting and padding tensors.
#include <algorithm>
#include <numeric>

#include "base/strided_copy.h"
#include "ops/checks.h"
#include "ops/compose.h"
#include "ops/dense.h"
#include "ops/loops.h"
#include "ops/memory_format.h"
#include "ops/op_def.h"
#include "ops/pointwise/copying.h"
#include "ops/shape/pieces.h"
#include "ops/shape/positions.h"
#include "ops/shape/view.h"

namespace pt2::ops {
namespace {

// --- cat and stack

// A 1-D tensor without elements is skipped for any rank of the others.
bool is_skipped(const Tensor& tensor) { return tensor.dim() == 1 && tensor.size(0) == 0; }

Result<Meta> cat_meta(const Tensors& tensors, int64_t dim) {
  if (tensors.empty()) return operator_error("found no tensors, expected one or more");
  Promotion promotion;
  const Tensor* first = nullptr;
  for (const Tensor& tensor : tensors) {
    if (tensor.dim() == 0) return operator_error("found a 0-dim tensor, expected rank 1 or more");
    promotion.add(tensor);
    if (first == nullptr && !is_skipped(tensor)) first = &tensor;
  }
  if (first == nullptr) return Meta(promotion.result(), {0});  // for any dim
  PT2_TRY(const int64_t at, wrap_dim(dim, first->dim()));
  Sizes sizes = first->sizes();
  sizes[static_cast<size_t>(at)] = 0;
  MemoryFormat format = suggest_memory_format(*first);
  for (const Tensor& tensor : tensors) {
    // A skipped tensor counts here (ATen/native/TensorShape.cpp cat_compute_output_memory_format).
    if (suggest_memory_format(tensor) != format) format = MemoryFormat::contiguous;
    if (is_skipped(tensor)) continue;
    Sizes expected = sizes;
    if (tensor.dim() == first->dim()) expected[static_cast<size_t>(at)] = tensor.size(at);
    PT2_TRY_VOID(check_sizes(tensor, expected, "tensors"));
    if (__builtin_add_overflow(sizes[static_cast<size_t>(at)], tensor.size(at),
                               &sizes[static_cast<size_t>(at)]))
      return operator_error("the sizes to join exceed 64 bits");
  }
  Sizes strides = format_strides(sizes, format);
  return Meta(promotion.result(), std::move(sizes), std::move(strides));
}
Result<void> cat(Tensor& out, const Tensors& tensors, int64_t dim) {
  if (out.numel() == 0) return {};
  PT2_TRY(const int64_t at, wrap_dim(dim, out.dim()));
  int64_t start = 0;
  for (const Tensor& tensor : tensors) {
    if (is_skipped(tensor)) continue;
    PT2_TRY(Tensor target, slice(out, at, start, start + tensor.size(at), 1));
    copy_elements(target, tensor);
    start += tensor.size(at);
  }
  return {};
}

Result<Meta> stack_meta(const Tensors& tensors, int64_t dim) {
  if (tensors.empty()) return operator_error("found no tensors, expected one or more");
  Promotion promotion;
  for (const Tensor& tensor : tensors) {
    PT2_TRY_VOID(check_sizes(tensor, tensors[0].sizes(), "tensors"));
    promotion.add(tensor);
  }
  PT2_TRY(const int64_t at, wrap_dim(dim, tensors[0].dim() + 1));
  Sizes sizes = tensors[0].sizes();
  sizes.insert(sizes.begin() + at, static_cast<int64_t>(tensors.size()));
  if (at == tensors[0].dim()) return Meta(promotion.result(), std::move(sizes));
  // Except along the last dim, a stack is a concatenation whose dim is then split.
  PT2_TRY(Meta joined, cat_meta(tensors, at));
  if (!joined.strides.empty()) {
    const auto place = joined.strides.begin() + at;
    int64_t step = 0;
    if (__builtin_mul_overflow(tensors[0].size(at), *place, &step))
      return operator_error("the sizes to stack exceed 64 bits");
    joined.strides.insert(place, step);
  }
  return Meta(promotion.result(), std::move(sizes), std::move(joined.strides));
}
Result<void> stack(Tensor& out, const Tensors& tensors, int64_t dim) {
  PT2_TRY(const int64_t at, wrap_dim(dim, out.dim()));
  for (size_t i = 0; i < tensors.size(); ++i) {
    PT2_TRY(Tensor target, select(out, at, static_cast<int64_t>(i)));
    copy_elements(target, tensors[i]);
  }
  return {};
}

// --- Elements moved to other positions

Result<Meta> flip_meta(const Tensor& self, const std::vector<int64_t>& dims) {
  PT2_TRY_VOID(wrap_distinct_dims(dims, self.dim()));
  return meta_like(self, self.dtype(), std::nullopt);
}
Result<void> flip(Tensor& out, const Tensor& self, const std::vector<int64_t>& dims) {
  PT2_TRY(const auto flipped, wrap_distinct_dims(dims, self.dim()));
  if (self.numel() == 0) return {};
  const int64_t bytes = dtype_size(self.dtype());
  const std::byte* first = self.raw_data();
  Sizes strides = self.strides();
  if (self.dim() > 0)
    for (const int64_t dim : flipped) {
      int64_t& stride = strides[static_cast<size_t>(dim)];
      first += (self.size(dim) - 1) * stride * bytes;
      stride = -stride;
    }
  copy_strided(self.sizes(), static_cast<size_t>(bytes), first, strides, out.raw_data(),
               out.strides());
  return {};
}
Result<Meta> roll_meta(const Tensor& self, const std::vector<int64_t>& shifts,
                       const std::vector<int64_t>& dims) {
  const bool flat = dims.empty() && shifts.size() == 1;
  if (!flat && (shifts.empty() || shifts.size() != dims.size()))
    return operator_error("found " + std::to_string(shifts.size()) + " shifts and " +
                          std::to_string(dims.size()) + " dims, expected as many");
  if (!dims.empty() && self.dim() == 0)
    return operator_error("dims: found some for a 0-dim tensor, expected none");
  for (int64_t dim : dims) PT2_TRY_VOID(wrap_dim(dim, self.dim()));
  if (dims.empty()) return Meta::like(self);
  if (self.numel() == 0) return meta_like(self, self.dtype(), std::nullopt);
  // roll joins two parts (ATen/native/TensorTransformations.cpp roll), and an empty part has no
  // memory format of its own.
  Tensor joined = self;
  for (size_t i = 0; i < dims.size(); ++i) {
    PT2_TRY(const int64_t at, wrap_dim(dims[i], self.dim()));
    const int64_t size = self.size(at);
    const int64_t cut = (size - shifts[i] % size) % size;
    PT2_TRY(const Tensor head, slice(joined, at, cut, size, 1));
    PT2_TRY(const Tensor tail, slice(joined, at, 0, cut, 1));
    PT2_TRY(const Meta meta, cat_meta({head, tail}, at));
    joined = self.with_view(
        self.sizes(), meta.strides.empty() ? contiguous_strides(self.sizes()) : meta.strides, 0);
  }
  return Meta(self.dtype(), self.sizes(), joined.strides());
}
Result<void> roll(Tensor& out, const Tensor& self, const std::vector<int64_t>& shifts,
                  const std::vector<int64_t>& dims) {
  if (self.numel() == 0) return {};
  auto rotate = [](Positions& positions, int64_t shift) {
    const auto size = static_cast<int64_t>(positions.size());
    const int64_t right = ((shift % size) + size) % size;
    std::rotate(positions.begin(), positions.end() - right, positions.end());
  };
  if (dims.empty()) {
    PT2_TRY(const Tensor flat, reshape(self, {-1}));
    const Tensor flat_out = out.with_view(flat.sizes(), {1}, out.storage_offset());
    const int64_t size = flat.numel(), right = ((shifts[0] % size) + size) % size;
    const auto move = [&](int64_t from, int64_t to, int64_t count) -> Result<void> {
      PT2_TRY(Tensor target, narrow(flat_out, 0, to, count));
      PT2_TRY(const Tensor part, narrow(flat, 0, from, count));
      copy_elements(target, part);
      return {};
    };
    PT2_TRY_VOID(move(0, right, size - right));
    return move(size - right, 0, right);
  }
  auto positions = identity_positions(self.sizes());
  for (size_t i = 0; i < dims.size() && self.dim() > 0; ++i) {
    PT2_TRY(const int64_t at, wrap_dim(dims[i], self.dim()));
    rotate(positions[static_cast<size_t>(at)], shifts[i]);
  }
  take_positions(out, self, positions);
  return {};
}

Result<Tensor> rot90(Emitter& e, const Tensor& self, int64_t k, const std::vector<int64_t>& dims) {
  if (dims.size() != 2 || self.dim() < 2)
    return operator_error("found rank " + std::to_string(self.dim()) + " and " +
                          std::to_string(dims.size()) + " dims, expected 2 dims of 2 or more");
  PT2_TRY(const auto plane, wrap_distinct_dims(dims, self.dim()));
  const int64_t turns = ((k % 4) + 4) % 4;
  if (turns == 0) return e(aten<"clone.default">, {self, MemoryFormat::contiguous});
  if (turns == 2) return e(aten<"flip.default">, {self, plane});
  const auto flipped = e(aten<"flip.default">, {self, Sizes{plane[turns == 1 ? 1 : 0]}});
  return e(aten<"transpose.int">, {flipped, plane[0], plane[1]});
}

// --- Repetition

Result<Meta> repeat_meta(const Tensor& self, const Sizes& repeats) {
  if (repeats.size() < self.sizes().size())
    return operator_error("found " + std::to_string(repeats.size()) +
                          " repeats, expected at least " + std::to_string(self.dim()));
  Sizes sizes = repeats;
  const size_t lead = repeats.size() - self.sizes().size();
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (repeats[i] < 0)
      return operator_error("found a negative repeat in " + sizes_text(repeats) +
                            ", expected 0 or more");
    if (i >= lead && __builtin_mul_overflow(repeats[i], self.sizes()[i - lead], &sizes[i]))
      return operator_error("the repeated sizes exceed 64 bits");
  }
  return Meta(self.dtype(), std::move(sizes));
}
// Views the result as pairs of dimensions (repeat, size) and broadcasts self into it.
void repeat(Tensor& out, const Tensor& self, const Sizes& repeats) {
  if (out.numel() == 0) return;  // without elements, nothing bounds the sizes below
  Sizes pairs;
  Sizes source_sizes;
  const size_t lead = repeats.size() - self.sizes().size();
  for (size_t i = 0; i < repeats.size(); ++i) {
    const int64_t size = i < lead ? 1 : self.sizes()[i - lead];
    pairs.insert(pairs.end(), {repeats[i], size});
    source_sizes.insert(source_sizes.end(), {1, size});
  }
  Tensor target = out.with_view(pairs, contiguous_strides(pairs), out.storage_offset());
  copy_elements(target, *view(self, source_sizes));
}
using OptionalInt = std::optional<int64_t>;

Result<void> check_repeats(const Tensor& repeats) {
  if (dtype_category(repeats.dtype()) == DtypeCategory::integer) return {};
  return operator_error("repeats: found " + std::string(dtype_name(repeats.dtype())) +
                        ", expected integers");
}
// Returns the positions 0, 0, 1, 1, 1, … for repeats 2, 3, ….
Result<Tensor> repeat_interleave_positions(const Tensor& repeats, OptionalInt output_size) {
  PT2_TRY_VOID(check_rank(repeats, 1, "repeats"));
  PT2_TRY_VOID(check_repeats(repeats));
  const Input<int64_t> counts(repeats);
  int64_t total = 0;
  for (int64_t i = 0; i < counts.size(); ++i)
    if (counts[i] < 0 || __builtin_add_overflow(total, counts[i], &total))
      return operator_error("found repeat " + std::to_string(counts[i]) + ", expected 0 or more");
  if (output_size && *output_size != total)
    return operator_error("found output_size " + std::to_string(*output_size) + ", expected " +
                          std::to_string(total));
  PT2_TRY(Tensor out, allocate({repeats.dtype(), {total}}));
  Output<int64_t> positions(out);
  int64_t* next = positions.data();
  for (int64_t i = 0; i < counts.size(); ++i) next = std::fill_n(next, counts[i], i);
  return out;
}
Result<Meta> repeat_interleave_meta(const Tensor& repeats, OptionalInt output_size) {
  if (!output_size) return Error{ErrorCode::unsupported, "the result depends on elements", ""};
  return Meta(repeats.dtype(), {*output_size});
}

// --- Scatters: copies of self in which a view is replaced

// Returns a copy with self's strides and offset. It includes the elements in the gaps, so that
// as_strided sees the same elements (ATen/native/TensorShape.cpp clone_preserve_strides).
Result<Tensor> clone_with_gaps(const Tensor& self) {
  if (has_internal_overlap(self)) return copy_as(self, self.dtype(), std::nullopt);
  const auto places = static_cast<int64_t>(self.storage()->size()) / dtype_size(self.dtype());
  const Tensor all = self.with_view({places}, {1}, 0);
  PT2_TRY(const Tensor copied, copy_as(all, self.dtype(), MemoryFormat::contiguous));
  return copied.with_view(self.sizes(), self.strides(), self.storage_offset());
}

// Replaces the view that the function View makes of the copy with these arguments.
template <auto View, class... A>
Result<Tensor> with_replaced(const Tensor& self, const Tensor& src, const A&... arguments) {
  PT2_TRY(Tensor out, clone_with_gaps(self));
  PT2_TRY(Tensor target, View(out, arguments...));
  PT2_TRY_VOID(check_sizes(src, target.sizes(), "src"));
  if (has_internal_overlap(target))
    return operator_error("several elements to be written lie at one place in memory");
  copy_elements(target, src);
  return out;
}

// --- Diagonals, grids, channels

Result<Meta> diag_embed_meta(const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2) {
  if (self.dim() == 0) return operator_error("found a 0-dim tensor, expected rank 1 or more");
  PT2_TRY(const auto plane, wrap_distinct_dims({dim1, dim2}, self.dim() + 1));
  int64_t size = 0;
  if (offset == INT64_MIN || __builtin_add_overflow(self.sizes().back(), std::abs(offset), &size))
    return operator_error("found offset " + std::to_string(offset) + ", which exceeds 64 bits");
  Sizes sizes(self.sizes().begin(), self.sizes().end() - 1);
  sizes.insert(sizes.begin() + std::min(plane[0], plane[1]), size);
  sizes.insert(sizes.begin() + std::max(plane[0], plane[1]), size);
  return Meta(self.dtype(), std::move(sizes));
}
Result<void> diag_embed(Tensor& out, const Tensor& self, int64_t offset, int64_t dim1,
                        int64_t dim2) {
  PT2_TRY(Tensor target, diagonal(out, offset, dim1, dim2));
  copy_elements(target, self);
  return {};
}
// The memory format is kept if there are elements (ATen/native/cpu/PixelShuffleKernel.cpp).
Meta pixel_meta(const Tensor& self, const Sizes& sizes) {
  if (self.numel() == 0) return Meta(self.dtype(), sizes);
  return Meta(self.dtype(), sizes, format_strides(sizes, suggest_memory_format(self)));
}
// The last three dims are an image; the dims before them are the batch.
Result<Meta> pixel_shuffle_meta(const Tensor& self, int64_t factor) {
  PT2_TRY_VOID(check_rank_at_least(self, 3, "self"));
  if (factor <= 0)
    return operator_error("found factor " + std::to_string(factor) + ", expected 1 or more");
  PT2_TRY(const int64_t square, multiply_add(factor, factor));
  Sizes sizes = self.sizes();
  int64_t& channels = sizes[sizes.size() - 3];
  if (channels % square != 0)
    return operator_error("found " + std::to_string(channels) +
                          " channels, expected a multiple of " + std::to_string(square));
  channels /= square;
  for (const size_t dim : {sizes.size() - 2, sizes.size() - 1}) {
    PT2_TRY(sizes[dim], multiply_add(sizes[dim], factor));
  }
  return pixel_meta(self, sizes);
}
Result<Meta> pixel_unshuffle_meta(const Tensor& self, int64_t factor) {
  PT2_TRY_VOID(check_rank_at_least(self, 3, "self"));
  Sizes sizes = self.sizes();
  const size_t batch = sizes.size() - 3;
  int64_t& height = sizes[batch + 1];
  int64_t& width = sizes[batch + 2];
  if (factor <= 0 || height % factor != 0 || width % factor != 0)
    return operator_error("found factor " + std::to_string(factor) + ", expected a divisor of " +
                          sizes_text(self.sizes()));
  PT2_TRY(const int64_t square, multiply_add(factor, factor));
  PT2_TRY(sizes[batch], multiply_add(sizes[batch], square));
  height /= factor;
  width /= factor;
  return pixel_meta(self, sizes);
}
// Images [..., C, H * factor, W * factor] have the pixels of images [..., C * factor^2, H, W]: each
// pixel [..., c, y, i, x, j] is pixel [..., c, i, j, y, x] there. `Grows` if the former are wanted.
template <bool Grows>
Result<void> shuffle_pixels(Tensor& out, const Tensor& self, int64_t factor) {
  const Tensor& large = Grows ? out : self;
  const Tensor& small = Grows ? self : out;
  const int64_t batch = self.dim() - 3, channels = large.size(batch);
  const int64_t height = small.size(batch + 1), width = small.size(batch + 2);
  Sizes large_sizes(self.sizes().begin(), self.sizes().begin() + batch);
  Sizes small_sizes = large_sizes;
  large_sizes.insert(large_sizes.end(), {channels, height, factor, width, factor});
  small_sizes.insert(small_sizes.end(), {channels, factor, factor, height, width});
  std::vector<int64_t> order(static_cast<size_t>(batch));
  std::iota(order.begin(), order.end(), 0);
  order.insert(order.end(), {batch, batch + 2, batch + 4, batch + 1, batch + 3});
  PT2_TRY(const Tensor split, view(large, large_sizes));
  PT2_TRY(Tensor pixels, permute(split, order));
  PT2_TRY(Tensor places, view(small, small_sizes));
  if (Grows)
    copy_elements(pixels, places);
  else
    copy_elements(places, pixels);
  return {};
}

// --- Formulas

template <int64_t Rank>
Result<Tensor> stack_along(Emitter& e, const Tensors& tensors) {
  if (tensors.empty()) return operator_error("found no tensors, expected one or more");
  constexpr Handle kGrow[] = {aten<"atleast_1d.default">, aten<"atleast_2d.default">,
                              aten<"atleast_3d.default">};
  Tensors parts;
  for (const Tensor& tensor : tensors) {
    PT2_TRY(Tensor part, e(kGrow[Rank - 1], {tensor}));
    parts.push_back(std::move(part));
  }
  constexpr int64_t kDims[] = {1, 0, 2};
  const int64_t dim = Rank == 1 && parts[0].dim() == 1 ? 0 : kDims[Rank - 1];
  return e(aten<"cat.default">, {parts, dim});
}
// Concatenates columns: a vector is one column.
Result<Tensor> column_stack(Emitter& e, const Tensors& tensors) {
  Tensors parts = tensors;
  for (Tensor& part : parts)
    if (part.dim() < 2) {
      PT2_TRY(part, e(aten<"reshape.default">, {part, Sizes{part.numel(), 1}}));
    }
  return e(aten<"hstack.default">, {parts});
}
Result<Tensor> tile_formula(Emitter& e, const Tensor& self, const Sizes& dims) {
  Sizes repeats = dims;
  while (repeats.size() < self.sizes().size()) repeats.insert(repeats.begin(), 1);
  return e(aten<"repeat.default">, {self, repeats});
}
Result<Tensor> fliplr(Emitter& e, const Tensor& self) {
  if (self.dim() < 2)
    return operator_error("found rank " + std::to_string(self.dim()) + ", expected at least 2");
  return e(aten<"flip.default">, {self, Sizes{1}});
}
Result<Tensor> flipud(Emitter& e, const Tensor& self) {
  if (self.dim() < 1) return operator_error("found a 0-dim tensor, expected at least rank 1");
  return e(aten<"flip.default">, {self, Sizes{0}});
}

Result<Tensor> channel_shuffle(Emitter& e, const Tensor& self, int64_t groups) {
  PT2_TRY(Tensor out, e(aten<"native_channel_shuffle.default">, {self, groups}));
  return self.numel() == 0 ? self : out;
}

// ATen/native/TensorShape.cpp diag.
Result<Tensor> diag(Emitter& e, const Tensor& self, int64_t diagonal) {
  if (self.dim() == 1) return e(aten<"diag_embed.default">, {self, diagonal});
  PT2_TRY_VOID(check_rank(self, 2, "self"));
  return e(aten<"diagonal_copy.default">, {self, diagonal});
}

// ATen/native/TensorShape.cpp meshgrid.
Result<Tensors> meshgrid_indexing(Emitter& e, const Tensors& tensors, const std::string& indexing) {
  if (indexing != "ij" && indexing != "xy")
    return operator_error("found indexing '" + indexing + "', expected 'ij' or 'xy'");
  if (tensors.empty()) return operator_error("found no tensors, expected one or more");
  PT2_TRY_VOID(check_pieces(std::ssize(tensors), std::ssize(tensors)));
  Tensors lines = tensors;
  const bool swaps = indexing == "xy" && lines.size() > 1;
  if (swaps) std::swap(lines[0], lines[1]);
  Sizes sizes;
  for (const Tensor& line : lines) {
    if (line.dim() > 1)
      return operator_error("found rank " + std::to_string(line.dim()) + ", expected 0 or 1");
    if (line.dtype() != lines[0].dtype())
      return operator_error("tensors: found " + std::string(dtype_name(line.dtype())) + " and " +
                            std::string(dtype_name(lines[0].dtype())) + ", expected one dtype");
    sizes.push_back(line.numel());
  }
  for (size_t i = 0; i < lines.size(); ++i) {
    Sizes own(lines.size(), 1);
    own[i] = -1;
    PT2_TRY(lines[i], e(aten<"expand.default">, {e(aten<"view.default">, {lines[i], own}), sizes}));
  }
  if (swaps) std::swap(lines[0], lines[1]);
  return lines;
}
Result<Tensors> meshgrid(Emitter& e, const Tensors& tensors) {
  return meshgrid_indexing(e, tensors, "ij");
}

// ATen/native/Repeat.cpp repeat_interleave.
Result<Tensor> repeat_interleave_int(Emitter& e, const Tensor& self, int64_t repeats,
                                     OptionalInt dim, OptionalInt output_size) {
  PT2_TRY(Tensor input, dim ? Result<Tensor>(self) : e(aten<"flatten.using_ints">, {self}));
  PT2_TRY(const int64_t at, wrap_existing_dim(dim.value_or(0), input));
  if (repeats < 0)
    return operator_error("found repeat " + std::to_string(repeats) + ", expected 0 or more");
  PT2_TRY(const int64_t length, multiply_add(repeats, input.size(at)));
  if (output_size && *output_size != length)
    return operator_error("found output_size " + std::to_string(*output_size) + ", expected " +
                          std::to_string(length));
  Sizes sizes = input.sizes();
  sizes.insert(sizes.begin() + at + 1, repeats);
  PT2_TRY(input, e(aten<"expand.default">, {e(aten<"unsqueeze.default">, {input, at + 1}), sizes}));
  PT2_TRY(input, e(aten<"clone.default">, {input, MemoryFormat::contiguous}));
  return e(aten<"flatten.using_ints">, {input, at, at + 1});
}
Result<Tensor> repeat_interleave_tensor(Emitter& e, const Tensor& self, const Tensor& repeats,
                                        OptionalInt dim, OptionalInt output_size) {
  PT2_TRY(const Tensor input, dim ? Result<Tensor>(self) : e(aten<"flatten.using_ints">, {self}));
  PT2_TRY(const int64_t at, wrap_existing_dim(dim.value_or(0), input));
  PT2_TRY_VOID(check_repeats(repeats));
  Tensor counts = repeats;
  if (repeats.dim() == 0 || (repeats.dim() == 1 && repeats.size(0) == 1)) {
    PT2_TRY(counts, e(aten<"expand.default">,
                      {e(aten<"reshape.default">, {repeats, Sizes{1}}), Sizes{input.size(at)}}));
  } else {
    PT2_TRY_VOID(check_sizes(repeats, {input.size(at)}, "repeats"));
  }
  // repeat_interleave returns the dtype of the counts, but an index must be int32 or int64.
  if (counts.dtype() != Dtype::int64 && counts.dtype() != Dtype::int32) {
    PT2_TRY(counts, e(aten<"_to_copy.default">, {counts, Dtype::int64}));
  }
  return e(aten<"index_select.default">,
           {input, at, e(aten<"repeat_interleave.Tensor">, {counts, output_size})});
}

// ATen/native/ReduceOps.cpp diff.
Result<Tensor> diff(Emitter& e, const Tensor& self, int64_t n, int64_t dim,
                    const OptionalTensor& prepend, const OptionalTensor& append) {
  if (self.dim() == 0) return operator_error("found a 0-dim tensor, expected rank 1 or more");
  if (n < 0) return operator_error("found order " + std::to_string(n) + ", expected 0 or more");
  PT2_TRY(const int64_t at, wrap_dim(dim, self.dim()));
  if (n == 0) return e(aten<"clone.default">, {self});
  Tensors parts{self};
  if (prepend) parts.insert(parts.begin(), *prepend);
  if (append) parts.push_back(*append);
  PT2_TRY(Tensor out,
          parts.size() == 1 ? Result<Tensor>(self) : e(aten<"cat.default">, {parts, at}));
  const int64_t steps = std::min(n, out.size(at));
  if (out.numel() == 0 || steps == 0)
    return e(aten<"clone.default">,
             {e(aten<"narrow.default">, {out, at, 0, out.size(at) - steps})});
  constexpr int64_t kMaxSubtractions = 4'000'000'000;
  if (steps > kMaxSubtractions / out.numel())
    return Error{ErrorCode::limit, "n: found " + std::to_string(n) + ", too many subtractions", ""};
  for (int64_t step = 0; step < steps; ++step) {
    const int64_t size = out.size(at);
    const Handle differ =
        out.dtype() == Dtype::bool_ ? Handle(aten<"logical_xor.default">) : aten<"sub.Tensor">;
    // Unlike narrow, these slices exist if a graph with other sizes has nothing along the dim.
    PT2_TRY(out, e(differ, {e(aten<"slice.Tensor">, {out, at, 1, size}),
                            e(aten<"slice.Tensor">, {out, at, 0, size - 1})}));
  }
  return out;
}

// clang-format off
constexpr OpDef kShapeOps[] = {
    op<"aten::cat(Tensor[] tensors, int dim=0) -> Tensor", cat_meta, cat>.with({.autocast = AutocastRule::widest, .slope = Slope::linear, .linear_in = "tensors"}),
    op<"aten::concat(Tensor[] tensors, int dim=0) -> Tensor", cat_meta, cat>.with({.slope = Slope::linear, .linear_in = "tensors", .same_as = "cat.default"}),
    op<"aten::concatenate(Tensor[] tensors, int dim=0) -> Tensor", cat_meta, cat>.with({.slope = Slope::linear, .linear_in = "tensors", .same_as = "cat.default"}),
    op<"aten::stack(Tensor[] tensors, int dim=0) -> Tensor", stack_meta, stack>.with({.autocast = AutocastRule::widest, .slope = Slope::linear, .linear_in = "tensors"}),
    op<"aten::hstack(Tensor[] tensors) -> Tensor", stack_along<1>>.with({.slope = Slope::linear, .linear_in = "tensors"}),
    op<"aten::vstack(Tensor[] tensors) -> Tensor", stack_along<2>>.with({.slope = Slope::linear, .linear_in = "tensors"}),
    op<"aten::row_stack(Tensor[] tensors) -> Tensor", stack_along<2>>.with({.slope = Slope::linear, .linear_in = "tensors"}),
    op<"aten::dstack(Tensor[] tensors) -> Tensor", stack_along<3>>.with({.slope = Slope::linear, .linear_in = "tensors"}),
    op<"aten::column_stack(Tensor[] tensors) -> Tensor", column_stack>.with({.slope = Slope::linear, .linear_in = "tensors"}),
    op<"aten::flip(Tensor self, int[] dims) -> Tensor", flip_meta, flip>.with({.slope = Slope::linear}),
    op<"aten::fliplr(Tensor self) -> Tensor", fliplr>.with({.slope = Slope::linear}),
    op<"aten::flipud(Tensor self) -> Tensor", flipud>.with({.slope = Slope::linear}),
    op<"aten::roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor", roll_meta, roll>.with({.slope = Slope::linear}),
    op<"aten::rot90(Tensor self, int k=1, int[] dims=[0, 1]) -> Tensor", rot90>.with({.slope = Slope::linear}),
    op<"aten::repeat(Tensor self, SymInt[] repeats) -> Tensor", repeat_meta, repeat>.with({.slope = Slope::linear}),
    op<"aten::tile(Tensor self, SymInt[] dims) -> Tensor", tile_formula>.with({.slope = Slope::linear}),
    composed<"aten::repeat_interleave.Tensor(Tensor repeats, *, SymInt? output_size=None) -> Tensor", repeat_interleave_meta, repeat_interleave_positions>,
    op<"aten::repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, SymInt? output_size=None) -> Tensor", repeat_interleave_tensor>.with({.slope = Slope::linear}),
    op<"aten::repeat_interleave.self_int(Tensor self, SymInt repeats, int? dim=None, *, SymInt? output_size=None) -> Tensor", repeat_interleave_int>.with({.slope = Slope::linear}),
    composed<"aten::select_scatter(Tensor self, Tensor src, int dim, SymInt index) -> Tensor", like_first, with_replaced<select, int64_t, int64_t>>.with({.slope = Slope::linear, .linear_in = "self src"}),
    composed<"aten::slice_scatter(Tensor self, Tensor src, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor", like_first, with_replaced<slice, int64_t, OptionalInt, OptionalInt, int64_t>>.with({.slope = Slope::linear, .linear_in = "self src"}),
    composed<"aten::diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor", like_first, with_replaced<diagonal, int64_t, int64_t, int64_t>>.with({.slope = Slope::linear, .linear_in = "self src"}),
    composed<"aten::as_strided_scatter(Tensor self, Tensor src, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor", like_first, with_replaced<as_strided, Sizes, Sizes, OptionalInt>>.with({.slope = Slope::linear, .linear_in = "self src", .looks_at_strides = true}),
    op<"aten::diag(Tensor self, int diagonal=0) -> Tensor", diag>.with({.slope = Slope::linear}),
    op<"aten::diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor", diag_embed_meta, diag_embed>.with({.slope = Slope::linear}),
    op<"aten::meshgrid(Tensor[] tensors) -> Tensor[]", meshgrid>.with({.sharing = Sharing::possibly, .slope = Slope::linear, .linear_in = "tensors", .looks_at_sizes_alone = true}),
    op<"aten::meshgrid.indexing(Tensor[] tensors, *, str indexing) -> Tensor[]", meshgrid_indexing>.with({.sharing = Sharing::possibly, .slope = Slope::linear, .linear_in = "tensors", .looks_at_sizes_alone = true}),
    op<"aten::pixel_shuffle(Tensor self, int upscale_factor) -> Tensor", pixel_shuffle_meta, shuffle_pixels<true>>.with({.slope = Slope::linear}),
    op<"aten::pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor", pixel_unshuffle_meta, shuffle_pixels<false>>.with({.slope = Slope::linear}),
    kept<"aten::channel_shuffle(Tensor self, SymInt groups) -> Tensor", channel_shuffle>.with({.slope = Slope::linear}),
    op<"aten::diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> Tensor", diff>.with({.slope = Slope::linear, .linear_in = "self prepend append"}),
};
// clang-format on

}  // namespace

std::span<const OpDef> shape_ops() { return kShapeOps; }

}  // namespace pt2::ops
