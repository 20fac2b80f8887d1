// Memory that is reused from value to value and from call to call.
#ifndef PT2_RUN_PLAN_MEMORY_POOL_H
#define PT2_RUN_PLAN_MEMORY_POOL_H

#include <memory>

#include "pt2/tensor.h"

namespace pt2::run {

// Blocks of memory that are reused once no storage in them is held. Storages may outlive the pool
// and end on any thread.
class MemoryPool {
 public:
#if defined(__SANITIZE_ADDRESS__)
  // Each storage has a block of its own, filled with NaN: reads beyond a storage and reads of
  // unwritten elements are found.
  static constexpr bool kReuses = false;
#else
  static constexpr bool kReuses = true;
#endif
  // `reuses`: true if a block serves one storage after another.
  explicit MemoryPool(bool reuses = kReuses);
  // Returns a pool that frees no block before its end. The first `arena_bytes` are one block, with
  // each storage as far to the front as it fits. A repeated call then goes through no more memory
  // than it holds at once, which stays in the caches.
  static MemoryPool keeping_addresses(uint64_t arena_bytes);
  // Row-major if `strides` is empty; strides must be dense. The elements are unspecified. Throws
  // std::bad_alloc beyond the current MemoryAccount.
  Tensor tensor(Dtype dtype, Sizes sizes, Sizes strides = {});
  std::shared_ptr<Storage> storage(size_t bytes);
  // Must be called after each run: frees blocks that no run has needed for a while.
  void finish_run();
  // Bytes of all blocks, used or free.
  uint64_t bytes() const;
  // The most bytes of blocks in use at once since the last run ended.
  uint64_t most_used_in_run() const;

  struct Blocks;

 private:
  std::shared_ptr<Blocks> blocks_;
};

}  // namespace pt2::run

#endif  // PT2_RUN_PLAN_MEMORY_POOL_H
