// cuDNN without a GPU: a table that looks for misuse, and has graphs of operations computed by
// kernels of the emulated device: a convolution, or any of products, pointwise functions and
// reductions. It wants every attribute of a descriptor to be set, where the real library takes some
// value for what is missing.
#ifndef SLUICE_TESTS_EMULATED_CUDA_FAKE_CUDNN_H_
#define SLUICE_TESTS_EMULATED_CUDA_FAKE_CUDNN_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
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
    int64_t index = 0, knob = 0;  // which it is, and what its only knob is set to
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

  // Of products, pointwise functions and reductions.
  struct Operation {
    kernels::cuda::DnnDescriptorType type{};
    int function = 0;  // a kernels::cuda::DnnPointwise or DnnReduction
    int64_t axis = -1;
    int64_t x = 0, b = 0, t = 0, y = 0;  // tensors by their ids; 0: none
  };
  struct Node : Tensor {
    bool is_virtual = false, is_value = false;
  };
  // Either of the two.
  struct Graph {
    std::shared_ptr<const Convolution> convolution;
    std::vector<Operation> operations;  // in order
    std::map<int64_t, Node> tensors;    // of the operations, by id
  };

  explicit FakeCudnn(EmulatedCuda* emulator);
  ~FakeCudnn();
  FakeCudnn(const FakeCudnn&) = delete;
  FakeCudnn& operator=(const FakeCudnn&) = delete;

  static const kernels::cuda::Cudnn* table();

  // What it recommends, in order, in either mode; empty: it refuses to say.
  std::function<std::vector<Engine>(const Graph&, kernels::cuda::DnnHeuristic)> engines;
  // The n-th call from now on (1: the next) fails without taking effect, except that calls which
  // release something still do. 0: none does.
  void fail_call(int64_t n, Status status);

  // Calls so far, but for those that release something.
  int64_t calls() const;
  // Handles and descriptors that were not given back.
  int64_t objects() const;
  // How many engines were asked for, in all, and what was run: convolutions, and other graphs.
  int64_t questions() const;
  std::vector<Convolution> runs() const;
  std::vector<std::shared_ptr<const Graph>> graphs() const;
  std::vector<Engine> engines_run() const;  // of the graphs
  // Every misuse, one sentence each. The call also returned an error.
  std::vector<std::string> misuse() const;

 private:
  friend struct FakeCudnnCalls;
  struct Impl;
  Impl* impl_;
};

}  // namespace sluice::emulated

#endif  // SLUICE_TESTS_EMULATED_CUDA_FAKE_CUDNN_H_
