#include "fusion/ir/any_order.h"

#include <algorithm>

#include "fusion/ir/scan.h"

namespace sluice::fusion {

bool takes_any_order(const Instr& reduction) {
  switch (reduction.op) {
    case Op::kSum:
    case Op::kProd: return !is_float(reduction.dtype);
    case Op::kMax:
    case Op::kMin:
    case Op::kAny:
    case Op::kAll: return true;
    default: return false;
  }
}

bool takes_any_order(const Program& program) {
  if (program.schedule == Schedule::kPointwise || has_scans(program)) return false;
  const bool writes_elements = std::any_of(
      program.stores.begin(), program.stores.end(),
      [&](const Store& store) { return program.body[store.value].level == Level::kElement; });
  return !writes_elements &&
         std::all_of(program.body.begin(), program.body.end(), [](const Instr& instr) {
           return !is_reduction(instr.op) || takes_any_order(instr);
         });
}

}  // namespace sluice::fusion
