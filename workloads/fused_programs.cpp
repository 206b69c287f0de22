#include "workloads/fused_programs.h"

#include "workloads/program_lists.h"

namespace sluice::workloads {

int64_t each_once(const Tensors& inputs, const Tensors& outputs) {
  return bytes_of(inputs) + bytes_of(outputs);
}

std::vector<FusedProgram> fused_programs() {
  std::vector<FusedProgram> programs;
  add_rows(&programs);
  add_views(&programs);
  add_pointwise(&programs);
  add_independent(&programs);
  add_around_library(&programs);
  return programs;
}

}  // namespace sluice::workloads
