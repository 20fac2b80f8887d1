// Convolutions of quantized images with quantized kernels, which take levels as they are.
#include <algorithm>

#include "base/memory_account.h"
#include "kernels/images/quantized_convolution.h"
#include "run/plan/layout.h"
#include "run/plan/packed_memory.h"
#include "run/plan/steps/convolution_kernels.h"
#include "run/plan/steps/product_weights.h"

namespace pt2::run {
namespace {

class QuantizedConvolutionStep final : public Step {
 public:
  QuantizedConvolutionStep(Nodes nodes, ConvolutionKernels kernels, Dequantization images,
                           Tensor factors, const Tail& tail,
                           const std::shared_ptr<WeightCopies>& copies)
      : Step(std::move(nodes)),
        kernels_(std::move(kernels)),
        images_(std::move(images)),
        factors_(std::move(factors)),
        addend_(tail.addend),
        activation_(tail.activation),
        packed_(copies, {"quantized kernels", kernels_.weight.raw_data(), numbers()}) {}

  std::string_view name() const override { return "convolution"; }

  Result<bool> run(Frame& frame) const override {
    const Tensor* levels = images_.find(frame);
    const auto call = levels == nullptr ? std::nullopt : kernels_.call(*levels);
    const auto place = images_.numbers.place(frame);
    if (!call || !place) return false;
    if (addend_ != nullptr) {
      const Tensor* addend = frame.tensor(*addend_);
      if (!is_float(addend) || addend->sizes() != call->sizes) return false;
    }
    const float* packed = pack(frame);
    if (packed == nullptr) return false;
    const Tensor images = channels_last_value(frame, *images_.levels);
    const Tensor addend = addend_ == nullptr ? Tensor() : channels_last_value(frame, *addend_);
    Tensor scratch = frame.make({kernels::quantized_convolution_scratch_size(call->shape)});
    Tensor out = make_images(frame, call->sizes);
    MemoryAccount::count_products({out.numel(), group_depth(call->shape)});
    const kernels::QuantizedConvolution operands{
        .images = reinterpret_cast<const uint8_t*>(images.raw_data()),
        .is_signed = images_.dtype == Dtype::int8,
        .packed = reinterpret_cast<const int8_t*>(packed),
        .factors = factors_.data<float>(),
        .out = out.data<float>(),
        .epilogue = {.bias = kernels_.changes.bias_or_null(),
                     .addend = addend_ == nullptr ? nullptr : addend.data<float>(),
                     .addend_stride = call->shape.out_channels,
                     .activation = activation_},
        .scratch = scratch.data<float>()};
    const bool done =
        frame.launch([operands, place = *place, shape = call->shape, dtype = images_.dtype,
                      factors = factors_, threads = frame.threads()] {
          const LevelNumbers::Numbers numbers = place.read();
          if (!may_multiply(numbers, dtype, factors)) return false;
          kernels::QuantizedConvolution all = operands;
          all.scale = static_cast<float>(numbers.scale);
          all.zero = numbers.zero;
          kernels::convolve_quantized(shape, all, threads);
          return true;
        });
    if (done) frame.set(result(), std::move(out), true);
    return done;
  }

 private:
  Sizes numbers() const {
    Sizes out = kernels_.weight.sizes();
    out.insert(out.end(), kernels_.weight.strides().begin(), kernels_.weight.strides().end());
    out.push_back(kernels_.shape.groups);
    return out;
  }

  const float* pack(Frame& frame) const {
    const int64_t bytes = kernels::packed_level_kernels_size(kernels_.shape);
    return packed_.get(bytes / 4 + 1, [&](float* memory) {
      const Tensor dense = kernels_.weight.contiguous();
      kernels::pack_level_kernels(kernels_.shape, reinterpret_cast<const int8_t*>(dense.raw_data()),
                                  reinterpret_cast<int8_t*>(memory), frame.threads());
      leave_file(kernels_.weight);
    });
  }

  ConvolutionKernels kernels_;
  Dequantization images_;
  Tensor factors_;
  const BoundArgument* addend_;
  kernels::Activation activation_;
  PackedMemory packed_;
};

// Groups of few channels have a faster loop with floats.
bool has_few_channels(const kernels::Convolution& shape) {
  return shape.groups > 1 && shape.in_channels / shape.groups < 16;
}

struct QuantizedKernels {
  ConvolutionKernels kernels;
  QuantizedWeights weights;
};
std::optional<QuantizedKernels> find_levels_and_kernels(const Planner& planner,
                                                        const BoundNode& node) {
  std::optional<QuantizedWeights> weights = find_quantized_kernels(planner, node);
  if (!weights) return std::nullopt;
  std::optional<ConvolutionKernels> kernels = find_kernels(planner, node, weights->tensor);
  if (!kernels || has_few_channels(kernels->shape)) return std::nullopt;
  return QuantizedKernels{*std::move(kernels), *std::move(weights)};
}

}  // namespace

Step::Nodes nodes_of_kernel_levels(const Planner& planner, const BoundNode& node) {
  std::optional<QuantizedKernels> found = find_levels_and_kernels(planner, node);
  return found ? std::move(found->weights.made_by) : Step::Nodes();
}

StepPointer make_quantized_convolution(const Planner& planner, const BoundNode& node) {
  std::optional<QuantizedKernels> found = find_levels_and_kernels(planner, node);
  if (!found) return nullptr;
  auto& [kernels, weights] = *found;
  std::optional<Dequantization> images = quantized_rows(planner, node);
  Step::Nodes nodes = weights.made_by;
  nodes.push_back(images->node);
  std::ranges::sort(nodes);  // bound nodes lie in the order of the program
  nodes.push_back(&node);
  fold_changes(planner, kernels.weight.sizes().size() - 2, kernels.shape.out_channels, nodes,
               kernels.changes);
  const Tail tail = match_tail(planner, *nodes.back(), false);
  nodes.insert(nodes.end(), tail.nodes.begin(), tail.nodes.end());
  Tensor factors = weights.factors->clone();
  for (size_t i = 0; i < kernels.changes.scale.size(); ++i)
    factors.data<float>()[i] =
        static_cast<float>(factors.data<float>()[i] * kernels.changes.scale[i]);
  return std::make_unique<QuantizedConvolutionStep>(std::move(nodes), std::move(kernels),
                                                    *std::move(images), std::move(factors), tail,
                                                    planner.copies());
}

}  // namespace pt2::run
