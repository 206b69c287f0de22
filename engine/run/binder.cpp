#include "engine/run/binder.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "engine/run/reclaim.h"
#include "engine/run/scheduler.h"
#include "runtime/memory/size_class.h"

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
    batch_->bindings.scalars.assign(window_.scalars().begin(), window_.scalars().end());
    batch_->results.resize(plan_.results.size());
    batch_->bindings.results.resize(plan_.results.size());
    const auto num_steps = static_cast<int32_t>(plan_.steps.size());
    given_away_.assign(plan_.results.size(), false);
    for (int32_t r : ready_.unwritten) allocate(r);
    for (int32_t s = 0; s < num_steps; ++s) {
      // Only results of this step have no memory yet: others that are missing have failed.
      if (touches_failure(s)) skip_failed_calls(s);
      for (int32_t r : ready_.written_by[s]) {
        if (!batch_->results[r] && !take_over(r)) allocate(r);
      }
      if (touches_failure(s)) skip_failed_calls(s);
      for (int32_t r : ready_.dying_after[s]) {
        if (!given_away_[r]) free_.push_back(batch_->results[r]);
      }
    }
    if (num_steps > 0) make_run(tier);
  }

 private:
  void bind_inputs() {
    for (const Node* input : window_.inputs()) {
      const Node& node = *input;
      runtime::Buffer* buffer = node.buffer.get();
      // Only this window sees the memory: no handle, alias or pending work does.
      const bool own = node.references.load() == Node::kPin && node.buffer.unique() &&
                       node.layout.offset == 0 && buffer->writable();
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

  void set(int32_t r, runtime::BufferRef buffer) {
    buffer.get()->written = written_;
    const Caller& caller = batch_->caller_of(ready_.results[r]);
    const char* name = caller.name == nullptr ? fusion::name_of(ready_.results[r].op) : caller.name;
    buffer.get()->note_holder(name, caller.where);
    batch_->bindings.results[r] = buffer->data();
    some_missing_ |= buffer->data() == nullptr;
    batch_->results[r] = std::move(buffer);
  }

  // Reuses the block of a donor that dies here, if there is one.
  bool take_over(int32_t r) {
    const fusion::Result& result = plan_.results[r];
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
        if (buffer->host_copies != nullptr) runtime::drop_host_copies(buffer.get());
        if (buffer->owner() != nullptr) buffer->owner()->adopt(buffer.get(), stream_);
      } else {
        given_away_[donor.index] = true;
      }
      set(r, buffer);
      return true;
    }
    return false;
  }

  // A block that no later step reads, as the stream runs steps in order: the least that fits.
  // Nobody asks for the size of what is not observed: it may have up to twice what it needs, and a
  // growing value takes its predecessors' blocks.
  runtime::BufferRef* find_free(size_t bytes, bool is_observed) {
    const auto fits = [&](size_t have) {
      if (have == bytes) return true;
      if (is_observed) return false;
      return (have > bytes && have / 2 <= bytes) ||
             runtime::size_class(have) == runtime::size_class(bytes);
    };
    runtime::BufferRef* best = nullptr;
    for (runtime::BufferRef& block : free_) {
      if (block->data() == nullptr || !fits(block->bytes())) continue;
      if (best == nullptr || block->bytes() < (*best)->bytes()) best = &block;
      if ((*best)->bytes() == bytes) break;
    }
    return best;
  }

  void allocate(int32_t r) {
    const auto bytes = static_cast<size_t>(plan_.results[r].bytes);
    if (runtime::BufferRef* block = find_free(bytes, plan_.results[r].observed)) {
      set(r, std::exchange(*block, free_.back()));
      free_.pop_back();
      return;
    }
    absl::StatusOr<runtime::BufferRef> buffer = backend_.allocate(bytes, stream_);
    while (!buffer.ok()) {
      // Work in flight will free memory, and keeps what is given up until it is done.
      stream_->wait(stream_->next_ticket() - 1);
      buffer = backend_.allocate(bytes, stream_);
      if (buffer.ok() || !reclaim(window_.node(0)->device, plan_.results[r].bytes)) break;
    }
    if (buffer.ok()) {
      set(r, *std::move(buffer));
      return;
    }
    const runtime::FailureRef failure = batch_->failed(ready_.results[r], buffer.status());
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
    fusion::for_each_memory(plan_.steps[s],
                            [&](const MemoryRef& ref) { missing |= is_missing(ref); });
    return missing;
  }

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
  absl::InlinedVector<bool, 16> owned_;       // by input
  absl::InlinedVector<bool, 16> given_away_;  // by result: its memory is another result's now
  absl::InlinedVector<runtime::BufferRef, 4> free_;
  bool some_missing_ = false;  // some memory could not be allocated
};

}  // namespace

void bind(const Window& window, const ReadyPlan& plan, kernels::Tier tier, Batch* batch,
          runtime::Backend* backend, runtime::Stream* stream) {
  Binder(window, plan, batch, backend, stream).bind(tier);
}

}  // namespace sluice::engine
