#include "kernels/threads.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>

#if defined(__linux__)
#include <sched.h>
#endif
#if !defined(_WIN32)
#include <unistd.h>
#endif

namespace pt2::kernels {
namespace {

constexpr std::chrono::microseconds kSpin{50};

void pause_processor() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Waits until `value` differs from `old`: spins for kSpin, then sleeps.
void await_change(const std::atomic<uint32_t>& value, uint32_t old) {
  const auto end = std::chrono::steady_clock::now() + kSpin;
  do {
    for (int i = 0; i < 32; ++i) {
      if (value.load(std::memory_order_acquire) != old) return;
      pause_processor();
    }
  } while (std::chrono::steady_clock::now() < end);
  value.wait(old, std::memory_order_acquire);
}

int64_t parse_count(std::string_view text) {
  int64_t value = -1;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::string read_text(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

int processors_for(int64_t quota, int64_t period) {
  if (quota <= 0 || period <= 0) return 0;
  return static_cast<int>(std::min<int64_t>((quota + period - 1) / period, 1 << 20));
}

// Version 2 has "QUOTA PERIOD" or "max PERIOD" in one file, version 1 has two files.
int limit_of_folder(const std::string& folder) {
  const std::string both = read_text(folder + "/cpu.max");
  if (const size_t space = both.find(' '); space != std::string::npos)
    return processors_for(parse_count(both), parse_count(std::string_view(both).substr(space + 1)));
  return processors_for(parse_count(read_text(folder + "/cpu.cfs_quota_us")),
                        parse_count(read_text(folder + "/cpu.cfs_period_us")));
}

// Returns the smallest limit of the group `path` below `root` and of all groups above it; 0 if
// there is none.
int limit_of_group(const std::string& root, std::string path) {
  int limit = 0;
  while (true) {
    const int here = limit_of_folder(root + path);
    if (here > 0) limit = limit == 0 ? here : std::min(limit, here);
    if (path.empty() || path == "/") return limit;
    path.resize(path.rfind('/'));
  }
}

int affinity_count() {
#if defined(__linux__)
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return CPU_COUNT(&set);
#endif
  return static_cast<int>(std::thread::hardware_concurrency());
}

int64_t this_process() {
#if defined(_WIN32)
  return 0;  // nothing forks here
#else
  return getpid();
#endif
}

}  // namespace

int control_group_limit(std::string_view membership, std::string_view root) {
  int limit = 0;
  while (!membership.empty()) {
    const size_t end = std::min(membership.find('\n'), membership.size());
    const std::string_view line = membership.substr(0, end);
    membership.remove_prefix(std::min(end + 1, membership.size()));
    // HIERARCHY:CONTROLLERS:PATH; the controllers are empty for version 2.
    const size_t first = line.find(':');
    const size_t second = line.find(":/", first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    std::string folder(root);
    if (!controllers.empty()) {
      if (("," + std::string(controllers) + ",").find(",cpu,") == std::string::npos) continue;
      folder += "/cpu";
    }
    const int here = limit_of_group(folder, std::string(line.substr(second + 1)));
    if (here > 0) limit = limit == 0 ? here : std::min(limit, here);
  }
  return limit;
}

int available_threads() {
  const int limit = control_group_limit(read_text("/proc/self/cgroup"), "/sys/fs/cgroup");
  const int processors = std::max(1, affinity_count());
  return limit > 0 ? std::min(limit, processors) : processors;
}

ThreadPool::ThreadPool(int threads)
    : process_(this_process()), shares_(static_cast<size_t>(std::max(1, threads))) {
  // The system may refuse a thread; the pool then has fewer.
  try {
    for (int thread = 1; thread < threads; ++thread)
      workers_.emplace_back([this, thread] { serve(thread); });
  } catch (const std::system_error&) {
  }
}

bool ThreadPool::has_its_threads() const { return workers_.empty() || process_ == this_process(); }

ThreadPool::~ThreadPool() {
  if (!has_its_threads()) {
    // The C library has taken back the memory of these threads, so they can be neither joined nor
    // detached. The objects stay in memory.
    static_cast<void>(new std::vector<std::thread>(std::move(workers_)));
    return;
  }
  stopping_.store(true, std::memory_order_relaxed);
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::run(int64_t tasks, Work work, const void* context) {
  if (workers_.empty() || tasks <= 1 || busy_.exchange(true, std::memory_order_acquire)) {
    for (int64_t task = 0; task < tasks; ++task) work(context, task, 0);
    return;
  }
  work_ = work;
  context_ = context;
  const auto shares = static_cast<int64_t>(shares_.size());
  for (int64_t share = 0; share < shares; ++share) {
    Share& mine = shares_[static_cast<size_t>(share)];
    mine.next.store(part_begin(tasks, shares, share), std::memory_order_relaxed);
    mine.end = part_begin(tasks, shares, share + 1);
  }
  inside_.store(1, std::memory_order_release);
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();
  take_tasks(0);
  // Workers that have not entered by now are not waited for: they may be asleep.
  uint32_t inside = inside_.fetch_and(~1u, std::memory_order_acq_rel) & ~1u;
  while (inside != 0) {
    await_change(inside_, inside);
    inside = inside_.load(std::memory_order_acquire);
  }
  busy_.store(false, std::memory_order_release);
}

void ThreadPool::take_tasks(int thread) {
  for (size_t i = 0; i < shares_.size(); ++i) {
    Share& share = shares_[(static_cast<size_t>(thread) + i) % shares_.size()];
    while (true) {
      const int64_t task = share.next.fetch_add(1, std::memory_order_relaxed);
      if (task >= share.end) break;
      work_(context_, task, thread);
    }
  }
}

void ThreadPool::serve(int thread) {
  uint32_t seen = 0;
  while (true) {
    await_change(generation_, seen);
    seen = generation_.load(std::memory_order_acquire);
    if (stopping_.load(std::memory_order_relaxed)) return;
    uint32_t inside = inside_.load(std::memory_order_relaxed);
    while ((inside & 1) != 0) {
      if (!inside_.compare_exchange_weak(inside, inside + 2, std::memory_order_acq_rel)) continue;
      take_tasks(thread);
      inside_.fetch_sub(2, std::memory_order_acq_rel);
      inside_.notify_one();
      break;
    }
  }
}

}  // namespace pt2::kernels
