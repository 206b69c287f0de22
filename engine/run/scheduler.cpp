#include "engine/run/scheduler.h"

#include <algorithm>
#include <utility>
#include <variant>

#include <sluice/config.h>
#include <sluice/error.h>
#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "engine/describe/describe.h"
#include "engine/observe/counters.h"
#include "engine/observe/debug.h"
#include "engine/run/batch.h"

namespace sluice::engine {
namespace {

using fusion::MemoryRef;

ValueLabel label_of(const fusion::GraphNode& node) {
  return {node.op, node.dtype, node.shape, node.attrs.size() > 1 ? node.attrs[1] : 0};
}

// Gives a window's results their memory, step by step.
class Binder {
 public:
  Binder(const Window& window, const ReadyPlan& plan, Batch* batch, runtime::Backend* backend,
         runtime::Stream* stream)
      : window_(window), plan_(plan), batch_(batch), backend_(*backend), stream_(stream) {
    written_ = {stream, stream->next_ticket()};
  }

  void bind() {
    bind_inputs();
    batch_->bindings.scalars.assign(window_.scalars().begin(), window_.scalars().end());
    batch_->results.resize(plan_.plan.results.size());
    batch_->bindings.results.resize(plan_.plan.results.size());
    const auto num_steps = static_cast<int32_t>(plan_.plan.steps.size());
    given_away_.assign(plan_.plan.results.size(), false);
    for (int32_t r : plan_.unwritten) allocate(r);
    for (int32_t s = 0; s < num_steps; ++s) {
      // Only results of this step have no memory yet: what else is missing has failed.
      if (touches_failure(s)) skip_failed_calls(s);
      for (int32_t r : plan_.written_by[s]) {
        if (!batch_->results[r] && !take_over(r)) allocate(r);
      }
      if (touches_failure(s)) skip_failed_calls(s);
      for (int32_t r : plan_.dying_after[s]) {
        if (!given_away_[r]) free_.push_back(batch_->results[r]);
      }
    }
    if (num_steps > 0) make_run();
  }

 private:
  void bind_inputs() {
    for (const Node* input : window_.inputs()) {
      const Node& node = *input;
      runtime::Buffer* buffer = node.buffer.get();
      // Nobody but this window can see the memory: not a handle, an alias, nor work under way.
      const bool own = node.references.load(std::memory_order_acquire) == Node::kPin &&
                       node.buffer.unique() && node.layout.offset == 0;
      owned_.push_back(own);
      if (buffer->written.stream != nullptr && buffer->written.stream != stream_ &&
          !buffer->written.stream->done(buffer->written.ticket)) {
        batch_->wait_for(buffer->written);
      }
      some_missing_ |= buffer->data() == nullptr;
      char* base = static_cast<char*>(buffer->data());
      if (base != nullptr) base += node.layout.offset * static_cast<int64_t>(size_of(node.dtype));
      batch_->inputs.push_back(node.buffer);
      batch_->bindings.inputs.push_back(base);
    }
  }

  void make_run() {
    absl::StatusOr<std::unique_ptr<kernels::Run>> run =
        plan_.code->make_run(stream_, tier_in_use());
    if (run.ok()) {
      batch_->code = *std::move(run);
      return;
    }
    batch_->failure_of_run = std::make_shared<runtime::Failure>(
        absl::Status(run.status().code(),
                     absl::StrCat(plan_.results.empty() ? "" : to_string(plan_.results.back()),
                                  ": ", run.status().message())));
    batch_->report(batch_->failure_of_run);
  }

  void set(int32_t r, runtime::BufferRef buffer) {
    buffer.get()->written = written_;
    batch_->bindings.results[r] = buffer->data();
    some_missing_ |= buffer->data() == nullptr;
    batch_->results[r] = std::move(buffer);
  }

  // Works in place on a block that dies here, if there is one.
  bool take_over(int32_t r) {
    const fusion::Result& result = plan_.plan.results[r];
    for (const MemoryRef& donor : result.donors) {
      const bool is_input = donor.kind == MemoryRef::Kind::kInput;
      if (is_input ? !owned_[donor.index] : given_away_[donor.index]) continue;
      runtime::BufferRef& buffer =
          is_input ? batch_->inputs[donor.index] : batch_->results[donor.index];
      if (buffer->data() == nullptr || buffer->failure != nullptr ||
          static_cast<int64_t>(buffer->bytes()) != result.bytes) {
        continue;
      }
      if (is_input) {
        owned_[donor.index] = false;
        if (buffer->owner() != nullptr) buffer->owner()->adopt(buffer.get(), stream_);
      } else {
        given_away_[donor.index] = true;
      }
      set(r, buffer);
      return true;
    }
    return false;
  }

  void allocate(int32_t r) {
    const auto bytes = static_cast<size_t>(plan_.plan.results[r].bytes);
    // A block that an earlier step is done with; the stream runs steps in order.
    for (runtime::BufferRef& block : free_) {
      if (block->data() != nullptr && block->bytes() == bytes) {
        set(r, std::exchange(block, free_.back()));
        free_.pop_back();
        return;
      }
    }
    absl::StatusOr<runtime::BufferRef> buffer = backend_.allocate(bytes, stream_);
    if (!buffer.ok()) {
      // What runs now will give memory back.
      stream_->wait(stream_->next_ticket() - 1);
      buffer = backend_.allocate(bytes, stream_);
    }
    if (buffer.ok()) {
      set(r, *std::move(buffer));
      return;
    }
    auto failure = std::make_shared<runtime::Failure>(
        absl::Status(buffer.status().code(),
                     absl::StrCat(to_string(plan_.results[r]), ": ", buffer.status().message())));
    batch_->report(failure);
    fail(r, failure);
  }

  void fail(int32_t r, const runtime::FailureRef& failure) {
    set(r, runtime::BufferRef(new runtime::Buffer(nullptr, 0, 0)));
    batch_->set_failure(r, failure);
  }

  bool is_missing(const MemoryRef& ref) const {
    const bool is_input = ref.kind == MemoryRef::Kind::kInput;
    const runtime::BufferRef& memory = (is_input ? batch_->inputs : batch_->results)[ref.index];
    return memory && memory->data() == nullptr;
  }

  bool touches_failure(int32_t s) const {
    if (!some_missing_) return false;
    bool missing = false;
    fusion::for_each_memory(plan_.plan.steps[s],
                            [&](const MemoryRef& ref) { missing |= is_missing(ref); });
    return missing;
  }

  // A call whose memory could not be had cannot run: everything that it would have written has the
  // failure of what is missing. Other calls of the launch are none the worse.
  void skip_failed_calls(int32_t s) {
    const fusion::Step& step = plan_.plan.steps[s];
    if (const auto* matmul = std::get_if<fusion::MatmulStep>(&step.work)) {
      std::vector<MemoryRef> memory;
      fusion::for_each_memory(step, [&](const MemoryRef& ref) { memory.push_back(ref); });
      skip_if_failed(s, 0, memory, {matmul->c});
      return;
    }
    const std::vector<fusion::KernelCall>& calls = std::get<fusion::KernelStep>(step.work).calls;
    for (size_t k = 0; k < calls.size(); ++k) {
      std::vector<MemoryRef> outputs;
      for (const fusion::OutputDependence& output : calls[k].outputs) {
        outputs.push_back(calls[k].buffers[output.buffer]);
      }
      skip_if_failed(s, k, calls[k].buffers, outputs);
    }
  }

  void skip_if_failed(int32_t s, size_t call, const std::vector<MemoryRef>& memory,
                      const std::vector<MemoryRef>& outputs) {
    const auto missing = std::find_if(memory.begin(), memory.end(),
                                      [&](const MemoryRef& ref) { return is_missing(ref); });
    if (missing == memory.end()) return;
    const runtime::FailureRef failure = batch_->failure_of(*missing);
    batch_->bindings.skipped.insert({s, call});
    for (const MemoryRef& output : outputs) fail(output.index, failure);
  }

  const Window& window_;
  const ReadyPlan& plan_;
  Batch* batch_;
  runtime::Backend& backend_;
  runtime::Stream* stream_;
  runtime::Event written_;
  absl::InlinedVector<bool, 16> owned_;       // by input
  absl::InlinedVector<bool, 16> given_away_;  // by result: another result works in its memory now
  absl::InlinedVector<runtime::BufferRef, 4> free_;
  bool some_missing_ = false;  // some memory could not be had
};

void sort_by_step(ReadyPlan* ready) {
  ready->written_by.resize(ready->plan.steps.size());
  ready->dying_after.resize(ready->plan.steps.size());
  for (size_t r = 0; r < ready->plan.results.size(); ++r) {
    const fusion::Result& result = ready->plan.results[r];
    const auto number = static_cast<int32_t>(r);
    if (result.first_use < 0) {
      if (result.observed) ready->unwritten.push_back(number);
      continue;
    }
    ready->written_by[result.first_use].push_back(number);
    if (!result.observed) ready->dying_after[result.last_use].push_back(number);
  }
}

void count_work(const Window& window, const ReadyPlan& plan) {
  Counters& c = counters();
  count(c.windows);
  count(c.ops_executed, static_cast<int64_t>(window.size()));
  count(c.temporaries_elided, plan.plan.temporaries_elided);
  count(c.bytes_elided, plan.plan.bytes_elided);
  count(c.kernels_launched, plan.kernels);
  count(c.library_calls, plan.library_calls);
  count(c.bytes_read, plan.bytes_read);
  count(c.bytes_written, plan.bytes_written);
}

// "mul+sum (result float32(1024,))": the ops of a kernel, and what the last of them gives.
std::string label_of_step(const fusion::Graph& graph, const fusion::Step& step) {
  constexpr size_t kNamed = 5;
  std::vector<fusion::NodeId> nodes;
  if (const auto* kernels = std::get_if<fusion::KernelStep>(&step.work)) {
    for (const fusion::KernelCall& call : kernels->calls) {
      nodes.insert(nodes.end(), call.nodes.begin(), call.nodes.end());
    }
  } else {
    nodes = std::get<fusion::MatmulStep>(step.work).nodes;
  }
  if (nodes.empty()) return "";
  const std::string last = to_string(label_of(graph.nodes[nodes.back()]));
  nodes.pop_back();
  if (nodes.empty()) return last;
  const bool is_long = nodes.size() > kNamed;
  if (is_long) nodes.resize(kNamed);
  return absl::StrCat(join_names(graph, nodes, kNamed), is_long ? "+...+" : "+", last);
}

// Gives every live node of the window its value.
void publish_results(const Window& window, const ReadyPlan& plan, const Batch& batch) {
  const auto num_inputs = static_cast<fusion::NodeId>(window.inputs().size());
  for (const fusion::Output& output : plan.plan.outputs) {
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

kernels::Tier tier_in_use() {
  const Config& settings = config();
  if (!settings.jit || settings.compile == CompileMode::kOff) return kernels::Tier::kInterpreted;
  return settings.compile == CompileMode::kBlocking ? kernels::Tier::kCompiled
                                                    : kernels::Tier::kAsync;
}

std::shared_ptr<const ReadyPlan> prepare(const fusion::Graph& graph, PlanMode mode, Device device,
                                         FlushObserver* observer) {
  absl::StatusOr<fusion::Plan> plan = fusion::make_plan(
      graph, {.fuse = mode.fuse, .fast_math = mode.fast_math, .observer = pass_printer()});
  if (!plan.ok()) throw Error(plan.status());
  auto ready = std::make_shared<ReadyPlan>();
  ready->plan = *std::move(plan);
  ready->num_nodes = static_cast<int64_t>(graph.nodes.size());
  std::vector<std::string> labels;
  for (const fusion::Step& step : ready->plan.steps) {
    const bool is_kernel = std::holds_alternative<fusion::KernelStep>(step.work);
    (is_kernel ? ready->kernels : ready->library_calls) += 1;
    ready->bytes_read += step.bytes_read;
    ready->bytes_written += step.bytes_written;
    ready->cost += step.cost;
    labels.push_back(label_of_step(graph, step));
    auto& slots_of_calls = ready->error_slots.emplace_back();
    const auto* kernel = std::get_if<fusion::KernelStep>(&step.work);
    if (kernel == nullptr) continue;
    for (const fusion::KernelCall& call : kernel->calls) {
      std::vector<ValueLabel>& slots = slots_of_calls.emplace_back();
      for (fusion::NodeId n : call.error_slots) slots.push_back(label_of(graph.nodes[n]));
    }
  }
  {
    const StageScope stage(observer, FlushStage::kCompile);
    ready->code =
        kernels::executor(device).prepare(&ready->plan.steps, std::move(labels), tier_in_use());
  }
  sort_by_step(ready.get());
  for (const fusion::Result& result : ready->plan.results) {
    ready->results.push_back(label_of(graph.nodes[result.node]));
  }
  return ready;
}

void submit(const Window& window, std::shared_ptr<const ReadyPlan> plan, runtime::Backend* backend,
            runtime::Stream* stream, runtime::SubmitMode mode,
            std::shared_ptr<FlushObserver> observer) {
  backend->set_memory_limit(config().memory_limit);
  count_work(window, *plan);
  auto batch = std::make_unique<Batch>(plan);
  batch->bindings.timed = observer != nullptr;
  {
    const StageScope stage(observer.get(), FlushStage::kBind);
    Binder(window, *plan, batch.get(), backend, stream).bind();
    publish_results(window, *plan, *batch);
  }
  const bool has_work = !plan->plan.steps.empty() || !batch->failures().empty();
  if (has_work) {
    const StageScope stage(observer.get(), FlushStage::kSubmit);
    batch->observer = observer;
    stream->submit(std::move(batch), mode);
  } else {
    // Nothing to run, only aliases and empty results.
    for (int32_t r : plan->unwritten) batch->results[r].get()->written = {};
  }
  if (observer != nullptr) [[unlikely]]
    observer->submitted(has_work);
}

}  // namespace sluice::engine
