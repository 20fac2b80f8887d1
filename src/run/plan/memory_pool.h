// Memory that goes from one value to the next and from one call to the next.
#ifndef PT2_RUN_PLAN_MEMORY_POOL_H
#define PT2_RUN_PLAN_MEMORY_POOL_H

#include <memory>

#include "pt2/tensor.h"

namespace pt2::run {

// Blocks of memory that are used again once nobody holds a storage in them. Storages may outlive
// the pool and end on any thread.
class MemoryPool {
 public:
#if defined(__SANITIZE_ADDRESS__)
  // Each storage has a block of its own, in which nothing but NaN lies: what reads beyond a
  // storage, or what nobody wrote, is found.
  static constexpr bool kReuses = false;
#else
  static constexpr bool kReuses = true;
#endif
  // `reuses`: whether a block serves one storage after another.
  explicit MemoryPool(bool reuses = kReuses);
  // No block is freed before the pool is. The first `arena_bytes` lie in one, each storage as far
  // to the front as it fits: what a call goes through again and again is then no larger than what
  // it holds at once, and stays in the caches.
  static MemoryPool keeping_addresses(uint64_t arena_bytes);
  // Row-major if `strides` is empty; strides must be dense. The elements are unspecified. Throws
  // std::bad_alloc beyond the current MemoryAccount.
  Tensor tensor(Dtype dtype, Sizes sizes, Sizes strides = {});
  std::shared_ptr<Storage> storage(size_t bytes);
  // To be called after each run: frees what no run has needed for a while.
  void finish_run();
  // Of all blocks, whether somebody uses them or not.
  uint64_t bytes() const;
  // Of blocks in use at once, since the last run ended.
  uint64_t most_used_in_run() const;

  struct Blocks;

 private:
  std::shared_ptr<Blocks> blocks_;
};

}  // namespace pt2::run

#endif  // PT2_RUN_PLAN_MEMORY_POOL_H
