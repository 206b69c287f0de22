#include "kernels/interp/loops/loops_impl.h"

namespace sluice::kernels::interp::SLUICE_ISA_NAMESPACE {

void fill_int64(LoopTable& table) {
  fill_type<int64_t>(table);
  fill_type<uint64_t>(table);
}

}  // namespace sluice::kernels::interp::SLUICE_ISA_NAMESPACE
