// Programs as users write them, in primitive ops only, with the kernels and library calls that each
// may cost. Tests assert the costs; bench/fusion_table prints them.
#ifndef SLUICE_WORKLOADS_FUSED_PROGRAMS_H_
#define SLUICE_WORKLOADS_FUSED_PROGRAMS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <sluice/sluice.h>

namespace sluice::workloads {

using Tensors = std::vector<Tensor>;

enum class Size {
  kSmall,  // a few thousand elements, awkward extents: for tests
  kLarge,  // some millions of elements: for benches
};

// The bytes of reading each input once and writing each output once.
int64_t each_once(const Tensors& inputs, const Tensors& outputs);

struct FusedProgram {
  std::string name;  // unique
  // From inputs in memory to a sync(): the maximum of kernels, and the exact number of library
  // calls.
  int64_t kernels = 1;
  int64_t library_calls = 0;
  // Inputs in memory, the same at every call. Seeds the random numbers.
  std::function<Tensors(Size)> make_inputs;
  // Records the program without computing anything. Keeps no handle except those it returns; the
  // values are the same at every call.
  std::function<Tensors(const Tensors& inputs)> run;
  // A lower bound of the bytes that so many kernels and library calls read and write.
  std::function<int64_t(const Tensors& inputs, const Tensors& outputs)> least_bytes = each_once;
};

std::vector<FusedProgram> fused_programs();

}  // namespace sluice::workloads

#endif  // SLUICE_WORKLOADS_FUSED_PROGRAMS_H_
