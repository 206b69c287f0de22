#include "sluice/engine/batch.h"

#include <variant>

#include "absl/strings/str_cat.h"
#include "sluice/engine/counters.h"

namespace sluice::engine {

using fusion::KernelStep;
using fusion::MatmulStep;

void Batch::run() {
  if (code == nullptr) return;
  code->start(bindings);
  count(counters().generic_tier_launches, code->generic_launches());
}

void Batch::finish() {
  if (code == nullptr) {
    fail(failure_of_run);
    return;
  }
  const std::vector<fusion::Step>& steps = plan_->plan.steps;
  for (size_t s = 0; s < steps.size(); ++s) {
    if (const absl::Status status = code->status(s); !status.ok()) fail_step(steps[s], status);
    if (const auto* kernels = std::get_if<KernelStep>(&steps[s].work)) {
      for (size_t k = 0; k < kernels->calls.size(); ++k) {
        if (!bindings.is_skipped(s, k)) pass_failures_on(s, k);
      }
    } else if (!bindings.is_skipped(s, 0)) {
      pass_failures_on(std::get<MatmulStep>(steps[s].work));
    }
  }
}

void Batch::fail(const runtime::FailureRef& failure) {
  for (const runtime::BufferRef& result : results) {
    if (result && result->failure == nullptr) result.get()->failure = failure;
  }
}

void Batch::fail_step(const fusion::Step& step, const absl::Status& status) {
  const auto failure = std::make_shared<runtime::Failure>(status);
  fusion::for_each_output(step, [&](const fusion::MemoryRef& ref) {
    if (runtime::Buffer* target = buffer(ref); target->failure == nullptr) {
      target->failure = failure;
    }
  });
  report(failure);
}

void Batch::pass_failures_on(size_t step, size_t number) {
  const auto& work = std::get<KernelStep>(plan_->plan.steps[step].work);
  const fusion::KernelCall& call = work.calls[number];
  const kernels::ErrorSlot* slots = code->error_slots(step, number);
  for (const fusion::OutputDependence& output : call.outputs) {
    runtime::Buffer* target = buffer(call.buffers[output.buffer]);
    for (int32_t b : output.buffers) {
      const runtime::Buffer* source = buffer(call.buffers[b]);
      if (source->failure != nullptr && target->failure == nullptr) {
        target->failure = source->failure;
      }
    }
    for (int32_t slot : output.error_slots) {
      if (target->failure != nullptr || slots[slot].raised.load() == 0) continue;
      const ValueLabel& label = plan_->error_slots[step][number][slot];
      target->failure = std::make_shared<runtime::Failure>(absl::OutOfRangeError(
          absl::StrCat(to_string(label), ": index ", slots[slot].index,
                       " is out of range for an axis of extent ", slots[slot].extent)));
      report(target->failure);
    }
  }
}

void Batch::pass_failures_on(const MatmulStep& matmul) {
  runtime::Buffer* target = buffer(matmul.c);
  fusion::for_each_memory(matmul, [&](const fusion::MemoryRef& ref) {
    const runtime::Buffer* source = buffer(ref);
    if (source->failure != nullptr && target->failure == nullptr) target->failure = source->failure;
  });
}

}  // namespace sluice::engine
