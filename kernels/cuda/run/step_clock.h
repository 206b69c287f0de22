// Times the steps of a run on the device.
#ifndef SLUICE_KERNELS_CUDA_RUN_STEP_CLOCK_H_
#define SLUICE_KERNELS_CUDA_RUN_STEP_CLOCK_H_

#include <chrono>
#include <vector>

#include "kernels/executor.h"
#include "runtime/cuda/cuda_stream.h"

namespace sluice::kernels::cuda {

// Marks on a stream, one before the first step and one after each.
class StepClock {
 public:
  explicit StepClock(runtime::cuda::CudaStream* stream) : stream_(*stream) {}

  void mark();

  // Once the device is done: a time for each mark but the first. The first mark is taken to happen
  // when the host makes it. Empty if a mark could not be made.
  std::vector<StepTime> times() const;

 private:
  runtime::cuda::CudaStream& stream_;
  std::chrono::steady_clock::time_point start_;
  std::vector<runtime::cuda::EventRef> marks_;
  bool is_complete_ = true;
};

}  // namespace sluice::kernels::cuda

#endif  // SLUICE_KERNELS_CUDA_RUN_STEP_CLOCK_H_
