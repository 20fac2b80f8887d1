// Random numbers in the exact sequence of torch's CPU generator after torch.manual_seed
// (ATen/CPUGeneratorImpl.cpp, ATen/core/DistributionsHelper.h).
#ifndef PT2_OPS_RANDOM_H
#define PT2_OPS_RANDOM_H

#include <cstdint>
#include <optional>
#include <random>

namespace pt2::ops {

class RandomState {
 public:
  explicit RandomState(uint64_t seed) : engine_(static_cast<uint32_t>(seed)) {}

  uint32_t next32() { return static_cast<uint32_t>(engine_()); }
  uint64_t next64() {
    const uint64_t high = next32();
    return high << 32 | next32();
  }
  // Uniform in [0, 1): with 53 bits, or with `digits` of at most 24 bits.
  double uniform() { return static_cast<double>(next64() & ((1ull << 53) - 1)) / 0x1p53; }
  float uniform_float(int digits) {
    return static_cast<float>(next32() & ((1u << digits) - 1)) / static_cast<float>(1u << digits);
  }
  // Mean 0, deviation 1. Numbers are drawn in pairs; the second is kept for the next call.
  double normal();
  bool bernoulli(double p) { return uniform() < p; }
  // Uniform in [0, range); range must not be 0. From 2^28 on, 64 bits are drawn: with 32 bits the
  // remainder would be too uneven (ATen/core/DistributionsHelper.h
  // uniform_int_from_to_distribution).
  uint64_t below(uint64_t range) { return (range >= 1ull << 28 ? next64() : next32()) % range; }

 private:
  std::mt19937 engine_;
  std::optional<double> next_normal_;
};

}  // namespace pt2::ops

#endif  // PT2_OPS_RANDOM_H
