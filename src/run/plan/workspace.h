// What a call computes in besides its inputs: memory, threads, and what is known of earlier calls.
#ifndef PT2_RUN_PLAN_WORKSPACE_H
#define PT2_RUN_PLAN_WORKSPACE_H

#include <cstdint>
#include <memory>
#include <unordered_map>

#include "kernels/threads.h"
#include "run/plan/memory_pool.h"
#include "run/plan/recording.h"

namespace pt2::run {

struct Plan;

struct Workspace {
  explicit Workspace(int thread_count) : wanted_threads(thread_count), threads(thread_count) {}
  int wanted_threads;
  MemoryPool memory;
  kernels::ThreadPool threads;
  Recordings recordings;

  // What the next calls find.
  uint64_t bytes() const { return memory.bytes() + recordings.bytes() + nested_bytes_; }

  // Those of the rounds of a nested graph. The ones of another program's plan are dropped.
  Recordings& nested_recordings(const std::shared_ptr<const void>& program, const Plan& nested) {
    if (nested_of_ != program) {
      nested_.clear();
      nested_bytes_ = 0;
    }
    nested_of_ = program;
    return nested_[&nested];
  }
  // Whether one more of them may hold so much, whatever became of those before.
  bool may_hold_nested(uint64_t bytes) {
    constexpr uint64_t kMost = uint64_t{256} << 20;
    if (bytes > kMost - nested_bytes_) return false;
    nested_bytes_ += bytes;
    return true;
  }

 private:
  uint64_t nested_bytes_ = 0;
  std::shared_ptr<const void> nested_of_;  // Plan::identity
  std::unordered_map<const Plan*, Recordings> nested_;
};

}  // namespace pt2::run

#endif  // PT2_RUN_PLAN_WORKSPACE_H
