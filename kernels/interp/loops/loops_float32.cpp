#include "kernels/interp/loops/loops_impl.h"

namespace sluice::kernels::interp::SLUICE_ISA_NAMESPACE {

void fill_float32(LoopTable& table) { fill_type<float>(table); }

}  // namespace sluice::kernels::interp::SLUICE_ISA_NAMESPACE
