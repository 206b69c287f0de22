// The driver that both tiers share: cuts a launch into calls of entry points.
#ifndef SLUICE_KERNELS_LAUNCH_H_
#define SLUICE_KERNELS_LAUNCH_H_

#include "sluice/fusion/program.h"
#include "sluice/kernels/kernel.h"

namespace sluice::kernels {

// Runs a whole kernel and waits for it: on the calling thread and, where the work is large enough
// to pay, on the OpenMP threads. How the work is divided never changes a bit of the result. Errors
// are left in args.errors. No rows: nothing is done.
void launch(const fusion::Program& program, const Executable& executable, const KernelArgs& args);

}  // namespace sluice::kernels

#endif  // SLUICE_KERNELS_LAUNCH_H_
