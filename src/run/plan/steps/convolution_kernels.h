// What a convolution of images or signals multiplies with, where that is the same in every call.
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
  ChannelChanges changes;      // of the results
  kernels::Convolution shape;  // without what calls decide
  int64_t pad_bottom = 0, pad_right = 0;

  // With the sizes of a call's input, and those of the result; nothing where they do not fit.
  struct Call {
    kernels::Convolution shape;
    Sizes sizes;
  };
  std::optional<Call> call(const Tensor& input) const;

  // The floats of the weight with the scales of `changes` in them, [out, in / groups, spatial...].
  Tensor changed_weight() const;
  // For these in the order that `order` says. Kernels that nothing changes are the same wherever a
  // program applies them.
  PackedMemory memory(const std::shared_ptr<WeightCopies>& copies, std::string_view order) const;
};

// Those of a node whose weight has the elements of `weight`; nothing where they are not known, or
// the convolution is transposed or of volumes.
std::optional<ConvolutionKernels> find_kernels(const Planner& planner, const BoundNode& node,
                                               const Tensor& weight);

// Takes in the zeros that a node puts around an image; false where it does something else.
bool take_zeros(const Planner& planner, const BoundNode& node, ConvolutionKernels& kernels);

}  // namespace pt2::run

#endif  // PT2_RUN_PLAN_STEPS_CONVOLUTION_KERNELS_H
