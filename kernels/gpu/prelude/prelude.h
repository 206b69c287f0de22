// The prelude: the text that emitted kernels need before them. They use nothing but plain C++ and
// the names, all of them sl_* or SL_*, that it defines; only in it are there intrinsics and inline
// assembly.
//
// It exists for the device, where NVRTC compiles it, and for a host's C++ compiler, so that the
// same kernels run on a machine with no GPU. What differs between them is small: how a thread
// learns its place, barriers, shuffles, bit casts, library functions, conversion of half types.
#ifndef SLUICE_KERNELS_GPU_PRELUDE_PRELUDE_H_
#define SLUICE_KERNELS_GPU_PRELUDE_PRELUDE_H_

#include <string>
#include <vector>

namespace sluice::kernels::cuda {

// `kernels`, which emit() made, with as much of the device's prelude as they use.
std::string device_source(const std::string& kernels);

// Likewise with the host's. Each kernel is a function there,
//     extern "C" const char* name(unsigned grid, unsigned block, const void* const* arguments);
// which runs a launch on the calling thread. arguments[0] points to the kernel's parameter, as for
// cudaLaunchKernel. It returns null, or what was wrong: a barrier that not all threads come to, a
// vector access that is not aligned. Launches of one kernel on several threads don't disturb each
// other. Library functions are the C compiler's, so bits need not be the device's.
std::string host_source(const std::string& kernels);

// What NVRTC needs to be told, save the architecture. Unless `contracts`, products and sums are
// kept apart: fusing two ops must never change a bit. A source has programs of one kind
// (fusion::Program::contracts) only.
std::vector<std::string> device_options(bool contracts);
// Likewise for a host compiler with GCC's options, to make a shared library. Nothing is contracted.
std::vector<std::string> host_options();

}  // namespace sluice::kernels::cuda

#endif  // SLUICE_KERNELS_GPU_PRELUDE_PRELUDE_H_
