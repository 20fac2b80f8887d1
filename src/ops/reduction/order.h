// Stable order of numbers: the basis of sorting, of distinct elements, and of non-maximum
// suppression of boxes.
#ifndef PT2_OPS_REDUCTION_ORDER_H
#define PT2_OPS_REDUCTION_ORDER_H

#include <bit>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>

#include "base/memory_account.h"

namespace pt2::ops {

template <class Key, class Place>
struct Placed {
  Key key;
  Place place;
};

// Sorts stably by keys with a radix sort, byte by byte from the lowest, in time linear in the
// count. The result is in `items` or in `spare`, which have the same size.
template <class Key, class Place>
std::span<Placed<Key, Place>> sort_by_keys(std::span<Placed<Key, Place>> items,
                                           std::span<Placed<Key, Place>> spare);

// Returns an unsigned integer with the order of the number. NaN is last; 0 and -0 are equal.
inline uint64_t order_key(int64_t x) {
  return static_cast<uint64_t>(x) ^ uint64_t { 1 } << 63;
}
template <class F, class Bits = std::conditional_t<sizeof(F) == 4, uint32_t, uint64_t>>
requires std::is_floating_point_v<F> Bits order_key(F x) {
  if (x != x) return std::numeric_limits<Bits>::max();
  const auto bits = std::bit_cast<Bits>(x + F(0));
  constexpr Bits kSign = Bits{1} << (sizeof(Bits) * 8 - 1);
  return (bits & kSign) != 0 ? ~bits : bits | kSign;
}

// C is float, double or int64_t. Reuses its memory for every row.
template <class C>
class StableOrder {
 public:
  using Key = decltype(order_key(C()));
  using Place = std::conditional_t<sizeof(Key) == 4, uint32_t, int64_t>;
  // There must be fewer than 2^32 floats, because their Place has 32 bits.
  explicit StableOrder(int64_t count)
      : items_(static_cast<size_t>(count)), spare_(static_cast<size_t>(count)) {}

  // Calls each(i, place) for i = 0, 1, …: numbers[place] is element i of the order. NaN is the
  // largest.
  template <class Each>
  void for_each(const C* numbers, bool descending, Each&& each) {
    for (size_t i = 0; i < items_.size(); ++i) {
      const Key key = order_key(numbers[i]);
      items_[i] = {descending ? static_cast<Key>(~key) : key, static_cast<Place>(i)};
    }
    int64_t i = 0;
    for (const auto& item : sort_by_keys<Key, Place>(items_, spare_))
      each(i++, static_cast<int64_t>(item.place));
  }

 private:
  Scratch<Placed<Key, Place>> items_, spare_;
};

}  // namespace pt2::ops

#endif  // PT2_OPS_REDUCTION_ORDER_H
