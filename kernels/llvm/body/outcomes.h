// Known outcomes of conditions that are the same for all lanes of a vector, and the instructions
// that are still needed given them. Each side of a selection gets a loop of its own without the
// other side's instructions.
#ifndef SLUICE_KERNELS_LLVM_OUTCOMES_H_
#define SLUICE_KERNELS_LLVM_OUTCOMES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "fusion/ir/program.h"

namespace sluice::kernels {

class Outcomes {
 public:
  // Nothing is known. `program` must outlive this.
  explicit Outcomes(const fusion::Program& program)
      : program_(&program), outcomes_(program.body.size(), kOpen) {}

  std::optional<bool> of(fusion::ValueId id) const {
    if (outcomes_[id] == kOpen) return std::nullopt;
    return outcomes_[id] == kTrue;
  }
  // Adds that `condition` holds or does not, and what follows for others.
  void learn(fusion::ValueId condition, bool outcome);

  // The operand that is the value of `instr`, if it is a selection that is decided, or if the other
  // operand of a conjunction holds, or of a disjunction does not.
  std::optional<fusion::ValueId> selected(const fusion::Instr& instr) const;
  // Those of `instrs` that the program's stores and checks need; both in body order.
  std::vector<fusion::ValueId> needed(const std::vector<fusion::ValueId>& instrs) const;

 private:
  enum State : uint8_t { kOpen, kFalse, kTrue };

  void assume(fusion::ValueId condition, bool outcome);
  State concluded(const fusion::Instr& instr) const;

  const fusion::Program* program_;
  std::vector<State> outcomes_;
};

}  // namespace sluice::kernels

#endif  // SLUICE_KERNELS_LLVM_OUTCOMES_H_
