// Assembling, splitting and viewing tensors in less common ways.
#include <algorithm>

#include "ops/checks.h"
#include "ops/compose.h"
#include "ops/dense.h"
#include "ops/loops.h"
#include "ops/memory_format.h"
#include "ops/op_def.h"
#include "ops/pointwise/copying.h"
#include "ops/shape/view.h"

namespace pt2::ops {
namespace {

// The sizes of a tensor as a matrix: a vector is a row.
Sizes block_sizes(const Tensor& tensor) {
  Sizes sizes(static_cast<size_t>(2 - tensor.dim()), 1);
  sizes.insert(sizes.end(), tensor.sizes().begin(), tensor.sizes().end());
  return sizes;
}
Result<Meta> block_diag_meta(const Tensors& tensors) {
  if (tensors.empty()) return Meta(Dtype::float32, {1, 0});
  Promotion promotion;
  int64_t rows = 0;
  int64_t columns = 0;
  for (const Tensor& tensor : tensors) {
    if (tensor.dim() > 2)
      return operator_error("tensors: found " + tensor.type_text() + ", expected at most 2 dims");
    const Sizes sizes = block_sizes(tensor);
    promotion.add(tensor);  // a block has dims, with which a 0-dim tensor would promote others
    PT2_TRY(rows, multiply_add(1, rows, sizes[0]));
    PT2_TRY(columns, multiply_add(1, columns, sizes[1]));
  }
  return Meta(promotion.result(), {rows, columns});
}
Result<void> block_diag(Tensor& out, const Tensors& tensors) {
  int64_t row = 0;
  int64_t column = 0;
  for (const Tensor& tensor : tensors) {
    PT2_TRY(const Tensor block, reshape(tensor, block_sizes(tensor)));
    PT2_TRY(const Tensor band, narrow(out, 0, row, block.size(0)));
    PT2_TRY(Tensor target, narrow(band, 1, column, block.size(1)));
    copy_elements(target, block);
    row += block.size(0);
    column += block.size(1);
  }
  return {};
}

// Returns the number of ways to choose r of n elements; some number above `most` if that exceeds
// `most`.
int64_t choices(int64_t n, int64_t r, int64_t most) {
  __extension__ using Wide = __int128;
  Wide count = 1;
  // The count grows with every factor, because the loop uses the smaller of r and n - r.
  for (int64_t i = 1; i <= std::min(r, n - r) && count <= most; ++i)
    count = count * (n - std::min(r, n - r) + i) / i;
  return static_cast<int64_t>(std::min<Wide>(count, Wide(most) + 1));
}

Result<Tensors> tensor_split_by_tensor(const Tensor& self, const Tensor& where, int64_t dim) {
  if (where.dtype() != Dtype::int64 || where.dim() > 1)
    return operator_error("tensor_indices_or_sections: found " + where.type_text() +
                          ", expected an int64 number or vector");
  const Input<int64_t> numbers(where);
  Context context;
  Runner run(context);
  if (where.dim() == 0) return run.pieces(aten<"tensor_split.sections">, {self, numbers[0], dim});
  const Sizes indices(numbers.data(), numbers.data() + numbers.size());
  return run.pieces(aten<"tensor_split.indices">, {self, indices, dim});
}

// --- Views and copies

Result<Tensor> narrow_at(const Tensor& self, int64_t dim, const Tensor& start, int64_t length) {
  if (start.dim() != 0 || dtype_category(start.dtype()) != DtypeCategory::integer)
    return operator_error("start: found " + start.type_text() + ", expected an integer number");
  return narrow(self, dim, Input<int64_t>(start)[0], length);
}

Result<Meta> reshape_copy_meta(const Tensor& self, const Sizes& size) {
  PT2_TRY(Sizes sizes, infer_sizes(size, self.numel()));
  return Meta(self.dtype(), std::move(sizes));
}
void reshape_copy(Tensor& out, const Tensor& self, const Sizes&) {
  Tensor target =
      out.with_view(self.sizes(), contiguous_strides(self.sizes()), out.storage_offset());
  copy_elements(target, self);
}

// Unlike stack, the result is always row-major.
Result<Tensor> plain_stack(Emitter& e, const Tensors& tensors, int64_t dim) {
  return e(aten<"contiguous.default">, {e(aten<"stack.default">, {tensors, dim})});
}

Result<Meta> empty_permuted_meta(const Sizes& size, const Sizes& physical_layout,
                                 OptionalDtype dtype, const OptionalLayout& layout,
                                 const OptionalDevice&, PinMemory) {
  PT2_TRY_VOID(check_layout(layout));
  const auto rank = static_cast<int64_t>(size.size());
  if (physical_layout.size() != size.size())
    return operator_error("physical_layout: found " + sizes_text(physical_layout) + ", expected " +
                          std::to_string(rank) + " dims");
  PT2_TRY(const std::vector<int64_t> order, wrap_distinct_dims(physical_layout, rank));
  if (!checked_numel(size))
    return operator_error("size: found " + sizes_text(size) +
                          ", expected a product of at most 64 bits");
  Sizes strides(size.size());
  int64_t next = 1;
  for (size_t i = order.size(); i-- > 0;) {
    const auto dim = static_cast<size_t>(order[i]);
    strides[dim] = next;
    if (__builtin_mul_overflow(next, std::max<int64_t>(size[dim], 1), &next))
      return operator_error("size: found " + sizes_text(size) +
                            ", expected a product of at most 64 bits");
  }
  return Meta(dtype.value_or(Dtype::float32), size, std::move(strides));
}
void empty_permuted(Tensor&, const Sizes&, const Sizes&, OptionalDtype, const OptionalLayout&,
                    const OptionalDevice&, PinMemory) {}

// Without forward-mode gradients, a dual number equals its primal.
Result<Tensor> make_dual(const Tensor& primal, const Tensor& tangent, int64_t) {
  PT2_TRY_VOID(check_sizes(tangent, primal.sizes(), "tangent"));
  return primal;
}
using Dual = std::tuple<Tensor, OptionalTensor>;
Dual unpack_dual(const Tensor& dual, int64_t) { return {dual, std::nullopt}; }

// --- Gradients

// Splits each tensor into equal chunks along `dim`; the last chunk is padded with zeros. Row k of
// the result concatenates chunk k of every tensor (ATen/native/TensorShape.cpp _chunk_cat).
Result<Tensor> chunk_cat(Emitter& e, const Tensors& tensors, int64_t dim, int64_t num_chunks) {
  if (tensors.empty()) return operator_error("tensors: found none, expected one or more");
  if (num_chunks < 1)
    return operator_error("num_chunks: found " + std::to_string(num_chunks) +
                          ", expected 1 or more");
  PT2_TRY(const int64_t at, wrap_dim(dim, tensors[0].dim()));
  Tensors chunks;
  for (const Tensor& tensor : tensors) {
    if (at >= tensor.dim() || tensor.numel() == 0)
      return operator_error("tensors: found " + tensor.type_text() + ", expected elements along " +
                            std::to_string(at));
    const int64_t length = tensor.size(at) / num_chunks + (tensor.size(at) % num_chunks != 0);
    PT2_TRY(const int64_t padded, multiply_add(length, num_chunks));
    Sizes pad(2 * static_cast<size_t>(tensor.dim() - at), 0);
    pad.back() = padded - tensor.size(at);
    Sizes sizes(tensor.sizes().begin(), tensor.sizes().begin() + at);
    sizes.insert(sizes.end(), {num_chunks, -1});
    const auto whole = e(aten<"constant_pad_nd.default">, {tensor, pad});
    PT2_TRY(Tensor rows, e(aten<"reshape.default">, {whole, sizes}));
    chunks.push_back(std::move(rows));
  }
  return e(aten<"cat.default">, {chunks, at + 1});
}

Result<Meta> masked_scatter_backward_meta(const Tensor& grad_output, const Tensor&,
                                          const Sizes& sizes) {
  if (!checked_numel(sizes))
    return operator_error("sizes: found " + sizes_text(sizes) +
                          ", expected a product of at most 64 bits");
  return Meta(grad_output.dtype(), sizes);
}
// Returns the gradients of the elements that masked_scatter took, in its order, then zeros for the
// other elements of its source.
Result<void> masked_scatter_backward(Tensor& out, const Tensor& grad_output, const Tensor& mask,
                                     const Sizes& sizes) {
  PT2_TRY(const Tensor taken, apply(aten<"masked_select.default">, {grad_output, mask}));
  if (taken.numel() > out.numel())
    return operator_error("sizes: found " + sizes_text(sizes) + ", expected room for " +
                          std::to_string(taken.numel()));
  Tensor head = out.with_view({taken.numel()}, {1}, 0);
  copy_elements(head, taken);
  return {};
}

Result<std::array<Meta, 2>> unpack_dual_meta(const Tensor& dual, int64_t) {
  return std::array{Meta::like(dual), Meta::like(dual)};
}

// --- Formulas

// Pads sequences [L, ...] of different lengths at their ends or beginnings
// (ATen/native/PackedSequence.cpp pad_sequence, TensorShape.cpp).
Result<Tensor> pad_sequence(Emitter& e, const Tensors& sequences, bool batch_first,
                            double padding_value, const std::string& padding_side) {
  if (sequences.empty()) return operator_error("sequences: found none, expected at least one");
  if (padding_side != "left" && padding_side != "right")
    return operator_error("padding_side: found '" + padding_side + "', expected left or right");
  int64_t length = 0;
  for (const Tensor& sequence : sequences) {
    PT2_TRY_VOID(check_rank_at_least(sequence, 1, "sequences"));
    length = std::max(length, sequence.size(0));
  }
  Tensors padded = sequences;
  for (Tensor& sequence : padded) {
    Sizes pad(2 * sequence.sizes().size(), 0);
    pad[pad.size() - (padding_side == "left" ? 2 : 1)] = length - sequence.size(0);
    PT2_TRY(sequence, e(aten<"constant_pad_nd.default">, {sequence, pad, padding_value}));
    PT2_TRY(sequence, e(aten<"to.dtype">, {sequence, sequences[0].dtype()}));
  }
  return e(aten<"stack.default">, {padded, batch_first ? 0 : 1});
}

// ATen/native/Itertools.cpp cartesian_prod.
Result<Tensor> cartesian_prod(Emitter& e, const Tensors& tensors) {
  for (const Tensor& tensor : tensors) PT2_TRY_VOID(check_rank(tensor, 1, "tensors"));
  if (tensors.empty()) return operator_error("tensors: found none, expected at least one");
  if (tensors.size() == 1) return tensors[0];
  PT2_TRY(Tensors columns, e.pieces(aten<"meshgrid.indexing">, {tensors, std::string("ij")}));
  if (!checked_numel(columns[0].sizes()))
    return operator_error("tensors: found more combinations than 64 bits count, expected fewer");
  for (Tensor& column : columns) {
    PT2_TRY(column, e(aten<"flatten.using_ints">, {column}));
  }
  return e(aten<"stack.default">, {columns, 1});
}

// Returns every choice of r elements, in lexicographic order of positions
// (ATen/native/Itertools.cpp).
Result<Tensor> combinations(Emitter& e, const Tensor& self, int64_t r, bool with_replacement) {
  PT2_TRY_VOID(check_rank(self, 1, "self"));
  if (r < 0) return operator_error("r: found " + std::to_string(r) + ", expected 0 or more");
  if (r == 0) return e(aten<"empty.memory_format">, {Sizes{0}, self.dtype()});
  const int64_t n = self.numel();
  constexpr int64_t kMaxDims = 64;
  const auto most = std::min<int64_t>(
      int64_t{1} << 27, static_cast<int64_t>(AllocationLimit::current() / sizeof(int64_t)));
  const auto too_many = [&] {
    return Error{ErrorCode::limit,
                 "found more than " + std::to_string(most / r) + " combinations of " +
                     std::to_string(r) + " of " + std::to_string(n) + " elements",
                 ""};
  };
  if (r > kMaxDims) return too_many();
  const int64_t count = r > n && (!with_replacement || n == 0)
                            ? 0
                            : choices(with_replacement ? n + r - 1 : n, r, most);
  if (count > most / r) return too_many();
  PT2_TRY(const Tensor range, e(aten<"arange.default">, {n, Dtype::int64}));
  PT2_TRY(const Tensors places,
          e.pieces(aten<"meshgrid.default">, {Tensors(static_cast<size_t>(r), range)}));
  const Handle in_order = with_replacement ? Handle(aten<"le.Tensor">) : aten<"lt.Tensor">;
  PT2_TRY(Tensor mask, e(aten<"full.default">, {places[0].sizes(), true, Dtype::bool_}));
  for (size_t i = 0; i + 1 < places.size(); ++i) {
    PT2_TRY(mask, e(aten<"mul.Tensor">, {mask, e(in_order, {places[i], places[i + 1]})}));
  }
  PT2_TRY(const Tensor chosen, e(aten<"nonzero_static.default">, {mask, count}));
  return e(aten<"index.Tensor">, {self, OptionalTensors{chosen}});
}

Result<Tensor> ravel(Emitter& e, const Tensor& self) {
  return e(aten<"view.default">, {e(aten<"contiguous.default">, {self}), Sizes{-1}});
}
Result<Tensor> diagflat(Emitter& e, const Tensor& self, int64_t offset) {
  return e(aten<"diag.default">, {ravel(e, self), offset});
}

// Fills the main diagonal of a matrix or a cube. With `wrap` the diagonal of a tall matrix starts
// again after a gap of one row (ATen/native/Fill.cpp).
Result<Tensor> fill_diagonal(Emitter& e, const Tensor& self, const Scalar& fill_value, bool wrap) {
  PT2_TRY_VOID(check_rank_at_least(self, 2, "self"));
  const int64_t rows = self.size(0), columns = self.size(1);
  int64_t least = rows;
  int64_t step = 0;
  for (int64_t dim = 0; dim < self.dim(); ++dim) {
    if (self.dim() > 2 && self.size(dim) != rows)
      return operator_error("self: found " + self.type_text() + ", expected equal sizes");
    least = std::min(least, self.size(dim));
    step += self.stride(dim);
  }
  const auto fill = [&](const Result<Tensor>& from, int64_t count) {
    return e(aten<"fill_.Scalar">,
             {e(aten<"as_strided.default">, {from, Sizes{count}, Sizes{step}}), fill_value});
  };
  PT2_TRY_VOID(fill(self, least));
  if (!wrap || self.dim() != 2 || rows <= columns + 1) return self;
  const int64_t rest = row_count(self.numel() + columns, columns + 1) - least;
  PT2_TRY_VOID(fill(e(aten<"slice.Tensor">, {self, 0, columns + 1}), rest));
  return self;
}

// Sums over the dims along which `size` would be broadcast to self (ATen/ExpandUtils.h sum_to).
Result<Tensor> sum_to_size(Emitter& e, const Tensor& self, const Sizes& size) {
  if (size.empty()) return e(aten<"sum.default">, {self});
  PT2_TRY_VOID(check_broadcasts(size, self.sizes(), "size"));
  const int64_t lead = self.dim() - static_cast<int64_t>(size.size());
  Sizes dims;
  for (int64_t dim = 0; dim < self.dim(); ++dim)
    if (dim < lead || (size[static_cast<size_t>(dim - lead)] == 1 && self.size(dim) != 1))
      dims.push_back(dim);
  if (dims.empty()) return self;
  PT2_TRY(const Tensor sum, e(aten<"sum.dim_IntList">, {self, dims, true}));
  return lead > 0 ? e(aten<"view.default">, {sum, size}) : Result<Tensor>(sum);
}

// ATen/native/TensorShape.cpp unsafe_chunk.
Result<Tensors> unsafe_chunk(Emitter& e, const Tensor& self, int64_t chunks, int64_t dim) {
  PT2_TRY(const int64_t at, wrap_existing_dim(dim, self));
  if (chunks < 1)
    return operator_error("chunks: found " + std::to_string(chunks) + ", expected 1 or more");
  const int64_t length = self.size(at);
  if (length == 0) {
    if (chunks > 4096)
      return Error{
          ErrorCode::limit,
          "chunks: found " + std::to_string(chunks) + ", expected at most 4096 of no elements", ""};
    return e.pieces(aten<"unsafe_split_with_sizes.default">,
                    {self, Sizes(static_cast<size_t>(chunks), 0), at});
  }
  return e.pieces(aten<"unsafe_split.Tensor">,
                  {self, length / chunks + (length % chunks != 0), at});
}
Result<Tensors> hsplit_array(Emitter& e, const Tensor& self, const std::vector<int64_t>& indices) {
  PT2_TRY_VOID(check_rank_at_least(self, 1, "self"));
  return e.pieces(aten<"tensor_split.indices">, {self, indices, self.dim() == 1 ? 0 : 1});
}
template <int64_t Dim>
Result<Tensors> split_array(Emitter& e, const Tensor& self, const std::vector<int64_t>& indices) {
  PT2_TRY_VOID(check_rank_at_least(self, Dim == 0 ? 2 : 3, "self"));
  return e.pieces(aten<"tensor_split.indices">, {self, indices, Dim});
}

template <int64_t Rank>
Result<Tensors> atleast_all(Emitter& e, const Tensors& tensors) {
  constexpr Handle kHandles[] = {aten<"atleast_1d.default">, aten<"atleast_2d.default">,
                                 aten<"atleast_3d.default">};
  Tensors out = tensors;
  for (Tensor& tensor : out) {
    PT2_TRY(tensor, e(kHandles[Rank - 1], {tensor}));
  }
  return out;
}

// ATen/native/ChannelShuffle.cpp math_channel_shuffle.
Result<Tensor> native_channel_shuffle(Emitter& e, const Tensor& self, int64_t groups) {
  PT2_TRY_VOID(check_rank_at_least(self, 3, "self"));
  const int64_t channels = self.size(1);
  if (groups <= 0 || channels % groups != 0)
    return operator_error("found " + std::to_string(groups) + " groups, expected a divisor of " +
                          std::to_string(channels));
  if (self.numel() == 0) return e(aten<"clone.default">, {self, MemoryFormat::contiguous});
  PT2_TRY(const Tensor split,
          e(aten<"reshape.default">, {self, Sizes{self.size(0), groups, channels / groups, -1}}));
  return e(aten<"clone.default">,
           {e(aten<"reshape.default">,
              {e(aten<"permute.default">, {split, Sizes{0, 2, 1, 3}}), self.sizes()}),
            suggest_memory_format(self)});
}

Result<Tensor> index_select_backward(Emitter& e, const Tensor& grad, const Sizes& self_sizes,
                                     int64_t dim, const Tensor& index) {
  return e(aten<"index_add.default">,
           {e(aten<"new_zeros.default">, {grad, self_sizes}), dim, index, grad});
}
// ATen/native/ReduceOps.cpp trace_backward.
Result<Tensor> trace_backward(Emitter& e, const Tensor& grad, const Sizes& sizes) {
  if (sizes.size() != 2)
    return operator_error("sizes: found " + sizes_text(sizes) + ", expected two");
  PT2_TRY_VOID(check_rank(grad, 0, "grad"));
  PT2_TRY(const int64_t count, multiply_add(sizes[0], sizes[1]));
  PT2_TRY(const int64_t step, multiply_add(sizes[1], 1, 1));
  PT2_TRY(const Tensor indices, e(aten<"arange.start_step">, {0, count, step, Dtype::int64}));
  PT2_TRY(const Tensor flat, e(aten<"new_zeros.default">, {grad, Sizes{count}}));
  return e(aten<"view.default">,
           {e(aten<"index_fill.int_Tensor">, {flat, 0, indices, grad}), sizes});
}

Result<Tensor> flatten_dense_tensors(Emitter& e, const Tensors& tensors) {
  Tensors flat;
  for (const Tensor& tensor : tensors) {
    PT2_TRY(Tensor part, e(aten<"reshape.default">, {tensor, Sizes{-1}}));
    flat.push_back(std::move(part));
  }
  return e(aten<"cat.default">, {flat});
}
Result<Tensors> unflatten_dense_tensors(Emitter& e, const Tensor& flat, const Tensors& tensors) {
  Tensors out;
  int64_t begin = 0;
  for (const Tensor& tensor : tensors) {
    PT2_TRY(Tensor part, e(aten<"narrow.default">, {flat, int64_t{0}, begin, tensor.numel()}));
    PT2_TRY(part, e(aten<"view.default">, {part, tensor.sizes()}));
    out.push_back(std::move(part));
    begin += tensor.numel();
  }
  return out;
}

// clang-format off
constexpr OpDef kAssemblingOps[] = {
    kept<"aten::_chunk_cat(Tensor[] tensors, int dim, int num_chunks) -> Tensor", chunk_cat>.with({.slope = Slope::linear, .linear_in = "tensors"}),
    op<"aten::masked_scatter_backward(Tensor grad_output, Tensor mask, SymInt[] sizes) -> Tensor", masked_scatter_backward_meta, masked_scatter_backward>.with({.slope = Slope::linear, .linear_in = "grad_output"}),
    op<"aten::pad_sequence(Tensor[] sequences, bool batch_first=False, float padding_value=0., str padding_side=\"right\") -> Tensor", pad_sequence>.with({.slope = Slope::linear, .linear_in = "sequences"}),
    op<"aten::block_diag(Tensor[] tensors) -> Tensor", block_diag_meta, block_diag>.with({.slope = Slope::linear, .linear_in = "tensors"}),
    op<"aten::cartesian_prod(Tensor[] tensors) -> Tensor", cartesian_prod>.with({.sharing = Sharing::possibly, .slope = Slope::linear, .linear_in = "tensors"}),
    op<"aten::combinations(Tensor self, int r=2, bool with_replacement=False) -> Tensor", combinations>,
    op<"aten::ravel(Tensor(a) self) -> Tensor(a)", ravel>.with({.sharing = Sharing::where_strides_allow, .slope = Slope::linear}),
    op<"aten::diagflat(Tensor self, int offset=0) -> Tensor", diagflat>.with({.slope = Slope::linear}),
    op<"aten::fill_diagonal_(Tensor(a!) self, Scalar fill_value, bool wrap=False) -> Tensor(a!)", fill_diagonal>,
    op<"aten::sum_to_size(Tensor self, SymInt[] size) -> Tensor", sum_to_size>.with({.sharing = Sharing::possibly, .slope = Slope::linear}),
    op<"aten::flatten_dense_tensors(Tensor[] tensors) -> Tensor", flatten_dense_tensors>.with({.slope = Slope::linear, .linear_in = "tensors"}),
    op<"aten::unflatten_dense_tensors(Tensor flat, Tensor[] tensors) -> Tensor[]", unflatten_dense_tensors>.with({.sharing = Sharing::always, .slope = Slope::linear, .linear_in = "flat", .looks_at_sizes_alone = true}),
    op<"aten::unsafe_split.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]", split>.with({.sharing = Sharing::possibly, .slope = Slope::linear, .looks_at_sizes_alone = true}),
    op<"aten::unsafe_split_with_sizes(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]", split_with_sizes>.with({.sharing = Sharing::possibly, .slope = Slope::linear, .looks_at_sizes_alone = true}),
    op<"aten::unsafe_chunk(Tensor self, int chunks, int dim=0) -> Tensor[]", unsafe_chunk>.with({.sharing = Sharing::possibly, .slope = Slope::linear}),
    op<"aten::hsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]", hsplit_array>.with({.slope = Slope::linear}),
    op<"aten::vsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]", split_array<0>>.with({.slope = Slope::linear}),
    op<"aten::dsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]", split_array<2>>.with({.slope = Slope::linear}),
    op<"aten::tensor_split.tensor_indices_or_sections(Tensor(a -> *) self, Tensor tensor_indices_or_sections, int dim=0) -> Tensor(a)[]", tensor_split_by_tensor>.with({.slope = Slope::linear, .undecomposed = Undecomposed::reads_elements}),
    op<"aten::atleast_1d.Sequence(Tensor[] tensors) -> Tensor[]", atleast_all<1>>.with({.sharing = Sharing::possibly, .slope = Slope::linear, .linear_in = "tensors", .looks_at_sizes_alone = true}),
    op<"aten::atleast_2d.Sequence(Tensor[] tensors) -> Tensor[]", atleast_all<2>>.with({.sharing = Sharing::possibly, .slope = Slope::linear, .linear_in = "tensors", .looks_at_sizes_alone = true}),
    op<"aten::atleast_3d.Sequence(Tensor[] tensors) -> Tensor[]", atleast_all<3>>.with({.sharing = Sharing::possibly, .slope = Slope::linear, .linear_in = "tensors", .looks_at_sizes_alone = true}),
    op<"aten::narrow.Tensor(Tensor(a) self, int dim, Tensor start, SymInt length) -> Tensor(a)", narrow_at>.with({.undecomposed = Undecomposed::reads_elements}),
    op<"aten::view_copy(Tensor self, SymInt[] size) -> Tensor", reshape_copy_meta, reshape_copy>.with({.slope = Slope::linear}),
    op<"aten::_reshape_copy(Tensor self, SymInt[] size) -> Tensor", reshape_copy_meta, reshape_copy>.with({.slope = Slope::linear}),
    kept<"aten::_stack(Tensor[] tensors, int dim=0) -> Tensor", plain_stack>.with({.slope = Slope::linear, .linear_in = "tensors"}),
    op<"aten::empty_permuted(SymInt[] size, int[] physical_layout, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", empty_permuted_meta, empty_permuted>,
    composed<"aten::_make_dual(Tensor(a) primal, Tensor tangent, int level) -> Tensor(a)", like_first, make_dual>.with({.sharing = Sharing::possibly, .looks_at_sizes_alone = true}),
    composed<"aten::_unpack_dual(Tensor(a) dual, int level) -> (Tensor(a) primal, Tensor tangent)", unpack_dual_meta, unpack_dual>.with({.sharing = Sharing::possibly, .undecomposed = Undecomposed::lacks_steps}),
    op<"aten::native_channel_shuffle(Tensor self, SymInt groups) -> Tensor", native_channel_shuffle>.with({.slope = Slope::linear}),
    op<"aten::index_select_backward(Tensor grad, SymInt[] self_sizes, int dim, Tensor index) -> Tensor", index_select_backward>.with({.slope = Slope::linear, .linear_in = "grad"}),
    op<"aten::trace_backward(Tensor grad, SymInt[] sizes) -> Tensor", trace_backward>.with({.slope = Slope::linear, .linear_in = "grad"}),
};
// clang-format on

}  // namespace

std::span<const OpDef> assembling_ops() { return kAssemblingOps; }

}  // namespace pt2::ops
