// The instruction sets (targets) that kernels are compiled for. A kernel uses the best target that
// the processor supports; tests run every kernel on each target.
#ifndef PT2_KERNELS_TARGETS_H
#define PT2_KERNELS_TARGETS_H

#include <string_view>
#include <vector>

namespace pt2::kernels {

// Targets that this processor can run, best first: "AVX3", "AVX2", "SSE4", "NEON", "SCALAR".
std::vector<std::string_view> target_names();

// Sets the target that kernels use from now on; the best one if `name` is empty. Data packed for
// one target is useless for another. Must not be called while kernels run. False if the processor
// lacks the target.
bool use_target(std::string_view name);

}  // namespace pt2::kernels

#endif  // PT2_KERNELS_TARGETS_H
