#include "kernels/interp/loops/loops_impl.h"

namespace sluice::kernels::interp::SLUICE_ISA_NAMESPACE {

void fill_int16(LoopTable& table) {
  fill_type<int16_t>(table);
  fill_type<uint16_t>(table);
}

}  // namespace sluice::kernels::interp::SLUICE_ISA_NAMESPACE
