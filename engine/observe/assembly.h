// Makes a trace of what the recorder has kept.
#ifndef SLUICE_ENGINE_OBSERVE_ASSEMBLY_H_
#define SLUICE_ENGINE_OBSERVE_ASSEMBLY_H_

#include <chrono>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "engine/describe/graph_description.h"
#include "engine/describe/kernel_describer.h"
#include "engine/observe/flush_record.h"
#include "engine/observe/trace/trace_clock.h"
#include "trace/trace.h"

namespace sluice::engine {

class Assembly {
 public:
  // Takes the windows, in the order in which they were kept. Under the recorder's mutex.
  Assembly(absl::Span<const std::shared_ptr<FlushRecord>> records, std::vector<trace::Site> sites);

  // The rest is slow, and needs no lock.
  void describe_graphs();
  // After describe_graphs(). `budget`: of code generation, see KernelDescriber.
  void describe_kernels(KernelDescriber* describer, std::chrono::nanoseconds budget);

  trace::Trace take() { return std::move(trace_); }

 private:
  void add_steps(const FlushRecord& record, trace::Window* window);
  int32_t add_kernel(const trace::Step& step, kernels::KernelDescription description);
  void add_compilations();

  // Where a stream's time line is after the last step that was added.
  struct StreamEnd {
    HostTime end;
    std::chrono::nanoseconds delay{0};
  };

  trace::Trace trace_;
  std::vector<std::shared_ptr<GraphDescription>> graphs_;  // by number in the trace
  absl::flat_hash_map<const GraphDescription*, int32_t> graph_numbers_;
  absl::flat_hash_map<std::string, int32_t> kernel_numbers_;  // by key
  absl::flat_hash_map<const runtime::Stream*, StreamEnd> streams_;
  // By flush, in order: what is to be taken off the host's clock from then on.
  std::vector<std::pair<HostTime, std::chrono::nanoseconds>> delays_;
};

}  // namespace sluice::engine

#endif  // SLUICE_ENGINE_OBSERVE_ASSEMBLY_H_
