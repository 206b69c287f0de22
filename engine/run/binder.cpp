#include "engine/run/binder.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/run/input_memory.h"
#include "engine/run/reclaim.h"
#include "engine/run/scheduler.h"
#include "fusion/plan/memory/blocks.h"

namespace sluice::engine {
namespace {

using fusion::MemoryRef;

class Binder {
 public:
  Binder(const Window& window, const ReadyPlan& ready, Batch* batch, runtime::Backend* backend,
         runtime::Stream* stream)
      : window_(window),
        ready_(ready),
        plan_(ready.plan()),
        batch_(batch),
        backend_(*backend),
        stream_(stream) {
    written_ = {stream, stream->next_ticket()};
  }

  void bind(kernels::Tier tier) {
    bind_inputs();
    if (const auto scalars = window_.scalars(); !scalars.empty()) {
      batch_->bindings.scalars.assign(scalars.begin(), scalars.end());
    }
    batch_->results.resize(plan_.results.size());
    batch_->bindings.results.resize(plan_.results.size());
    bind_results();
    const auto num_steps = static_cast<int32_t>(plan_.steps.size());
    for (int32_t s = 0; some_missing_ && s < num_steps; ++s) skip_failed_calls(s);
    if (num_steps > 0) make_run(tier);
  }

 private:
  void bind_inputs() {
    find_overwritable(window_, 1, &input_memory_);
    for (const Node* input : window_.inputs()) {
      const Node& node = *input;
      runtime::Buffer* buffer = node.buffer.get();
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

  void make_run(kernels::Tier tier) {
    absl::StatusOr<std::unique_ptr<kernels::Run>> run = ready_.code->make_run(stream_, tier);
    if (run.ok()) {
      batch_->code = *std::move(run);
      return;
    }
    batch_->failure_of_run = ready_.results.empty()
                                 ? std::make_shared<runtime::Failure>(run.status())
                                 : batch_->failed(ready_.results.back(), run.status());
    batch_->report(batch_->failure_of_run);
  }

  // Places the results. If a block cannot be had, the result that it is for is left out, which
  // fails; the others are placed anew.
  void bind_results() {
    fusion::Blocks own;
    const fusion::Blocks* blocks = &ready_.blocks.of(plan_, input_memory_, &own);
    std::vector<bool> left_out;
    std::optional<int32_t> without_memory;
    while ((without_memory = take_blocks(*blocks))) {
      left_out.resize(plan_.results.size());
      left_out[*without_memory] = true;
      own = fusion::place_results(plan_, input_memory_, left_out);
      blocks = &own;
    }
    for (size_t r = 0; r < plan_.results.size(); ++r) {
      const fusion::Place& place = blocks->places[r];
      if (place.block < 0) continue;
      const runtime::BufferRef& buffer = batch_->blocks[place.block];
      batch_->bindings.results[r] = static_cast<char*>(buffer->data()) + place.offset;
      if (!plan_.results[r].observed) continue;
      note_holder(buffer, r);
      buffer.get()->written = written_;
      batch_->results[r] = buffer;
    }
  }

  // Returns the result for whose block there is no memory, which has failed then.
  std::optional<int32_t> take_blocks(const fusion::Blocks& blocks) {
    batch_->blocks.clear();
    for (const fusion::Block& block : blocks.blocks) {
      if (block.input >= 0) {
        batch_->blocks.push_back(batch_->inputs[block.input]);
        continue;
      }
      absl::StatusOr<runtime::BufferRef> buffer = allocate(block.bytes);
      if (!buffer.ok()) {
        const runtime::FailureRef failure =
            batch_->failed(ready_.results[block.result], buffer.status());
        batch_->report(failure);
        fail(block.result, failure);
        return block.result;
      }
      if (!plan_.results[block.result].observed) note_holder(*buffer, block.result);
      batch_->blocks.push_back(*std::move(buffer));
    }
    for (const fusion::Block& block : blocks.blocks) {
      if (block.input >= 0) take_over(batch_->inputs[block.input].get());
    }
    return std::nullopt;
  }

  void take_over(runtime::Buffer* buffer) {
    if (buffer->host_copies != nullptr) runtime::drop_host_copies(buffer);
    if (buffer->owner() != nullptr) buffer->owner()->adopt(buffer, stream_);
  }

  void note_holder(const runtime::BufferRef& buffer, size_t r) {
    const Caller& caller = batch_->caller_of(ready_.results[r]);
    const char* name = caller.name == nullptr ? fusion::name_of(ready_.results[r].op) : caller.name;
    buffer.get()->note_holder(name, caller.where);
  }

  absl::StatusOr<runtime::BufferRef> allocate(int64_t bytes) {
    absl::StatusOr<runtime::BufferRef> buffer =
        backend_.allocate(static_cast<size_t>(bytes), stream_);
    while (!buffer.ok()) {
      // Work in flight will free memory, and keeps what is given up until it is done.
      stream_->wait(stream_->next_ticket() - 1);
      buffer = backend_.allocate(static_cast<size_t>(bytes), stream_);
      if (buffer.ok() || !reclaim(window_.node(0)->device, bytes)) break;
    }
    return buffer;
  }

  void fail(int32_t r, const runtime::FailureRef& failure) {
    some_missing_ = true;
    batch_->bindings.results[r] = nullptr;
    if (plan_.results[r].observed) {
      batch_->results[r] = runtime::BufferRef(new runtime::Buffer(nullptr, 0, 0));
      batch_->results[r].get()->written = written_;
    }
    batch_->set_failure(r, failure);
  }

  bool is_missing(const MemoryRef& ref) const { return batch_->bindings.at(ref) == nullptr; }

  // A call with memory that could not be allocated cannot run: all its outputs get the failure of
  // what is missing, and so do calls that write other parts of them. The other calls of the launch
  // are not affected.
  void skip_failed_calls(int32_t s) {
    bool found = true;
    while (std::exchange(found, false)) {
      for (size_t k = 0; k < plan_.steps[s].num_calls(); ++k) found |= skip_if_failed(s, k);
    }
  }

  // True if it is to be skipped now.
  bool skip_if_failed(int32_t s, size_t k) {
    const fusion::Call& call = plan_.steps[s].call(k);
    const auto missing = std::find_if(call.buffers.begin(), call.buffers.end(),
                                      [&](const MemoryRef& ref) { return is_missing(ref); });
    if (missing == call.buffers.end() || batch_->bindings.is_skipped(s, k)) return false;
    const runtime::FailureRef failure = batch_->failure_of(*missing);
    batch_->bindings.skipped.insert({s, k});
    for (const fusion::OutputDependence& output : call.outputs) {
      fail(call.memory_of(output).index, failure);
    }
    return true;
  }

  const Window& window_;
  const ReadyPlan& ready_;
  const fusion::Plan& plan_;
  Batch* batch_;
  runtime::Backend& backend_;
  runtime::Stream* stream_;
  runtime::Event written_;
  InputMemories input_memory_;
  bool some_missing_ = false;  // some memory could not be allocated
};

}  // namespace

void bind(const Window& window, const ReadyPlan& plan, kernels::Tier tier, Batch* batch,
          runtime::Backend* backend, runtime::Stream* stream) {
  Binder(window, plan, batch, backend, stream).bind(tier);
}

}  // namespace sluice::engine
