#include "kernels/interp/loops/loops_impl.h"

namespace sluice::kernels::interp::SLUICE_ISA_NAMESPACE {

void fill_bool(LoopTable& table) { fill_type<bool>(table); }

}  // namespace sluice::kernels::interp::SLUICE_ISA_NAMESPACE
