// A plan bound to memory and scalars, ready to run on a CPU stream.
#ifndef SLUICE_ENGINE_BATCH_H_
#define SLUICE_ENGINE_BATCH_H_

#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "sluice/engine/plan_cache.h"
#include "sluice/kernels/kernel.h"
#include "sluice/runtime/stream.h"

namespace sluice::engine {

class Batch : public runtime::CommandBatch {
 public:
  Batch(std::shared_ptr<const ReadyPlan> plan, kernels::Tier tier)
      : plan_(std::move(plan)), tier_(tier) {}

  void run() override;
  double cost() const override { return plan_->cost; }

  // A block of memory as kernels see it.
  struct Memory {
    runtime::BufferRef buffer;  // kept until the batch is done
    char* base = nullptr;       // of the value: the buffer's start plus the layout's offset
  };
  std::vector<Memory> inputs;   // by input
  std::vector<Memory> results;  // by result
  std::vector<uint64_t> scalars;
  // (step, number of the call in it): those whose memory could not be had.
  absl::flat_hash_set<std::pair<size_t, size_t>> skipped;

  void wait_for(const runtime::Event& event) { waits_for_.push_back(event); }
  void report(const runtime::FailureRef& failure) { failures_.push_back(failure); }

 private:
  const Memory& memory(const fusion::MemoryRef& ref) const {
    return ref.kind == fusion::MemoryRef::Kind::kInput ? inputs[ref.index] : results[ref.index];
  }
  bool is_skipped(size_t step, size_t call) const {
    return !skipped.empty() && skipped.contains({step, call});
  }
  void run_kernels(size_t step_number, const fusion::KernelStep& step);
  void run_matmul(const fusion::MatmulStep& matmul);
  void pass_failures_on(const fusion::KernelCall& call, const ReadyCall& ready,
                        const kernels::ErrorSlot* slots);

  const std::shared_ptr<const ReadyPlan> plan_;
  const kernels::Tier tier_;
};

}  // namespace sluice::engine

#endif  // SLUICE_ENGINE_BATCH_H_
