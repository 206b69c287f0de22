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
    if (const auto* kernels = std::get_if<fusion::KernelStep>(&steps[s].work)) {
      run_kernels(s, *kernels);
    } else if (!is_skipped(s, 0)) {
      run_matmul(std::get<fusion::MatmulStep>(steps[s].work));
    }
  }
}

void Batch::run_kernels(size_t step_number, const fusion::KernelStep& step) {
  const std::vector<ReadyCall>& ready = plan_->calls[step_number];
  struct Arguments {
    absl::InlinedVector<void*, 16> buffers;
    absl::InlinedVector<uint64_t, 16> scalars;
    std::unique_ptr<kernels::ErrorSlot[]> slots;
  };
  absl::InlinedVector<Arguments, 1> arguments(ready.size());
  absl::InlinedVector<kernels::Call, 1> calls;
  bool all_compiled = true;
  for (size_t k = 0; k < ready.size(); ++k) {
    if (is_skipped(step_number, k)) continue;
    const fusion::KernelCall& call = step.calls[k];
    Arguments& own = arguments[k];
    for (const fusion::MemoryRef& ref : call.buffers) own.buffers.push_back(memory(ref).base);
    for (int32_t number : call.scalars) own.scalars.push_back(scalars[number]);
    if (!call.error_slots.empty()) {
      own.slots = std::make_unique<kernels::ErrorSlot[]>(call.error_slots.size());
    }
    kernels::Kernel& kernel = *ready[k].kernel;
    const kernels::Executable& executable = kernel.executable(tier_);
    all_compiled &= kernel.is_compiled(executable);
    const kernels::KernelArgs args{own.buffers.data(), call.extents.data(), call.accesses.data(),
                                   own.scalars.data(), call.params.data(),  own.slots.get()};
    calls.push_back({&kernel.program(), &executable, args, kernel.cost_of_point()});
  }
  if (!all_compiled) count(counters().generic_tier_launches);
  kernels::launch(calls);
  for (size_t k = 0; k < ready.size(); ++k) {
    if (is_skipped(step_number, k)) continue;
    pass_failures_on(step.calls[k], ready[k], arguments[k].slots.get());
  }
}

void Batch::pass_failures_on(const fusion::KernelCall& call, const ReadyCall& ready,
                             const kernels::ErrorSlot* slots) {
  for (const fusion::OutputDependence& output : call.outputs) {
    runtime::Buffer* target = memory(call.buffers[output.buffer]).buffer.get();
    for (int32_t b : output.buffers) {
      runtime::Buffer* source = memory(call.buffers[b]).buffer.get();
      if (source->failure != nullptr && target->failure == nullptr) {
        target->failure = source->failure;
      }
    }
    for (int32_t slot : output.error_slots) {
      if (target->failure != nullptr || slots[slot].raised.load() == 0) continue;
      target->failure = std::make_shared<runtime::Failure>(absl::OutOfRangeError(
          absl::StrCat(to_string(ready.error_slots[slot]), ": index ", slots[slot].index,
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
  absl::InlinedVector<kernels::Epilogue, 4> epilogues;
  absl::InlinedVector<const Memory*, 4> sources{&a, &b};
  for (const fusion::Epilogue& epilogue : step.epilogues) {
    kernels::Epilogue& own = epilogues.emplace_back();
    own.op = epilogue.op;
    own.one_row = epilogue.one_row;
    if (epilogue.op != fusion::Op::kAdd) continue;
    const Memory& operand = memory(epilogue.operand);
    own.operand = reinterpret_cast<const float*>(operand.base) + epilogue.offset;
    sources.push_back(&operand);
  }
  matmul.epilogues = epilogues;
  const absl::Status status = kernels::matmul(matmul);
  if (!status.ok()) {
    c.buffer.get()->failure = std::make_shared<runtime::Failure>(
        absl::Status(status.code(), absl::StrCat("matmul: ", status.message())));
    report(c.buffer.get()->failure);
  }
  for (const Memory* source : sources) {
    if (source->buffer->failure != nullptr) c.buffer.get()->failure = source->buffer->failure;
  }
}

}  // namespace sluice::engine
