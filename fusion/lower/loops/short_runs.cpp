#include "fusion/lower/loops/short_runs.h"

#include <algorithm>
#include <cstdint>

namespace sluice::fusion {
namespace {

// Vectors have up to 16 elements.
constexpr int64_t kShortRun = 16;
// Fewer elements take no time worth another kernel.
constexpr int64_t kManyElements = 4096;

// What a value of element level is made from: loads that walk the last two dims as one, and others.
struct Sources {
  bool whole = false, broken = false;
};

}  // namespace

std::vector<ValueId> values_that_break_runs(const KernelCall& call) {
  const Program& program = call.program;
  const int rank = program.rank(), inner = rank - 1;
  if (!program.lanes_reduced() || program.reduced_rank < 2) return {};
  const int64_t run = call.extents[inner];
  if (run >= kShortRun || call.num_points() < kManyElements) return {};
  const auto sources_of_access = [&](uint16_t access) {
    const int64_t* const strides = &call.accesses[access * (rank + 1)];
    const bool varies = std::any_of(strides + program.outer_rank, strides + rank,
                                    [](int64_t stride) { return stride != 0; });
    const bool is_whole = strides[inner - 1] == strides[inner] * run;
    return Sources{varies && is_whole, varies && !is_whole};
  };
  std::vector<ValueId> found;
  std::vector<Sources> sources(program.body.size());
  for (size_t v = 0; v < program.body.size(); ++v) {
    const Instr& instr = program.body[v];
    if (instr.level != Level::kElement) continue;
    Sources& own = sources[v];
    if (has_access(instr.op)) {
      own = sources_of_access(instr.aux);
    }
    for (int k = 0; k < instr.num_operands; ++k) {
      own.whole |= sources[instr.operands[k]].whole;
      own.broken |= sources[instr.operands[k]].broken;
    }
    if (own.whole && own.broken) found.push_back(static_cast<ValueId>(v));
  }
  return found;
}

}  // namespace sluice::fusion
