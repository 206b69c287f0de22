#include "fusion/lower/loops/widen_bounds.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sluice::fusion {
namespace {

// The operand that is a coordinate in index < bound and bound <= index, or -1. The bound is a
// parameter of this comparison alone.
int side_of_index(const Program& program, const Instr& instr) {
  const int side = instr.op == Op::kLess ? 0 : instr.op == Op::kLessEqual ? 1 : -1;
  if (side < 0) return -1;
  const bool is_bound = program.body[instr.operands[side]].op == Op::kCoordinate &&
                        program.body[instr.operands[1 - side]].op == Op::kParam;
  return is_bound ? side : -1;
}

// By access: whether it is an index that is compared with bounds and serves nothing else.
std::vector<bool> find_bounded(const Program& program) {
  std::vector<int> uses(program.body.size(), 0);
  for (const Instr& instr : program.body) {
    for (int k = 0; k < instr.num_operands; ++k) ++uses[instr.operands[k]];
  }
  for (const Store& store : program.stores) ++uses[store.value];
  for (const Instr& instr : program.body) {
    const int side = side_of_index(program, instr);
    if (side < 0) continue;
    const ValueId index = instr.operands[side];
    if (uses[instr.operands[1 - side]] == 1) --uses[index];
  }
  std::vector<bool> bounded(program.accesses.size(), false);
  for (const Instr& instr : program.body) {
    if (instr.op == Op::kCoordinate) bounded[instr.aux] = true;
  }
  for (size_t i = 0; i < program.body.size(); ++i) {
    const Instr& instr = program.body[i];
    if (instr.op == Op::kCoordinate && uses[i] > 0) bounded[instr.aux] = false;
  }
  return bounded;
}

// The indices to widen so that dims d and d + 1 are walked as one; none if that is not enough.
std::vector<bool> find_widened(const LoopNest& nest, const std::vector<bool>& bounded, size_t d) {
  std::vector<bool> widened(nest.addresses.size(), false);
  for (size_t a = 0; a < nest.addresses.size(); ++a) {
    const auto& stride = nest.addresses[a].coefficient;
    if (stride[d] == stride[d + 1] * nest.dims[d + 1].extent) continue;
    const bool counts = stride[d] == 1 || stride[d] == -1;
    if (!bounded[a] || !counts || stride[d + 1] != 0) return {};
    widened[a] = true;
  }
  return widened;
}

void widen(const std::vector<bool>& widened, size_t d, LoopNest* nest, KernelCall* call) {
  const int64_t run = nest->dims[d + 1].extent;
  for (size_t a = 0; a < widened.size(); ++a) {
    if (!widened[a]) continue;
    Affine& address = nest->addresses[a];
    const int64_t direction = address.coefficient[d];
    for (int64_t& coefficient : address.coefficient) coefficient *= run;
    address.coefficient[d + 1] = direction;
    // An index that counts down does so along the run as well, and is within it all the same.
    address.offset = address.offset * run + (direction < 0 ? run - 1 : 0);
  }
  const Program& program = call->program;
  for (const Instr& instr : program.body) {
    const int side = side_of_index(program, instr);
    if (side < 0 || !widened[program.body[instr.operands[side]].aux]) continue;
    call->params[program.body[instr.operands[1 - side]].aux] *= run;
  }
}

}  // namespace

void widen_bounds(LoopNest* nest, KernelCall* call) {
  if (nest->dims.size() < 2) return;
  const std::vector<bool> bounded = find_bounded(call->program);
  for (size_t d = 0; d + 1 < nest->dims.size();) {
    const std::vector<bool> widened = find_widened(*nest, bounded, d);
    if (widened.empty()) {
      ++d;
      continue;
    }
    widen(widened, d, nest, call);
    simplify_dims(nest);
    d = 0;
  }
}

}  // namespace sluice::fusion
