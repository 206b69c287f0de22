#include "fusion/ir/any_order.h"

#include <algorithm>

#include "fusion/ir/scan.h"

namespace sluice::fusion {

bool takes_any_order(const Instr& reduction) {
  const bool is_sum = reduction.op == Op::kSum || reduction.op == Op::kProd;
  return is_sum ? !is_float(reduction.dtype) : may_repeat(reduction);
}

bool may_repeat(const Instr& reduction) {
  return reduction.op == Op::kMax || reduction.op == Op::kMin || reduction.op == Op::kAny ||
         reduction.op == Op::kAll;
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
