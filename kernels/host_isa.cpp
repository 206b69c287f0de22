#include "kernels/host_isa.h"

namespace sluice::kernels {

Isa host_isa() {
#if defined(SLUICE_HAVE_ISA_LOOPS)
  const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                        __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  const bool has_avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512cd") &&
                          __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (has_avx2) return has_avx512 ? Isa::kX86_64V4 : Isa::kX86_64V3;
#endif
  return Isa::kBaseline;
}

const char* name_of(Isa isa) {
  switch (isa) {
    case Isa::kX86_64V4: return "x86-64-v4";
    case Isa::kX86_64V3: return "x86-64-v3";
    default: return "baseline";
  }
}

}  // namespace sluice::kernels
