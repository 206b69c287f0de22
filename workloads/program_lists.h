// The parts of fused_programs(), and what they share.
#ifndef SLUICE_WORKLOADS_PROGRAM_LISTS_H_
#define SLUICE_WORKLOADS_PROGRAM_LISTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "workloads/fused_programs.h"
#include "workloads/inputs.h"

namespace sluice::workloads {

// The input of most programs.
inline Extents matrix() { return {{48, 300}, {4096, 1024}}; }

inline int64_t bytes_of(const Tensor& x) {
  return x.numel() * static_cast<int64_t>(size_of(x.dtype()));
}

inline int64_t bytes_of(const Tensors& tensors) {
  int64_t bytes = 0;
  for (const Tensor& x : tensors) bytes += bytes_of(x);
  return bytes;
}

inline Tensor softmax_of(const Tensor& x, int axis) {
  Tensor e = exp(x - max(x, axis, true));
  return e / sum(e, axis, true);
}

// Each appends its programs.
void add_rows(std::vector<FusedProgram>* programs);            // reductions and their readers
void add_views(std::vector<FusedProgram>* programs);           // views and joins
void add_pointwise(std::vector<FusedProgram>* programs);       // element-wise programs
void add_independent(std::vector<FusedProgram>* programs);     // independent groups
void add_around_library(std::vector<FusedProgram>* programs);  // library calls

}  // namespace sluice::workloads

#endif  // SLUICE_WORKLOADS_PROGRAM_LISTS_H_
