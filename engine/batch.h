// A plan bound to memory and scalars, ready for a stream.
#ifndef SLUICE_ENGINE_BATCH_H_
#define SLUICE_ENGINE_BATCH_H_

#include <memory>
#include <utility>
#include <vector>

#include "sluice/engine/plan_cache.h"
#include "sluice/kernels/executor.h"
#include "sluice/runtime/stream.h"

namespace sluice::engine {

class Batch : public runtime::CommandBatch {
 public:
  explicit Batch(std::shared_ptr<const ReadyPlan> plan) : plan_(std::move(plan)) {}

  void run() override;
  void finish() override;
  void fail(const runtime::FailureRef& failure) override;
  double cost() const override { return plan_->cost; }

  // By input and by result; kept until the batch is done.
  std::vector<runtime::BufferRef> inputs, results;
  kernels::Bindings bindings;
  // Null if there was no memory for it: `failure_of_run` says so.
  std::unique_ptr<kernels::Run> code;
  runtime::FailureRef failure_of_run;

  void wait_for(const runtime::Event& event) { waits_for_.push_back(event); }
  void report(const runtime::FailureRef& failure) { failures_.push_back(failure); }

  runtime::Buffer* buffer(const fusion::MemoryRef& ref) const {
    const bool is_input = ref.kind == fusion::MemoryRef::Kind::kInput;
    return (is_input ? inputs : results)[ref.index].get();
  }

 private:
  void pass_failures_on(size_t step, size_t call);
  void pass_failures_on(const fusion::MatmulStep& matmul);
  void fail_step(const fusion::Step& step, const absl::Status& status);

  const std::shared_ptr<const ReadyPlan> plan_;
};

}  // namespace sluice::engine

#endif  // SLUICE_ENGINE_BATCH_H_
