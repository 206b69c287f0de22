#include "kernels/interp/loops/loops_impl.h"

namespace sluice::kernels::interp::SLUICE_ISA_NAMESPACE {

void fill_int8(LoopTable& table) {
  fill_type<int8_t>(table);
  fill_type<uint8_t>(table);
}

}  // namespace sluice::kernels::interp::SLUICE_ISA_NAMESPACE
