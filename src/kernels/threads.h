// A pool of threads that share one job at a time. Kernels take a pointer to one; null means that
// the caller computes alone. Kernels split work over outputs only, so that results are equal to the
// bit for any number of threads.
#ifndef PT2_KERNELS_THREADS_H
#define PT2_KERNELS_THREADS_H

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>
#include <thread>
#include <type_traits>
#include <vector>

namespace pt2::kernels {

// How many threads this process may keep busy: its affinity, and the quota of its control groups.
int available_threads();

// The quota of the control group named by `membership` (the text of /proc/self/cgroup) and of those
// above it, in whole processors, rounded up; 0 where there is none. `root` is the folder in which
// they lie, /sys/fs/cgroup.
int control_group_limit(std::string_view membership, std::string_view root);

class ThreadPool {
 public:
  // The caller of `run` is one of the `threads`: a pool of 1 never starts another. Fewer where the
  // system does not give as many.
  explicit ThreadPool(int threads = available_threads());
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  // Calls work(context, task, thread) for every task from 0 to tasks - 1 and returns when all are
  // done; `thread` is below threads() and no two calls at a time have the same. Each thread begins
  // with an equal share of neighbouring tasks, in order, so that a task may prepare the caches for
  // the next one; who is ready takes what others have left.
  // Whoever calls while another job runs, or from within a task, computes alone, as thread 0:
  // scratch that is told apart by `thread` must belong to the call. Work must not throw.
  using Work = void (*)(const void* context, int64_t task, int thread);
  void run(int64_t tasks, Work work, const void* context);

 private:
  void serve(int thread);
  void take_tasks(int thread);

  // The tasks that a thread does first; everybody takes from it.
  struct alignas(64) Share {
    std::atomic<int64_t> next{0};
    int64_t end = 0;
  };

  std::vector<Share> shares_;  // one for each thread
  std::vector<std::thread> workers_;
  std::atomic<bool> busy_{false};
  // The job; stable while `inside_` is open or not zero.
  Work work_ = nullptr;
  const void* context_ = nullptr;
  // Bit 0: workers may come in. Above: how many are inside, in steps of 2.
  alignas(64) std::atomic<uint32_t> inside_{0};
  // Counts jobs; workers sleep on it. The last change is the pool's end.
  alignas(64) std::atomic<uint32_t> generation_{0};
  std::atomic<bool> stopping_{false};
};

// run() of a callable function(task, thread), by the caller alone where there is no pool.
template <class Function>
void run_tasks(ThreadPool* pool, int64_t tasks, const Function& function) {
  if (pool == nullptr || tasks <= 1) {
    for (int64_t task = 0; task < tasks; ++task) function(task, 0);
    return;
  }
  pool->run(
      tasks,
      [](const void* context, int64_t task, int thread) {
        (*static_cast<const Function*>(context))(task, thread);
      },
      &function);
}

inline int thread_count(const ThreadPool* pool) { return pool == nullptr ? 1 : pool->threads(); }

// Where part `part` of `parts` begins when `count` things are dealt out as evenly as can be.
inline int64_t part_begin(int64_t count, int64_t parts, int64_t part) {
  return count * part / parts;
}

}  // namespace pt2::kernels

#endif  // PT2_KERNELS_THREADS_H
