#include "fusion/ir/cost.h"

#include "fusion/ir/scan.h"

namespace sluice::fusion {

int long_code_of(Op op, DType dtype) {
  const bool wide = dtype == DType::kFloat64;
  switch (op) {
    case Op::kLog:
    case Op::kLog2:
    case Op::kLog10:
    case Op::kLog1p:
    case Op::kSin:
    case Op::kCos:
    case Op::kSinc:
    case Op::kTan:
    case Op::kAsinh:
    case Op::kAcosh:
    case Op::kAtanh:
    case Op::kSoftplus:
    case Op::kAtan2:
    case Op::kLogAddExp: return 28;
    case Op::kErf: return wide ? 56 : 0;
    case Op::kErfc:
    case Op::kGelu: return wide ? 72 : 20;
    case Op::kAsin:
    case Op::kAcos:
    case Op::kAtan:
    case Op::kSinh: return wide ? 16 : 4;
    case Op::kPow: return 60;
    case Op::kFloorDivide:
    case Op::kRemainder: return is_float(dtype) ? 18 : 4;
    case Op::kPhilox:
    case Op::kPhiloxHigh: return 64;
    case Op::kNormalF32: return 150;
    case Op::kNormalF64: return 200;
    case Op::kLogcumsumexp: return wide ? 500 : 140;
    default: return 0;
  }
}

double cost_of_point(const Program& program) {
  constexpr double kStore = 0.05, kLight = 0.04, kCostly = 0.4, kScan = 0.2;
  // Work done once a row is negligible beside work done once a point.
  const Level point = program.reduced_rank > 0 ? Level::kElement : Level::kRow;
  double cost = kStore;
  for (const Instr& instr : program.body) {
    if (instr.level < point) continue;
    if (is_scan(instr.op))
      cost += kScan * (is_costly(op_of_scan(instr.op)) ? kCostly / kLight : 1);
    else
      cost += is_costly(instr.op) ? kCostly : kLight;
  }
  for (const Store& store : program.stores) {
    if (program.body[store.value].level >= point) cost += kStore;
  }
  return cost;
}

}  // namespace sluice::fusion
