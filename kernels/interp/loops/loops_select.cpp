#include "kernels/interp/loops/loops.h"
#include "kernels/isa_table.h"

namespace sluice::kernels::interp {

#define SLUICE_ISA_LOOPS(isa)  \
  namespace isa {              \
  void fill(LoopTable& table); \
  }
SLUICE_FOR_EACH_ISA(SLUICE_ISA_LOOPS)

const LoopTable& loops() {
  static const LoopTable* const table = table_for_host<LoopTable>(SLUICE_ISA_FILLS(fill));
  return *table;
}

}  // namespace sluice::kernels::interp
