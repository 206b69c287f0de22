// Kernels as traces show them.
#ifndef SLUICE_KERNELS_DESCRIPTION_H_
#define SLUICE_KERNELS_DESCRIPTION_H_

#include <string>

namespace sluice::kernels {

// Describes a kernel for people. Unknown fields are empty or -1.
struct KernelDescription {
  std::string key;       // equal for equal kernels, in any process
  std::string program;   // fusion::to_text()
  std::string language;  // of its source: "llvm-ir", "cuda-c++"
  std::string source;
  std::string assembly;
  int registers = -1;  // of a thread
  int spilled_bytes = -1;
  int shared_bytes = -1;
};

}  // namespace sluice::kernels

#endif  // SLUICE_KERNELS_DESCRIPTION_H_
