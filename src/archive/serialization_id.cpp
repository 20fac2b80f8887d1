#include "archive/serialization_id.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/check.h"

namespace pt2 {
namespace {

// c10::hash_combine.
uint64_t combine(uint64_t seed, uint64_t value) {
  return seed ^ (value + 0x9e3779b9 + (seed << 6) + (seed >> 2));
}

// std::hash<std::string> of libstdc++: MurmurHash64A with its seed.
uint64_t hash_text(std::string_view text) {
  constexpr uint64_t kFactor = 0xc6a4a7935bd1e995;
  constexpr uint64_t kSeed = 0xc70f6907;
  const auto mix = [](uint64_t value) { return value ^ (value >> 47); };
  const auto load = [&](size_t from, size_t count) {
    uint64_t value = 0;
    for (size_t i = count; i-- > 0;)
      value = value << 8 | static_cast<unsigned char>(text[from + i]);
    return value;
  };
  uint64_t hash = kSeed ^ (text.size() * kFactor);
  const size_t whole = text.size() / 8 * 8;
  for (size_t i = 0; i < whole; i += 8) {
    hash ^= mix(load(i, 8) * kFactor) * kFactor;
    hash *= kFactor;
  }
  if (whole != text.size()) {
    hash ^= load(whole, text.size() - whole);
    hash *= kFactor;
  }
  return mix(mix(hash) * kFactor);
}

// The order in which libstdc++'s unordered_set visits elements that were inserted one by one: a
// single list, in which the elements of a bucket are adjacent. A new element goes in front of its
// bucket's first element, or, when the bucket is empty, to the front of the list.
class HashSetOrder {
 public:
  explicit HashSetOrder(const std::vector<uint64_t>& hashes)
      : hashes_(hashes), next_(hashes.size() + 1, kNone) {
    for (uint32_t i = 0; i < hashes.size(); ++i) {
      if (i >= buckets_.size()) grow(i);
      insert(i);
    }
  }

  template <class Visit>
  void for_each(Visit visit) const {
    for (uint32_t at = next_.back(); at != kNone; at = next_[at]) visit(hashes_[at]);
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  // The sizes from libstdc++'s table of primes that a set reaches by doubling
  // (_Prime_rehash_policy).
  static constexpr uint32_t kBucketCounts[] = {
      13,      29,      59,      127,      257,      541,      1109,      2357,
      5087,    10273,   20753,   42043,    85229,    172933,   351061,    712697,
      1447153, 2938679, 5967347, 12117689, 24607243, 49969847, 101473717, 206062531};

  uint32_t head() const { return static_cast<uint32_t>(hashes_.size()); }

  // buckets_[b] is the element before the bucket's first element; head() if that is the list's
  // first.
  void insert(uint32_t element) {
    uint32_t& before = buckets_[hashes_[element] % buckets_.size()];
    if (before != kNone) {
      next_[element] = next_[before];
      next_[before] = element;
      return;
    }
    const uint32_t first = next_[head()];
    next_[element] = first;
    next_[head()] = element;
    if (first != kNone) buckets_[hashes_[first] % buckets_.size()] = element;
    before = head();
  }

  void grow(uint32_t used) {
    const auto* count = std::ranges::upper_bound(kBucketCounts, used);
    PT2_CHECK(count != std::end(kBucketCounts));
    buckets_.assign(*count, kNone);
    uint32_t at = next_[head()];
    next_[head()] = kNone;
    while (at != kNone) {
      const uint32_t following = next_[at];
      insert(at);
      at = following;
    }
  }

  const std::vector<uint64_t>& hashes_;
  std::vector<uint32_t> next_;
  std::vector<uint32_t> buckets_;
};

}  // namespace

void SerializationId::add(std::string_view name, uint64_t size, uint32_t crc) {
  name_hashes_.push_back(hash_text(name.substr(name.find('/') + 1)));
  // The writer learns checksums from data descriptors, which empty entries do not have.
  if (size > 0) combined_crc_ = combine(combined_crc_, crc);
}

std::string SerializationId::text() const {
  uint64_t combined_names = 0;
  HashSetOrder(name_hashes_).for_each([&](uint64_t hash) {
    combined_names = combine(combined_names, hash);
  });
  return fmt::format("{:020}{:020}", combined_names, combined_crc_);
}

}  // namespace pt2
