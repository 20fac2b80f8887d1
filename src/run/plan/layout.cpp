#include "run/plan/layout.h"

#include <new>

#include "kernels/layouts.h"

namespace pt2::run {
namespace {

// Images [N, C, spatial...] with channels and pixels exchanged: from row-major to channels last, or
// back.
void turn_images(Frame& frame, const Tensor& from, Tensor& to, bool to_channels_last) {
  const int64_t images = from.size(0), channels = from.size(1),
                area = from.numel() / (images * channels);
  const int64_t rows = to_channels_last ? channels : area,
                columns = to_channels_last ? area : channels;
  kernels::turn({.count = images,
                 .rows = rows,
                 .columns = columns,
                 .from_stride = columns,
                 .to_stride = rows,
                 .from_matrix_stride = channels * area,
                 .to_matrix_stride = channels * area},
                from.data<float>(), to.data<float>(), frame.threads());
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

void Frame::set(ValueId id, Tensor tensor, bool rearranged) {
  rearranged = rearranged && !tensor.is_contiguous();
  if (rearranged && !may_rearrange(id)) {
    tensor = to_row_major(*this, tensor);
    rearranged = false;
  }
  rearranged_[static_cast<size_t>(id)] = rearranged;
  values[static_cast<size_t>(id)] = Value(std::move(tensor));
}

void Frame::as_written(ValueId id) {
  if (!is_rearranged(id)) return;
  const auto* tensor = values[static_cast<size_t>(id)].get_if<Tensor>();
  set(id, to_row_major(*this, *tensor), false);
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

Tensor make_images(Frame& frame, const Sizes& sizes) {
  if (!checked_numel(sizes)) throw std::bad_alloc();
  return frame.make(sizes, channels_last_strides(sizes));
}

bool is_channels_last(const Tensor& tensor) {
  if (tensor.dim() < 3) return false;
  const Sizes wanted = channels_last_strides(tensor.sizes());
  for (int64_t dim = 0; dim < tensor.dim(); ++dim)
    if (tensor.size(dim) != 1 && tensor.stride(dim) != wanted[static_cast<size_t>(dim)])
      return false;
  return true;
}

Tensor to_row_major(Frame& frame, const Tensor& tensor) {
  if (tensor.is_contiguous()) return tensor;
  if (tensor.dtype() != Dtype::float32 || tensor.numel() == 0) return tensor.contiguous();
  Tensor out = frame.make(tensor.sizes());
  if (is_channels_last(tensor))
    turn_images(frame, tensor, out, false);
  else
    copy_to_contiguous(tensor, out.raw_data());
  return out;
}

Tensor channels_last_value(Frame& frame, const BoundArgument& argument) {
  const Tensor& tensor = *frame.tensor(argument);
  if (is_channels_last(tensor)) return tensor;
  Tensor out = make_images(frame, tensor.sizes());
  turn_images(frame, to_row_major(frame, tensor), out, true);
  if (const auto id = Frame::value_id(argument); id && frame.may_rearrange(*id))
    frame.set(*id, out, true);
  return out;
}

int64_t window_count(int64_t in, int64_t kernel, int64_t stride, int64_t dilation, int64_t padding,
                     bool rounds_up) {
  const int64_t room = in + 2 * padding - dilation * (kernel - 1) - 1;
  if (room < 0) return 0;
  int64_t count = (room + (rounds_up ? stride - 1 : 0)) / stride + 1;
  if (rounds_up && (count - 1) * stride >= in + padding) --count;
  return count;
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
