// Parallel loops: who runs what, and that nobody is waited for who has not begun.
#include "runtime/cpu/parallel.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "runtime/cpu/cores.h"

#if SLUICE_HAVE_TBB
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#endif

namespace sluice {
namespace {

// Before the first use: the tests must see several threads on any machine.
[[maybe_unused]] const int kThreadsSet = setenv("SLUICE_THREADS", "3", 1);

// Runs a loop of ranges of one and returns the threads that ran any; each element is run once.
std::set<std::thread::id> threads_of_a_loop(int64_t count) {
  std::vector<std::thread::id> by(count);
  std::vector<std::atomic<int>> times(count);
  parallel_for(count, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      by[i] = std::this_thread::get_id();
      ++times[i];
    }
  });
  for (const std::atomic<int>& time : times) EXPECT_EQ(time, 1);
  return {by.begin(), by.end()};
}

const std::set<std::thread::id> only_this() { return {std::this_thread::get_id()}; }

TEST(Parallel, RunsEveryElementOnceInRangesOfTheGrain) {
  for (int64_t count : {0, 1, 2, 5, 47, 48, 49, 1000, 100003}) {
    for (int64_t grain : {0, 1, 2, 7, 1000}) {
      std::vector<std::atomic<int>> times(count);
      parallel_for(count, grain, [&](int64_t begin, int64_t end) {
        EXPECT_GE(end - begin, std::min(count, grain));
        for (int64_t i = begin; i < end; ++i) ++times[i];
      });
      for (const std::atomic<int>& time : times) ASSERT_EQ(time, 1) << count << " by " << grain;
    }
  }
}

TEST(Parallel, OneRangeAndLoopsWithinLoopsRunOnTheirThread) {
  parallel_for(7, 4, [&](int64_t begin, int64_t end) {
    EXPECT_EQ(end - begin, 7);
    EXPECT_EQ(std::set{std::this_thread::get_id()}, only_this());
  });
  parallel_for(10, 1, [&](int64_t, int64_t) { EXPECT_EQ(threads_of_a_loop(100), only_this()); });
}

TEST(Parallel, ManyCallersAtOnce) {
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([] {
      for (int round = 0; round < 500; ++round) threads_of_a_loop(10 + round);
    });
  }
  for (std::thread& caller : callers) caller.join();
}

#if SLUICE_HAVE_TBB
// Returns once a worker has joined.
void wait_for_a_worker() {
  while (threads_of_a_loop(100000) == only_this()) {
  }
}

TEST(Parallel, WorkersHelp) {
  ASSERT_EQ(num_threads(), 3);
  for (int i = 0; i < 20; ++i) wait_for_a_worker();
}

#if !defined(__SANITIZE_THREAD__)  // which cannot follow tasks through oneTBB

// Occupies all of oneTBB's workers with tasks of the program's own.
class NoWorkers {
 public:
  NoWorkers() {
    wait_for_a_worker();  // so that there are as many as there will be
    const int workers = static_cast<int>(tbb::global_control::active_value(
                            tbb::global_control::max_allowed_parallelism)) -
                        1;
    arena_.initialize(workers, 0);
    std::unique_lock lock(mutex_);
    for (int i = 0; i < workers; ++i) {
      arena_.enqueue([this] {
        std::unique_lock lock(mutex_);
        ++running_;
        changed_.notify_all();
        changed_.wait(lock, [this] { return ended_; });
        --running_;
        changed_.notify_all();
      });
    }
    changed_.wait(lock, [&] { return running_ == workers; });
  }
  ~NoWorkers() {
    std::unique_lock lock(mutex_);
    ended_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return running_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int running_ = 0;
  bool ended_ = false;
  tbb::task_arena arena_;
};

TEST(Parallel, CallerAloneRunsEverythingIfNoWorkerComes) {
  {
    const NoWorkers no_workers;
    for (int i = 0; i < 2000; ++i) EXPECT_EQ(threads_of_a_loop(1 + i), only_this());
  }
  wait_for_a_worker();  // they come again
}

// A thread that waits in a loop must not take up another task of the program's: that could want a
// lock which the thread holds.
TEST(Parallel, WithinRegionsOfTbb) {
  std::mutex mutex;
  std::atomic<int> runs = 0;
  tbb::parallel_for(0, 200, [&](int i) {
    const std::lock_guard lock(mutex);
    threads_of_a_loop(50 + i);
    ++runs;
  });
  EXPECT_EQ(runs, 200);
  tbb::parallel_for(0, 200, [&](int i) { threads_of_a_loop(50 + i), ++runs; });
  EXPECT_EQ(runs, 400);
}

#endif  // ThreadSanitizer
#endif  // oneTBB

#if defined(_OPENMP)
TEST(Parallel, WithinRegionsOfOpenMp) {
  std::atomic<int> runs = 0;
#pragma omp parallel for num_threads(4) schedule(dynamic)
  for (int i = 0; i < 200; ++i) {
#pragma omp critical
    threads_of_a_loop(50 + i);
    threads_of_a_loop(50 + i);
    ++runs;
  }
  EXPECT_EQ(runs, 200);
}
#endif

TEST(Parallel, AForkedProcessRunsAlone) {
  threads_of_a_loop(100);
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    for (int i = 0; i < 100; ++i) {
      if (threads_of_a_loop(100) != only_this()) _exit(1);
    }
    _exit(testing::Test::HasFailure());
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// The files of /proc and of the groups in a folder of the test's.
class Cores : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/sluice_cores_XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    root_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root_ + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  std::string root_;
};

constexpr char kMount2[] = "30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n";

TEST_F(Cores, NoGroupsNoLimit) {
  EXPECT_EQ(cgroup_cores(root_), std::numeric_limits<double>::infinity());
  EXPECT_GE(available_cores(), 1);
}

TEST_F(Cores, TheLeastLimitOfTheGroupsAround) {
  write("/proc/self/cgroup", "0::/a/b/c\n");
  write("/proc/self/mountinfo", std::string("24 1 0:1 / / rw - ext4 /dev/vda rw\n") + kMount2);
  write("/sys/fs/cgroup/a/b/c/cpu.max", "max 100000\n");
  EXPECT_EQ(cgroup_cores(root_), std::numeric_limits<double>::infinity());
  write("/sys/fs/cgroup/a/cpu.max", "150000 100000\n");
  EXPECT_EQ(cgroup_cores(root_), 1.5);
  write("/sys/fs/cgroup/a/b/c/cpu.max", "400000 100000\n");
  EXPECT_EQ(cgroup_cores(root_), 1.5);
  write("/sys/fs/cgroup/a/b/cpu.max", "50000 100000\n");
  EXPECT_EQ(cgroup_cores(root_), 0.5);
}

TEST_F(Cores, InsideAContainer) {
  write("/proc/self/mountinfo", kMount2);
  write("/proc/self/cgroup", "0::/\n");
  write("/sys/fs/cgroup/cpu.max", "200000 100000\n");
  EXPECT_EQ(cgroup_cores(root_), 2);
  write("/proc/self/cgroup", "0::/../other\n");
  EXPECT_EQ(cgroup_cores(root_), 2);
}

TEST_F(Cores, Version1) {
  // The mount begins at the container's group, which is named as the host sees it.
  write("/proc/self/cgroup", "5:cpuset:/docker/1\n4:cpu,cpuacct:/docker/1/x\n0::/docker/1\n");
  write("/proc/self/mountinfo",
        "31 24 0:27 /docker/1 /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
        "32 24 0:28 /docker/1 /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n");
  write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "300000\n");
  write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  write("/sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_quota_us", "-1\n");
  write("/sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(cgroup_cores(root_), 3);
}

}  // namespace
}  // namespace sluice
