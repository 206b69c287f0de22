// Which compiler makes the kernels of tests, and what their images are (kernels.h).
#ifndef SLUICE_TESTS_EMULATED_CUDA_TEST_COMPILER_H_
#define SLUICE_TESTS_EMULATED_CUDA_TEST_COMPILER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "kernels/cuda/compile/compiler.h"

namespace sluice::emulated {

// What runs kernels, by $SLUICE_PTX:
enum class KernelCode {
  kHost,  // unset: the host's compiler makes functions of the emitted text
  kPtx,   // "run": NVRTC makes PTX of it, which tests/ptx_device runs
  // "compare": both, one after the other. It is an error if they leave different bits, unless the
  // kernels call functions that CUDA's library and the C library compute in different ways.
  kBoth
};
KernelCode kernel_code();

// $SLUICE_PTX_SCHEDULE: the order of threads (ptx::Geometry::schedule); 0 if unset.
uint64_t ptx_schedule();

// Thread-safe. NVRTC is the one that $SLUICE_PTX_NVRTC names; it compiles for $SLUICE_PTX_ARCH,
// or 90.
std::unique_ptr<kernels::cuda::Compiler> make_test_compiler();

// What NVRTC makes of a text; kept on disk as the host's objects are.
absl::StatusOr<std::string> compile_to_ptx(const std::string& text, bool contracts);

// The first instruction of PTX that its translation to machine code may contract with another: an
// addition or a product whose rounding is not said. "" if there is none.
std::string may_contract(const std::string& ptx);

}  // namespace sluice::emulated

#endif  // SLUICE_TESTS_EMULATED_CUDA_TEST_COMPILER_H_
