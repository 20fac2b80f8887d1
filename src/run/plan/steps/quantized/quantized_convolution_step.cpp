// Convolutions of quantized images. They read the quantized values (levels) directly, and return
// levels if the program quantizes the results. Kernels are quantized too, or floats where sums are
// short.
#include <algorithm>

#include "base/memory_account.h"
#include "kernels/images/quantized_convolution.h"
#include "run/plan/layout.h"
#include "run/plan/packed_memory.h"
#include "run/plan/steps/convolution_kernels.h"
#include "run/plan/steps/product_weights.h"
#include "run/plan/steps/quantized/requantization.h"

namespace pt2::run {
namespace {

// The common part of both steps: operands and results of a call.
class LevelImagesStep : public Step {
 public:
  struct Parts {
    ConvolutionKernels kernels;
    Dequantization images;
    Tail tail;
    LevelTail levels;
  };

  std::string_view name() const override { return "convolution"; }

 protected:
  LevelImagesStep(Nodes nodes, Parts parts)
      : Step(std::move(nodes)),
        kernels_(std::move(parts.kernels)),
        images_(std::move(parts.images)),
        addend_(parts.tail.addend),
        activation_(parts.tail.activation),
        levels_(std::move(parts.levels)) {}

  struct Operands {
    kernels::Convolution shape;
    LevelNumbers::Place numbers;
    Tensor images, addend, out;
    kernels::Epilogue epilogue;
  };
  std::optional<Operands> prepare(Frame& frame) const {
    const Tensor* levels = images_.find(frame);
    auto call = levels == nullptr ? std::nullopt : kernels_.call(*levels);
    auto place = images_.numbers.place(frame);
    if (!call || !place) return std::nullopt;
    if (addend_ != nullptr) {
      const Tensor* addend = frame.tensor(*addend_);
      if (!is_float(addend) || addend->sizes() != call->sizes) return std::nullopt;
    }
    Operands out{.shape = call->shape, .numbers = *std::move(place)};
    out.images = channels_last_value(frame, *images_.levels);
    if (addend_ != nullptr) out.addend = channels_last_value(frame, *addend_);
    out.out =
        make_images(frame, call->sizes, levels_.has_levels() ? levels_.dtype : Dtype::float32);
    MemoryAccount::count_products({out.out.numel(), group_depth(out.shape)});
    out.epilogue = {.bias = kernels_.changes.bias_or_null(),
                    .addend = addend_ == nullptr ? nullptr : out.addend.data<float>(),
                    .addend_stride = out.shape.out_channels,
                    .activation = activation_};
    return out;
  }

  // Returns the number of threads that need room for floats that become levels.
  int requantizing_threads(Frame& frame) const {
    return levels_.has_levels() ? kernels::thread_count(frame.threads()) : 0;
  }
  // Returns operands with the fields that both kinds have.
  template <class Kernel>
  Kernel filled(Operands& from, Tensor& scratch) const {
    Kernel to;
    to.images = reinterpret_cast<const uint8_t*>(from.images.raw_data());
    to.is_signed = images_.dtype == Dtype::int8;
    to.epilogue = from.epilogue;
    if (levels_.has_levels()) {
      to.requantization = &levels_.requantization;
      to.out_levels = reinterpret_cast<uint8_t*>(from.out.raw_data());
    } else {
      to.out = from.out.data<float>();
    }
    to.scratch = scratch.data<float>();
    return to;
  }

  ConvolutionKernels kernels_;
  Dequantization images_;
  const BoundArgument* addend_;
  kernels::Activation activation_;
  LevelTail levels_;
};

class QuantizedConvolutionStep final : public LevelImagesStep {
 public:
  QuantizedConvolutionStep(Nodes nodes, Parts parts, Tensor factors,
                           const std::shared_ptr<WeightCopies>& copies)
      : LevelImagesStep(std::move(nodes), std::move(parts)),
        factors_(std::move(factors)),
        packed_(copies, {"quantized kernels", kernels_.weight.raw_data(), kernels_.weight.dtype(),
                         numbers()}) {}

  Result<bool> run(Frame& frame) const override {
    const float* packed = pack(frame);
    std::optional<Operands> call = packed == nullptr ? std::nullopt : prepare(frame);
    if (!call) return false;
    Tensor scratch = frame.make(
        {kernels::quantized_convolution_scratch_size(call->shape, requantizing_threads(frame))});
    auto operands = filled<kernels::QuantizedConvolution>(*call, scratch);
    operands.packed = reinterpret_cast<const int8_t*>(packed);
    operands.factors = factors_.data<float>();
    const bool done =
        frame.launch([operands, place = call->numbers, shape = call->shape, dtype = images_.dtype,
                      factors = factors_, threads = frame.threads()] {
          const LevelNumbers::Numbers numbers = place.read();
          if (!may_multiply(numbers, dtype, factors)) return false;
          kernels::QuantizedConvolution all = operands;
          all.scale = static_cast<float>(numbers.scale);
          all.zero = numbers.zero;
          kernels::convolve_quantized(shape, all, threads);
          return true;
        });
    if (done) frame.set(result(), std::move(call->out), true);
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

  Tensor factors_;
  PackedMemory packed_;
};

class LevelConvolutionStep final : public LevelImagesStep {
 public:
  LevelConvolutionStep(Nodes nodes, Parts parts, const std::shared_ptr<WeightCopies>& copies)
      : LevelImagesStep(std::move(nodes), std::move(parts)),
        packed_(kernels_.memory(copies, "channels last")) {}

  Result<bool> run(Frame& frame) const override {
    const float* packed = pack(frame);
    std::optional<Operands> call = packed == nullptr ? std::nullopt : prepare(frame);
    if (!call) return false;
    Tensor scratch = frame.make({kernels::level_convolution_scratch_size(
        call->shape, kernels::thread_count(frame.threads()))});
    auto operands = filled<kernels::LevelConvolution>(*call, scratch);
    operands.packed = packed;
    frame.launch([operands, place = call->numbers, shape = call->shape, threads = frame.threads()] {
      kernels::LevelConvolution all = operands;
      add_way_back(place.read(), all.numbers);
      kernels::convolve_levels(shape, all, threads);
    });
    frame.set(result(), std::move(call->out), true);
    return true;
  }

 private:
  const float* pack(Frame& frame) const {
    return packed_.get(kernels::packed_kernels_size(kernels_.shape), [&](float* memory) {
      kernels::pack_kernels(kernels_.shape, kernels_.changed_weight().data<float>(), memory,
                            frame.threads());
      leave_file(kernels_.weight);
    });
  }

  PackedMemory packed_;
};

// True for groups of few channels, for which a loop with floats is faster.
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
  std::optional<Dequantization> images = quantized_rows(planner, node);
  if (!images) return nullptr;
  std::optional<QuantizedKernels> found = find_levels_and_kernels(planner, node);
  std::optional<ConvolutionKernels> kernels;
  Step::Nodes nodes;
  if (found) {
    kernels = std::move(found->kernels);
    nodes = found->weights.made_by;
  } else {
    const Tensor* weight = planner.floats(node, "weight");
    if (weight != nullptr) kernels = find_kernels(planner, node, *weight);
    if (!kernels || !has_few_channels(kernels->shape)) return nullptr;
    std::optional<Tensor> dense = planner.row_major(*weight);
    if (!dense) return nullptr;
    kernels->weight = *std::move(dense);
  }
  nodes.push_back(images->node);
  std::ranges::sort(nodes);  // bound nodes lie in program order
  nodes.push_back(&node);
  fold_changes(planner, kernels->weight.sizes().size() - 2, kernels->shape.out_channels, nodes,
               kernels->changes);
  const Tail tail = match_tail(planner, *nodes.back(), false);
  nodes.insert(nodes.end(), tail.nodes.begin(), tail.nodes.end());
  LevelTail levels = match_level_tail(planner, *nodes.back());
  nodes.insert(nodes.end(), levels.nodes.begin(), levels.nodes.end());
  LevelImagesStep::Parts parts{*std::move(kernels), *std::move(images), tail, std::move(levels)};
  if (!found)
    return std::make_unique<LevelConvolutionStep>(std::move(nodes), std::move(parts),
                                                  planner.copies());
  Tensor factors = found->weights.factors->clone();
  const std::vector<double>& scales = parts.kernels.changes.scale;
  for (size_t i = 0; i < scales.size(); ++i)
    factors.data<float>()[i] = static_cast<float>(factors.data<float>()[i] * scales[i]);
  return std::make_unique<QuantizedConvolutionStep>(std::move(nodes), std::move(parts),
                                                    std::move(factors), planner.copies());
}

}  // namespace pt2::run
