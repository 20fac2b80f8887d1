// Runs every task on one file with Google Benchmark, to measure the effect of changes:
// library_bench [FILE] [--benchmark_filter=decode ...]. peers.py compares with other libraries.
#include <benchmark/benchmark.h>

#include <cstdio>

#include "bench/tasks.h"

namespace {

void run_task(benchmark::State& state, const pt2::bench::Task& task, const std::string& path) {
  const pt2::Result<pt2::bench::Job> job = task.prepare(path, 1);
  if (!job) return state.SkipWithError(job.error().text().c_str());
  for (auto _ : state)
    if (const pt2::Result<void> done = job->run(); !done)
      return state.SkipWithError(done.error().text().c_str());
  state.SetBytesProcessed(static_cast<int64_t>(job->bytes * state.iterations()));
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  const std::string path = argc > 1 ? argv[1] : PT2_BENCH_FILE;
  for (const pt2::bench::Task& task : pt2::bench::tasks())
    benchmark::RegisterBenchmark(std::string(task.name).c_str(), run_task, task, path)
        ->UseRealTime();
  std::printf("%s\n", path.c_str());
  benchmark::RunSpecifiedBenchmarks();
}
