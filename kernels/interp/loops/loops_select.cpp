#include "kernels/host_isa.h"
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

const LoopTable& loops() {
  static const LoopTable* const table = [] {
    LoopTable* result = new LoopTable{};
    switch (host_isa()) {
#if defined(SLUICE_HAVE_ISA_LOOPS)
      case Isa::kX86_64V4: x86_64_v4::fill(*result); break;
      case Isa::kX86_64V3: x86_64_v3::fill(*result); break;
#endif
      default: baseline::fill(*result);
    }
    return result;
  }();
  return *table;
}

}  // namespace sluice::kernels::interp
