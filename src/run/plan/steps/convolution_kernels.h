// The kernels of convolutions of images or signals, if these are the same in every call.
#ifndef PT2_RUN_PLAN_STEPS_CONVOLUTION_KERNELS_H
#define PT2_RUN_PLAN_STEPS_CONVOLUTION_KERNELS_H

#include <optional>

#include "kernels/images/convolution.h"
#include "run/plan/batch_norm.h"
#include "run/plan/packed_memory.h"
#include "run/plan/planner.h"

namespace pt2::run {

struct ConvolutionKernels {
  Tensor weight;               // [out, in / groups, spatial...]
  ChannelChanges changes;      // applied to the results
  kernels::Convolution shape;  // without the sizes that calls decide
  int64_t pad_bottom = 0, pad_right = 0;

  // The shape with the sizes of a call's input, and the sizes of the result. call() returns nullopt
  // if the input does not fit.
  struct Call {
    kernels::Convolution shape;
    Sizes sizes;
  };
  std::optional<Call> call(const Tensor& input) const;

  // Returns the weight multiplied by the scales of `changes`, [out, in / groups, spatial...].
  Tensor changed_weight() const;
  // Returns memory for the kernels in the order named `order`. Kernels without scales share it
  // wherever the program applies them.
  PackedMemory memory(const std::shared_ptr<WeightCopies>& copies, std::string_view order) const;
};

// Returns the kernels of a node whose weight has the elements of `weight`; nullopt if they are
// unknown, or the convolution is transposed or of volumes.
std::optional<ConvolutionKernels> find_kernels(const Planner& planner, const BoundNode& node,
                                               const Tensor& weight);

// Adds the zeros that a node puts around an image to the padding; false if the node does anything
// else.
bool take_zeros(const Planner& planner, const BoundNode& node, ConvolutionKernels& kernels);

}  // namespace pt2::run

#endif  // PT2_RUN_PLAN_STEPS_CONVOLUTION_KERNELS_H
