#include "run/plan/steps/convolution_kernels.h"

#include "run/plan/layout.h"

namespace pt2::run {
namespace {

// Zeros around an image, one number for each spatial dimension.
struct Padding {
  Sizes before;
  Sizes after;
};

// With "same", the odd zero goes to the end (ATen/native/Convolution.cpp convolution_same).
std::optional<Padding> padding_of(const Planner& planner, const BoundNode& node,
                                  const Tensor& weight, const Sizes& dilation) {
  const auto* word = planner.constant_of<std::string>(node, "padding");
  const size_t spatial = weight.sizes().size() - 2;
  if (word == nullptr) {
    const auto around = planner.integers(node, "padding", spatial);
    return around ? std::optional(Padding{*around, *around}) : std::nullopt;
  }
  Padding out{Sizes(spatial, 0), Sizes(spatial, 0)};
  if (*word == "valid") return out;
  // PyTorch refuses "same" with other strides.
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

// Returns the zeros that a node puts around an image; nullopt if the node does anything else.
std::optional<Padding> zeros_of(const Planner& planner, const BoundNode& node, size_t spatial) {
  const bool is_pad = is_operator(node, "aten::pad");
  if (!is_pad && !is_operator(node, "aten::constant_pad_nd")) return std::nullopt;
  if (is_pad) {
    const auto* word = planner.constant_of<std::string>(node, "mode");
    if (word == nullptr || *word != "constant") return std::nullopt;
  }
  if (!planner.is_none(node, "value") && planner.number(node, "value") != 0) return std::nullopt;
  const auto pads = planner.integers(node, "pad");
  if (!pads || pads->size() % 2 != 0 || pads->size() > 2 * spatial) return std::nullopt;
  Padding out{Sizes(spatial, 0), Sizes(spatial, 0)};
  // `pads` begins with the last dimension.
  for (size_t i = 0; i < pads->size() / 2; ++i) {
    out.before[spatial - 1 - i] = (*pads)[2 * i];
    out.after[spatial - 1 - i] = (*pads)[2 * i + 1];
  }
  return are_window_sizes(out.before, 0) && are_window_sizes(out.after, 0) ? std::optional(out)
                                                                           : std::nullopt;
}

void add_padding(const Padding& padding, ConvolutionKernels& kernels) {
  kernels.shape.pad_left += padding.before.back();
  kernels.pad_right += padding.after.back();
  if (padding.before.size() != 2) return;
  kernels.shape.pad_top += padding.before[0];
  kernels.pad_bottom += padding.after[0];
}

}  // namespace

std::optional<ConvolutionKernels> find_kernels(const Planner& planner, const BoundNode& node,
                                               const Tensor& weight) {
  if (weight.dim() != 3 && weight.dim() != 4) return std::nullopt;
  const auto spatial = static_cast<size_t>(weight.dim() - 2);
  const bool is_1d =
      is_operator(node, "aten::conv1d") || is_operator(node, "aten::conv1d", "padding");
  if (is_1d != (spatial == 1) && !is_operator(node, "aten::convolution")) return std::nullopt;
  if (is_operator(node, "aten::convolution") && planner.flag(node, "transposed") != false)
    return std::nullopt;
  const auto stride = planner.integers(node, "stride", spatial);
  const auto dilation = planner.integers(node, "dilation", spatial);
  const auto padding = dilation ? padding_of(planner, node, weight, *dilation) : std::nullopt;
  const auto groups = planner.integer(node, "groups");
  if (!stride || !padding || !groups || !are_window_sizes(*stride, 1) ||
      !are_window_sizes(padding->before, 0) || !are_window_sizes(padding->after, 0) ||
      !are_window_sizes(*dilation, 1) || !are_window_sizes(weight.sizes(), 1) || *groups < 1 ||
      weight.size(0) % *groups != 0)
    return std::nullopt;
  ConvolutionKernels out{.weight = weight, .changes = {}, .shape = {}};
  kernels::Convolution& shape = out.shape;
  shape.groups = *groups;
  shape.out_channels = weight.size(0);
  shape.in_channels = weight.size(1) * *groups;
  shape.kernel_width = weight.sizes().back();
  shape.stride_x = stride->back();
  shape.dilation_x = dilation->back();
  add_padding(*padding, out);
  if (spatial == 2) {
    shape.kernel_height = weight.size(2);
    shape.stride_y = (*stride)[0];
    shape.dilation_y = (*dilation)[0];
  }
  if (!take_bias(planner, node, shape.out_channels, out.changes)) return std::nullopt;
  return out;
}

bool take_zeros(const Planner& planner, const BoundNode& node, ConvolutionKernels& kernels) {
  const auto zeros = zeros_of(planner, node, kernels.weight.sizes().size() - 2);
  if (zeros) add_padding(*zeros, kernels);
  return zeros.has_value();
}

std::optional<ConvolutionKernels::Call> ConvolutionKernels::call(const Tensor& input) const {
  if (input.dim() != weight.dim() || input.size(1) != shape.in_channels) return std::nullopt;
  Call out{shape, input.sizes()};
  const int64_t rank = input.dim();
  out.shape.batch = input.size(0);
  out.shape.in_height = rank == 4 ? input.size(2) : 1;
  out.shape.in_width = input.size(rank - 1);
  out.shape.out_height =
      window_count(out.shape.in_height + shape.pad_top + pad_bottom, shape.kernel_height,
                   shape.stride_y, shape.dilation_y, 0, false);
  out.shape.out_width =
      window_count(out.shape.in_width + shape.pad_left + pad_right, shape.kernel_width,
                   shape.stride_x, shape.dilation_x, 0, false);
  if (out.shape.out_height < 1 || out.shape.out_width < 1) return std::nullopt;
  out.sizes[1] = shape.out_channels;
  if (rank == 4) out.sizes[2] = out.shape.out_height;
  out.sizes.back() = out.shape.out_width;
  return out;
}

Tensor ConvolutionKernels::changed_weight() const {
  if (changes.scale.empty()) return weight;
  Tensor scaled = Tensor::zeros(Dtype::float32, weight.sizes());
  const int64_t count = weight.numel() / static_cast<int64_t>(changes.scale.size());
  const float* from = weight.data<float>();
  float* to = scaled.data<float>();
  for (const double scale : changes.scale)
    for (int64_t i = 0; i < count; ++i) *to++ = static_cast<float>(*from++ * scale);
  return scaled;
}

PackedMemory ConvolutionKernels::memory(const std::shared_ptr<WeightCopies>& copies,
                                        std::string_view order) const {
  if (!changes.scale.empty()) return PackedMemory(copies);
  Sizes numbers = weight.sizes();
  for (const int64_t number :
       {shape.groups, shape.stride_y, shape.stride_x, shape.dilation_y, shape.dilation_x})
    numbers.push_back(number);
  return {copies, {order, weight.raw_data(), weight.dtype(), std::move(numbers)}};
}

}  // namespace pt2::run
