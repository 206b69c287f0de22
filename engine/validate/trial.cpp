#include "engine/validate/trial.h"

#include <string>
#include <utility>

#include <sluice/error.h>
#include "absl/strings/str_cat.h"
#include "kernels/executor.h"

namespace sluice::engine {
namespace {

[[noreturn]] void fail(const ValueLabel& result, const absl::Status& status) {
  throw Error(status.code(), absl::StrCat("validate: ", to_string(result), ": ", status.message()));
}

class TrialBatch : public runtime::CommandBatch {
 public:
  TrialBatch(std::shared_ptr<const ReadyPlan> plan, std::unique_ptr<kernels::Run> code,
             kernels::Bindings bindings, Trial* trial)
      : plan_(std::move(plan)),
        code_(std::move(code)),
        bindings_(std::move(bindings)),
        trial_(*trial) {}

  void run() override { code_->start(bindings_); }

  void finish() override {
    const std::vector<fusion::Step>& steps = plan_->plan().steps;
    for (size_t s = 0; s < steps.size(); ++s) {
      trial_.status.Update(code_->status(s));
      for (size_t k = 0; k < steps[s].num_calls(); ++k) {
        const kernels::ErrorSlot* slots = code_->error_slots(s, k);
        if (slots == nullptr) continue;
        for (size_t i = 0; i < steps[s].call(k).error_slots.size(); ++i) {
          trial_.is_out_of_range |= slots[i].raised.load() != 0;
        }
      }
    }
  }

  void fail(const runtime::FailureRef& failure) override { trial_.status.Update(failure->status); }
  std::string label() const override {
    return absl::StrCat("validating ", to_string(plan_->results.back()));
  }
  double cost() const override { return plan_->cost; }

 private:
  const std::shared_ptr<const ReadyPlan> plan_;
  const std::unique_ptr<kernels::Run> code_;
  const kernels::Bindings bindings_;
  Trial& trial_;
};

runtime::BufferRef allocate(const ReadyPlan& plan, size_t r, runtime::Backend* backend,
                            runtime::Stream* stream) {
  absl::StatusOr<runtime::BufferRef> buffer =
      backend->allocate(static_cast<size_t>(plan.plan().results[r].bytes), stream);
  if (!buffer.ok()) fail(plan.results[r], buffer.status());
  return *std::move(buffer);
}

}  // namespace

Trial run_trial(const std::shared_ptr<const ReadyPlan>& plan, absl::Span<Node* const> inputs,
                absl::Span<const uint64_t> scalars, kernels::Tier tier, runtime::Backend* backend,
                runtime::Stream* stream) {
  Trial trial;
  trial.results.resize(plan->plan().results.size());
  for (int32_t r : plan->unwritten) trial.results[r] = allocate(*plan, r, backend, stream);
  if (plan->plan().steps.empty()) return trial;

  kernels::Bindings bindings;
  bindings.scalars.assign(scalars.begin(), scalars.end());
  for (const Node* input : inputs) {
    const int64_t offset = input->layout.offset * static_cast<int64_t>(size_of(input->dtype));
    bindings.inputs.push_back(static_cast<char*>(input->buffer->data()) + offset);
  }
  bindings.results.resize(trial.results.size());
  for (const std::vector<int32_t>& written : plan->written_by) {
    for (int32_t r : written) {
      trial.results[r] = allocate(*plan, r, backend, stream);
      bindings.results[r] = trial.results[r]->data();
    }
  }
  absl::StatusOr<std::unique_ptr<kernels::Run>> run = plan->code->make_run(stream, tier);
  if (!run.ok()) fail(plan->results.back(), run.status());
  auto batch = std::make_unique<TrialBatch>(plan, *std::move(run), std::move(bindings), &trial);
  stream->wait(stream->submit(std::move(batch), runtime::SubmitMode::kCallerWaits));
  return trial;
}

}  // namespace sluice::engine
