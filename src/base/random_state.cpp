#include "base/random_state.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <numbers>

namespace pt2 {
namespace {

// Byte offsets of members of CPUGeneratorImplState.
constexpr size_t kLeft = 8, kSeeded = 12, kNext = 16, kTable = 24, kNormal = 5024,
                 kHasNormal = 5040;

template <class T>
T load(std::span<const std::byte> bytes, size_t place) {
  T value;
  std::memcpy(&value, bytes.data() + place, sizeof value);
  return value;
}
template <class T>
void store(std::span<std::byte> bytes, size_t place, T value) {
  std::memcpy(bytes.data() + place, &value, sizeof value);
}

}  // namespace

RandomState::RandomState(uint64_t seed) {
  words_[0] = static_cast<uint32_t>(seed);
  for (uint32_t i = 1; i < kWords; ++i)
    words_[i] = 1812433253u * (words_[i - 1] ^ words_[i - 1] >> 30) + i;
}

Result<RandomState> RandomState::read(std::span<const std::byte> bytes) {
  const auto invalid = [](std::string message) {
    return Error{ErrorCode::invalid, std::move(message), ""};
  };
  if (bytes.size() != kBytes)
    return invalid(
        fmt::format("the generator's state has {} bytes, expected {}", bytes.size(), kBytes));
  const auto left = load<int32_t>(bytes, kLeft);
  const auto next = load<uint64_t>(bytes, kNext);
  // With one number left, the generator mixes the table anew before it takes the next number.
  const bool is_used_up = left == 1;
  const bool fits = left > 1 && left <= static_cast<int32_t>(kWords) &&
                    next == kWords + 1 - static_cast<uint64_t>(left);
  if (load<int32_t>(bytes, kSeeded) != 1 || (!is_used_up && !fits) || next > kWords)
    return invalid(
        fmt::format("the generator's state has {} numbers left after place {}, which no generator "
                    "has",
                    left, next));
  RandomState out;
  for (size_t i = 0; i < kWords; ++i)
    out.words_[i] = static_cast<uint32_t>(load<uint64_t>(bytes, kTable + i * sizeof(uint64_t)));
  out.used_ = is_used_up ? kWords : next;
  if (load<int32_t>(bytes, kHasNormal) != 0) out.next_normal_ = load<double>(bytes, kNormal);
  return out;
}

void RandomState::write(std::span<std::byte> bytes) const {
  store(bytes, kLeft, static_cast<int32_t>(kWords + 1 - used_));
  store(bytes, kNext, static_cast<uint64_t>(used_));
  for (size_t i = 0; i < kWords; ++i)
    store(bytes, kTable + i * sizeof(uint64_t), static_cast<uint64_t>(words_[i]));
  store(bytes, kNormal, next_normal_.value_or(0));
  store(bytes, kHasNormal, static_cast<int32_t>(next_normal_.has_value()));
}

void RandomState::mix() {
  constexpr size_t kShift = 397;
  const auto twist = [&](size_t at, size_t next, size_t other) {
    const uint32_t joined = (words_[at] & 0x80000000u) | (words_[next] & 0x7FFFFFFFu);
    words_[at] = words_[other] ^ joined >> 1 ^ ((words_[next] & 1u) != 0 ? 0x9908B0DFu : 0u);
  };
  for (size_t i = 0; i < kWords - kShift; ++i) twist(i, i + 1, i + kShift);
  for (size_t i = kWords - kShift; i < kWords - 1; ++i) twist(i, i + 1, i + kShift - kWords);
  twist(kWords - 1, 0, kShift - 1);
  used_ = 0;
}

uint32_t RandomState::next32() {
  if (used_ == kWords) mix();
  uint32_t y = words_[used_++];
  y ^= y >> 11;
  y ^= y << 7 & 0x9D2C5680u;
  y ^= y << 15 & 0xEFC60000u;
  return y ^ y >> 18;
}

double RandomState::normal() {
  if (next_normal_) {
    const double kept = *next_normal_;
    next_normal_.reset();
    return kept;
  }
  const double u1 = uniform();
  const double u2 = uniform();
  const double radius = std::sqrt(-2.0 * std::log1p(-u2));
  const double angle = 2.0 * std::numbers::pi * u1;
  next_normal_ = radius * std::sin(angle);
  return radius * std::cos(angle);
}

}  // namespace pt2
