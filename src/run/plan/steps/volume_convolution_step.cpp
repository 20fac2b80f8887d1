// Convolutions of volumes: each slice of a result is a sum of image convolutions of the input
// slices that the kernel covers.
#include <algorithm>

#include "base/memory_account.h"
#include "kernels/images/convolution.h"
#include "kernels/images/winograd.h"
#include "kernels/pointwise.h"
#include "run/plan/batch_norm.h"
#include "run/plan/layout.h"
#include "run/plan/packed_memory.h"
#include "run/plan/planner.h"

namespace pt2::run {
namespace {

// Windows along depth, height and width.
struct Windows {
  Sizes stride, padding, dilation;
};

// A convolution of volumes by slices of the input and of the kernels, stored one after another.
struct Slices {
  kernels::Convolution shape;  // of one slice
  int64_t batch = 0;
  int64_t in = 0, out = 0, kernels = 0;  // along the depth
  int64_t stride = 1, padding = 0, dilation = 1;
  const float* packed = nullptr;
  float* winograd_scratch = nullptr;  // null: slices are convolved without Winograd
  const float* bias = nullptr;
  kernels::Activation activation = kernels::Activation::none;
};

int64_t packed_slice_size(const kernels::Convolution& shape, bool winograd) {
  return winograd ? kernels::winograd_kernels_size(shape) : kernels::packed_kernels_size(shape);
}

// Computes one slice of the result at `to`; the input volume begins at `from`. False if Winograd's
// sums are not finite.
bool convolve_slice(const Slices& all, int64_t slice, const float* from, float* to,
                    kernels::ThreadPool* threads) {
  const kernels::Convolution& shape = all.shape;
  const int64_t channels = shape.out_channels;
  const kernels::Images image{.row_stride = shape.in_width * shape.in_channels,
                              .pixel_stride = shape.in_channels};
  const int64_t area = shape.in_height * shape.in_width * shape.in_channels;
  const int64_t first = slice * all.stride - all.padding;
  const auto is_inside = [&](int64_t k) {
    return first + k * all.dilation >= 0 && first + k * all.dilation < all.in;
  };
  int64_t begin = 0, end = all.kernels;
  while (begin < end && !is_inside(begin)) ++begin;
  while (end > begin && !is_inside(end - 1)) --end;
  const int64_t pixels = shape.out_height * shape.out_width;
  if (begin == end) {
    for (int64_t i = 0; i < pixels * channels; ++i)
      to[i] = all.bias == nullptr ? 0.0f : all.bias[i % channels];
    kernels::apply(all.activation, to, to, pixels * channels);
    return true;
  }
  const bool winograd = all.winograd_scratch != nullptr;
  for (int64_t k = begin; k < end; ++k) {
    kernels::ConvolutionOperands operands{
        .images = image,
        .packed = all.packed + k * packed_slice_size(shape, winograd),
        .out = to,
        .out_stride = channels,
        .epilogue = {.bias = k == begin ? all.bias : nullptr,
                     .addend = k == begin ? nullptr : to,
                     .addend_stride = channels,
                     .activation = k + 1 == end ? all.activation : kernels::Activation::none}};
    operands.images.data = from + (first + k * all.dilation) * area;
    if (!winograd)
      kernels::convolve(shape, operands, threads);
    else if (!kernels::convolve_winograd(shape, operands, all.winograd_scratch, threads))
      return false;
  }
  return true;
}

class VolumeConvolutionStep final : public Step {
 public:
  // Weights are row-major [out, in / groups, depth, height, width].
  VolumeConvolutionStep(Nodes nodes, Tensor weight, ChannelChanges changes, Windows windows,
                        int64_t groups, kernels::Activation activation,
                        const std::shared_ptr<WeightCopies>& copies)
      : Step(std::move(nodes)),
        weight_(std::move(weight)),
        changes_(std::move(changes)),
        windows_(std::move(windows)),
        groups_(groups),
        activation_(activation),
        plain_(copies),
        winograd_(copies) {}

  std::string_view name() const override { return "convolution"; }

  Result<bool> run(Frame& frame) const override {
    const BoundArgument& argument = first().arguments[0];
    const Tensor* input = frame.tensor(argument);
    if (!is_float(input) || input->dim() != 5 || input->size(1) != weight_.size(1) * groups_)
      return false;
    Sizes sizes = input->sizes();
    sizes[1] = weight_.size(0);
    for (size_t i = 0; i < 3; ++i) {
      sizes[i + 2] = window_count(input->sizes()[i + 2], weight_.sizes()[i + 2], windows_.stride[i],
                                  windows_.dilation[i], windows_.padding[i], false);
      if (sizes[i + 2] < 1) return false;
    }
    Slices slices{.shape = shape_of(*input, sizes),
                  .batch = input->size(0),
                  .in = input->size(2),
                  .out = sizes[2],
                  .kernels = weight_.size(2),
                  .stride = windows_.stride[0],
                  .padding = windows_.padding[0],
                  .dilation = windows_.dilation[0],
                  .bias = changes_.bias_or_null(),
                  .activation = activation_};
    const bool winograd = kernels::suits_winograd(slices.shape);
    slices.packed = packed_kernels(slices.shape, winograd, frame.threads());
    if (slices.packed == nullptr) return false;
    const Tensor volume = channels_last_value(frame, argument);
    Tensor out = make_images(frame, sizes);
    MemoryAccount::count_products({out.numel(), weight_.numel() / weight_.size(0)},
                                  weight_.size(0));
    Tensor scratch;
    if (winograd) {
      scratch = frame.make(
          {kernels::winograd_scratch_size(slices.shape, kernels::thread_count(frame.threads()))});
      slices.winograd_scratch = scratch.data<float>();
    }
    frame.launch([this, slices, from = volume.data<float>(), to = out.data<float>(),
                  in_size = volume.numel() / slices.batch,
                  out_size = out.numel() / (slices.batch * slices.out), threads = frame.threads()] {
      for (int64_t i = 0; i < slices.batch; ++i)
        for (int64_t slice = 0; slice < slices.out; ++slice) {
          float* result = to + (i * slices.out + slice) * out_size;
          if (!convolve_slice(slices, slice, from + i * in_size, result, threads))
            convolve_exceptional(slices, slice, from + i * in_size, result, threads);
        }
    });
    frame.set(result(), std::move(out), true);
    return true;
  }

 private:
  kernels::Convolution shape_of(const Tensor& input, const Sizes& sizes) const {
    kernels::Convolution shape;
    shape.in_height = input.size(3);
    shape.in_width = input.size(4);
    shape.in_channels = input.size(1);
    shape.out_height = sizes[3];
    shape.out_width = sizes[4];
    shape.out_channels = sizes[1];
    shape.kernel_height = weight_.size(3);
    shape.kernel_width = weight_.size(4);
    shape.stride_y = windows_.stride[1];
    shape.stride_x = windows_.stride[2];
    shape.dilation_y = windows_.dilation[1];
    shape.dilation_x = windows_.dilation[2];
    shape.pad_top = windows_.padding[1];
    shape.pad_left = windows_.padding[2];
    shape.groups = groups_;
    return shape;
  }

  auto packing(const kernels::Convolution& shape, bool winograd,
               kernels::ThreadPool* threads) const {
    return [this, &shape, winograd, threads](float* memory) {
      pack(shape, winograd, memory, threads);
      leave_file(weight_);
    };
  }
  const float* packed_kernels(const kernels::Convolution& shape, bool winograd,
                              kernels::ThreadPool* threads) const {
    return (winograd ? winograd_ : plain_)
        .get(packed_slice_size(shape, winograd) * weight_.size(2),
             packing(shape, winograd, threads));
  }

  // Packs the kernels of each slice separately.
  void pack(const kernels::Convolution& shape, bool winograd, float* memory,
            kernels::ThreadPool* threads) const {
    const int64_t each = packed_slice_size(shape, winograd), depth = weight_.size(2);
    const int64_t area = weight_.size(3) * weight_.size(4),
                  rows = weight_.size(0) * weight_.size(1);
    const float* weight = weight_.data<float>();
    std::vector<float> slice(static_cast<size_t>(rows * area));
    for (int64_t k = 0; k < depth; ++k) {
      for (int64_t row = 0; row < rows; ++row) {
        const auto channel = static_cast<size_t>(row / weight_.size(1));
        const double scale = changes_.scale.empty() ? 1 : changes_.scale[channel];
        for (int64_t i = 0; i < area; ++i)
          slice[static_cast<size_t>(row * area + i)] =
              static_cast<float>(weight[(row * depth + k) * area + i] * scale);
      }
      (winograd ? kernels::pack_winograd_kernels : kernels::pack_kernels)(
          shape, slice.data(), memory + k * each, threads);
    }
  }

  // Convolves a slice with numbers that Winograd's differences do not take (winograd.h). Few
  // programs meet any, so the kernels are packed when one does.
  void convolve_exceptional(Slices slices, int64_t slice, const float* from, float* to,
                            kernels::ThreadPool* threads) const {
    slices.winograd_scratch = nullptr;
    std::vector<float> once;
    slices.packed = plain_.get(packed_slice_size(slices.shape, false) * slices.kernels,
                               packing(slices.shape, false, threads), once);
    convolve_slice(slices, slice, from, to, threads);
  }

  Tensor weight_;
  ChannelChanges changes_;
  Windows windows_;
  int64_t groups_;
  kernels::Activation activation_;
  PackedMemory plain_;
  PackedMemory winograd_;
};

}  // namespace

StepPointer make_volume_convolution(const Planner& planner, const BoundNode& node) {
  const Tensor* weight = planner.floats(node, "weight");
  if (weight == nullptr || weight->dim() != 5) return nullptr;
  const auto stride = planner.integers(node, "stride", 3),
             padding = planner.integers(node, "padding", 3),
             dilation = planner.integers(node, "dilation", 3);
  const auto groups = planner.integer(node, "groups");
  if (!stride || !padding || !dilation || !groups || !are_window_sizes(*stride, 1) ||
      !are_window_sizes(*padding, 0) || !are_window_sizes(*dilation, 1) ||
      !are_window_sizes(weight->sizes(), 1) || *groups < 1 || weight->size(0) % *groups != 0)
    return nullptr;
  ChannelChanges changes;
  if (!take_bias(planner, node, weight->size(0), changes)) return nullptr;
  const std::optional<Tensor> dense = planner.row_major(*weight);
  if (!dense) return nullptr;
  Step::Nodes nodes{&node};
  fold_changes(planner, 3, weight->size(0), nodes, changes);
  const kernels::Activation activation = take_activation(planner, nodes);
  return std::make_unique<VolumeConvolutionStep>(std::move(nodes), *dense, std::move(changes),
                                                 Windows{*stride, *padding, *dilation}, *groups,
                                                 activation, planner.copies());
}

}  // namespace pt2::run
