// What a call computes in besides its inputs: memory, threads, and what is known of earlier calls.
#ifndef PT2_RUN_PLAN_WORKSPACE_H
#define PT2_RUN_PLAN_WORKSPACE_H

#include "kernels/threads.h"
#include "run/plan/memory_pool.h"
#include "run/plan/recording.h"

namespace pt2::run {

struct Workspace {
  explicit Workspace(int thread_count) : wanted_threads(thread_count), threads(thread_count) {}
  int wanted_threads;
  MemoryPool memory;
  kernels::ThreadPool threads;
  Recordings recordings;
};

}  // namespace pt2::run

#endif  // PT2_RUN_PLAN_WORKSPACE_H
