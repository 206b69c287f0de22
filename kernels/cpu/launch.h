// Divides a launch into calls of entry points, for both tiers.
#ifndef SLUICE_KERNELS_CPU_LAUNCH_H_
#define SLUICE_KERNELS_CPU_LAUNCH_H_

#include "absl/types/span.h"
#include "fusion/ir/program.h"
#include "kernels/executable.h"

namespace sluice::kernels {

// One kernel and its arguments.
struct Call {
  const fusion::Program* program = nullptr;
  const Executable* executable = nullptr;
  KernelArgs args{};
  double cost_of_point = 0;  // fusion::cost_of_point
};

// Runs kernels that don't depend on each other and waits for them. They run on the calling thread
// and, if there is enough work, on workers (runtime/cpu/parallel.h); how it is divided changes no
// bit. Errors are left in args.errors.
void launch(absl::Span<const Call> calls);
void launch(const fusion::Program& program, const Executable& executable, const KernelArgs& args);

}  // namespace sluice::kernels

#endif  // SLUICE_KERNELS_CPU_LAUNCH_H_
