// cuDNN without a GPU: a table that looks for misuse, and has convolutions computed by a kernel of
// the emulated device. It wants every attribute of a descriptor to be set, where the real library
// takes some value for what is missing.
#ifndef SLUICE_TESTS_EMULATED_CUDA_FAKE_CUDNN_H_
#define SLUICE_TESTS_EMULATED_CUDA_FAKE_CUDNN_H_

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "fusion/library/convolution.h"
#include "kernels/cuda/library/cudnn/cudnn.h"
#include "tests/emulated_cuda/emulated_cuda.h"

namespace sluice::emulated {

// One at a time. Its functions are thread-safe, but only one thread may be in those of a handle.
class FakeCudnn {
 public:
  using Status = kernels::cuda::DnnStatus;
  using Note = kernels::cuda::DnnNote;

  // What it knows of a way to compute.
  struct Engine {
    std::vector<Note> notes;
    int64_t workspace_bytes = 0;
    Status plan_status = Status::kSuccess, run_status = Status::kSuccess;
  };
  struct Tensor {
    kernels::cuda::DnnDataType dtype{};
    std::vector<int64_t> extents, strides;
  };
  struct Convolution {
    fusion::ConvolutionRole result{};
    Tensor tensors[fusion::kNumRoles];
    std::vector<int64_t> stride, dilation, before, after;
  };

  explicit FakeCudnn(EmulatedCuda* emulator);
  ~FakeCudnn();
  FakeCudnn(const FakeCudnn&) = delete;
  FakeCudnn& operator=(const FakeCudnn&) = delete;

  static const kernels::cuda::Cudnn* table();

  // What it recommends, in order, in either mode; empty: it refuses to say.
  std::function<std::vector<Engine>(const Convolution&, kernels::cuda::DnnHeuristic)> engines;
  // The n-th call from now on (1: the next) fails without taking effect, except that calls which
  // release something still do. 0: none does.
  void fail_call(int64_t n, Status status);

  // Calls so far, but for those that release something.
  int64_t calls() const;
  // Handles and descriptors that were not given back.
  int64_t objects() const;
  // How many engines were asked for, in all, and what was run.
  int64_t questions() const;
  std::vector<Convolution> runs() const;
  // Every misuse, one sentence each. The call also returned an error.
  std::vector<std::string> misuse() const;

 private:
  friend struct FakeCudnnCalls;
  struct Impl;
  Impl* impl_;
};

}  // namespace sluice::emulated

#endif  // SLUICE_TESTS_EMULATED_CUDA_FAKE_CUDNN_H_
