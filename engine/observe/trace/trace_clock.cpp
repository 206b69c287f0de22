#include "engine/observe/trace/trace_clock.h"

#include <algorithm>
#include <deque>
#include <mutex>

#include "absl/strings/str_cat.h"

namespace sluice::engine {
namespace {

std::atomic<HostTime (*)()> source{nullptr};
std::atomic<HostTime> start{HostTime()};

HostTime read_clock() {
  const auto replaced = source.load(std::memory_order_relaxed);
  return replaced == nullptr ? std::chrono::steady_clock::now() : replaced();
}

// All lanes, for restart(). A program has few threads; an ended one leaves some 40 bytes behind.
struct Lanes {
  std::mutex mutex;
  std::deque<Lane> all;  // guarded by mutex

  static Lanes& get() {
    static Lanes* lanes = new Lanes;
    return *lanes;
  }
  Lane& add() {
    std::lock_guard lock(mutex);
    return all.emplace_back();
  }
};

}  // namespace

Lane& Lane::current() {
  // A reference has no destructor: it is valid until the thread's very end.
  static thread_local Lane& lane = Lanes::get().add();
  return lane;
}

int Lane::number() {
  static std::atomic<int> count{0};
  if (number_ < 0) number_ = count.fetch_add(1, std::memory_order_relaxed);
  return number_;
}

std::string thread_name(int number) {
  // The first thread that records is nearly always main()'s.
  return number == 0 ? "main" : absl::StrCat("thread ", number + 1);
}

void TraceClock::restart() {
  Lanes& lanes = Lanes::get();
  std::lock_guard lock(lanes.mutex);
  for (Lane& lane : lanes.all) lane.recorder_time_.store(0, std::memory_order_relaxed);
  start.store(read_clock(), std::memory_order_relaxed);
}

int64_t TraceClock::now(const Lane& lane) { return at(host_time(), lane.recorder_time()); }

int64_t TraceClock::at(HostTime time, std::chrono::nanoseconds recorder_time) {
  const std::chrono::nanoseconds passed = time - start.load(std::memory_order_relaxed);
  return std::max<int64_t>(0, (passed - recorder_time).count());
}

HostTime TraceClock::host_time() {
  const Lane& lane = Lane::current();
  return lane.depth_ > 0 ? lane.work_began_ : read_clock();
}

bool TraceClock::is_before_restart(HostTime time) {
  return time < start.load(std::memory_order_relaxed);
}

std::chrono::nanoseconds TraceClock::since_restart() {
  return read_clock() - start.load(std::memory_order_relaxed);
}

bool TraceClock::is_stopped() { return Lane::current().depth_ > 0; }

void TraceClock::set_source(HostTime (*replacement)()) {
  source.store(replacement, std::memory_order_relaxed);
}

RecorderWork::RecorderWork() : lane_(Lane::current()) {
  if (lane_.depth_ == 0) lane_.work_began_ = read_clock();
  ++lane_.depth_;
}

RecorderWork::~RecorderWork() {
  if (lane_.depth_ == 1) {
    const std::chrono::nanoseconds spent = read_clock() - lane_.work_began_;
    lane_.recorder_time_.fetch_add(spent.count(), std::memory_order_relaxed);
  }
  --lane_.depth_;
}

}  // namespace sluice::engine
