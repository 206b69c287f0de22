#include "fusion/ir/pass_plan.h"

#include <algorithm>

#include "fusion/ir/scan.h"

namespace sluice::fusion {
namespace {

// Finds out which values are needed where, backwards from stores and checks.
class Needs {
 public:
  Needs(const Program& program, const std::vector<uint8_t>& pass, size_t num_passes,
        const std::vector<bool>& cacheable);

  // By a pass: computed there or, if it is cacheable and an earlier pass needs it too, taken from
  // that. Element level only.
  bool in_pass(ValueId value, size_t pass) const { return in_pass_[pass][value]; }
  // Uniform and row level, reductions' results included.
  bool once(ValueId value) const { return once_[value]; }

 private:
  void add_roots();
  void add_operands(ValueId user);
  void add(ValueId value, size_t pass);

  const Program& program_;
  const std::vector<uint8_t>& pass_;
  const std::vector<bool>& cacheable_;
  std::vector<std::vector<bool>> in_pass_;
  std::vector<bool> once_;
};

Needs::Needs(const Program& program, const std::vector<uint8_t>& pass, size_t num_passes,
             const std::vector<bool>& cacheable)
    : program_(program),
      pass_(pass),
      cacheable_(cacheable),
      in_pass_(num_passes, std::vector<bool>(program.body.size(), false)),
      once_(program.body.size(), false) {
  add_roots();
  // Operands come before their users, so one walk backwards settles everything.
  for (size_t i = program.body.size(); i-- > 0;) add_operands(static_cast<ValueId>(i));
}

void Needs::add(ValueId value, size_t pass) {
  if (program_.body[value].level == Level::kElement) {
    in_pass_[pass][value] = true;
  } else {
    once_[value] = true;
  }
}

void Needs::add_roots() {
  for (const Store& store : program_.stores) add(store.value, pass_[store.value]);
  for (size_t i = 0; i < program_.body.size(); ++i) {
    const Instr& instr = program_.body[i];
    if (instr.op != Op::kCheckIndex) continue;
    if (instr.level == Level::kElement && pass_[i] >= in_pass_.size()) continue;
    add(static_cast<ValueId>(i), pass_[i]);
  }
}

void Needs::add_operands(ValueId user) {
  const Instr& instr = program_.body[user];
  if (instr.level != Level::kElement) {
    if (!once_[user]) return;
    // A reduction's operand is of element level, other operands here are not.
    for (int k = 0; k < instr.num_operands; ++k) add(instr.operands[k], pass_[instr.operands[k]]);
    return;
  }
  bool is_computed = false;
  for (size_t p = 0; p < in_pass_.size(); ++p) {
    if (!in_pass_[p][user]) continue;
    if (is_computed && !cacheable_.empty() && cacheable_[user]) continue;
    is_computed = true;
    for (int k = 0; k < instr.num_operands; ++k) add(instr.operands[k], p);
  }
}

}  // namespace

PassPlan::PassPlan(const Program& program, const std::vector<bool>& cacheable)
    : passes(program.reduced_rank == 0 ? 0 : num_passes(program)),
      first_pass(program.body.size(), -1),
      pass_(pass_of(program)) {
  rows.resize(passes.size() + 1);
  const Needs needs(program, pass_, passes.size(), cacheable);
  for (size_t i = 0; i < program.body.size(); ++i) {
    const ValueId id = static_cast<ValueId>(i);
    const Instr& instr = program.body[i];
    if (instr.level == Level::kElement) {
      for (size_t p = 0; p < passes.size(); ++p) {
        if (!needs.in_pass(id, p)) continue;
        const bool is_cached = first_pass[i] >= 0 && !cacheable.empty() && cacheable[i];
        (is_cached ? passes[p].cached : passes[p].values).push_back(id);
        if (first_pass[i] < 0) first_pass[i] = static_cast<int>(p);
      }
    } else if (!needs.once(id)) {
      continue;
    } else if (is_reduction(instr.op)) {
      reductions.push_back(id);
      passes[pass_[instr.operands[0]]].reductions.push_back(id);
    } else if (instr.level == Level::kUniform) {
      uniform.push_back(id);
    } else {
      rows[row_of(id)].push_back(id);
    }
    scans_ = scans_ || is_scan(instr.op);
  }
  for (const Store& store : program.stores) {
    if (program.accesses[store.access].varies_along_reduced) {
      passes[pass_[store.value]].stores.push_back(store);
    } else {
      row_stores.push_back(store);
    }
  }
}

size_t PassPlan::row_of(ValueId value) const {
  return std::min<size_t>(pass_[value], passes.size());
}

bool PassPlan::splits_rows() const {
  return !reductions.empty() && !scans_ && passes[0].reductions.size() == reductions.size();
}

std::vector<bool> same_in_all_lanes(const Program& program) {
  std::vector<bool> same(program.body.size());
  for (size_t i = 0; i < program.body.size(); ++i) {
    const Instr& instr = program.body[i];
    // Lanes along a row are folded into one result.
    const bool is_folded = is_reduction(instr.op) && program.lanes_reduced();
    same[i] = is_folded ||
              (!is_scan(instr.op) &&
               (!has_access(instr.op) || program.accesses[instr.aux].lanes == StrideClass::kZero) &&
               std::all_of(instr.operands, instr.operands + instr.num_operands,
                           [&](ValueId operand) { return same[operand]; }));
  }
  return same;
}

}  // namespace sluice::fusion
