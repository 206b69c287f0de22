// Records flushes for traces; include/sluice/trace.h is how programs see it.
//
// While the program runs, the recorder notes: what a flush was, which graph it ran, when. Graphs,
// cuts and kernels are described when somebody asks for a trace.
#ifndef SLUICE_ENGINE_OBSERVE_RECORDER_H_
#define SLUICE_ENGINE_OBSERVE_RECORDER_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include <sluice/stats.h>
#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "engine/describe/description_table.h"
#include "engine/describe/kernel_describer.h"
#include "engine/describe/provenance.h"
#include "engine/observe/call_site.h"
#include "engine/observe/flush_record.h"
#include "engine/observe/kernel_totals.h"
#include "engine/observe/trace/trace_clock.h"
#include "engine/observe/trace/window_ring.h"
#include "trace/trace.h"

namespace sluice::engine {

// Thread-safe.
class Recorder {
 public:
  static Recorder& get();

  // Forgets what it has and begins anew; $SLUICE_TRACE and $SLUICE_DEBUG begin by themselves.
  void start();
  void stop();

  // `with_code`: kernels get source and assembly, until making them has taken as long as recording
  // has, or a second if that is longer.
  trace::Trace snapshot(bool with_code);

  int64_t windows_recorded();

  // The calling thread has recorded the first op of the next window of `stream`'s queue.
  void note_first_op(const runtime::Stream* stream);
  // `copy` is about to be handed out, a copy of a value of another device.
  void note_copy(const Node& copy, Device from, const Origin& origin);

  // ---- For FlushRecord, in this order; finish() may come before keep().
  std::shared_ptr<FlushRecord> begin_flush(FlushCause cause, const Node* target,
                                           runtime::Stream* stream);
  std::shared_ptr<GraphDescription> find_description(const Window& window,
                                                     std::shared_ptr<const ReadyPlan> plan);
  // The flush is over. `has_work`: finish() follows, or has come.
  void keep(const std::shared_ptr<FlushRecord>& record, bool has_work);
  void finish(const std::shared_ptr<FlushRecord>& record, std::vector<kernels::StepTime> times);

  // By name and device, of all flushes that are finished.
  std::vector<KernelStats> kernel_stats();
  void reset_kernel_stats();

 private:
  // The window that a queue records.
  struct Pending {
    Lane* lane = nullptr;  // of the thread that records
    int thread = 0;
    int64_t begin = 0;
  };

  void print_if_complete(const std::shared_ptr<FlushRecord>& record);
  std::chrono::nanoseconds time_recorded();

  std::mutex mutex_;
  absl::flat_hash_map<const runtime::Stream*, Pending> pending_;
  ProvenanceTable provenance_;
  DescriptionTable descriptions_;
  WindowRing windows_;
  KernelTotals totals_;
  std::chrono::nanoseconds time_recorded_{0};  // once it has stopped

  KernelDescriber kernels_;
};

}  // namespace sluice::engine

#endif  // SLUICE_ENGINE_OBSERVE_RECORDER_H_
