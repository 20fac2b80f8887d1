#include "run/plan/memory_pool.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <new>
#include <set>
#include <utility>

#include "base/memory_account.h"

namespace pt2::run {
namespace {

constexpr size_t kAlignment = 64;
constexpr uint64_t kRunsKept = 8;
// The memory of a storage besides its bytes. Storages made in a loop's rounds consist mostly of it.
constexpr size_t kOverhead = 512;

std::byte* allocate_block(size_t bytes) {
  void* memory = ::operator new(bytes, std::align_val_t(kAlignment));
  if (!MemoryPool::kReuses) std::memset(memory, 0xff, bytes);
  return static_cast<std::byte*>(memory);
}

void free_block(std::byte* data) { ::operator delete(data, std::align_val_t(kAlignment)); }

}  // namespace

struct MemoryPool::Blocks {
  struct Free {
    std::byte* data;
    uint64_t last_run;
  };
  std::mutex mutex;
  // Free blocks by size and number. Numbers rise in the order in which blocks become free.
  std::map<std::pair<size_t, uint64_t>, Free> free;
  std::map<uint64_t, size_t> sizes;  // of the free blocks, by number
  uint64_t next_number = 0;
  uint64_t free_bytes = 0;
  uint64_t bytes = 0;  // of free blocks and of those in use
  uint64_t runs = 0;
  uint64_t most_used = 0;         // in use at once, ever
  uint64_t most_used_in_run = 0;  // in use at once since the last run ended
  bool reuses = true;
  bool keeps_addresses = false;
  std::byte* arena = nullptr;
  size_t arena_size = 0;
  std::map<size_t, size_t> gaps;                     // in the arena: sizes by offset
  std::set<std::pair<size_t, size_t>> gaps_by_size;  // the same gaps: (size, offset)

  ~Blocks() {
    for (const auto& [key, block] : free) free_block(block.data);
    if (arena != nullptr) free_block(arena);
  }

  void make_arena(size_t size) {
    if (size == 0) return;
    arena = allocate_block(size);
    arena_size = size;
    add_gap(0, size);
    bytes += size;
    free_bytes += size;
  }
  void add_gap(size_t place, size_t size) {
    gaps.emplace(place, size);
    gaps_by_size.emplace(size, place);
  }
  void remove_gap(size_t place, size_t size) {
    gaps.erase(place);
    gaps_by_size.erase({size, place});
  }
  // Takes the smallest gap that is large enough. A file may leave as many gaps as its program has
  // values, so none is searched for. Returns null if all gaps are too small.
  std::byte* take_from_arena(size_t size) {
    const auto gap = gaps_by_size.lower_bound({size, 0});
    if (gap == gaps_by_size.end()) return nullptr;
    const auto [room, place] = *gap;
    remove_gap(place, room);
    if (room > size) add_gap(place + size, room - size);
    free_bytes -= size;
    note_use();
    return arena + place;
  }
  bool is_in_arena(const std::byte* data) const {
    return arena != nullptr && data >= arena && data < arena + arena_size;
  }
  void give_back_to_arena(size_t place, size_t size) {
    free_bytes += size;
    const auto behind = gaps.lower_bound(place);
    if (behind != gaps.end() && behind->first == place + size) {
      const size_t more = behind->second;
      remove_gap(place + size, more);
      size += more;
    }
    const auto end = gaps.lower_bound(place);
    if (end != gaps.begin()) {
      const auto [start, before] = *std::prev(end);
      if (start + before == place) {
        remove_gap(start, before);
        place = start;
        size += before;
      }
    }
    add_gap(place, size);
  }

  void note_use() {
    most_used_in_run = std::max(most_used_in_run, bytes - free_bytes);
    most_used = std::max(most_used, most_used_in_run);
  }

  // Returns the smallest free block that holds `size` bytes without wasting more than it uses, or a
  // new block. For a new block, free blocks are dropped until all blocks together stay below the
  // most that was used at once, and the free ones below the rest of the account. So calls of ever
  // other sizes take no more than the largest run.
  std::pair<std::byte*, size_t> take(size_t size, const MemoryAccount* account) {
    {
      const std::lock_guard lock(mutex);
      if (std::byte* data = take_from_arena(size); data != nullptr) return {data, size};
      const auto found = reuses ? free.lower_bound({size, 0}) : free.end();
      if (found != free.end() && found->first.first <= 2 * size) {
        const std::pair<std::byte*, size_t> out{found->second.data, found->first.first};
        free_bytes -= found->first.first;
        remove(found);
        note_use();
        return out;
      }
      // Sizes that grow from value to value (what a loop appends to) get a larger block. Otherwise
      // each would need a block of its own, between which the heap has gaps that are too small for
      // the next one.
      const auto larger = free.lower_bound({size, 0});
      if (reuses && larger != free.begin() && std::prev(larger)->first.first >= size - size / 8)
        size += size / 8 / kAlignment * kAlignment;
      while (!keeps_addresses && !free.empty() &&
             bytes + size > std::max(most_used, bytes - free_bytes + size))
        drop(free.find({sizes.begin()->second, sizes.begin()->first}));
      while (account != nullptr && !keeps_addresses && !free.empty() &&
             free_bytes > account->left())
        drop(std::prev(free.end()));
    }
    std::byte* data = allocate_block(size);
    const std::lock_guard lock(mutex);
    bytes += size;
    note_use();
    return {data, size};
  }

  void give_back(std::byte* data, size_t size) {
    const std::lock_guard lock(mutex);
    if (is_in_arena(data)) return give_back_to_arena(static_cast<size_t>(data - arena), size);
    const auto block = free.try_emplace({size, next_number}, Free{data, runs}).first;
    sizes.emplace(next_number++, size);
    free_bytes += size;
    if (!reuses) drop(block);
  }

  using Place = decltype(free)::iterator;
  Place remove(Place block) {
    sizes.erase(block->first.second);
    return free.erase(block);
  }
  Place drop(Place block) {
    free_bytes -= block->first.first;
    bytes -= block->first.first;
    free_block(block->second.data);
    return remove(block);
  }
};

MemoryPool::MemoryPool(bool reuses) : blocks_(std::make_shared<Blocks>()) {
  blocks_->reuses = reuses;
}

MemoryPool MemoryPool::keeping_addresses(uint64_t arena_bytes) {
  MemoryPool out(true);
  out.blocks_->keeps_addresses = true;
  out.blocks_->make_arena(static_cast<size_t>(arena_bytes) / kAlignment * kAlignment);
  return out;
}

uint64_t MemoryPool::bytes() const {
  const std::lock_guard lock(blocks_->mutex);
  return blocks_->bytes;
}

std::shared_ptr<Storage> MemoryPool::storage(size_t bytes) {
  const std::shared_ptr<MemoryAccount> account = MemoryAccount::current();
  if (bytes > SIZE_MAX / 2) throw std::bad_alloc();
  if (account != nullptr) account->take(bytes + kOverhead);
  struct Owner {
    std::shared_ptr<Blocks> blocks;
    std::shared_ptr<MemoryAccount> account;
    std::byte* data = nullptr;
    size_t size = 0;
    size_t bytes = 0;
    ~Owner() {
      if (data != nullptr) blocks->give_back(data, size);
      if (account != nullptr) account->give_back(bytes + kOverhead);
    }
  };
  const auto owner = std::make_shared<Owner>();
  owner->blocks = blocks_;
  owner->account = account;
  owner->bytes = bytes;
  std::tie(owner->data, owner->size) = blocks_->take(
      (std::max<size_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment, account.get());
  return Storage::borrow({owner->data, bytes}, owner);
}

Tensor MemoryPool::tensor(Dtype dtype, Sizes sizes, Sizes strides) {
  const auto numel = checked_numel(sizes);
  if (!numel || *numel > INT64_MAX / 64) throw std::bad_alloc();
  if (strides.empty()) strides = contiguous_strides(sizes);
  Result<Tensor> made = Tensor::view_of(storage(static_cast<size_t>(*numel * dtype_size(dtype))),
                                        dtype, std::move(sizes), std::move(strides), 0);
  // Fails if the sizes contain a 0 and the strides overflow.
  if (!made) throw std::bad_alloc();
  return *std::move(made);
}

uint64_t MemoryPool::most_used_in_run() const {
  const std::lock_guard lock(blocks_->mutex);
  return blocks_->most_used_in_run;
}

void MemoryPool::finish_run() {
  const std::lock_guard lock(blocks_->mutex);
  ++blocks_->runs;
  blocks_->most_used_in_run = blocks_->bytes - blocks_->free_bytes;
  for (auto block = blocks_->free.begin(); block != blocks_->free.end();)
    block = block->second.last_run + kRunsKept < blocks_->runs ? blocks_->drop(block)
                                                               : std::next(block);
}

}  // namespace pt2::run
