#include "kernels/interp/loops/loops_impl.h"

namespace sluice::kernels::interp::SLUICE_ISA_NAMESPACE {

void fill(LoopTable& table) {
  fill_float32(table);
  fill_float64(table);
  fill_int8(table);
  fill_int16(table);
  fill_int32(table);
  fill_int64(table);
  fill_bool(table);
  fill_conversions(table);
  fill_nontemporal(table);
}

}  // namespace sluice::kernels::interp::SLUICE_ISA_NAMESPACE
