#include "fusion/ir/cost.h"

#include "fusion/ir/scan.h"

namespace sluice::fusion {

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
