// What a call needs besides its inputs: memory, threads and recordings of earlier calls.
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

  // Bytes kept for the next calls.
  uint64_t bytes() const { return memory.bytes() + recordings.bytes() + nested_bytes_; }

  // Returns the recordings of a nested graph's rounds. Those of another program's plan are dropped.
  Recordings& nested_recordings(const std::shared_ptr<const void>& program, const Plan& nested) {
    if (nested_of_ != program) {
      nested_.clear();
      nested_bytes_ = 0;
    }
    nested_of_ = program;
    return nested_[&nested];
  }
  // Counts `bytes` of one more nested recording. False if they exceed the limit, for which earlier
  // recordings count even if they were dropped.
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
