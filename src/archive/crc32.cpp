#include "archive/crc32.h"

#include <libdeflate.h>

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#endif

namespace pt2 {

#if defined(__x86_64__) && defined(__GNUC__)
namespace {

// libdeflate 1.14 multiplies one pair of numbers at a time, which takes 2.5 times as long as
// reading memory. This folds two pairs per instruction (Gopal et al., "Fast CRC Computation for
// Generic Polynomials Using PCLMULQDQ", Intel 2009) and leaves the short remainder to libdeflate.
constexpr size_t kLanes = 8;
constexpr size_t kBlock = kLanes * sizeof(__m256i);

// x^n modulo the CRC's polynomial. Bit 63 - i of the result is the coefficient of x^i.
constexpr uint64_t power_of_x(size_t n) {
  uint32_t power = 1u << 31;
  for (size_t i = 0; i < n; ++i) power = (power >> 1) ^ (power & 1) * 0xEDB88320;
  return uint64_t{power} << 32;
}

// Replaces all but the last part of the message by one block with the same CRC: each 128 bits are
// multiplied by x^(bits of a block) and added to the 128 bits one block later. The product of two
// bit-mirrored numbers comes out multiplied by x, hence the -1.
__attribute__((target("avx2,vpclmulqdq"))) uint32_t fold(uint32_t crc,
                                                         std::span<const std::byte> bytes) {
  constexpr uint64_t kHigh = power_of_x(kBlock * 8 + 64 - 1);
  constexpr uint64_t kLow = power_of_x(kBlock * 8 - 1);
  const __m256i factors = _mm256_set_epi64x(kLow, kHigh, kLow, kHigh);
  const auto* next = reinterpret_cast<const __m256i*>(bytes.data());
  __m256i lanes[kLanes];
  for (__m256i& lane : lanes) lane = _mm256_loadu_si256(next++);
  lanes[0] =
      _mm256_xor_si256(lanes[0], _mm256_set_epi32(0, 0, 0, 0, 0, 0, 0, static_cast<int>(~crc)));
  for (size_t block = 1; block < bytes.size() / kBlock; ++block)
    for (__m256i& lane : lanes) {
      const __m256i high = _mm256_clmulepi64_epi128(lane, factors, 0x00);
      const __m256i low = _mm256_clmulepi64_epi128(lane, factors, 0x11);
      lane = _mm256_xor_si256(_mm256_xor_si256(high, low), _mm256_loadu_si256(next++));
    }
  // GCC 12 leaves this out. Intel's processors then run all SSE code of the process up to ten times
  // slower, until other code zeroes the upper halves of the registers.
  _mm256_zeroupper();
  // `crc` went into the first block; ~0 makes libdeflate start from zero.
  crc = libdeflate_crc32(~0u, lanes, kBlock);
  return libdeflate_crc32(crc, next, bytes.size() % kBlock);
}

bool can_fold() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("vpclmulqdq"); }

}  // namespace

uint32_t crc32(uint32_t crc, std::span<const std::byte> bytes) {
  if (bytes.size() >= 2 * kBlock && can_fold()) return fold(crc, bytes);
  return libdeflate_crc32(crc, bytes.data(), bytes.size());
}
#else
uint32_t crc32(uint32_t crc, std::span<const std::byte> bytes) {
  return libdeflate_crc32(crc, bytes.data(), bytes.size());
}
#endif

namespace {

constexpr uint32_t kOne = 1u << 31;  // bit 31 - i is the coefficient of x^i

uint32_t multiply(uint32_t left, uint32_t right) {
  uint32_t product = 0;
  for (uint32_t bit = kOne; bit != 0; bit >>= 1) {
    if (left & bit) product ^= right;
    right = (right >> 1) ^ (right & 1) * 0xEDB88320;
  }
  return product;
}

// x^(8 count) by squaring: each zero byte multiplies the register by x^8.
uint32_t shift_by(uint64_t count) {
  uint32_t result = kOne;
  for (uint32_t power = kOne >> 8; count != 0; count >>= 1, power = multiply(power, power))
    if (count & 1) result = multiply(result, power);
  return result;
}

}  // namespace

uint32_t crc32_of_zeros(uint32_t crc, uint64_t count) { return ~multiply(~crc, shift_by(count)); }

uint32_t combine_crc32(uint32_t first, uint32_t second, uint64_t second_size) {
  return multiply(first, shift_by(second_size)) ^ second;
}

}  // namespace pt2
