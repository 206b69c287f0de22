#include "fusion/ir/packed_rows.h"

#include <cstddef>

#include "fusion/ir/cost.h"

namespace sluice::fusion {

std::vector<Variation> find_variation(const Program& program) {
  std::vector<Variation> found(program.body.size());
  for (size_t i = 0; i < found.size(); ++i) {
    const Instr& instr = program.body[i];
    Variation& own = found[i];
    for (int k = 0; k < instr.num_operands; ++k) {
      own.along_rows |= found[instr.operands[k]].along_rows;
      own.in_row |= found[instr.operands[k]].in_row;
    }
    if (!has_access(instr.op)) continue;
    const Access& access = program.accesses[instr.aux];
    own.along_rows |= access.rows != StrideClass::kZero;
    own.in_row |= access.varies_in_row;
  }
  return found;
}

bool is_consecutive_in_row(const Program& program, const Access& access) {
  if (program.packed_rank == 1) return access.lanes == StrideClass::kUnit;
  return access.row_stride != 0;
}

bool moves_rows(const Program& program) {
  constexpr size_t kMaxInstrs = 64;
  const int points = program.packed_points();
  if (program.body.size() > kMaxInstrs) return false;
  const std::vector<Variation> variation = find_variation(program);
  bool chooses = false, gathers_narrow = false;
  for (const Instr& instr : program.body) {
    if (is_costly(instr.op)) return false;
    if (instr.op == Op::kLoad && instr.num_operands > 0) chooses = true;
    if (instr.op != Op::kGather) continue;
    if (variation[instr.operands[0]].in_row) return false;
    chooses = true;
    gathers_narrow = gathers_narrow || size_of(instr.dtype) < 4;
  }
  for (const Access& access : program.accesses) {
    const bool is_memory = access.buffer != kNoBuffer;
    if (is_memory && access.varies_in_row && !is_consecutive_in_row(program, access)) return false;
  }
  return chooses && (points >= kMinMovedPoints || gathers_narrow);
}

bool fits_lanes(const Program& program) {
  constexpr size_t kMaxCode = 512;  // instructions
  const int points = program.packed_points();
  const size_t code = program.body.size() + program.stores.size();
  int long_code = 0;
  for (const Instr& instr : program.body) long_code += long_code_of(instr.op, instr.dtype);
  return points <= kMaxPackedPoints && points * code <= kMaxCode &&
         points * long_code <= kMaxWeight;
}

}  // namespace sluice::fusion
