// Convolutions of images and signals with kernels that are the same in every call, with the zeros
// that are put around their input before, and with the batch normalization behind them folded into
// the kernels.
#include "kernels/images/convolution.h"
#include "kernels/images/winograd.h"
#include "run/plan/batch_norm.h"
#include "run/plan/layout.h"
#include "run/plan/packed_memory.h"

namespace pt2::run {
namespace {

// Turning so few channels takes longer than reading them where they lie.
constexpr int64_t kFewChannels = 4;

// Zeros around an image, one number for each spatial dimension.
struct Padding {
  Sizes before;
  Sizes after;
};

struct Kernels {
  Tensor weight;               // row-major [out, in / groups, spatial...]
  ChannelChanges changes;      // of the results
  kernels::Convolution shape;  // without what calls decide
  int64_t pad_bottom = 0, pad_right = 0;
};

class ConvolutionStep final : public Step {
 public:
  ConvolutionStep(Nodes nodes, const BoundArgument& input, Kernels kernels, const Tail& tail,
                  const std::shared_ptr<WeightCopies>& copies)
      : Step(std::move(nodes)),
        input_(input),
        kernels_(std::move(kernels)),
        addend_(tail.addend),
        activation_(tail.activation),
        channels_last_(memory(copies, "channels last")),
        planar_(memory(copies, "planar")),
        winograd_(memory(copies, "winograd")) {}

  std::string_view name() const override { return "convolution"; }

  Result<bool> run(Frame& frame) const override {
    const Tensor* input = frame.tensor(input_);
    const Tensor& weight = kernels_.weight;
    if (!is_float(input) || input->dim() != weight.dim() ||
        input->size(1) != kernels_.shape.in_channels)
      return false;
    kernels::Convolution shape = kernels_.shape;
    const int64_t rank = input->dim();
    shape.batch = input->size(0);
    shape.in_height = rank == 4 ? input->size(2) : 1;
    shape.in_width = input->size(rank - 1);
    shape.out_height =
        window_count(shape.in_height + shape.pad_top + kernels_.pad_bottom, shape.kernel_height,
                     shape.stride_y, shape.dilation_y, 0, false);
    shape.out_width = window_count(shape.in_width + shape.pad_left + kernels_.pad_right,
                                   shape.kernel_width, shape.stride_x, shape.dilation_x, 0, false);
    if (shape.out_height < 1 || shape.out_width < 1) return false;
    Sizes sizes = input->sizes();
    sizes[1] = shape.out_channels;
    if (rank == 4) sizes[2] = shape.out_height;
    sizes.back() = shape.out_width;
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
  // Whether it is some of the channels of images that lie channels last.
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

  // Kernels into which nothing is folded are the same wherever a program applies them.
  PackedMemory memory(const std::shared_ptr<WeightCopies>& copies, std::string_view order) const {
    if (!kernels_.changes.scale.empty()) return PackedMemory(copies);
    Sizes numbers = kernels_.weight.sizes();
    const kernels::Convolution& shape = kernels_.shape;
    for (const int64_t number :
         {shape.groups, shape.stride_y, shape.stride_x, shape.dilation_y, shape.dilation_x})
      numbers.push_back(number);
    return {copies, {order, kernels_.weight.data<float>(), std::move(numbers)}};
  }

  auto plain_packing(const kernels::Convolution& shape, kernels::ThreadPool* threads) const {
    return [this, &shape, threads](float* memory) {
      kernels::pack_kernels(shape, changed_kernels().data<float>(), memory, threads);
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
      kernels::pack_winograd_kernels(shape, changed_kernels().data<float>(), memory, threads);
      leave_file(kernels_.weight);
    });
  }

  // Images with infinite or huge numbers, which Winograd's differences do not take. Few programs
  // meet any, so the kernels are packed when one does.
  void convolve_exceptional(const kernels::Convolution& shape,
                            kernels::ConvolutionOperands operands,
                            kernels::ThreadPool* threads) const {
    std::vector<float> once;
    operands.packed = channels_last_.get(kernels::packed_kernels_size(shape),
                                         plain_packing(shape, threads), once);
    kernels::convolve(shape, operands, threads);
  }

  // With what follows on each channel folded in.
  Tensor changed_kernels() const {
    const Tensor& weight = kernels_.weight;
    if (kernels_.changes.scale.empty()) return weight;
    Tensor scaled = Tensor::zeros(Dtype::float32, weight.sizes());
    const int64_t count = weight.numel() / static_cast<int64_t>(kernels_.changes.scale.size());
    for (int64_t i = 0; i < weight.numel(); ++i)
      scaled.data<float>()[i] = static_cast<float>(
          weight.data<float>()[i] * kernels_.changes.scale[static_cast<size_t>(i / count)]);
    return scaled;
  }

  const BoundArgument& input_;
  Kernels kernels_;
  const BoundArgument* addend_;
  kernels::Activation activation_;
  PackedMemory channels_last_;
  PackedMemory planar_;
  PackedMemory winograd_;
};

// "same": the odd zero goes behind (ATen/native/Convolution.cpp convolution_same).
std::optional<Padding> padding_of(const Planner& planner, const BoundNode& node,
                                  const Tensor& weight, const Sizes& dilation) {
  const Value* given = planner.constant(node, "padding");
  const auto* word = given == nullptr ? nullptr : given->get_if<std::string>();
  const size_t spatial = weight.sizes().size() - 2;
  if (word == nullptr) {
    const auto around = planner.integers(node, "padding", spatial);
    return around ? std::optional(Padding{*around, *around}) : std::nullopt;
  }
  Padding out{Sizes(spatial, 0), Sizes(spatial, 0)};
  if (*word == "valid") return out;
  // With other strides, "same" is an error.
  if (*word != "same" || planner.integers(node, "stride", spatial) != Sizes(spatial, 1))
    return std::nullopt;
  for (size_t i = 0; i < spatial; ++i) {
    const auto around = checked_numel({{dilation[i], weight.sizes()[i + 2] - 1}});
    if (!around) return std::nullopt;
    out.before[i] = *around / 2;
    out.after[i] = *around - out.before[i];
  }
  return out;
}

// The zeros that a node puts around an image; nothing where it does something else.
std::optional<Padding> zeros_of(const Planner& planner, const BoundNode& node, size_t spatial) {
  const bool is_pad = is_operator(node, "aten::pad");
  if (!is_pad && !is_operator(node, "aten::constant_pad_nd")) return std::nullopt;
  if (is_pad) {
    const Value* mode = planner.constant(node, "mode");
    const auto* word = mode == nullptr ? nullptr : mode->get_if<std::string>();
    if (word == nullptr || *word != "constant") return std::nullopt;
  }
  if (!planner.is_none(node, "value") && planner.number(node, "value") != 0) return std::nullopt;
  const Value* given = planner.constant(node, "pad");
  const auto* list = given == nullptr ? nullptr : given->get_if<Value::List>();
  if (list == nullptr || list->size() % 2 != 0 || list->size() > 2 * spatial) return std::nullopt;
  const auto pads = planner.integers(node, "pad", list->size());
  if (!pads) return std::nullopt;
  Padding out{Sizes(spatial, 0), Sizes(spatial, 0)};
  // The last dimension comes first.
  for (size_t i = 0; i < pads->size() / 2; ++i) {
    out.before[spatial - 1 - i] = (*pads)[2 * i];
    out.after[spatial - 1 - i] = (*pads)[2 * i + 1];
  }
  return are_window_sizes(out.before, 0) && are_window_sizes(out.after, 0) ? std::optional(out)
                                                                           : std::nullopt;
}

void add_padding(const Padding& padding, Kernels& kernels) {
  kernels.shape.pad_left += padding.before.back();
  kernels.pad_right += padding.after.back();
  if (padding.before.size() != 2) return;
  kernels.shape.pad_top += padding.before[0];
  kernels.pad_bottom += padding.after[0];
}

std::optional<Kernels> find_kernels(const Planner& planner, const BoundNode& node) {
  const Tensor* weight = planner.floats(node, "weight");
  if (weight == nullptr || (weight->dim() != 3 && weight->dim() != 4)) return std::nullopt;
  const auto spatial = static_cast<size_t>(weight->dim() - 2);
  const bool is_1d =
      is_operator(node, "aten::conv1d") || is_operator(node, "aten::conv1d", "padding");
  if (is_1d != (spatial == 1) && !is_operator(node, "aten::convolution")) return std::nullopt;
  if (is_operator(node, "aten::convolution") && planner.flag(node, "transposed") != false)
    return std::nullopt;
  const auto stride = planner.integers(node, "stride", spatial);
  const auto dilation = planner.integers(node, "dilation", spatial);
  const auto padding = dilation ? padding_of(planner, node, *weight, *dilation) : std::nullopt;
  const auto groups = planner.integer(node, "groups");
  if (!stride || !padding || !groups || !are_window_sizes(*stride, 1) ||
      !are_window_sizes(padding->before, 0) || !are_window_sizes(padding->after, 0) ||
      !are_window_sizes(*dilation, 1) || !are_window_sizes(weight->sizes(), 1) || *groups < 1 ||
      weight->size(0) % *groups != 0)
    return std::nullopt;
  std::optional<Tensor> dense = planner.row_major(*weight);
  if (!dense) return std::nullopt;
  Kernels out{.weight = *std::move(dense), .changes = {}, .shape = {}};
  kernels::Convolution& shape = out.shape;
  shape.groups = *groups;
  shape.out_channels = weight->size(0);
  shape.in_channels = weight->size(1) * *groups;
  shape.kernel_width = weight->sizes().back();
  shape.stride_x = stride->back();
  shape.dilation_x = dilation->back();
  add_padding(*padding, out);
  if (spatial == 2) {
    shape.kernel_height = weight->size(2);
    shape.stride_y = (*stride)[0];
    shape.dilation_y = (*dilation)[0];
  }
  if (!take_bias(planner, node, shape.out_channels, out.changes)) return std::nullopt;
  return out;
}

}  // namespace

StepPointer make_convolution(const Planner& planner, const BoundNode& node) {
  std::optional<Kernels> kernels = find_kernels(planner, node);
  if (!kernels && is_operator(node, "aten::convolution"))
    return planner.flag(node, "transposed") == false ? make_volume_convolution(planner, node)
                                                     : make_transposed_convolution(planner, node);
  if (!kernels) return nullptr;
  Step::Nodes nodes;
  const BoundArgument* input = Planner::argument(node, "input");
  if (const BoundNode* around = planner.only_maker(*input))
    if (const auto zeros = zeros_of(planner, *around, kernels->weight.sizes().size() - 2)) {
      add_padding(*zeros, *kernels);
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
