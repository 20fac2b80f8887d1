// The state that earlier tokens left: keys and values of attention, which grow, or states of fixed
// size. A growing value occupies the beginning of a larger tensor (its room), so that a step
// extends it in place.
#ifndef PT2_DECODE_CACHE_H
#define PT2_DECODE_CACHE_H

#include <optional>
#include <span>
#include <vector>

#include "pt2/run_options.h"
#include "pt2/tensor.h"

namespace pt2::decode {

class Cache {
 public:
  // Sets a new value and the dimension along which it grows, if any. The value has no room if there
  // is no memory for it.
  void set(size_t entry, Tensor value, std::optional<size_t> growing);
  // Enlarges the entry to `size` along `dim`; new elements are zero.
  void enlarge(size_t entry, size_t dim, int64_t size);
  // Makes room for `more` tokens in every growing entry.
  void make_room(int64_t more);
  const Tensor& value(size_t entry) const { return entries_[entry].value; }
  // Returns the room of an entry; nullopt if the entry does not grow.
  std::optional<GrowingInput> growing(size_t entry, size_t input) const;

  size_t size() const { return entries_.size(); }
  bool is_empty() const { return entries_.empty(); }
  void clear() { entries_.clear(); }
  uint64_t copied_bytes() const { return copied_bytes_; }
  // Returns the bytes of all rooms and values.
  uint64_t bytes() const;

 private:
  struct Entry {
    Tensor value{};
    Tensor room{};  // undefined if the value does not grow
    size_t dim = 0;
  };
  void move(Entry& entry, int64_t capacity);

  std::vector<Entry> entries_;
  uint64_t copied_bytes_ = 0;
};

}  // namespace pt2::decode

#endif  // PT2_DECODE_CACHE_H
