// One run of a plan on a GPU.
#ifndef SLUICE_KERNELS_CUDA_RUN_RUN_H_
#define SLUICE_KERNELS_CUDA_RUN_RUN_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/cuda/gpu.h"
#include "kernels/cuda/run/replay.h"
#include "kernels/cuda/run/step_clock.h"
#include "kernels/cuda/run/step_code.h"
#include "kernels/executor.h"
#include "runtime/cuda/pinned_pool.h"

namespace sluice::kernels::cuda {

// The code of a plan, for runs on any streams. Thread-safe once it is made.
struct CudaCode {
  // `steps` outlives it; the programs are taken out of it. Library calls are prepared on another
  // thread.
  CudaCode(Gpu* gpu, std::vector<fusion::Step>* steps, std::vector<std::string> labels);

  Gpu* const gpu;
  const std::vector<fusion::Step>& steps;
  const std::vector<std::string> labels;            // by step
  std::vector<std::unique_ptr<StepCode>> launches;  // by step; null for a library call
  std::vector<KernelRef> kernels;                   // of all launches
  size_t num_error_slots = 0;
  // Steps up to the next library call, each of which begins such a run: its launches can be a
  // graph.
  struct Run {
    size_t end;  // the step after its last
    std::string label;
  };
  std::vector<Run> runs;
  Replays replays;
};

// Arguments that do not fit into a kernel's parameters, and those of the generic kernel, are copied
// to the device as tables, in one copy ahead of the kernels. Error slots are in pinned memory; a
// kernel writes them only to report an error.
class CudaRun : public Run {
 public:
  CudaRun(CudaCode* code, runtime::cuda::CudaStream* stream) : code_(*code), stream_(*stream) {}

  // Chooses the tier of each step, compiles its kernel if the tier asks for that, and allocates the
  // memory that the run needs beside the plan's own.
  absl::Status prepare(Tier tier);

  void start(const Bindings& bindings) override;
  int64_t generic_launches() const override { return generic_launches_; }
  std::vector<StepTime> step_times() override;
  bool may_have_failed() const override;
  absl::Status status(size_t step) const override;
  const ErrorSlot* error_slots(size_t step, size_t call) const override;

 private:
  struct StepRun {
    bool is_generic = false;
    StepMemory memory;
    absl::Status status;
  };

  void choose_tiers(Tier tier);
  void interpret_cold_steps(const runtime::cuda::Function* generic, Tier tier);
  void lay_out(const Bindings& bindings);
  void encode(size_t s, const Bindings& bindings);
  void encode_table(size_t s, int stage, const Bindings& bindings);
  void add_launch(size_t s, uint32_t blocks, absl::Span<const uint64_t> words);
  absl::Status copy_tables();
  size_t replay(size_t first, size_t run);
  std::byte* table_on_device(size_t at) const;

  CudaCode& code_;
  runtime::cuda::CudaStream& stream_;
  std::vector<StepRun> steps_;
  size_t table_bytes_ = 0;              // of all steps and stages
  runtime::BufferRef on_device_;        // tables, then partial results: steps run one after another
  runtime::cuda::PinnedBlock on_host_;  // tables, then error slots
  size_t table_end_ = 0;                // of those that have been encoded
  std::vector<Launch> launches_;
  std::vector<uint64_t> words_;
  int64_t generic_launches_ = 0;
  std::unique_ptr<StepClock> clock_;  // of a timed run
};

}  // namespace sluice::kernels::cuda

#endif  // SLUICE_KERNELS_CUDA_RUN_RUN_H_
