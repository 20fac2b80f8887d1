#include "run/plan/layout.h"

#include <new>

#include "kernels/layouts.h"

namespace pt2::run {
namespace {

int64_t area_of(const Tensor& images) { return images.numel() / (images.size(0) * images.size(1)); }

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

Tensor to_channels_last(Frame& frame, const Tensor& tensor) {
  Tensor out = frame.make(tensor.sizes(), channels_last_strides(tensor.sizes()));
  if (is_channels_last(tensor)) {
    std::copy_n(tensor.data<float>(), tensor.numel(), out.data<float>());
    return out;
  }
  const int64_t channels = tensor.size(1), area = area_of(tensor);
  kernels::turn({.count = tensor.size(0),
                 .rows = channels,
                 .columns = area,
                 .from_stride = area,
                 .to_stride = channels,
                 .from_matrix_stride = channels * area,
                 .to_matrix_stride = channels * area},
                tensor.data<float>(), out.data<float>(), frame.threads());
  return out;
}

Tensor to_row_major(Frame& frame, const Tensor& tensor) {
  if (tensor.dtype() != Dtype::float32 || tensor.numel() == 0) return tensor.contiguous();
  Tensor out = frame.make(tensor.sizes());
  if (!is_channels_last(tensor)) {
    copy_to_contiguous(tensor, out.raw_data());
    return out;
  }
  const int64_t channels = tensor.size(1), area = area_of(tensor);
  kernels::turn({.count = tensor.size(0),
                 .rows = area,
                 .columns = channels,
                 .from_stride = channels,
                 .to_stride = area,
                 .from_matrix_stride = channels * area,
                 .to_matrix_stride = channels * area},
                tensor.data<float>(), out.data<float>(), frame.threads());
  return out;
}

Tensor channels_last_value(Frame& frame, const BoundArgument& argument) {
  const Tensor& tensor = *frame.tensor(argument);
  if (is_channels_last(tensor)) return tensor;
  Tensor out =
      to_channels_last(frame, tensor.is_contiguous() ? tensor : to_row_major(frame, tensor));
  if (const auto id = Frame::value_id(argument); id && frame.may_rearrange(*id))
    frame.set(*id, out, true);
  return out;
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
