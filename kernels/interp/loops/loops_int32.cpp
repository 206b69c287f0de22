#include "kernels/interp/loops/loops_impl.h"

namespace sluice::kernels::interp::SLUICE_ISA_NAMESPACE {

void fill_int32(LoopTable& table) {
  fill_type<int32_t>(table);
  fill_type<uint32_t>(table);
}

}  // namespace sluice::kernels::interp::SLUICE_ISA_NAMESPACE
