#include "engine/run/batch.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "engine/describe/wording.h"
#include "engine/observe/counters.h"

namespace sluice::engine {

using fusion::MemoryRef;

void Batch::run() {
  if (code == nullptr) return;
  code->start(bindings);
  count(counters().generic_tier_launches, code->generic_launches());
  blocks.clear();
}

void Batch::finish() {
  if (observer != nullptr) [[unlikely]]
    observer->finished(code == nullptr ? std::vector<kernels::StepTime>() : code->step_times());
  if (code == nullptr) {
    if (failure_of_run != nullptr) fail(failure_of_run);
    return;
  }
  if (!may_have_failed()) return;
  const std::vector<fusion::Step>& steps = plan_->plan().steps;
  for (size_t s = 0; s < steps.size(); ++s) {
    if (const absl::Status status = code->status(s); !status.ok()) fail_step(steps[s], status);
    for (size_t k = 0; k < steps[s].num_calls(); ++k) {
      if (!bindings.is_skipped(s, k)) propagate_failures(s, k);
    }
  }
}

bool Batch::may_have_failed() const {
  return code->may_have_failed() || !failed_results_.empty() ||
         std::any_of(inputs.begin(), inputs.end(),
                     [](const runtime::BufferRef& input) { return input->failure != nullptr; });
}

void Batch::fail(const runtime::FailureRef& failure) {
  for (size_t r = 0; r < results.size(); ++r) set_failure(static_cast<int32_t>(r), failure);
}

runtime::FailureRef Batch::failure_of(const MemoryRef& ref) const {
  if (ref.kind == MemoryRef::Kind::kInput) return inputs[ref.index]->failure;
  const auto it = failed_results_.find(ref.index);
  return it == failed_results_.end() ? nullptr : it->second;
}

void Batch::set_failure(int32_t result, const runtime::FailureRef& failure) {
  const runtime::FailureRef& first = failed_results_.try_emplace(result, failure).first->second;
  if (plan_->plan().results[result].observed && results[result]) {
    results[result].get()->failure = first;
  }
}

std::string Batch::label() const {
  return plan_->results.empty() ? "window of views" : to_string(plan_->results.back());
}

const Caller& Batch::caller_of(const ValueLabel& label) const {
  static const Caller nobody;
  return label.caller < 0 ? nobody : callers[static_cast<size_t>(label.caller)];
}

runtime::FailureRef Batch::failed(const ValueLabel& label, const absl::Status& status) const {
  const Caller& caller = caller_of(label);
  const std::string place = place_of(caller.where);
  // A launch names its op; a compiler or an allocator does not.
  const bool is_named = absl::StrContains(status.message(), to_string(label));
  return std::make_shared<runtime::Failure>(absl::Status(
      status.code(),
      absl::StrCat(is_named ? "" : absl::StrCat(to_string(label, caller.name), ": "),
                   status.message(), place.empty() ? "" : absl::StrCat(", called at ", place))));
}

void Batch::fail_step(const fusion::Step& step, const absl::Status& status) {
  runtime::FailureRef failure;
  fusion::for_each_output(step, [&](const MemoryRef& ref) {
    if (failure == nullptr) failure = failed(plan_->results[ref.index], status);
    set_failure(ref.index, failure);
  });
  report(failure);
}

void Batch::inherit(const MemoryRef& target, const MemoryRef& source) {
  if (const runtime::FailureRef failure = failure_of(source)) set_failure(target.index, failure);
}

void Batch::propagate_failures(size_t step, size_t number) {
  const fusion::Call& call = plan_->plan().steps[step].call(number);
  const kernels::ErrorSlot* slots = code->error_slots(step, number);
  for (const fusion::OutputDependence& output : call.outputs) {
    const MemoryRef& target = call.memory_of(output);
    for (int32_t b : output.buffers) inherit(target, call.buffers[b]);
    for (int32_t slot : output.error_slots) {
      if (slots[slot].raised.load() == 0 || failure_of(target) != nullptr) continue;
      const ValueLabel& label = plan_->error_slots[step][number][slot];
      runtime::FailureRef& failure = failed_ops_[plan_->labeled[label.caller]];
      if (failure == nullptr) {
        failure =
            failed(label, absl::OutOfRangeError(absl::StrCat(
                              "index ", slots[slot].index,
                              " is out of range for an axis of extent ", slots[slot].extent)));
        report(failure);
      }
      set_failure(target.index, failure);
    }
  }
}

}  // namespace sluice::engine
