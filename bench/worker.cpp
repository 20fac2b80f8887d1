// worker TASK FILE [THREADS]: prints the number of bytes that the task works on. Then, for every
// line on stdin, runs the task once and prints the wall time and the processor time in seconds.
// rounds.py interleaves several such processes.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "bench/tasks.h"

namespace {

int fail(const std::string& message) {
  std::fprintf(stderr, "worker: %s\n", message.c_str());
  return 1;
}

int serve(const pt2::bench::Job& job) {
  std::printf("%llu\n", static_cast<unsigned long long>(job.bytes));
  std::fflush(stdout);
  for (int c = std::getchar(); c != EOF; c = std::getchar()) {
    const auto start = std::chrono::steady_clock::now();
    const std::clock_t busy_before = std::clock();
    const pt2::Result<void> done = job.run();
    const double busy = static_cast<double>(std::clock() - busy_before) / CLOCKS_PER_SEC;
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    if (!done) return fail(done.error().text());
    std::printf("%.9f %.9f\n", elapsed.count(), busy);
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return fail("usage: worker TASK FILE [THREADS]");
  const unsigned threads = argc > 3 ? std::max(1, std::atoi(argv[3])) : 1;
  for (const pt2::bench::Task& task : pt2::bench::tasks()) {
    if (task.name != argv[1]) continue;
    const pt2::Result<pt2::bench::Job> job = task.prepare(argv[2], threads);
    return job ? serve(*job) : fail(job.error().text());
  }
  return fail(std::string("no task ") + argv[1]);
}
