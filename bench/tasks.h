// The tasks that benchmarks time. Each works on one .pt2 file that is opened before.
#ifndef PT2_BENCH_TASKS_H
#define PT2_BENCH_TASKS_H

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "pt2/result.h"

namespace pt2::bench {

struct Job {
  uint64_t bytes = 0;  // the number of bytes that one run processes
  std::function<Result<void>()> run;
};

struct Task {
  std::string_view name;
  std::string_view what;
  Result<Job> (*prepare)(const std::string& path, unsigned threads);
};

std::span<const Task> tasks();

}  // namespace pt2::bench

#endif  // PT2_BENCH_TASKS_H
