// A function that every target's namespace has, and the call of the best one: PT2_EXPORT(function);
// then PT2_DISPATCH(function)(arguments), as Highway's HWY_EXPORT and HWY_DYNAMIC_DISPATCH. Those
// need Highway's library, which times the clock for 4 ms whenever a process loads it; nothing else
// here is more than its headers.
#ifndef PT2_KERNELS_DISPATCH_H
#define PT2_KERNELS_DISPATCH_H

#include <hwy/highway.h>
#include <hwy/targets.h>

namespace pt2::kernels {

// What all calls of the process take: the best of what the processor has, or what `use_target`
// says.
hwy::ChosenTarget& chosen_target();

}  // namespace pt2::kernels

// Of one target there is nothing to choose.
#if HWY_IDE || (HWY_TARGETS & (HWY_TARGETS - 1)) == 0
#define PT2_EXPORT(FUNCTION) static_assert(&HWY_STATIC_DISPATCH(FUNCTION) != nullptr)
#define PT2_DISPATCH(FUNCTION) HWY_STATIC_DISPATCH(FUNCTION)
#else
// ChosenTarget counts from 1.
#define PT2_EXPORT(FUNCTION)                                             \
  constexpr decltype(&HWY_STATIC_DISPATCH(FUNCTION)) FUNCTION##_of[] = { \
      nullptr, HWY_CHOOSE_TARGET_LIST(FUNCTION), HWY_CHOOSE_FALLBACK(FUNCTION)}
#define PT2_DISPATCH(FUNCTION) (*FUNCTION##_of[::pt2::kernels::chosen_target().GetIndex()])
#endif

#endif  // PT2_KERNELS_DISPATCH_H
