#include "engine/observe/assembly.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <sluice/config.h>
#include "engine/observe/names.h"
#include "kernels/cache/compile_log.h"

namespace sluice::engine {

Assembly::Assembly(absl::Span<const std::shared_ptr<FlushRecord>> records,
                   std::vector<trace::Site> sites) {
  trace_.program = program_invocation_short_name;
  trace_.build = build_info();
  trace_.deterministic = config().deterministic;
  trace_.sites = std::move(sites);
  trace_.windows_recorded = static_cast<int64_t>(records.size());
  int threads = 0;
  for (const std::shared_ptr<FlushRecord>& record : records) {
    const auto next = static_cast<int32_t>(graphs_.size());
    const auto [number, is_new] = graph_numbers_.try_emplace(record->description.get(), next);
    if (is_new) graphs_.push_back(record->description);
    trace::Window& window = trace_.windows.emplace_back(record->window);
    window.graph = number->second;
    threads = std::max(threads, window.thread + 1);
    add_steps(*record, &window);
    delays_.emplace_back(record->flushed, record->delay);
  }
  for (int t = 0; t < threads; ++t) trace_.threads.push_back(thread_name(t));
  std::stable_sort(delays_.begin(), delays_.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
}

// Steps began later than they would have without the recorder: by the delay of their flush, but a
// stream that was behind would have begun a step no sooner than it had finished the one before.
void Assembly::add_steps(const FlushRecord& record, trace::Window* window) {
  if (record.times.empty()) return;
  StreamEnd& stream = streams_[record.written.stream];
  const auto [first, last] =
      std::minmax_element(record.times.begin(), record.times.end(),
                          [](const auto& a, const auto& b) { return a.begin < b.begin; });
  std::chrono::nanoseconds delay = record.delay;
  if (first->begin >= stream.end) {
    delay = std::min<std::chrono::nanoseconds>(delay, first->begin - stream.end + stream.delay);
  }
  for (const kernels::StepTime& time : record.times) {
    window->steps.push_back(
        {TraceClock::at(time.begin, delay), time.duration.count(), time.generic});
  }
  stream = {last->begin + last->duration, delay};
}

void Assembly::describe_graphs() {
  int32_t scopes = 0;
  for (const std::shared_ptr<GraphDescription>& graph : graphs_) {
    trace_.graphs.push_back(graph->graph());
    for (const trace::Op& op : trace_.graphs.back().ops) scopes = std::max(scopes, op.scope + 1);
  }
  for (int32_t k = 1; k <= scopes; ++k) {
    trace_.scopes.emplace_back(Names::of_scopes().text(static_cast<uint16_t>(k)));
  }
}

void Assembly::describe_kernels(KernelDescriber* describer, std::chrono::nanoseconds budget) {
  for (size_t g = 0; g < graphs_.size(); ++g) {
    std::vector<trace::Step>& steps = trace_.graphs[g].steps;
    for (size_t s = 0; s < steps.size(); ++s) {
      for (kernels::KernelDescription& kernel :
           describer->describe(graphs_[g]->code(), s, budget)) {
        steps[s].kernels.push_back(add_kernel(steps[s], std::move(kernel)));
      }
    }
  }
  add_compilations();
}

int32_t Assembly::add_kernel(const trace::Step& step, kernels::KernelDescription description) {
  const auto next = static_cast<int32_t>(trace_.kernels.size());
  const auto [number, is_new] = kernel_numbers_.try_emplace(description.key, next);
  if (!is_new) return number->second;
  trace::Kernel& kernel = trace_.kernels.emplace_back();
  kernel.name = step.name;
  kernel.key = std::move(description.key);
  kernel.program = std::move(description.program);
  kernel.language = std::move(description.language);
  kernel.source = std::move(description.source);
  kernel.assembly = std::move(description.assembly);
  kernel.registers = description.registers;
  kernel.spilled_bytes = description.spilled_bytes;
  kernel.shared_bytes = description.shared_bytes;
  return next;
}

// When kernels were compiled. What the flush before had been delayed by, this has been, too.
void Assembly::add_compilations() {
  for (const kernels::Compilation& done : kernels::logged_compilations()) {
    const auto found = kernel_numbers_.find(done.key);
    const int32_t number = found == kernel_numbers_.end() ? -1 : found->second;
    if (number >= 0) {
      trace_.kernels[number].origin = done.from_disk ? "disk" : "compiled";
      trace_.kernels[number].compile_duration = done.duration.count();
    }
    if (TraceClock::is_before_restart(done.begin)) continue;
    const auto after =
        std::upper_bound(delays_.begin(), delays_.end(), done.begin,
                         [](HostTime time, const auto& flush) { return time < flush.first; });
    const std::chrono::nanoseconds delay =
        after == delays_.begin() ? std::chrono::nanoseconds(0) : std::prev(after)->second;
    trace_.events.push_back({done.lane,
                             number >= 0 ? trace_.kernels[number].name : "another kernel",
                             TraceClock::at(done.begin, delay), done.duration.count(), number});
  }
  trace_.events_recorded = static_cast<int64_t>(trace_.events.size());
}

}  // namespace sluice::engine
