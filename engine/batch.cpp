#include "sluice/engine/batch.h"

#include <memory>
#include <variant>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "sluice/engine/counters.h"
#include "sluice/kernels/launch.h"
#include "sluice/kernels/library/matmul.h"

namespace sluice::engine {

void Batch::run() {
  const std::vector<fusion::Step>& steps = plan_->plan.steps;
  for (size_t s = 0; s < steps.size(); ++s) {
    if (skipped[s]) continue;
    if (const auto* kernel = std::get_if<fusion::KernelStep>(&steps[s].work)) {
      run_kernel(s, *kernel);
    } else {
      run_matmul(std::get<fusion::MatmulStep>(steps[s].work));
    }
  }
}

void Batch::run_kernel(size_t step, const fusion::KernelStep& kernel) {
  absl::InlinedVector<void*, 16> buffers;
  for (const fusion::MemoryRef& ref : kernel.buffers) buffers.push_back(memory(ref).base);
  absl::InlinedVector<uint64_t, 16> values;
  for (int32_t number : kernel.scalars) values.push_back(scalars[number]);
  std::unique_ptr<kernels::ErrorSlot[]> slots;
  if (!kernel.error_slots.empty()) {
    slots = std::make_unique<kernels::ErrorSlot[]>(kernel.error_slots.size());
  }
  const kernels::KernelArgs args{buffers.data(), kernel.extents.data(), kernel.accesses.data(),
                                 values.data(),  kernel.params.data(),  slots.get()};
  kernels::Kernel& code = *plan_->kernels[step];
  const kernels::Executable& executable = code.executable(tier_);
  if (!code.is_compiled(executable)) count(counters().generic_tier_launches);
  kernels::launch(code.program(), executable, args);
  pass_failures_on(step, kernel, slots.get());
}

void Batch::pass_failures_on(size_t step, const fusion::KernelStep& kernel,
                             const kernels::ErrorSlot* slots) {
  for (const fusion::OutputDependence& output : kernel.outputs) {
    runtime::Buffer* target = memory(kernel.buffers[output.buffer]).buffer.get();
    for (int32_t b : output.buffers) {
      runtime::Buffer* source = memory(kernel.buffers[b]).buffer.get();
      if (source->failure != nullptr && target->failure == nullptr) {
        target->failure = source->failure;
      }
    }
    for (int32_t slot : output.error_slots) {
      if (target->failure != nullptr || slots[slot].raised.load() == 0) continue;
      target->failure = std::make_shared<runtime::Failure>(absl::OutOfRangeError(
          absl::StrCat(to_string(plan_->error_slots[step][slot]), ": index ", slots[slot].index,
                       " is out of range for an axis of extent ", slots[slot].extent)));
      report(target->failure);
    }
  }
}

void Batch::run_matmul(const fusion::MatmulStep& step) {
  const Memory& a = memory(step.a);
  const Memory& b = memory(step.b);
  const Memory& c = memory(step.c);
  kernels::Matmul matmul;
  matmul.batch = step.batch;
  matmul.m = step.m;
  matmul.n = step.n;
  matmul.k = step.k;
  matmul.a = reinterpret_cast<const float*>(a.base) + step.a_offset;
  matmul.b = reinterpret_cast<const float*>(b.base) + step.b_offset;
  matmul.c = reinterpret_cast<float*>(c.base);
  std::copy_n(step.a_strides, 3, matmul.a_strides);
  std::copy_n(step.b_strides, 3, matmul.b_strides);
  const absl::Status status = kernels::matmul(matmul);
  if (!status.ok()) {
    c.buffer.get()->failure = std::make_shared<runtime::Failure>(
        absl::Status(status.code(), absl::StrCat("matmul: ", status.message())));
    report(c.buffer.get()->failure);
  }
  for (const Memory* source : {&a, &b}) {
    if (source->buffer->failure != nullptr) c.buffer.get()->failure = source->buffer->failure;
  }
}

}  // namespace sluice::engine
