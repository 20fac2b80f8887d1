#include "decode/cache.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/memory_account.h"
#include "ops/loops.h"

namespace pt2::decode {
namespace {

// Small caches reserve at least this much room, so that the first tokens do not each cause a move.
constexpr int64_t kLeastRoom = 64;

Tensor beginning_of(const Tensor& room, size_t dim, int64_t size) {
  Sizes sizes = room.sizes();
  sizes[dim] = size;
  return room.with_view(std::move(sizes), room.strides(), room.storage_offset());
}

// Returns the offset of the value in the room along `dim`; nullopt if the value is not such a part
// of the room. A window of the latest tokens begins later each time.
std::optional<int64_t> place_in(const Tensor& room, const Tensor& value, size_t dim) {
  if (!room.defined() || value.storage() != room.storage() || value.dtype() != room.dtype() ||
      value.strides() != room.strides())
    return std::nullopt;
  const int64_t distance = value.storage_offset() - room.storage_offset(),
                stride = room.strides()[dim];
  if (distance < 0 || stride <= 0 || distance % stride != 0) return std::nullopt;
  const int64_t begin = distance / stride;
  Sizes sizes = value.sizes();
  if (begin > room.sizes()[dim] - sizes[dim]) return std::nullopt;
  sizes[dim] = room.sizes()[dim];
  return sizes == room.sizes() ? std::optional(begin) : std::nullopt;
}

}  // namespace

void Cache::move(Entry& entry, int64_t capacity) {
  Sizes sizes = entry.value.sizes();
  const int64_t size = sizes[entry.dim];
  sizes[entry.dim] = capacity;
  if (!checked_numel(sizes)) throw std::bad_alloc();
  entry.room = Tensor::zeros(entry.value.dtype(), std::move(sizes));
  Tensor value = beginning_of(entry.room, entry.dim, size);
  ops::copy_elements(value, entry.value);
  copied_bytes_ += static_cast<uint64_t>(value.nbytes());
  entry.value = std::move(value);
}

void Cache::set(size_t index, Tensor value, std::optional<size_t> growing) {
  if (index >= entries_.size()) entries_.resize(index + 1);
  Entry& entry = entries_[index];
  entry.value = std::move(value);
  if (!growing || *growing >= entry.value.sizes().size()) {
    entry.room = Tensor();
    return;
  }
  entry.dim = *growing;
  if (const auto begin = place_in(entry.room, entry.value, entry.dim)) {
    Sizes sizes = entry.room.sizes();
    sizes[entry.dim] -= *begin;
    entry.room =
        entry.room.with_view(std::move(sizes), entry.room.strides(), entry.value.storage_offset());
    return;
  }
  // Without memory for a room, the value stays where it is, and the next one is set anew.
  entry.room = Tensor();
  static_cast<void>(within_memory([&]() -> Result<void> {
    move(entry, std::max(kLeastRoom, 2 * entry.value.sizes()[entry.dim]));
    return {};
  }));
}

void Cache::enlarge(size_t index, size_t dim, int64_t size) {
  Entry& entry = entries_[index];
  entry.dim = dim;
  move(entry, size);
  entry.value = std::exchange(entry.room, Tensor());
}

void Cache::make_room(int64_t more) {
  for (Entry& entry : entries_) {
    if (!entry.room.defined()) continue;
    const int64_t wanted = entry.value.sizes()[entry.dim] + more;
    if (wanted > entry.room.sizes()[entry.dim]) move(entry, std::max(kLeastRoom, 2 * wanted));
  }
}

uint64_t Cache::bytes() const {
  uint64_t out = 0;
  for (const Entry& entry : entries_)
    if (entry.value.defined()) out += entry.value.storage()->size();
  return out;
}

std::optional<GrowingInput> Cache::growing(size_t index, size_t input) const {
  const Entry& entry = entries_[index];
  if (!entry.room.defined()) return std::nullopt;
  return GrowingInput{input, entry.dim, entry.room};
}

}  // namespace pt2::decode
