// PT2_EXPORT(function) declares a function that every target's namespace defines;
// PT2_DISPATCH(function)(arguments) calls it for the chosen target. They replace Highway's
// HWY_EXPORT and HWY_DYNAMIC_DISPATCH, which need Highway's library: it calibrates the clock for 4
// ms whenever a process loads it. Everything else needs only Highway's headers.
#ifndef PT2_KERNELS_DISPATCH_H
#define PT2_KERNELS_DISPATCH_H

#include <hwy/highway.h>
#include <hwy/targets.h>

namespace pt2::kernels {

// The target of all calls of the process: the best that the processor supports, or the target set
// by `use_target`.
hwy::ChosenTarget& chosen_target();

}  // namespace pt2::kernels

// With a single target, there is nothing to choose.
#if HWY_IDE || (HWY_TARGETS & (HWY_TARGETS - 1)) == 0
#define PT2_EXPORT(FUNCTION) static_assert(&HWY_STATIC_DISPATCH(FUNCTION) != nullptr)
#define PT2_DISPATCH(FUNCTION) HWY_STATIC_DISPATCH(FUNCTION)
#else
// Index 0 is unused: ChosenTarget counts from 1.
#define PT2_EXPORT(FUNCTION)                                             \
  constexpr decltype(&HWY_STATIC_DISPATCH(FUNCTION)) FUNCTION##_of[] = { \
      nullptr, HWY_CHOOSE_TARGET_LIST(FUNCTION), HWY_CHOOSE_FALLBACK(FUNCTION)}
#define PT2_DISPATCH(FUNCTION) (*FUNCTION##_of[::pt2::kernels::chosen_target().GetIndex()])
#endif

#endif  // PT2_KERNELS_DISPATCH_H
