#include "kernels/targets.h"

#include "kernels/dispatch.h"

#if HWY_ARCH_X86
#include <cpuid.h>
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/targets.cpp"
#include <hwy/foreach_target.h>

#if HWY_ONCE
namespace pt2::kernels {
namespace {

#if HWY_ARCH_X86
// Tests a feature bit that __builtin_cpu_supports cannot name in all compilers.
bool has_extended_bit(unsigned leaf, int bit) {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(leaf, &a, &b, &c, &d) != 0 && ((c >> bit) & 1) != 0;
}
#endif

// Returns the targets that kernels are compiled for and that the processor and the system support:
// a target needs the instructions that Highway (hwy/targets.h) enables for it.
int64_t supported_targets() {
  int64_t out = HWY_STATIC_TARGET | HWY_SCALAR | HWY_EMU128;
#if HWY_ARCH_X86
  __builtin_cpu_init();
  const bool sse4 = __builtin_cpu_supports("ssse3") && __builtin_cpu_supports("sse4.1") &&
                    __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul") &&
                    __builtin_cpu_supports("aes");
  const bool half_floats = has_extended_bit(1, 29), leading_zeros = has_extended_bit(0x80000001, 5);
  const bool avx2 = sse4 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
                    __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma") &&
                    half_floats && leading_zeros;
  const bool avx3 = avx2 && __builtin_cpu_supports("avx512f") &&
                    __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
                    __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd");
  if (sse4) out |= HWY_SSE4;
  if (avx2) out |= HWY_AVX2;
  if (avx3) out |= HWY_AVX3;
#endif
  return out & HWY_TARGETS;
}

// Lower bits are better targets.
std::vector<int64_t> best_first(int64_t targets) {
  std::vector<int64_t> out;
  for (; targets != 0; targets &= targets - 1) out.push_back(targets & -targets);
  return out;
}

}  // namespace

hwy::ChosenTarget& chosen_target() {
  static hwy::ChosenTarget& chosen = []() -> hwy::ChosenTarget& {
    static hwy::ChosenTarget best;
    best.Update(supported_targets());
    return best;
  }();
  return chosen;
}

std::vector<std::string_view> target_names() {
  std::vector<std::string_view> names;
  for (const int64_t target : best_first(supported_targets()))
    names.emplace_back(hwy::TargetName(target));
  return names;
}

bool use_target(std::string_view name) {
  const int64_t supported = supported_targets();
  if (name.empty()) {
    chosen_target().Update(supported);
    return true;
  }
  for (const int64_t target : best_first(supported)) {
    if (name != hwy::TargetName(target)) continue;
    chosen_target().Update(target);
    return true;
  }
  return false;
}

#if HWY_ARCH_X86
// Not inlined: a caller compiled for AVX may hold vectors.
HWY_NOINLINE void zero_upper_halves() {
  static const bool has_avx = __builtin_cpu_supports("avx") != 0;
  if (has_avx) asm volatile("vzeroupper" ::: "memory");
}
#else
void zero_upper_halves() {}
#endif

}  // namespace pt2::kernels
#endif
