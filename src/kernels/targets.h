// The instruction sets for which kernels are compiled. A kernel picks the best one that the
// processor has; tests run every kernel on each.
#ifndef PT2_KERNELS_TARGETS_H
#define PT2_KERNELS_TARGETS_H

#include <string_view>
#include <vector>

namespace pt2::kernels {

// Those that this processor can run, best first: "AVX3", "AVX2", "SSE4", "NEON", "SCALAR".
std::vector<std::string_view> target_names();

// The one that kernels use from now on; empty for the best. What was packed for one is of no use to
// another. Not for use while kernels run. False if the processor lacks it.
bool use_target(std::string_view name);

}  // namespace pt2::kernels

#endif  // PT2_KERNELS_TARGETS_H
