// What the trace keeps while it records; trace.h is how programs see it.
//
// A flush that is recorded has a FlushRecord, which goes with it from stage to stage and which its
// batch completes. Flushes that run the same plan for the same places in the program share one
// description, made when the first of them is recorded: recording the others costs little more than
// comparing where their ops were called.
#ifndef SLUICE_ENGINE_OBSERVE_RECORDER_H_
#define SLUICE_ENGINE_OBSERVE_RECORDER_H_

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <sluice/stats.h>
#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "engine/observe/call_site.h"
#include "engine/record/window.h"
#include "engine/run/plan_cache.h"
#include "kernels/executor.h"
#include "runtime/buffer.h"
#include "trace/trace.h"

namespace sluice::engine {

using TraceClock = std::chrono::steady_clock;

// A graph as the trace holds it, and the plan that it came from.
struct DescribedGraph {
  trace::Graph graph;
  std::shared_ptr<const ReadyPlan> plan;
  bool is_printed = false;                                       // its kernels, by $SLUICE_DEBUG
  std::vector<std::vector<kernels::KernelDescription>> kernels;  // by step, once they are needed
};

struct FlushRecord {
  // Its graph and its steps are filled in when a Trace is made of it.
  trace::Window window;
  std::shared_ptr<DescribedGraph> description;

  // Guarded by the recorder's mutex. It is complete when it is kept and finished, in either order.
  std::vector<kernels::StepTime> times;
  bool is_kept = false;
  bool is_finished = false;

  runtime::Event written;  // what wrote its results, by which later windows know them
};

// A value that was not computed in the window that reads it, though it might have been.
struct Past {
  enum class Kind : uint8_t { kNone, kEarlierWindow, kOtherDevice };
  Kind kind = Kind::kNone;
  // Number of a sentence: why the earlier window ended, or where the value was copied.
  int32_t sentence = 0;
  bool operator==(const Past&) const = default;
};

// Thread-safe.
class Recorder {
 public:
  static Recorder& get();

  // Forgets what it has and begins anew; $SLUICE_TRACE and $SLUICE_DEBUG begin by themselves.
  void start();
  void stop();
  trace::Trace snapshot();

  // A flush begins, of ops of which the first was recorded at `begin` on `thread`. `why`: a
  // sentence without a subject, such as "sync() was called".
  std::shared_ptr<FlushRecord> begin_flush(const char* cause, std::string why,
                                           TraceClock::time_point begin, int thread);
  // Its plan is known; the ops of `window` are still what they were when it was flushed.
  void describe(FlushRecord* record, const Window& window, std::shared_ptr<const ReadyPlan> plan,
                const runtime::Event& written);
  // The flush is over. `is_finished`: it had nothing to submit.
  void keep(const std::shared_ptr<FlushRecord>& record, bool is_finished);
  // What it has submitted is done.
  void finish_flush(const std::shared_ptr<FlushRecord>& record,
                    std::vector<kernels::StepTime> times);

  // By name and device, of all flushes that are finished.
  std::vector<KernelStats> kernel_stats();
  void reset_kernel_stats();

  // `copy` is about to be handed out, a copy of a value of another device.
  void note_copy(const Node& copy, Device from, const Origin& origin);

 private:
  Recorder();

  int32_t site_number(const std::source_location& where);
  int32_t sentence_number(const std::string& sentence);
  std::vector<Past> pasts_of(const Window& window);
  std::shared_ptr<DescribedGraph> find_description(const Window& window,
                                                   std::shared_ptr<const ReadyPlan> plan);
  std::shared_ptr<DescribedGraph> make_description(const Window& window,
                                                   std::shared_ptr<const ReadyPlan> plan,
                                                   const std::vector<Past>& pasts);
  void drop_oldest();
  void count_steps(const FlushRecord& record);
  void describe_kernels(DescribedGraph* described);
  void add_kernels(absl::Span<const std::shared_ptr<DescribedGraph>> graphs,
                   TraceClock::time_point start, trace::Trace* result);
  trace::Trace assemble(absl::Span<const std::shared_ptr<FlushRecord>> records, bool with_kernels);
  void print_if_complete(const std::shared_ptr<FlushRecord>& record);
  int64_t since_start(TraceClock::time_point moment) const;

  struct Site {
    const char* file;
    const char* function;
    int line;
  };
  using BufferKey = std::pair<const Node*, const runtime::Buffer*>;
  using EventKey = std::pair<const runtime::Stream*, uint64_t>;

  std::mutex mutex_;
  TraceClock::time_point start_;
  std::deque<std::shared_ptr<FlushRecord>> windows_;  // the newest
  int64_t windows_recorded_ = 0;
  int64_t ops_described_ = 0;  // of the descriptions of windows_
  int64_t steps_kept_ = 0;     // of windows_
  absl::flat_hash_map<EventKey, FlushRecord*> by_event_;

  // By plan, origins, names and pasts.
  absl::flat_hash_map<std::vector<uint64_t>, std::weak_ptr<DescribedGraph>> descriptions_;
  std::vector<uint64_t> key_, last_key_;
  std::shared_ptr<DescribedGraph> last_;

  // As many as the program's text has.
  std::vector<Site> sites_;
  absl::flat_hash_map<std::pair<const void*, int>, int32_t> site_numbers_;
  std::vector<std::string> sentences_{""};
  absl::flat_hash_map<std::string, int32_t> sentence_numbers_;

  absl::flat_hash_map<BufferKey, int32_t> copies_;  // sentences

  absl::flat_hash_map<std::pair<std::string, std::string>, KernelStats> kernel_stats_;

  std::mutex kernels_mutex_;  // of DescribedGraph::kernels; taken last
  size_t program_text_ = 0;   // of all kernels that have been described
};

// "train.cpp:31", or empty.
std::string place_of(const Origin& origin);

// The number of the calling thread and what traces call it.
int thread_number();
std::string thread_name(int number);

// Adds the time that it lives to *duration, unless that is null.
class StageTimer {
 public:
  explicit StageTimer(int64_t* duration) : duration_(duration) {
    if (duration_ != nullptr) begin_ = TraceClock::now();
  }
  ~StageTimer() { stop(); }
  void stop() {
    if (duration_ == nullptr) return;
    *duration_ += std::chrono::nanoseconds(TraceClock::now() - begin_).count();
    duration_ = nullptr;
  }
  StageTimer(const StageTimer&) = delete;
  StageTimer& operator=(const StageTimer&) = delete;

 private:
  int64_t* duration_;
  TraceClock::time_point begin_;
};

}  // namespace sluice::engine

#endif  // SLUICE_ENGINE_OBSERVE_RECORDER_H_
