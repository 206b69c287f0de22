#include "kernels/host_isa.h"

#if defined(SLUICE_HAVE_X86_64_V4) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace sluice::kernels {

Isa host_isa() {
#if defined(SLUICE_HAVE_X86_64_V3) || defined(SLUICE_HAVE_X86_64_V4)
  const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                        __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
#endif
#if defined(SLUICE_HAVE_X86_64_V4)
  if (has_avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl")) {
    return Isa::kX86_64V4;
  }
#endif
#if defined(SLUICE_HAVE_X86_64_V3)
  if (has_avx2) return Isa::kX86_64V3;
#endif
  return Isa::kBaseline;
}

bool has_avx512_bfloat16() {
#if defined(SLUICE_HAVE_X86_64_V4)
  return __builtin_cpu_supports("avx512bf16");
#else
  return false;
#endif
}

bool may_use_amx() {
#if defined(SLUICE_HAVE_X86_64_V4) && defined(__linux__) && defined(SYS_arch_prctl)
  constexpr unsigned int kBFloat16 = 1u << 22, kTile = 1u << 24;  // of leaf 7
  constexpr int kRequestPermission = 0x1023, kTileData = 18;      // ARCH_REQ_XCOMP_PERM
  unsigned int a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & kBFloat16) != 0 && (d & kTile) != 0 &&
         syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

bool has_slow_compress_stores() {
#if defined(SLUICE_HAVE_X86_64_V4)
  return host_isa() == Isa::kX86_64V4 && __builtin_cpu_is("amd") != 0;
#else
  return false;
#endif
}

const char* name_of(Isa isa) {
  switch (isa) {
    case Isa::kX86_64V4: return "x86-64-v4";
    case Isa::kX86_64V3: return "x86-64-v3";
    default: return "baseline";
  }
}

}  // namespace sluice::kernels
