// Programs as users write them, of primitive ops alone, and what running each may cost: tests hold
// the engine to it, a bench prints it.
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

// Reads each input once and writes each output once, in bytes.
int64_t each_once(const Tensors& inputs, const Tensors& outputs);

struct FusedProgram {
  std::string name;  // unique
  // From inputs in memory to a sync(): at most so many kernels, and exactly so many library calls.
  int64_t kernels = 1;
  int64_t library_calls = 0;
  // In memory, and the same at every call. Seeds the random numbers.
  std::function<Tensors(Size)> make_inputs;
  // Records the program and computes nothing. It keeps no handle but those that it returns, and
  // gives the same values at every call.
  std::function<Tensors(const Tensors& inputs)> run;
  // The least that so many kernels and library calls have to read and write, in bytes.
  std::function<int64_t(const Tensors& inputs, const Tensors& outputs)> least_bytes = each_once;
};

std::vector<FusedProgram> fused_programs();

}  // namespace sluice::workloads

#endif  // SLUICE_WORKLOADS_FUSED_PROGRAMS_H_
