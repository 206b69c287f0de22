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

namespace {

bool gives_results_of(const Program& program, bool (*allowed)(const Instr& reduction)) {
  if (program.schedule == Schedule::kPointwise || has_scans(program)) return false;
  const bool writes_elements = std::any_of(
      program.stores.begin(), program.stores.end(),
      [&](const Store& store) { return program.body[store.value].level == Level::kElement; });
  return !writes_elements &&
         std::all_of(program.body.begin(), program.body.end(),
                     [&](const Instr& instr) { return !is_reduction(instr.op) || allowed(instr); });
}

}  // namespace

bool takes_any_order(const Program& program) { return gives_results_of(program, &takes_any_order); }

bool takes_any_schedule(const Program& program) {
  return gives_results_of(program, [](const Instr& reduction) {
    return is_arg_reduction(reduction.op) || takes_any_order(reduction);
  });
}

}  // namespace sluice::fusion
