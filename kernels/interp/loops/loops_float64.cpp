#include "kernels/interp/loops/loops_impl.h"

namespace sluice::kernels::interp::SLUICE_ISA_NAMESPACE {

void fill_float64(LoopTable& table) { fill_type<double>(table); }

}  // namespace sluice::kernels::interp::SLUICE_ISA_NAMESPACE
