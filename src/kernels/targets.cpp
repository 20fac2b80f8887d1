#include "kernels/targets.h"

#include <hwy/highway.h>
#include <hwy/targets.h>

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/targets.cpp"
#include <hwy/foreach_target.h>

#if HWY_ONCE
namespace pt2::kernels {

std::vector<std::string_view> target_names() {
  std::vector<int64_t> targets = hwy::SupportedAndGeneratedTargets();
  std::sort(targets.begin(), targets.end());
  std::vector<std::string_view> names;
  for (const int64_t target : targets) names.emplace_back(hwy::TargetName(target));
  return names;
}

bool use_target(std::string_view name) {
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().DeInit();
  if (name.empty()) return true;
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    if (name != hwy::TargetName(target)) continue;
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().DeInit();
    return true;
  }
  return false;
}

}  // namespace pt2::kernels
#endif
