// Transposed convolutions with kernels that are the same in every call. Later changes of each
// channel are folded in.
#include "base/memory_account.h"
#include "kernels/images/transposed.h"
#include "run/plan/batch_norm.h"
#include "run/plan/layout.h"
#include "run/plan/packed_memory.h"

namespace pt2::run {
namespace {

class TransposedConvolutionStep final : public Step {
 public:
  // `shape` lacks the sizes that calls decide. `behind` is the length of the results after the last
  // window, for each spatial dimension. The weight is row-major [in, out / groups, spatial...].
  TransposedConvolutionStep(Nodes nodes, Tensor weight, const kernels::TransposedConvolution& shape,
                            Sizes behind, ChannelChanges changes, kernels::Activation activation,
                            const std::shared_ptr<WeightCopies>& copies)
      : Step(std::move(nodes)),
        weight_(std::move(weight)),
        shape_(shape),
        behind_(std::move(behind)),
        changes_(std::move(changes)),
        activation_(activation),
        packed_(copies) {}

  std::string_view name() const override { return "transposed_convolution"; }

  Result<bool> run(Frame& frame) const override {
    const BoundArgument& argument = first().arguments[0];
    const Tensor* input = frame.tensor(argument);
    if (!is_float(input) || input->dim() != weight_.dim() || input->size(1) != shape_.in_channels ||
        !are_window_sizes(input->sizes(), 1))
      return false;
    kernels::TransposedConvolution shape = shape_;
    shape.batch = input->size(0);
    Sizes sizes = input->sizes();
    sizes[1] = shape.out_channels;
    for (size_t i = 0; i < behind_.size(); ++i) {
      const size_t dim = place(i, behind_.size());
      shape.in[dim] = input->sizes()[i + 2];
      shape.out[dim] = (shape.in[dim] - 1) * shape.stride[dim] - shape.pad[dim] +
                       shape.dilation[dim] * (shape.kernel[dim] - 1) + 1 + behind_[i];
      if (shape.out[dim] < 1) return false;
      sizes[i + 2] = shape.out[dim];
    }
    const float* packed = packed_.get(kernels::packed_transposed_size(shape),
                                      [&](float* memory) { pack(shape, memory, frame.threads()); });
    if (packed == nullptr) return false;
    const Tensor images = channels_last_value(frame, argument);
    Tensor out = make_images(frame, sizes);
    MemoryAccount::count_products(
        {input->numel(), shape.kernel[0] * shape.kernel[1] * shape.kernel[2] *
                             (shape.out_channels / shape.groups)});
    MemoryAccount::count_loops({kernels::gather_work(shape)}, 1);
    Tensor scratch = frame.make({kernels::transposed_scratch_size(shape)});
    frame.launch([shape, packed, bias = changes_.bias_or_null(), activation = activation_,
                  from = images.data<float>(), to = out.data<float>(), room = scratch.data<float>(),
                  threads = frame.threads()] {
      kernels::convolve_transposed(shape, from, packed, bias, activation, to, room, threads);
    });
    frame.set(result(), std::move(out), true);
    return true;
  }

  // Returns which of the kernel's three dimensions is spatial dimension `dim` of `spatial`. The
  // only dimension of a signal is the height.
  static size_t place(size_t dim, size_t spatial) { return spatial == 1 ? 1 : 3 - spatial + dim; }

 private:
  void pack(const kernels::TransposedConvolution& shape, float* memory,
            kernels::ThreadPool* threads) const {
    if (changes_.scale.empty())
      return kernels::pack_transposed(shape, weight_.data<float>(), memory, threads);
    const auto channels = shape.out_channels / shape.groups, in = shape.in_channels / shape.groups;
    const int64_t area = weight_.numel() / (shape.in_channels * channels);
    const float* weight = weight_.data<float>();
    std::vector<float> scaled(static_cast<size_t>(weight_.numel()));
    for (int64_t i = 0; i < weight_.numel(); ++i) {
      const int64_t channel = i / area % channels + i / (area * channels * in) * channels;
      scaled[static_cast<size_t>(i)] =
          static_cast<float>(weight[i] * changes_.scale[static_cast<size_t>(channel)]);
    }
    kernels::pack_transposed(shape, scaled.data(), memory, threads);
  }

  Tensor weight_;
  kernels::TransposedConvolution shape_;
  Sizes behind_;
  ChannelChanges changes_;
  kernels::Activation activation_;
  PackedMemory packed_;
};

}  // namespace

StepPointer make_transposed_convolution(const Planner& planner, const BoundNode& node) {
  const Tensor* weight = planner.floats(node, "weight");
  if (weight == nullptr || weight->dim() < 3 || weight->dim() > 5) return nullptr;
  const auto spatial = static_cast<size_t>(weight->dim() - 2);
  constexpr std::string_view kNames[] = {"aten::conv_transpose1d", "aten::conv_transpose2d",
                                         "aten::conv_transpose3d"};
  if (is_operator(node, "aten::convolution")
          ? planner.flag(node, "transposed") != true
          : own_row(node)->signature->name != kNames[spatial - 1])
    return nullptr;
  const auto stride = planner.integers(node, "stride", spatial),
             padding = planner.integers(node, "padding", spatial),
             behind = planner.integers(node, "output_padding", spatial),
             dilation = planner.integers(node, "dilation", spatial);
  const auto groups = planner.integer(node, "groups");
  if (!stride || !padding || !behind || !dilation || !groups || !are_window_sizes(*stride, 1) ||
      !are_window_sizes(*padding, 0) || !are_window_sizes(*behind, 0) ||
      !are_window_sizes(*dilation, 1) || !are_window_sizes(weight->sizes(), 1) || *groups < 1 ||
      weight->size(0) % *groups != 0 || *groups > weight->size(0))
    return nullptr;
  kernels::TransposedConvolution shape;
  shape.groups = *groups;
  shape.in_channels = weight->size(0);
  shape.out_channels = weight->size(1) * *groups;
  Sizes more(spatial);
  for (size_t i = 0; i < spatial; ++i) {
    const size_t dim = TransposedConvolutionStep::place(i, spatial);
    // The rule of the operator refuses larger output paddings.
    if ((*behind)[i] >= std::max((*stride)[i], (*dilation)[i])) return nullptr;
    shape.kernel[dim] = weight->sizes()[i + 2];
    shape.stride[dim] = (*stride)[i];
    shape.dilation[dim] = (*dilation)[i];
    shape.pad[dim] = (*padding)[i];
    more[i] = (*behind)[i] - (*padding)[i];
  }
  ChannelChanges changes;
  if (!take_bias(planner, node, shape.out_channels, changes)) return nullptr;
  std::optional<Tensor> dense = planner.row_major(*weight);
  if (!dense) return nullptr;
  Step::Nodes nodes{&node};
  fold_changes(planner, spatial, shape.out_channels, nodes, changes);
  const kernels::Activation activation = take_activation(planner, nodes);
  return std::make_unique<TransposedConvolutionStep>(std::move(nodes), *std::move(dense), shape,
                                                     std::move(more), std::move(changes),
                                                     activation, planner.copies());
}

}  // namespace pt2::run
