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

// Zeroes what AVX adds to the vector registers. Compilers omit this in some kernels that pass
// vectors to each other (GCC 12), and then Intel's processors run all code of the baseline, SSE2,
// up to ten times slower. Whoever runs kernels calls this after them. Takes a nanosecond.
void zero_upper_halves();

}  // namespace pt2::kernels

#endif  // PT2_KERNELS_TARGETS_H
