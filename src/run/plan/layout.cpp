#include "run/plan/layout.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <new>
#include <numeric>

#include "base/memory_account.h"
#include "base/strided_copy.h"
#include "kernels/layouts.h"
#include "run/plan/pointwise.h"

namespace pt2::run {
namespace {

void launch_turning(Frame& frame, const kernels::Turning& turning, const Tensor& from, Tensor& to) {
  if (dtype_size(from.dtype()) == sizeof(float)) {
    frame.launch([turning, in = from.data<float>(), out = to.data<float>(),
                  threads = frame.threads()] { kernels::turn(turning, in, out, threads); });
    return;
  }
  frame.launch([turning, bytes = dtype_size(from.dtype()), in = from.raw_data(),
                out = to.raw_data(), threads = frame.threads()] {
    constexpr int64_t kColumns = 64;  // of a task, so that no two tasks write to one cache line
    const bool parallel = turning.count * turning.rows * turning.columns >= int64_t{1} << 15;
    const int64_t steps = (turning.columns + kColumns - 1) / kColumns;
    const int64_t tasks =
        parallel ? std::min<int64_t>(steps, 4 * kernels::thread_count(threads)) : 1;
    kernels::run_tasks(threads, tasks, [&](int64_t task, int) {
      const int64_t first = kernels::part_begin(steps, tasks, task) * kColumns;
      const int64_t end =
          std::min(turning.columns, kernels::part_begin(steps, tasks, task + 1) * kColumns);
      copy_strided({turning.count, turning.rows, end - first}, static_cast<size_t>(bytes),
                   in + first * bytes, {turning.from_matrix_stride, turning.from_stride, 1},
                   out + first * turning.to_stride * bytes,
                   {turning.to_matrix_stride, 1, turning.to_stride});
    });
  });
}

// True if kernels can move the elements as numbers of their size.
bool are_movable(const Tensor& tensor) {
  return dtype_size(tensor.dtype()) <= 8 && is_aligned(tensor);
}

// Exchanges channels and pixels of images [N, C, spatial...]: from row-major to channels last, or
// back.
void turn_images(Frame& frame, const Tensor& from, Tensor& to, bool to_channels_last) {
  const int64_t images = from.size(0), channels = from.size(1),
                area = from.numel() / (images * channels);
  const int64_t rows = to_channels_last ? channels : area,
                columns = to_channels_last ? area : channels;
  const kernels::Turning turning{.count = images,
                                 .rows = rows,
                                 .columns = columns,
                                 .from_stride = columns,
                                 .to_stride = rows,
                                 .from_matrix_stride = channels * area,
                                 .to_matrix_stride = channels * area};
  launch_turning(frame, turning, from, to);
}

// Copies to a row-major tensor from one that is contiguous along another dimension; false for
// others.
bool copy_turned(Frame& frame, const Tensor& tensor, Tensor& out) {
  std::vector<LayoutDim> dims = joined_dims(tensor.sizes(), tensor.strides(), out.strides());
  if (dims.size() < 2 || dims.size() > 3) return false;
  const LayoutDim last = dims.back();
  dims.pop_back();
  const auto dense = std::ranges::find(dims, 1, &LayoutDim::from);
  if (dense == dims.end()) return false;
  const LayoutDim rows = *dense;
  dims.erase(dense);
  const LayoutDim outer = dims.empty() ? LayoutDim{1, 0, 0} : dims[0];
  launch_turning(frame,
                 {.count = outer.size,
                  .rows = last.size,
                  .columns = rows.size,
                  .from_stride = last.from,
                  .to_stride = rows.to,
                  .from_matrix_stride = outer.from,
                  .to_matrix_stride = outer.to},
                 tensor, out);
  return true;
}

// Copies a tensor that is contiguous along its innermost dimension; false for others.
bool copy_rows(Frame& frame, const Tensor& tensor, Tensor& out) {
  if (tensor.dtype() != Dtype::float32) return false;
  const auto loops = tile_loops(out.sizes(), out.strides(), std::span(&tensor, 1));
  if (!loops || loops->operands[0].strides.back() > 1) return false;
  launch_tiles(frame, *loops, {{.function = kernels::Activation::none, .a = {}, .b = {}}}, out);
  return true;
}

}  // namespace

const Tensor* Frame::tensor(const BoundArgument& argument) const {
  if (argument.dynamic == nullptr) return argument.constant.get_if<Tensor>();
  const auto id = value_id(argument);
  return id ? values[static_cast<size_t>(*id)].get_if<Tensor>() : nullptr;
}

std::optional<ValueId> Frame::value_id(const BoundArgument& argument) {
  const auto* id = argument.dynamic == nullptr ? nullptr : argument.dynamic->get_if<ValueId>();
  return id == nullptr ? std::nullopt : std::optional(*id);
}

std::optional<Tensor> Frame::result_memory(const Sizes& sizes, const Sizes& strides, Dtype dtype) {
  std::optional<Tensor> place = take_place();
  if (!place || (place->dtype() == dtype && place->sizes() == sizes &&
                 (strides.empty() || strides == place->strides())))
    return place;
  results_.emplace(*making_, *std::move(place));
  return std::nullopt;
}

std::optional<Tensor> Frame::take_place() {
  const auto found = making_ ? results_.find(*making_) : results_.end();
  if (found == results_.end()) return std::nullopt;
  Tensor out = std::move(found->second);
  results_.erase(found);
  return out;
}

void Frame::set(ValueId id, Tensor tensor, bool rearranged) {
  rearranged_[static_cast<size_t>(id)] = rearranged && !tensor.is_contiguous() && may_rearrange(id);
  values[static_cast<size_t>(id)] = Value(std::move(tensor));
}

void Frame::as_written(ValueId id) {
  if (!is_rearranged(id)) return;
  const auto* tensor = values[static_cast<size_t>(id)].get_if<Tensor>();
  set(id, to_row_major(*this, *tensor), false);
}

const GrowingInput* Frame::growing(ValueId id) const {
  const auto found = std::ranges::find(growing_, id, &decltype(growing_)::value_type::first);
  return found == growing_.end() ? nullptr : found->second;
}

void Frame::set_grown(ValueId id, Tensor tensor) {
  grown_.emplace_back(id, tensor);
  set(id, std::move(tensor), true);
}

const Tensor* Frame::grown(ValueId id) const {
  const auto found = std::ranges::find(grown_, id, &decltype(grown_)::value_type::first);
  return found == grown_.end() ? nullptr : &found->second;
}

Sizes channels_last_strides(const Sizes& sizes) {
  Sizes strides(sizes.size(), 1);
  int64_t stride = sizes[1];
  for (size_t dim = sizes.size() - 1; dim >= 2; --dim) {
    strides[dim] = stride;
    stride *= sizes[dim];
  }
  strides[0] = stride;
  return strides;
}

Tensor make_images(Frame& frame, const Sizes& sizes, Dtype dtype) {
  if (!checked_numel(sizes)) throw std::bad_alloc();
  return frame.make(sizes, channels_last_strides(sizes), dtype);
}

bool is_channels_last(const Tensor& tensor) {
  if (tensor.dim() < 3) return false;
  const Sizes wanted = channels_last_strides(tensor.sizes());
  for (int64_t dim = 0; dim < tensor.dim(); ++dim)
    if (tensor.size(dim) != 1 && tensor.stride(dim) != wanted[static_cast<size_t>(dim)])
      return false;
  return true;
}

bool fills_block(const Tensor& tensor) {
  return tensor.is_contiguous() || is_dense(tensor.sizes(), tensor.strides());
}

Tensor to_row_major(Frame& frame, const Tensor& tensor) {
  if (tensor.is_contiguous()) return tensor;
  if (tensor.numel() == 0) return tensor.contiguous();
  Tensor out = frame.make(tensor.sizes(), {}, tensor.dtype());
  const bool movable = are_movable(tensor);
  if (movable && is_channels_last(tensor))
    turn_images(frame, tensor, out, false);
  else if (!movable || (!copy_turned(frame, tensor, out) && !copy_rows(frame, tensor, out)))
    frame.launch([tensor, to = out.raw_data()] { copy_to_contiguous(tensor, to); });
  return out;
}

Tensor to_order(Frame& frame, const Tensor& tensor, std::span<const size_t> order) {
  Sizes sizes, strides;
  for (const size_t dim : order) {
    sizes.push_back(tensor.sizes()[dim]);
    strides.push_back(tensor.strides()[dim]);
  }
  const Tensor copy =
      to_row_major(frame, tensor.with_view(sizes, strides, tensor.storage_offset()));
  for (size_t i = 0; i < order.size(); ++i) strides[order[i]] = copy.strides()[i];
  return copy.with_view(tensor.sizes(), std::move(strides), copy.storage_offset());
}

void lay_as_recorded(Frame& frame, ValueId id) {
  const auto* tensor = frame.values[static_cast<size_t>(id)].get_if<Tensor>();
  if (tensor == nullptr || !tensor->defined() || tensor->numel() == 0) return;
  std::vector<size_t> order(tensor->sizes().size());
  std::iota(order.begin(), order.end(), size_t{0});
  // Strides that depend on the sizes of a call compare as in the program's example; without one
  // they count as large.
  const auto stride = [](const SymInt& recorded) {
    return recorded.is_symbolic() ? recorded.hint().value_or(INT64_MAX) : recorded.literal();
  };
  const TensorMeta* record = frame.graph().value(id).tensor();
  if (record != nullptr && record->strides.size() == order.size())
    std::ranges::stable_sort(order, std::greater(),
                             [&](size_t dim) { return stride(record->strides[dim]); });
  // The caller's memory for results is row-major.
  if (!std::ranges::is_sorted(order)) frame.begin_step(std::nullopt);
  frame.set(id, to_order(frame, *tensor, order), false);
}

Tensor parts_of(const Tensor& numbers) {
  Sizes sizes = numbers.sizes(), strides = numbers.strides();
  // The stride of a single number is never used and may be so large that it cannot be doubled.
  for (size_t dim = 0; dim < sizes.size(); ++dim) strides[dim] *= sizes[dim] == 1 ? 0 : 2;
  sizes.push_back(2);
  strides.push_back(1);
  return *Tensor::view_of(numbers.storage(), real_dtype(numbers.dtype()), std::move(sizes),
                          std::move(strides), 2 * numbers.storage_offset());
}
Tensor part_of(const Tensor& numbers, bool imaginary) {
  const Tensor parts = parts_of(numbers);
  Sizes sizes = parts.sizes(), strides = parts.strides();
  sizes.pop_back();
  strides.pop_back();
  return parts.with_view(std::move(sizes), std::move(strides),
                         parts.storage_offset() + (imaginary ? 1 : 0));
}

namespace {

Tensor to_channels_last(Frame& frame, const Tensor& tensor) {
  Tensor out = make_images(frame, tensor.sizes(), tensor.dtype());
  // The tensor is a slice of the channels of channels-last images.
  if (tensor.stride(1) == 1 && copy_rows(frame, tensor, out)) return out;
  turn_images(frame, to_row_major(frame, tensor), out, true);
  return out;
}

}  // namespace

Tensor channels_last_value(Frame& frame, ValueId id) {
  const Tensor& tensor = *frame.values[static_cast<size_t>(id)].get_if<Tensor>();
  if (is_channels_last(tensor)) return tensor;
  Tensor out = to_channels_last(frame, tensor);
  if (frame.may_rearrange(id)) frame.set(id, out, true);
  return out;
}

Tensor channels_last_value(Frame& frame, const BoundArgument& argument) {
  if (const auto id = Frame::value_id(argument)) return channels_last_value(frame, *id);
  const Tensor& tensor = *frame.tensor(argument);
  return is_channels_last(tensor) ? tensor : to_channels_last(frame, tensor);
}

int64_t stride_along(const Tensor& tensor, size_t dim, size_t rank) {
  const size_t missing = rank - tensor.sizes().size();
  if (dim < missing || tensor.sizes()[dim - missing] == 1) return 0;
  return tensor.strides()[dim - missing];
}

std::optional<TileLoops> tile_loops(const Sizes& sizes, const Sizes& strides,
                                    std::span<const Tensor> tensors) {
  TileLoops out;
  std::vector<size_t> order;
  for (size_t dim = 0; dim < sizes.size(); ++dim)
    if (sizes[dim] != 1) order.push_back(dim);
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return strides[a] > strides[b]; });
  for (const Tensor& tensor : tensors)
    out.operands.push_back({.data = tensor.raw_data(), .element = *tile_element(tensor.dtype())});
  size_t place = kernels::kTileDims;
  for (; !order.empty(); order.pop_back()) {
    const size_t dim = order.back();
    bool joins = place < kernels::kTileDims;
    for (size_t i = 0; joins && i < tensors.size(); ++i)
      joins = stride_along(tensors[i], dim, sizes.size()) ==
              out.sizes[place] * out.operands[i].strides[place];
    if (joins) {
      out.sizes[place] *= sizes[dim];
      continue;
    }
    if (place == 0) return std::nullopt;
    out.sizes[--place] = sizes[dim];
    for (size_t i = 0; i < tensors.size(); ++i)
      out.operands[i].strides[place] = stride_along(tensors[i], dim, sizes.size());
  }
  return out;
}

void launch_tiles(Frame& frame, const TileLoops& loops,
                  const std::vector<kernels::TileInstruction>& instructions, Tensor& out) {
  int64_t nanoseconds = 0;
  for (const kernels::TileInstruction& each : instructions)
    if (const auto* function = std::get_if<kernels::Unary>(&each.function))
      nanoseconds += kernels::extra_nanoseconds(*function);
  MemoryAccount::count_loops({out.numel(), nanoseconds}, 1);
  frame.launch([loops, instructions, to = out.raw_data(),
                element = *tile_element(real_dtype(out.dtype())),
                makes_pairs = is_complex(out.dtype()), threads = frame.threads()] {
    kernels::run_tiles({instructions, loops.sizes, loops.operands, to, element, makes_pairs},
                       threads);
  });
}

std::optional<kernels::TileElement> tile_element(Dtype dtype) {
  using kernels::TileElement;
  constexpr std::pair<Dtype, TileElement> kElements[] = {
      {Dtype::float32, TileElement::real},      {Dtype::float16, TileElement::half},
      {Dtype::bfloat16, TileElement::bfloat16}, {Dtype::bool_, TileElement::boolean},
      {Dtype::uint8, TileElement::byte},        {Dtype::int8, TileElement::small},
      {Dtype::int16, TileElement::narrow},      {Dtype::int32, TileElement::medium},
      {Dtype::int64, TileElement::whole},       {Dtype::float64, TileElement::twice}};
  for (const auto& [known, element] : kElements)
    if (known == dtype) return element;
  return std::nullopt;
}

int64_t window_count(int64_t in, int64_t kernel, int64_t stride, int64_t dilation, int64_t padding,
                     bool rounds_up) {
  const int64_t room = in + 2 * padding - dilation * (kernel - 1) - 1;
  if (room < 0) return 0;
  int64_t count = (room + (rounds_up ? stride - 1 : 0)) / stride + 1;
  if (rounds_up && (count - 1) * stride >= in + padding) --count;
  return count;
}

bool are_window_sizes(const Sizes& numbers, int64_t least) {
  return std::ranges::all_of(numbers, [&](int64_t n) { return n >= least && n <= 1 << 20; });
}

std::optional<RowsOf> rows_of(const Tensor& tensor) {
  if (tensor.dim() == 0) return std::nullopt;
  const int64_t last = tensor.dim() - 1;
  RowsOf out{.rows = 1, .columns = tensor.size(last), .stride = tensor.size(last)};
  if (tensor.stride(last) != 1 && out.columns != 1) return std::nullopt;
  bool first = true;
  for (int64_t dim = last; dim-- > 0;) {
    if (tensor.size(dim) == 1) continue;
    if (first)
      out.stride = tensor.stride(dim);
    else if (tensor.stride(dim) != out.stride * out.rows)
      return std::nullopt;
    first = false;
    out.rows *= tensor.size(dim);
  }
  return out;
}

}  // namespace pt2::run
