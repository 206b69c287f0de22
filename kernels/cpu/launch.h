// The driver that both tiers share: cuts a launch into calls of entry points.
#ifndef SLUICE_KERNELS_CPU_LAUNCH_H_
#define SLUICE_KERNELS_CPU_LAUNCH_H_

#include "absl/types/span.h"
#include "fusion/ir/program.h"
#include "kernels/executable.h"

namespace sluice::kernels {

// One kernel and what it is to run on.
struct Call {
  const fusion::Program* program = nullptr;
  const Executable* executable = nullptr;
  KernelArgs args{};
  double cost_of_point = 0;  // fusion::cost_of_point
};

// Runs whole kernels that don't depend on each other and waits for them: on the calling thread and,
// where the work is large enough to pay, on the OpenMP threads. How the work is divided never
// changes a bit of the result. Errors are left in args.errors. No rows: nothing is done.
void launch(absl::Span<const Call> calls);
void launch(const fusion::Program& program, const Executable& executable, const KernelArgs& args);

}  // namespace sluice::kernels

#endif  // SLUICE_KERNELS_CPU_LAUNCH_H_
