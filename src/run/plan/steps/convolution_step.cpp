// Convolutions of images and signals with kernels that are the same in every call. Zeros that the
// program puts around the input become padding, and batch normalization after the convolution is
// folded into the kernels.
#include "base/memory_account.h"
#include "kernels/images/winograd.h"
#include "run/plan/layout.h"
#include "run/plan/packed_memory.h"
#include "run/plan/steps/convolution_kernels.h"

namespace pt2::run {
namespace {

// Rearranging so few channels takes longer than reading them in place.
constexpr int64_t kFewChannels = 4;

class ConvolutionStep final : public Step {
 public:
  ConvolutionStep(Nodes nodes, const BoundArgument& input, ConvolutionKernels kernels,
                  const Tail& tail, const std::shared_ptr<WeightCopies>& copies)
      : Step(std::move(nodes)),
        input_(input),
        kernels_(std::move(kernels)),
        addend_(tail.addend),
        activation_(tail.activation),
        channels_last_(kernels_.memory(copies, "channels last")),
        planar_(kernels_.memory(copies, "planar")),
        winograd_(kernels_.memory(copies, "winograd")) {}

  std::string_view name() const override { return "convolution"; }

  Result<bool> run(Frame& frame) const override {
    const Tensor* input = frame.tensor(input_);
    if (!is_float(input)) return false;
    auto call = kernels_.call(*input);
    if (!call) return false;
    kernels::Convolution& shape = call->shape;
    const Sizes& sizes = call->sizes;
    if (addend_ != nullptr) {
      const Tensor* addend = frame.tensor(*addend_);
      if (!is_float(addend) || addend->sizes() != sizes) return false;
    }

    shape.planar = shape.in_channels <= kFewChannels && shape.groups == 1 && input->is_contiguous();
    const float* winograd =
        kernels::suits_winograd(shape) ? winograd_kernels(shape, frame.threads()) : nullptr;
    const float* packed = winograd == nullptr ? plain_kernels(shape, frame.threads()) : nullptr;
    if (winograd == nullptr && packed == nullptr) return false;
    const Tensor image =
        shape.planar || is_among_channels(*input) ? *input : channels_last_value(frame, input_);
    const Tensor addend = addend_ == nullptr ? Tensor() : channels_last_value(frame, *addend_);
    Tensor out = make_images(frame, sizes);
    MemoryAccount::count_products({out.numel(), group_depth(shape)}, shape.out_channels);
    kernels::Images images{.data = image.data<float>(),
                           .image_stride = shape.in_channels * shape.in_height * shape.in_width};
    if (shape.planar) {
      images.row_stride = shape.in_width;
      images.pixel_stride = 1;
      images.channel_stride = shape.in_height * shape.in_width;
    } else {
      images.pixel_stride = is_among_channels(image) ? image.strides().back() : shape.in_channels;
      images.row_stride = shape.in_width * images.pixel_stride;
      images.image_stride = shape.in_height * images.row_stride;
    }
    const kernels::ConvolutionOperands operands{
        .images = images,
        .packed = winograd == nullptr ? packed : winograd,
        .out = out.data<float>(),
        .out_stride = shape.out_channels,
        .epilogue = {.bias = kernels_.changes.bias_or_null(),
                     .addend = addend_ == nullptr ? nullptr : addend.data<float>(),
                     .addend_stride = shape.out_channels,
                     .activation = activation_}};
    if (winograd == nullptr) {
      frame.launch([=, threads = frame.threads()] { kernels::convolve(shape, operands, threads); });
    } else {
      Tensor scratch = frame.make(
          {kernels::winograd_scratch_size(shape, kernels::thread_count(frame.threads()))});
      frame.launch([=, this, room = scratch.data<float>(), threads = frame.threads()] {
        if (!kernels::convolve_winograd(shape, operands, room, threads))
          convolve_exceptional(shape, operands, threads);
      });
    }
    frame.set(result(), std::move(out), true);
    return true;
  }

 private:
  // True for a slice of the channels of channels-last images.
  static bool is_among_channels(const Tensor& tensor) {
    const Sizes& sizes = tensor.sizes();
    if (tensor.stride(1) != 1 || is_channels_last(tensor)) return false;
    int64_t reach = tensor.strides().back();
    if (reach < sizes[1]) return false;
    for (size_t dim = sizes.size(); dim-- > 0;) {
      if (dim == 1) continue;
      if (sizes[dim] == 1 || tensor.strides()[dim] != reach) return false;
      reach *= sizes[dim];
    }
    return true;
  }

  auto plain_packing(const kernels::Convolution& shape, kernels::ThreadPool* threads) const {
    return [this, &shape, threads](float* memory) {
      kernels::pack_kernels(shape, kernels_.changed_weight().data<float>(), memory, threads);
      leave_file(kernels_.weight);
    };
  }
  const float* plain_kernels(const kernels::Convolution& shape,
                             kernels::ThreadPool* threads) const {
    return (shape.planar ? planar_ : channels_last_)
        .get(kernels::packed_kernels_size(shape), plain_packing(shape, threads));
  }
  const float* winograd_kernels(const kernels::Convolution& shape,
                                kernels::ThreadPool* threads) const {
    return winograd_.get(kernels::winograd_kernels_size(shape), [&](float* memory) {
      kernels::pack_winograd_kernels(shape, kernels_.changed_weight().data<float>(), memory,
                                     threads);
      leave_file(kernels_.weight);
    });
  }

  // Convolves images with infinite or huge numbers, which Winograd's differences do not take. Few
  // programs meet any, so the kernels are packed when one does.
  void convolve_exceptional(const kernels::Convolution& shape,
                            kernels::ConvolutionOperands operands,
                            kernels::ThreadPool* threads) const {
    std::vector<float> once;
    operands.packed = channels_last_.get(kernels::packed_kernels_size(shape),
                                         plain_packing(shape, threads), once);
    kernels::convolve(shape, operands, threads);
  }

  const BoundArgument& input_;
  ConvolutionKernels kernels_;
  const BoundArgument* addend_;
  kernels::Activation activation_;
  PackedMemory channels_last_;
  PackedMemory planar_;
  PackedMemory winograd_;
};

}  // namespace

StepPointer make_convolution(const Planner& planner, const BoundNode& node) {
  const Tensor* weight = planner.floats(node, "weight");
  std::optional<ConvolutionKernels> kernels;
  if (weight != nullptr) kernels = find_kernels(planner, node, *weight);
  if (!kernels && is_operator(node, "aten::convolution"))
    return planner.flag(node, "transposed") == false ? make_volume_convolution(planner, node)
                                                     : make_transposed_convolution(planner, node);
  if (!kernels) return nullptr;
  std::optional<Tensor> dense = planner.row_major(kernels->weight);
  if (!dense) return nullptr;
  kernels->weight = *std::move(dense);
  Step::Nodes nodes;
  const BoundArgument* input = Planner::argument(node, "input");
  if (const BoundNode* around = planner.only_maker(*input);
      around != nullptr && take_zeros(planner, *around, *kernels)) {
    nodes.push_back(around);
    input = Planner::argument(*around, "self");
  }
  nodes.push_back(&node);
  fold_changes(planner, kernels->weight.sizes().size() - 2, kernels->shape.out_channels, nodes,
               kernels->changes);
  const Tail tail = match_tail(planner, *nodes.back(), false);
  nodes.insert(nodes.end(), tail.nodes.begin(), tail.nodes.end());
  return std::make_unique<ConvolutionStep>(std::move(nodes), *input, *std::move(kernels), tail,
                                           planner.copies());
}

}  // namespace pt2::run
