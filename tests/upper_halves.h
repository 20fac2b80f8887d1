// Whether the processor has the upper halves of vector registers in use.
#ifndef PT2_TESTS_UPPER_HALVES_H
#define PT2_TESTS_UPPER_HALVES_H

#include <optional>

#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>
#endif

namespace pt2::test {

// Nothing if the processor does not tell.
inline std::optional<bool> upper_halves_in_use() {
#if defined(__x86_64__) && defined(__GNUC__)
  // XGETBV with ECX = 1 gives the state components in use (Intel SDM, volume 1, 13.1).
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned kSystemSaves = 1u << 27, kTellsUse = 1u << 2, kUpperHalves = 1u << 2;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & kSystemSaves) == 0) return std::nullopt;
  if (__get_cpuid_count(0xD, 1, &a, &b, &c, &d) == 0 || (a & kTellsUse) == 0) return std::nullopt;
  asm volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(1));
  return (a & kUpperHalves) != 0;
#else
  return std::nullopt;
#endif
}

}  // namespace pt2::test

#endif  // PT2_TESTS_UPPER_HALVES_H
