// Which cores worker threads may use, by their affinity masks.
#include "runtime/cpu/worker_cores.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace sluice {
namespace {

cpu_set_t mask_of(pid_t thread) {
  cpu_set_t mask;
  EXPECT_EQ(sched_getaffinity(thread, sizeof(mask), &mask), 0);
  return mask;
}

void allow(pid_t thread, const cpu_set_t& mask) {
  ASSERT_EQ(sched_setaffinity(thread, sizeof(mask), &mask), 0);
}

cpu_set_t only(int core) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  CPU_SET(core, &mask);
  return mask;
}

cpu_set_t without(cpu_set_t mask, int core) {
  CPU_CLR(core, &mask);
  return mask;
}

// A thread that has joined, until the end of its scope.
class Worker {
 public:
  explicit Worker(WorkerCores& cores) {
    std::unique_lock lock(mutex_);
    thread_ = std::jthread([this, &cores](std::stop_token stop) {
      cores.add_this_thread();
      cores.add_this_thread();
      std::unique_lock lock(mutex_);
      id_ = gettid();
      changed_.notify_all();
      changed_.wait(lock, stop, [] { return false; });
    });
    changed_.wait(lock, [this] { return id_ != 0; });
  }
  pid_t id() const { return id_; }

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  pid_t id_ = 0;
  std::jthread thread_;
};

class WorkerCoresTest : public testing::Test {
 protected:
  void SetUp() override {
    all_ = mask_of(0);
    if (CPU_COUNT(&all_) < 2) GTEST_SKIP() << "one core";
    while (!CPU_ISSET(first_, &all_)) ++first_;
    second_ = first_ + 1;
    while (!CPU_ISSET(second_, &all_)) ++second_;
  }
  void TearDown() override { allow(0, all_); }

  // Has the thread that runs on `core` alone call workers, when masks may be changed again.
  void call_from(int core) {
    allow(0, only(core));
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    cores_.keep_off_this_core();
  }
  void expect_mask(const Worker& worker, const cpu_set_t& expected) {
    const cpu_set_t mask = mask_of(worker.id());
    EXPECT_TRUE(CPU_EQUAL(&mask, &expected));
  }

  WorkerCores cores_;
  cpu_set_t all_;
  int first_ = 0, second_ = 0;
};

TEST_F(WorkerCoresTest, WorkersKeepOffTheCoreOfWhoCallsThem) {
  const Worker before(cores_);
  expect_mask(before, all_);
  call_from(first_);
  expect_mask(before, without(all_, first_));
  allow(0, all_);
  const Worker after(cores_);
  expect_mask(after, without(all_, first_));
  call_from(second_);
  expect_mask(before, without(all_, second_));
  expect_mask(after, without(all_, second_));
}

TEST_F(WorkerCoresTest, MasksChangeAtMostOnceAMillisecond) {
  const Worker worker(cores_);
  int changes = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 1000; ++i) {
    const cpu_set_t mask = mask_of(worker.id());
    allow(0, only(i % 2 == 0 ? first_ : second_));
    cores_.keep_off_this_core();
    const cpu_set_t now = mask_of(worker.id());
    changes += !CPU_EQUAL(&mask, &now);
  }
  const auto elapsed = std::chrono::steady_clock::now() - begin;
  EXPECT_GE(changes, 1);
  EXPECT_LE(changes, 1 + elapsed / std::chrono::milliseconds(1));
}

TEST_F(WorkerCoresTest, MasksGivenByOthersStayInForce) {
  const Worker worker(cores_);
  call_from(first_);
  allow(worker.id(), only(first_));
  call_from(second_);
  expect_mask(worker, only(first_));
  call_from(first_);
  expect_mask(worker, only(first_));  // rather than no core
  allow(worker.id(), all_);
  call_from(second_);
  expect_mask(worker, without(all_, second_));
}

TEST_F(WorkerCoresTest, ThreadsThatHaveEndedAreLeftAlone) {
  { const Worker ended(cores_); }
  const Worker worker(cores_);
  call_from(first_);
  expect_mask(worker, without(all_, first_));
}

}  // namespace
}  // namespace sluice
