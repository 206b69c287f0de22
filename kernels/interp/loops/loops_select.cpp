#include "kernels/interp/loops/loops.h"

namespace sluice::kernels::interp {

// One of each for every set that loops_table.cpp is compiled for.
namespace baseline {
void fill(LoopTable& table);
}
#if defined(SLUICE_HAVE_ISA_LOOPS)
namespace x86_64_v3 {
void fill(LoopTable& table);
}
namespace x86_64_v4 {
void fill(LoopTable& table);
}
#endif

namespace {

using Fill = void (*)(LoopTable&);

Fill choose() {
#if defined(SLUICE_HAVE_ISA_LOOPS)
  auto has_avx2 = [] {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  };
  auto has_avx512 = [] {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
  };
  if (has_avx2() && has_avx512()) return x86_64_v4::fill;
  if (has_avx2()) return x86_64_v3::fill;
#endif
  return baseline::fill;
}

}  // namespace

const LoopTable& loops() {
  static const LoopTable* const table = [] {
    LoopTable* result = new LoopTable{};
    choose()(*result);
    return result;
  }();
  return *table;
}

}  // namespace sluice::kernels::interp
