// cuSOLVER without a GPU: a table that looks for misuse, and has matrices taken apart by LAPACK in
// a kernel of the emulated device.
#ifndef SLUICE_TESTS_EMULATED_CUDA_FAKE_CUSOLVER_H_
#define SLUICE_TESTS_EMULATED_CUDA_FAKE_CUSOLVER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/cuda/library/factor/cusolver.h"
#include "tests/emulated_cuda/emulated_cuda.h"

namespace sluice::emulated {

// One at a time. Its functions are thread-safe, but only one thread may be in those of a handle.
class FakeCusolver {
 public:
  using Status = kernels::cuda::SolverStatus;

  explicit FakeCusolver(EmulatedCuda* emulator);
  ~FakeCusolver();
  FakeCusolver(const FakeCusolver&) = delete;
  FakeCusolver& operator=(const FakeCusolver&) = delete;

  static const kernels::cuda::Cusolver* table();

  // The n-th call from now on (1: the next) fails without taking effect, except that calls which
  // release something still do. 0: none does.
  void fail_call(int64_t n, Status status);
  // What gesvdp says that it added to singular values.
  void set_perturbation(double added);

  // Calls so far, but for those that release something.
  int64_t calls() const;
  // Handles and the like that were not given back.
  int64_t objects() const;
  // The names of the routines that were run.
  std::vector<std::string> runs() const;
  // Every misuse, one sentence each. The call also returned an error.
  std::vector<std::string> misuse() const;

 private:
  friend struct FakeCusolverCalls;
  struct Impl;
  Impl* impl_;
};

}  // namespace sluice::emulated

#endif  // SLUICE_TESTS_EMULATED_CUDA_FAKE_CUSOLVER_H_
