// Random numbers in the exact sequence of torch's CPU generator after torch.manual_seed
// (ATen/CPUGeneratorImpl.cpp, ATen/core/DistributionsHelper.h, ATen/core/MT19937RNGEngine.h).
#ifndef PT2_BASE_RANDOM_STATE_H
#define PT2_BASE_RANDOM_STATE_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "pt2/result.h"

namespace pt2 {

// The class of a torch.Generator that a program holds. The state of its object is a tensor of
// RandomState::kBytes bytes, which is as mutable as the program's buffers.
inline constexpr std::string_view kGeneratorClass = "torch._C.Generator";

class RandomState {
 public:
  // The size of the state that torch.Generator.get_state() returns, in bytes.
  static constexpr size_t kBytes = 5056;

  explicit RandomState(uint64_t seed);
  // Error `invalid` for a state that Generator.set_state refuses, or that would make it read beyond
  // its table.
  static Result<RandomState> read(std::span<const std::byte> bytes);
  // Writes into bytes that were read before; keeps the seed there.
  void write(std::span<std::byte> bytes) const;

  uint32_t next32();
  uint64_t next64() {
    const uint64_t high = next32();
    return high << 32 | next32();
  }
  // Returns a number uniform in [0, 1) of 53 bits, or of `digits` bits (at most 24).
  double uniform() { return static_cast<double>(next64() & ((1ull << 53) - 1)) / 0x1p53; }
  float uniform_float(int digits) {
    return static_cast<float>(next32() & ((1u << digits) - 1)) / static_cast<float>(1u << digits);
  }
  // Returns a number of mean 0 and deviation 1. Numbers are drawn in pairs; the second is kept for
  // the next call.
  double normal();
  bool bernoulli(double p) { return uniform() < p; }
  // Returns a number uniform in [0, range); range must not be 0. From 2^28 on it draws 64 bits:
  // with 32 bits the remainder would be too uneven (ATen/core/DistributionsHelper.h
  // uniform_int_from_to_distribution).
  uint64_t below(uint64_t range) { return (range >= 1ull << 28 ? next64() : next32()) % range; }

 private:
  static constexpr size_t kWords = 624;

  RandomState() = default;
  void mix();

  // MT19937: numbers come from the words from used_ on; when none is left, all words are mixed
  // anew.
  std::array<uint32_t, kWords> words_{};
  size_t used_ = kWords;
  std::optional<double> next_normal_;
};

}  // namespace pt2

#endif  // PT2_BASE_RANDOM_STATE_H
