// What a call computes in besides its inputs: memory that goes from one value to the next and from
// one call to the next, and threads.
#ifndef PT2_RUN_PLAN_WORKSPACE_H
#define PT2_RUN_PLAN_WORKSPACE_H

#include <memory>

#include "kernels/threads.h"
#include "pt2/tensor.h"

namespace pt2::run {

// Blocks of memory that are used again once nobody holds a storage in them. Storages may outlive
// the pool and end on any thread.
class MemoryPool {
 public:
  MemoryPool();
  // Row-major if `strides` is empty; strides must be dense. The elements are unspecified. Throws
  // std::bad_alloc beyond the current MemoryAccount.
  Tensor tensor(Dtype dtype, Sizes sizes, Sizes strides = {});
  std::shared_ptr<Storage> storage(size_t bytes);
  // To be called after each run: frees what no run has needed for a while.
  void finish_run();

  struct Blocks;

 private:
  std::shared_ptr<Blocks> blocks_;
};

struct Workspace {
  explicit Workspace(int thread_count) : wanted_threads(thread_count), threads(thread_count) {}
  int wanted_threads;
  MemoryPool memory;
  kernels::ThreadPool threads;
};

}  // namespace pt2::run

#endif  // PT2_RUN_PLAN_WORKSPACE_H
