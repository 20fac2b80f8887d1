// A pool of threads that work on one job at a time. Kernels take a pointer to a pool; null means
// that the caller computes alone. Kernels split work over outputs only, so results are bitwise
// equal for any number of threads.
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

// Number of threads that this process can keep busy, by its affinity and the quotas of its control
// groups.
int available_threads();

// Returns the smallest quota of the control groups named by `membership` (the text of
// /proc/self/cgroup) and of the groups above them, in whole processors, rounded up; 0 if there is
// none. `root` is the folder of the control groups, /sys/fs/cgroup.
int control_group_limit(std::string_view membership, std::string_view root);

class ThreadPool {
 public:
  // The caller of `run` is one of the `threads`: a pool of 1 starts no thread. The pool has fewer
  // threads if the system refuses some.
  explicit ThreadPool(int threads = available_threads());
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }
  // False in a process forked from the one that made the pool: threads do not survive fork(), so
  // callers of `run` compute alone there.
  bool has_its_threads() const;

  // Calls work(context, task, thread) for every task from 0 to tasks - 1 and returns when all are
  // done. `thread` is below threads() and differs between concurrent calls. Each thread begins with
  // an equal share of consecutive tasks, in order, so a task may warm the caches for the next. A
  // thread that is done takes tasks from the shares of others.
  // A caller that calls while another job runs, or from within a task, computes alone, as thread 0:
  // scratch indexed by `thread` must belong to the call. Work must not throw.
  using Work = void (*)(const void* context, int64_t task, int thread);
  void run(int64_t tasks, Work work, const void* context);

 private:
  void serve(int thread);
  void take_tasks(int thread);

  // The tasks that a thread starts with; any thread takes from it.
  struct alignas(64) Share {
    std::atomic<int64_t> next{0};
    int64_t end = 0;
  };

  int64_t process_;            // the process that has the workers
  std::vector<Share> shares_;  // one per thread
  std::vector<std::thread> workers_;
  std::atomic<bool> busy_{false};
  // The job; constant while `inside_` is not 0.
  Work work_ = nullptr;
  const void* context_ = nullptr;
  // Bit 0: workers may enter. The other bits: number of workers inside, in steps of 2.
  alignas(64) std::atomic<uint32_t> inside_{0};
  // Counts jobs; workers sleep on it. The destructor makes the last change.
  alignas(64) std::atomic<uint32_t> generation_{0};
  std::atomic<bool> stopping_{false};
};

// Calls run() with function(task, thread); without a pool, the caller computes alone.
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

// Returns the begin of part `part` of `parts` when `count` items are split as evenly as possible.
inline int64_t part_begin(int64_t count, int64_t parts, int64_t part) {
  return count * part / parts;
}

}  // namespace pt2::kernels

#endif  // PT2_KERNELS_THREADS_H
