// What a step of a plan is on a GPU, but for addresses and scalars.
#ifndef SLUICE_KERNELS_CUDA_STEP_CODE_H_
#define SLUICE_KERNELS_CUDA_STEP_CODE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "sluice/fusion/plan.h"
#include "sluice/kernels/cuda/call.h"
#include "sluice/kernels/cuda/kernel_cache.h"
#include "sluice/kernels/executor.h"

namespace sluice::kernels::cuda {

// A fusion::KernelCall as the step's kernel runs it.
struct CallCode {
  const fusion::KernelCall* call = nullptr;
  int program = 0;  // of StepCode::programs
  Geometry geometry;
  int64_t partials_at = 0;  // from the start of the step's partial results, in bytes
};

// One kernel, launched once for each stage.
struct StepCode {
  // Takes the programs out of the step's calls.
  StepCode(fusion::KernelStep* step, int multiprocessors, std::string label);

  LaunchCode launch_code() const;
  // The most bytes that a stage's table takes; 0 if it has none.
  int64_t table_bytes() const;

  std::vector<fusion::Program> programs;  // different from one another
  std::vector<CallCode> calls;
  bool by_table = false;
  bool wide = false;
  int num_stages = 0;
  int64_t partial_bytes = 0;
  std::string label;
  KernelRef kernel;  // to be set by whoever has the cache
};

// Where the parts of a step's run lie.
struct StepMemory {
  void* partials = nullptr;
  std::vector<ErrorSlot*> errors;  // by call; null where there are none
};

// The words of one call at one stage, with its addresses and scalars.
void pack(const StepCode& code, size_t call, int stage, const Bindings& bindings,
          const StepMemory& memory, std::vector<uint64_t>* words);

}  // namespace sluice::kernels::cuda

#endif  // SLUICE_KERNELS_CUDA_STEP_CODE_H_
