#include "fusion/lower/moved_bools.h"

#include <algorithm>
#include <vector>

namespace sluice::fusion {
namespace {

// By value: a bool in memory, or a selection of such. Not scalars: they are converted to the dtype.
std::vector<bool> find_moved(const Program& program) {
  std::vector<bool> moved(program.body.size(), false);
  for (size_t i = 0; i < moved.size(); ++i) {
    const Instr& instr = program.body[i];
    if (instr.dtype != DType::kBool) continue;
    const bool is_read = instr.op == Op::kLoad || instr.op == Op::kGather;
    const bool selects =
        instr.op == Op::kWhere && moved[instr.operands[1]] && moved[instr.operands[2]];
    moved[i] = is_read || selects;
  }
  return moved;
}

bool moves_only(const Program& program, const std::vector<bool>& moved) {
  const bool in_body =
      std::all_of(program.body.begin(), program.body.end(), [&](const Instr& instr) {
        for (int k = 0; k < instr.num_operands; ++k) {
          const ValueId operand = instr.operands[k];
          if (operand == kNoValue || !moved[operand]) continue;
          const bool is_selected = instr.op == Op::kWhere && instr.dtype == DType::kBool && k > 0 &&
                                   moved[instr.operands[1]] && moved[instr.operands[2]];
          if (!is_selected) return false;
        }
        return true;
      });
  return in_body &&
         std::all_of(program.stores.begin(), program.stores.end(), [&](const Store& store) {
           return program.body[store.value].dtype != DType::kBool || moved[store.value];
         });
}

}  // namespace

void move_bools_as_bytes(Program* program) {
  const std::vector<bool> moved = find_moved(*program);
  if (std::find(moved.begin(), moved.end(), true) == moved.end()) return;
  if (!moves_only(*program, moved)) return;
  for (size_t i = 0; i < moved.size(); ++i) {
    if (moved[i]) program->body[i].dtype = DType::kUInt8;
  }
  for (Access& access : program->accesses) {
    if (access.buffer != kNoBuffer && access.dtype == DType::kBool) access.dtype = DType::kUInt8;
  }
}

}  // namespace sluice::fusion
