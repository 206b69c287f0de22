#include "kernels/interp/pairs.h"

#include <optional>
#include <utility>

namespace sluice::kernels::interp {
namespace {

bool is_pairable(const Instruction& instr) {
  return instr.opcode == Opcode::kMap && is_paired(instr.op) && instr.round == nullptr;
}

// The operand of `second` that `first` computes for it alone.
std::optional<int> only_use(const Instruction& first, const Instruction& second) {
  const bool by_left = second.in[0] == first.out, by_right = second.in[1] == first.out;
  if (by_left == by_right) return std::nullopt;
  const int k = by_left ? 0 : 1;
  if ((second.dying >> k & 1) == 0) return std::nullopt;
  return k;
}

std::optional<Instruction> pair_of(const Instruction& first, const Instruction& second) {
  if (!is_pairable(first) || !is_pairable(second)) return std::nullopt;
  const std::optional<int> k = only_use(first, second);
  if (!k) return std::nullopt;
  const bool reversed = *k == 1 && second.op == fusion::Op::kSub;
  const MapLoops& pair =
      loops().pair[paired_index(first.op)][reversed ? kReversedSub : paired_index(second.op)]
                  [static_cast<int>(second.dtype)];
  if (first.dtype != second.dtype || pair.form[0] == nullptr) return std::nullopt;
  Instruction instr(Opcode::kMap, 3, second.dtype);
  instr.out = second.out;
  instr.in[0] = first.in[0];
  instr.in[1] = first.in[1];
  instr.in[2] = second.in[1 - *k];
  instr.loops = &pair;
  return instr;
}

}  // namespace

void pair_instructions(std::vector<Instruction>* code) {
  std::vector<Instruction> paired;
  paired.reserve(code->size());
  for (const Instruction& instr : *code) {
    std::optional<Instruction> pair;
    if (!paired.empty()) pair = pair_of(paired.back(), instr);
    if (pair) {
      paired.back() = *pair;
    } else {
      paired.push_back(instr);
    }
  }
  *code = std::move(paired);
}

}  // namespace sluice::kernels::interp
