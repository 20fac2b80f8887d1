// What the tokens so far left behind: keys and values of attention, which grow, or states of fixed
// sizes. What grows lies at the beginning of a larger tensor, so that a step adds to it in place.
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
  // A new value, and the dimension along which it grows, if it does. Errors: none but memory
  // (std::bad_alloc).
  void set(size_t entry, Tensor value, std::optional<size_t> growing);
  // The entry has `size` along `dim`, more than before; what is new is zero.
  void enlarge(size_t entry, size_t dim, int64_t size);
  // Sees to it that `more` can be added to every entry that grows.
  void make_room(int64_t more);
  const Tensor& value(size_t entry) const { return entries_[entry].value; }
  // The room of an entry; nothing where it does not grow.
  std::optional<GrowingInput> growing(size_t entry, size_t input) const;

  size_t size() const { return entries_.size(); }
  bool is_empty() const { return entries_.empty(); }
  void clear() { entries_.clear(); }
  uint64_t copied_bytes() const { return copied_bytes_; }
  // Of all rooms and values.
  uint64_t bytes() const;

 private:
  struct Entry {
    Tensor value{};
    Tensor room{};  // not defined where it does not grow
    size_t dim = 0;
  };
  void move(Entry& entry, int64_t capacity);

  std::vector<Entry> entries_;
  uint64_t copied_bytes_ = 0;
};

}  // namespace pt2::decode

#endif  // PT2_DECODE_CACHE_H
