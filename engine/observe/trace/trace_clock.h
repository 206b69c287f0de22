// The clock of traces. It stands still on a thread while the recorder works there, so that no time
// in a trace is the recorder's own.
#ifndef SLUICE_ENGINE_OBSERVE_TRACE_CLOCK_H_
#define SLUICE_ENGINE_OBSERVE_TRACE_CLOCK_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

namespace sluice::engine {

using HostTime = std::chrono::steady_clock::time_point;

// A thread as the time line shows it. Lanes are never destroyed.
class Lane {
 public:
  // The calling thread's.
  static Lane& current();

  // Its number among the threads that record ops, from 0; given by the first call. For the lane's
  // own thread.
  int number();

  // How long the recorder has worked on this thread since the trace began. Thread-safe.
  std::chrono::nanoseconds recorder_time() const {
    return std::chrono::nanoseconds(recorder_time_.load(std::memory_order_relaxed));
  }

 private:
  friend class TraceClock;
  friend class RecorderWork;
  std::atomic<int64_t> recorder_time_{0};
  // The thread's own.
  int number_ = -1;
  int depth_ = 0;        // of the RecorderWork on its stack
  HostTime work_began_;  // if depth_ > 0
};

// "main", "thread 3"
std::string thread_name(int number);

class TraceClock {
 public:
  // A trace begins now: moment 0.
  static void restart();

  // Nanoseconds since restart() as `lane` counts them, 0 at least. Called on any thread; while the
  // recorder works on that thread, the moment at which this work began.
  static int64_t now(const Lane& lane);

  // The moment `time` of the host's clock, for a lane that had spent `recorder_time` by then.
  static int64_t at(HostTime time, std::chrono::nanoseconds recorder_time);

  // The host's clock, standing still while the recorder works on the calling thread.
  static HostTime host_time();

  static bool is_before_restart(HostTime time);

  // How long ago the trace began, by the host's clock.
  static std::chrono::nanoseconds since_restart();

  // True while the recorder works on the calling thread.
  static bool is_stopped();

  // For tests: another clock in place of the host's. Null: the host's.
  static void set_source(HostTime (*source)());
};

// The recorder works on the calling thread for as long as this lives. May nest.
class RecorderWork {
 public:
  RecorderWork();
  ~RecorderWork();
  RecorderWork(const RecorderWork&) = delete;
  RecorderWork& operator=(const RecorderWork&) = delete;

 private:
  Lane& lane_;
};

}  // namespace sluice::engine

#endif  // SLUICE_ENGINE_OBSERVE_TRACE_CLOCK_H_
