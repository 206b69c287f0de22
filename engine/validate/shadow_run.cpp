#include "engine/validate/shadow_run.h"

#include <string>
#include <utility>

#include <sluice/error.h>
#include "absl/strings/str_cat.h"
#include "kernels/executor.h"
#include "runtime/status_error.h"

namespace sluice::engine {
namespace {

[[noreturn]] void fail(const ValueLabel& result, const absl::Status& status) {
  throw Error(code_of(status),
              absl::StrCat("validate: ", to_string(result), ": ", status.message()));
}

class ShadowBatch : public runtime::CommandBatch {
 public:
  ShadowBatch(std::shared_ptr<const ReadyPlan> plan, std::unique_ptr<kernels::Run> code,
              kernels::Bindings bindings, ShadowRun* shadow)
      : plan_(std::move(plan)),
        code_(std::move(code)),
        bindings_(std::move(bindings)),
        shadow_(*shadow) {}

  void run() override { code_->start(bindings_); }

  void finish() override {
    const std::vector<fusion::Step>& steps = plan_->plan().steps;
    for (size_t s = 0; s < steps.size(); ++s) {
      shadow_.status.Update(code_->status(s));
      for (size_t k = 0; k < steps[s].num_calls(); ++k) {
        const kernels::ErrorSlot* slots = code_->error_slots(s, k);
        if (slots == nullptr) continue;
        for (size_t i = 0; i < steps[s].call(k).error_slots.size(); ++i) {
          shadow_.is_out_of_range |= slots[i].raised.load() != 0;
        }
      }
    }
  }

  void fail(const runtime::FailureRef& failure) override { shadow_.status.Update(failure->status); }
  std::string label() const override {
    return absl::StrCat("validating ", to_string(plan_->results.back()));
  }
  double cost() const override { return plan_->cost; }

 private:
  const std::shared_ptr<const ReadyPlan> plan_;
  const std::unique_ptr<kernels::Run> code_;
  const kernels::Bindings bindings_;
  ShadowRun& shadow_;
};

runtime::BufferRef allocate(const ReadyPlan& plan, size_t r, runtime::Backend* backend,
                            runtime::Stream* stream) {
  absl::StatusOr<runtime::BufferRef> buffer =
      backend->allocate(static_cast<size_t>(plan.plan().results[r].bytes), stream);
  if (!buffer.ok()) fail(plan.results[r], buffer.status());
  return *std::move(buffer);
}

}  // namespace

ShadowRun run_shadow(const std::shared_ptr<const ReadyPlan>& plan, absl::Span<Node* const> inputs,
                     absl::Span<const uint64_t> scalars, kernels::Tier tier,
                     runtime::Backend* backend, runtime::Stream* stream) {
  ShadowRun shadow;
  shadow.results.resize(plan->plan().results.size());
  for (int32_t r : plan->unwritten) shadow.results[r] = allocate(*plan, r, backend, stream);
  if (plan->plan().steps.empty()) return shadow;

  kernels::Bindings bindings;
  for (const uint64_t scalar : scalars) bindings.scalars.push_back(scalar);
  for (const Node* input : inputs) {
    const int64_t offset = input->layout.offset * static_cast<int64_t>(size_of(input->dtype));
    bindings.inputs.push_back(static_cast<char*>(input->buffer->data()) + offset);
  }
  bindings.results.resize(shadow.results.size());
  for (const std::vector<int32_t>& written : plan->written_by) {
    for (int32_t r : written) {
      shadow.results[r] = allocate(*plan, r, backend, stream);
      bindings.results[r] = shadow.results[r]->data();
    }
  }
  absl::StatusOr<std::unique_ptr<kernels::Run>> run = plan->code->make_run(stream, tier);
  if (!run.ok()) fail(plan->results.back(), run.status());
  auto batch = std::make_unique<ShadowBatch>(plan, *std::move(run), std::move(bindings), &shadow);
  stream->wait(stream->submit(std::move(batch), runtime::SubmitMode::kCallerWaits));
  return shadow;
}

}  // namespace sluice::engine
