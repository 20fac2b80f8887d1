#include "kernels/threads.h"

#include <gtest/gtest.h>

#if !defined(_WIN32)
#include <sys/wait.h>
#include <unistd.h>
#endif

#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>
#include <vector>

#include "temporary_folder.h"

namespace pt2::kernels {
namespace {

TEST(ThreadPoolTest, EveryTaskRunsOnceForAnyNumberOfThreads) {
  for (const int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (const int64_t tasks : {0, 1, 2, 7, 1000}) {
      std::vector<std::atomic<int>> calls(static_cast<size_t>(tasks));
      std::atomic<bool> thread_in_range = true;
      run_tasks(&pool, tasks, [&](int64_t task, int thread) {
        ++calls[static_cast<size_t>(task)];
        if (thread < 0 || thread >= threads) thread_in_range = false;
      });
      for (const std::atomic<int>& count : calls) ASSERT_EQ(count, 1);
      EXPECT_TRUE(thread_in_range);
    }
  }
}

TEST(ThreadPoolTest, JobsFollowOneAnotherWithoutMixing) {
  ThreadPool pool(3);
  for (int64_t job = 0; job < 2000; ++job) {
    std::atomic<int64_t> sum = 0;
    run_tasks(&pool, 5, [&](int64_t task, int) { sum += job * 10 + task; });
    ASSERT_EQ(sum, job * 50 + 10);
  }
}

TEST(ThreadPoolTest, OneThreadNeverLeavesTheCaller) {
  ThreadPool pool(1);
  const std::thread::id caller = std::this_thread::get_id();
  run_tasks(&pool, 100, [&](int64_t, int thread) {
    ASSERT_EQ(std::this_thread::get_id(), caller);
    ASSERT_EQ(thread, 0);
  });
}

TEST(ThreadPoolTest, TasksMayRunJobsOfTheirOwn) {
  ThreadPool pool(3);
  std::atomic<int> calls = 0;
  run_tasks(&pool, 4, [&](int64_t, int) { run_tasks(&pool, 4, [&](int64_t, int) { ++calls; }); });
  EXPECT_EQ(calls, 16);
}

#if !defined(_WIN32)
// A server may compute before it forks. Its children have no threads of the pool.
TEST(ThreadPoolTest, ForkedProcessesMayUseAndDropIt) {
  auto pool = std::make_unique<ThreadPool>(3);
  const auto runs_all = [&] {
    std::atomic<int> calls = 0;
    run_tasks(pool.get(), 8, [&](int64_t, int) { ++calls; });
    return calls == 8;
  };
  EXPECT_TRUE(runs_all());
  const pid_t child = fork();
  if (child == 0) {
    const bool works = runs_all() && !pool->has_its_threads();
    pool = std::make_unique<ThreadPool>(3);
    _exit(works && runs_all() && pool->has_its_threads() ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(pool->has_its_threads());
}
#endif

TEST(ThreadPoolTest, CallersShareAPool) {
  ThreadPool pool(2);
  std::atomic<int> calls = 0;
  std::vector<std::thread> callers;
  for (int i = 0; i < 8; ++i)
    callers.emplace_back([&] {
      for (int job = 0; job < 100; ++job) run_tasks(&pool, 3, [&](int64_t, int) { ++calls; });
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(calls, 8 * 100 * 3);
}

TEST(ThreadPoolTest, SleepingWorkersWakeUp) {
  ThreadPool pool(2);
  for (int round = 0; round < 3; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // idle threads sleep after 50 us
    std::atomic<int> inside = 0;
    // The two tasks wait for each other, so both threads must take part.
    run_tasks(&pool, 2, [&](int64_t, int) {
      ++inside;
      while (inside < 2) std::this_thread::yield();
    });
    EXPECT_EQ(inside, 2);
  }
}

TEST(ThreadPoolTest, WhoIsReadyTakesWhatOthersHaveLeft) {
  ThreadPool pool(2);
  std::atomic<int> done = 0;
  // The first task blocks its thread until the other thread has done the rest of both shares.
  run_tasks(&pool, 9, [&](int64_t task, int) {
    while (task == 0 && done < 8) std::this_thread::yield();
    ++done;
  });
  EXPECT_EQ(done, 9);
}

void write(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

TEST(AvailableThreadsTest, QuotasOfControlGroupsAreHonoured) {
  const test::TemporaryFolder folder;
  const std::filesystem::path root = folder.path();
  write(root / "a/b/cpu.max", "max 100000\n");
  write(root / "a/cpu.max", "250000 100000\n");
  write(root / "c/cpu.max", "50000 100000\n");
  write(root / "cpu/d/cpu.cfs_quota_us", "400000\n");
  write(root / "cpu/d/cpu.cfs_period_us", "100000\n");
  write(root / "cpu/e/cpu.cfs_quota_us", "-1\n");
  write(root / "cpu/e/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(control_group_limit("0::/a/b\n", root.string()), 3);
  EXPECT_EQ(control_group_limit("0::/c\n", root.string()), 1);
  EXPECT_EQ(control_group_limit("0::/\n", root.string()), 0);
  EXPECT_EQ(control_group_limit("0::/missing/too\n", root.string()), 0);
  EXPECT_EQ(control_group_limit("5:memory:/a\n4:cpuacct,cpu:/d\n0::/\n", root.string()), 4);
  EXPECT_EQ(control_group_limit("4:cpu,cpuacct:/e", root.string()), 0);
  EXPECT_EQ(control_group_limit("nothing known", root.string()), 0);
  EXPECT_GE(available_threads(), 1);
}

}  // namespace
}  // namespace pt2::kernels
