// A launch of a plan on a GPU, without addresses and scalars.
#ifndef SLUICE_KERNELS_CUDA_RUN_STEP_CODE_H_
#define SLUICE_KERNELS_CUDA_RUN_STEP_CODE_H_

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "fusion/lower/step.h"
#include "kernels/cuda/kernel_cache.h"
#include "kernels/executor.h"
#include "kernels/gpu/run/call.h"

namespace sluice::kernels::cuda {

// The memory of one run of a launch.
struct StepMemory {
  void* partials = nullptr;
  std::vector<ErrorSlot*> errors;  // by call; null where there are none
};

// A fusion::KernelCall of a step.
struct CallCode {
  const fusion::KernelCall* call = nullptr;
  int program = 0;  // of StepCode::programs
  Geometry geometry;
  int64_t partials_at = 0;  // from the start of the step's partial results, in bytes
};

// A step's calls, launched together once for each stage: by a kernel of their own, or by the
// generic kernel, which takes all arguments by table and counts all calls as calls of one program.
class StepCode {
 public:
  // Takes the programs out of the calls, which outlive this.
  StepCode(std::vector<fusion::KernelCall>* kernels, int multiprocessors);

  // `label`: what messages call it.
  LaunchCode launch_code(const std::string& label) const;

  // Whether the generic kernel can run it. The first call encodes it. Thread-safe; to be called
  // before any function is given `generic`.
  bool is_encodable();

  bool uses_table(bool generic) const { return generic || by_table_; }
  // Of the kernel's parameters, if the table is in them; else 0.
  size_t table_words(bool generic) const { return generic ? 0 : table_words_; }
  // The most bytes that a stage's table takes in memory; 0 if it has none there.
  size_t table_bytes(bool generic) const;
  const Geometry& geometry(size_t call, bool generic) const {
    return generic ? encoded_.geometries[call] : calls[call].geometry;
  }
  // The words of one call at one stage, with its addresses and scalars.
  void pack(size_t call, int stage, bool generic, const Bindings& bindings,
            const StepMemory& memory, std::vector<uint64_t>* words) const;

  std::vector<CallCode> calls;
  int num_stages = 0;
  size_t partial_bytes = 0;
  KernelRef kernel;  // set by the owner of the cache

 private:
  void encode();
  // Of the table of all calls, without their bytecode.
  size_t words_of_all() const;

  // For the generic kernel.
  struct Encoded {
    std::once_flag once;
    std::vector<std::vector<uint64_t>> programs;  // empty if some program cannot be encoded
    std::vector<Geometry> geometries;             // by call
  };

  std::vector<OwnProgram> programs_;  // different from one another
  bool by_table_ = false;
  size_t table_words_ = 0;
  bool wide_ = false;
  const int multiprocessors_;
  Encoded encoded_;
};

}  // namespace sluice::kernels::cuda

#endif  // SLUICE_KERNELS_CUDA_RUN_STEP_CODE_H_
