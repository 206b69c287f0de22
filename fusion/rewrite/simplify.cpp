#include "fusion/rewrite/simplify.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <vector>

#include "fusion/ir/numbering.h"
#include "fusion/rewrite/rewriter.h"

namespace sluice::fusion {
namespace {

// Passes enable one another. Most programs take two or three rounds.
constexpr int kMaxRounds = 8;

template <ValueId (*kRule)(Rewriter& body, const Instr& instr)>
bool by_rule(Program* program) {
  return rewrite(program, kRule);
}

bool eliminate_common_subexpressions(Program* program) {
  Numbering seen;  // the new body's
  return rewrite(program, [&](Rewriter& body, const Instr& instr) {
    const auto [value, is_new] =
        seen.find_or_add(hash_of(instr), [&](uint32_t known) { return body[known] == instr; });
    return is_new ? kNoValue : static_cast<ValueId>(value);
  });
}

bool remove_dead_code(Program* program) {
  std::vector<Instr>& body = program->body;
  // A kCheckIndex is a side effect. If it varies along the row, it runs in a pass that may exist
  // for a reduction only, so reductions are kept as well.
  const bool checks = program->num_error_slots > 0;
  std::vector<bool> needed(body.size(), false);
  for (const Store& store : program->stores) needed[store.value] = true;
  for (size_t i = body.size(); i-- > 0;) {
    if (checks && (body[i].op == Op::kCheckIndex || is_reduction(body[i].op))) needed[i] = true;
    if (!needed[i]) continue;
    for (int k = 0; k < body[i].num_operands; ++k) needed[body[i].operands[k]] = true;
  }
  if (std::find(needed.begin(), needed.end(), false) == needed.end()) return false;
  std::vector<ValueId> number(body.size());
  size_t count = 0;
  for (size_t i = 0; i < body.size(); ++i) {
    if (!needed[i]) continue;
    for (int k = 0; k < body[i].num_operands; ++k) {
      body[i].operands[k] = number[body[i].operands[k]];
    }
    number[i] = static_cast<ValueId>(count);
    body[count++] = body[i];
  }
  body.resize(count);
  for (Store& store : program->stores) store.value = number[store.value];
  return true;
}

constexpr ProgramPass kExactPasses[] = {
    {"casts", by_rule<merge_casts>},
    {"signs", by_rule<cancel_signs>},
    {"logic", by_rule<simplify_logic>},
    {"comparisons", by_rule<simplify_comparisons>},
    {"selects", by_rule<simplify_selects>},
    {"repetitions", by_rule<drop_repetitions>},
    {"compounds", by_rule<join_compounds>},
    {"operand order", by_rule<order_operands>},
    {"common subexpressions", eliminate_common_subexpressions},
    {"dead code", remove_dead_code},
};

constexpr ProgramPass kFastMathPasses[] = {
    {"activations", by_rule<find_activations>},
    {"exponentials", by_rule<join_exponentials>},
    {"reciprocals", by_rule<hoist_reciprocals>},
    {"reciprocal roots", by_rule<join_reciprocal_roots>},
};

void check([[maybe_unused]] const char* pass, [[maybe_unused]] const Program& program) {
#ifndef NDEBUG
  const absl::Status status = verify(program);
  if (status.ok()) return;
  std::fprintf(stderr, "after the pass '%s': %s\n%s", pass, status.ToString().c_str(),
               to_text(program).c_str());
  std::abort();
#endif
}

bool run_passes(Program* program, bool fast_math, const PassObserver* observer) {
  bool changed_ever = false;
  bool changed = true;
  auto run = [&](absl::Span<const ProgramPass> passes) {
    for (const ProgramPass& pass : passes) {
      std::optional<Program> before;
      if (observer != nullptr) before = *program;
      if (!pass.run(program)) continue;
      changed = true;
      check(pass.name, *program);
      if (observer != nullptr) (*observer)(pass.name, *before, *program);
    }
  };
  for (int round = 0; round < kMaxRounds && changed; ++round) {
    changed = false;
    if (fast_math) run(fast_math_passes());
    run(exact_passes());
    changed_ever |= changed;
  }
  return changed_ever;
}

}  // namespace

absl::Span<const ProgramPass> exact_passes() { return kExactPasses; }
absl::Span<const ProgramPass> fast_math_passes() { return kFastMathPasses; }

bool simplify(Program* program, bool fast_math, PassObserver observer) {
  return run_passes(program, fast_math, &observer);
}
bool simplify(Program* program, bool fast_math) { return run_passes(program, fast_math, nullptr); }

}  // namespace sluice::fusion
