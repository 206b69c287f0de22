// The properties of the target machine that the emitter depends on. No LLVM header.
#ifndef SLUICE_KERNELS_LLVM_HOST_H_
#define SLUICE_KERNELS_LLVM_HOST_H_

#include <string>

namespace sluice::kernels {

struct Host {
  std::string cpu;       // as LLVM names it
  std::string features;  // "+avx2,-avx512f,..."
  int vector_bytes = 16;
  bool float16 = false;           // converts float16 in hardware
  bool computes_float16 = false;  // has its arithmetic too
  // Masked loads, stores, gathers and scatters cost about what plain ones do. (Of the gathers of
  // AVX2 LLVM makes loads of one lane each, with a branch if there is a mask.)
  bool masked_vectors = false;
  // But streams are read slower under them: by 60 % on Zen 5. On Zen 4 they are by 15 % faster.
  bool masks_slow_streams = false;
  bool converts_int64 = false;  // vectors of floats to 64-bit integers, and back
};

// Of this machine.
const Host& host();

}  // namespace sluice::kernels

#endif  // SLUICE_KERNELS_LLVM_HOST_H_
