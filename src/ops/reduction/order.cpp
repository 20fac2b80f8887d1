#include "ops/reduction/order.h"

#include <algorithm>
#include <array>
#include <utility>

namespace pt2::ops {
namespace {

constexpr size_t kFew = 64;

}  // namespace

template <class Key, class Place>
std::span<Placed<Key, Place>> sort_by_keys(std::span<Placed<Key, Place>> items,
                                           std::span<Placed<Key, Place>> spare) {
  using Item = Placed<Key, Place>;
  if (items.size() <= kFew) {
    std::ranges::stable_sort(items, {}, &Item::key);
    return items;
  }
  // Bytes that all keys have in common do not affect the order. Small integers have mostly such
  // bytes.
  Key differing = 0;
  for (const Item& item : items) differing |= item.key ^ items[0].key;
  for (size_t shift = 0; shift < sizeof(Key) * 8; shift += 8) {
    const auto byte_of = [shift](Key key) { return static_cast<size_t>(key >> shift & 0xff); };
    if (byte_of(differing) == 0) continue;
    std::array<size_t, 256> places{};
    for (const Item& item : items) ++places[byte_of(item.key)];
    size_t sum = 0;
    for (size_t& place : places) place = std::exchange(sum, sum + place);
    for (const Item& item : items) spare[places[byte_of(item.key)]++] = item;
    std::swap(items, spare);
  }
  return items;
}

template std::span<Placed<uint32_t, uint32_t>> sort_by_keys(std::span<Placed<uint32_t, uint32_t>>,
                                                            std::span<Placed<uint32_t, uint32_t>>);
template std::span<Placed<uint64_t, int64_t>> sort_by_keys(std::span<Placed<uint64_t, int64_t>>,
                                                           std::span<Placed<uint64_t, int64_t>>);

}  // namespace pt2::ops
