#include "engine/run/scheduler.h"

#include <algorithm>
#include <utility>

#include <sluice/config.h>
#include <sluice/error.h>
#include "absl/strings/str_cat.h"
#include "engine/describe/describe.h"
#include "engine/observe/counters.h"
#include "engine/observe/debug.h"
#include "engine/run/batch.h"
#include "engine/run/binder.h"
#include "fusion/plan/plan_family.h"
#include "kernels/host_isa.h"
#include "runtime/status_error.h"

namespace sluice::engine {
namespace {

using fusion::MemoryRef;

ValueLabel label_of(const fusion::GraphNode& node) { return {node.op, node.dtype, node.shape}; }

// The label of a node that messages at run time name: they also say which call recorded it.
ValueLabel label_with_caller(const fusion::Graph& graph, fusion::NodeId n, ReadyPlan* ready) {
  ValueLabel label = label_of(graph.nodes[n]);
  if (label.op == fusion::Op::kInput) return label;
  const auto is_op = [](const fusion::GraphNode& node) { return node.op != fusion::Op::kInput; };
  const auto first_op = static_cast<fusion::NodeId>(
      std::find_if(graph.nodes.begin(), graph.nodes.end(), is_op) - graph.nodes.begin());
  label.caller = static_cast<int32_t>(ready->labeled.size());
  ready->labeled.push_back(static_cast<uint32_t>(n - first_op));
  return label;
}

void sort_results_by_step(ReadyPlan* ready) {
  const fusion::Plan& plan = ready->plan();
  ready->written_by.resize(plan.steps.size());
  for (size_t r = 0; r < plan.results.size(); ++r) {
    const fusion::Result& result = plan.results[r];
    const auto number = static_cast<int32_t>(r);
    if (result.first_use < 0) {
      if (result.observed) ready->unwritten.push_back(number);
      continue;
    }
    ready->written_by[result.first_use].push_back(number);
  }
}

void count_work(const ReadyPlan& plan) {
  Counters& c = counters();
  count(c.windows);
  count(c.ops_executed, plan.num_ops);
  count(c.temporaries_elided, plan.plan().temporaries_elided);
  count(c.bytes_elided, plan.plan().bytes_elided);
  if (plan.plan().values_recomputed != 0) [[unlikely]]
    count(c.values_recomputed, plan.plan().values_recomputed);
  count(c.kernels_launched, plan.kernels);
  count(c.library_calls, plan.library_calls);
  count(c.bytes_read, plan.bytes_read);
  count(c.bytes_written, plan.bytes_written);
}

// "mul+sum (result float32(1024,))": the ops of a step, and the result of the last.
std::string label_of_step(const fusion::Graph& graph, const fusion::Step& step) {
  constexpr size_t kNamed = 5;
  std::vector<fusion::NodeId> nodes;
  for (size_t k = 0; k < step.num_calls(); ++k) {
    const fusion::Call& call = step.call(k);
    nodes.insert(nodes.end(), call.nodes.begin(), call.nodes.end());
  }
  if (nodes.empty()) return "";
  std::string last = to_string(label_of(graph.nodes[nodes.back()]));
  nodes.pop_back();
  if (nodes.empty()) return last;
  const bool is_long = nodes.size() > kNamed;
  if (is_long) nodes.resize(kNamed);
  return absl::StrCat(join_names(graph, nodes, kNamed), is_long ? "+...+" : "+", last);
}

kernels::Tier tier_of(CompileMode mode) {
  switch (mode) {
    case CompileMode::kOff: return kernels::Tier::kInterpreted;
    case CompileMode::kBlocking: return kernels::Tier::kCompiled;
    case CompileMode::kAsync: break;
  }
  return kernels::Tier::kAsync;
}

// Gives every live node of the window its value.
void publish_results(const Window& window, const ReadyPlan& plan, const Batch& batch) {
  const auto num_inputs = static_cast<fusion::NodeId>(window.inputs().size());
  for (const fusion::Output& output : plan.plan().outputs) {
    Node& node = *window.node(output.node - num_inputs);
    const bool is_input = output.memory.kind == MemoryRef::Kind::kInput;
    node.buffer = (is_input ? batch.inputs : batch.results)[output.memory.index];
    // Not the shape, which is the same: other threads may be reading it.
    node.layout.strides = output.layout.strides;
    node.layout.offset = output.layout.offset;
    if (is_input) node.layout.offset += window.inputs()[output.memory.index]->layout.offset;
    node.state.store(NodeState::kSubmitted, std::memory_order_release);
  }
}

}  // namespace

kernels::Tier tier_in_use() { return tier_of(config().compile); }

std::shared_ptr<const ReadyPlan> prepare(const fusion::Graph& graph, PlanMode mode, Device device,
                                         FlushObserver* observer,
                                         const fusion::MemoryBudget* budget) {
  absl::StatusOr<fusion::Plan> plan = fusion::PlanFamilies::get().make(
      graph, {.fuse = mode.fuse,
              .fast_math = mode.fast_math,
              .allow_tf32 = mode.allow_tf32,
              // A GPU has an order of its own (docs/cuda.md).
              .unrolls_rows = device.type() == DeviceType::kCpu,
              .unrolls_longer_rows = device.type() == DeviceType::kCpu &&
                                     kernels::host_isa() != kernels::Isa::kX86_64V4,
              .fuses_scans = device.type() == DeviceType::kCpu,
              .exact_epilogues = device.type() == DeviceType::kCpu,
              .rows_in_place = device.type() == DeviceType::kCpu,
              .budget = budget,
              .observer = pass_printer()});
  if (!plan.ok()) throw error_of(plan.status());
  auto ready = std::make_shared<ReadyPlan>();
  ready->num_nodes = static_cast<int64_t>(graph.nodes.size());
  const std::vector<bool> needed = fusion::needed_nodes(graph);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    ready->num_ops += needed[n] && graph.nodes[n].op != fusion::Op::kInput;
  }
  for (const fusion::Step& step : plan->steps) {
    (step.library ? ready->library_calls : ready->kernels) += 1;
    ready->bytes_read += step.bytes_read;
    ready->bytes_written += step.bytes_written;
    ready->cost += step.cost;
    auto& slots_of_calls = ready->error_slots.emplace_back();
    for (size_t k = 0; k < step.num_calls(); ++k) {
      std::vector<ValueLabel>& slots = slots_of_calls.emplace_back();
      for (fusion::NodeId n : step.call(k).error_slots) {
        slots.push_back(label_with_caller(graph, n, ready.get()));
      }
    }
  }
  for (const fusion::Result& result : plan->results) {
    ready->results.push_back(label_with_caller(graph, result.node, ready.get()));
  }
  {
    const StageScope stage(observer, FlushStage::kCompile);
    ready->code = kernels::executor(device).prepare(
        *std::move(plan), [&](const fusion::Step& step) { return label_of_step(graph, step); },
        tier_in_use());
  }
  sort_results_by_step(ready.get());
  return ready;
}

void submit(const Window& window, std::shared_ptr<const ReadyPlan> plan, runtime::Backend* backend,
            runtime::Stream* stream, runtime::SubmitMode mode,
            std::shared_ptr<FlushObserver> observer) {
  const Config& settings = config();
  backend->set_memory_limit(settings.memory_limit);
  count_work(*plan);
  auto batch = std::make_unique<Batch>(plan);
  batch->bindings.timed = observer != nullptr;
  batch->bindings.compares_tiers = !settings.deterministic;
  for (const uint32_t op : plan->labeled) batch->callers.push_back(window.caller(op));
  {
    const StageScope stage(observer.get(), FlushStage::kBind);
    bind(window, *plan, tier_of(settings.compile), batch.get(), backend, stream);
    publish_results(window, *plan, *batch);
  }
  const bool has_work = !plan->plan().steps.empty() || !batch->failures().empty();
  if (has_work) {
    const StageScope stage(observer.get(), FlushStage::kSubmit);
    batch->observer = observer;
    stream->submit(std::move(batch), mode);
  } else {
    // Only aliases and empty results.
    for (int32_t r : plan->unwritten) batch->results[r].get()->written = {};
  }
  if (observer != nullptr) [[unlikely]]
    observer->submitted(has_work);
}

}  // namespace sluice::engine
