// A plan bound to memory and scalars, ready for a stream.
#ifndef SLUICE_ENGINE_RUN_BATCH_H_
#define SLUICE_ENGINE_RUN_BATCH_H_

#include <memory>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "engine/observe/flush_observer.h"
#include "engine/run/plan_cache.h"
#include "kernels/executor.h"
#include "runtime/stream.h"

namespace sluice::engine {

class Batch : public runtime::CommandBatch {
 public:
  explicit Batch(std::shared_ptr<const ReadyPlan> plan) : plan_(std::move(plan)) {}

  void run() override;
  void finish() override;
  void fail(const runtime::FailureRef& failure) override;
  std::string label() const override;
  double cost() const override { return plan_->cost; }

  // By input, and by result if it is observed. Kept until the batch is done.
  absl::InlinedVector<runtime::BufferRef, 8> inputs, results;
  // All that results lie in. Released after run(): the stream's order protects the others.
  absl::InlinedVector<runtime::BufferRef, 8> blocks;
  kernels::Bindings bindings;
  // Of what the plan's labels name.
  absl::InlinedVector<Caller, 4> callers;
  // Null if there was no memory for it: `failure_of_run` says so.
  std::unique_ptr<kernels::Run> code;
  runtime::FailureRef failure_of_run;
  std::shared_ptr<FlushObserver> observer;  // null unless somebody watches

  void wait_for(const runtime::Event& event) { waits_for_.push_back(event); }
  void report(const runtime::FailureRef& failure) { failures_.push_back(failure); }

  const Caller& caller_of(const ValueLabel& label) const;
  // Why the value could not be computed, in the user's words: what was called, and where.
  runtime::FailureRef failed(const ValueLabel& label, const absl::Status& status) const;

  // Null if the contents are valid, as far as is known.
  runtime::FailureRef failure_of(const fusion::MemoryRef& ref) const;
  // A result keeps its first failure.
  void set_failure(int32_t result, const runtime::FailureRef& failure);

 private:
  bool may_have_failed() const;
  void propagate_failures(size_t step, size_t call);
  void fail_step(const fusion::Step& step, const absl::Status& status);
  void inherit(const fusion::MemoryRef& target, const fusion::MemoryRef& source);

  const std::shared_ptr<const ReadyPlan> plan_;
  // By result. Not kept in the buffers, as successive results may share one.
  absl::flat_hash_map<int32_t, runtime::FailureRef> failed_results_;
  // By the op of the window that failed: what several results depend on is one failure, reported
  // once.
  absl::flat_hash_map<uint32_t, runtime::FailureRef> failed_ops_;
};

}  // namespace sluice::engine

#endif  // SLUICE_ENGINE_RUN_BATCH_H_
