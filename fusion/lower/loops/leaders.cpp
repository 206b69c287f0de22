// Finds reads of consecutive elements that begin a few elements after one another, as the taps of a
// filter do: vectors of them are parts of two vectors of the first.
#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "fusion/lower/loops/loop_nest.h"

namespace sluice::fusion {
namespace {

// Two vectors of this length have another by a shift.
constexpr int64_t kVectorBytes = 64;
// Shorter runs have no vectors that are far enough from their end.
constexpr int64_t kLeastRun = 64;
// Reads of fewer places are as fast by themselves.
constexpr size_t kFewReads = 3;

// Where few elements fill a vector, loads that convert them are as fast as shifts.
bool converts(const Program& program, const Instr& load) {
  constexpr size_t kNarrow = 2;
  if (size_of(load.dtype) > kNarrow) return false;
  if (is_float(load.dtype)) return true;
  return std::any_of(program.body.begin(), program.body.end(), [&](const Instr& instr) {
    return instr.op == Op::kCast && &program.body[instr.operands[0]] == &load;
  });
}

}  // namespace

void find_leaders(const LoopNest& nest, const std::vector<GraphNode::Block>& blocks,
                  Program* program) {
  if (program->schedule != Schedule::kPointwise || program->packed_rank > 0 || program->tiled ||
      program->accesses.size() <= kFewReads || nest.dims.back().extent < kLeastRun) {
    return;
  }
  const std::vector<AccessRole> roles = roles_of(*program);
  std::vector<bool> is_converted(roles.size(), false);
  for (const Instr& instr : program->body) {
    if (instr.op == Op::kLoad && converts(*program, instr)) is_converted[instr.aux] = true;
  }
  // By what must be equal, the accesses by offset.
  using Kind = std::tuple<int, DType, decltype(Affine::coefficient)>;
  std::map<Kind, std::vector<std::pair<int64_t, uint16_t>>> candidates;
  for (size_t a = 0; a < nest.addresses.size(); ++a) {
    const Access& access = program->accesses[a];
    if (roles[a] != AccessRole::kLoaded || is_converted[a]) continue;
    if (access.lanes != StrideClass::kUnit) continue;
    const GraphNode::Block& block = blocks[access.buffer];
    // One that a buffer has to itself has no number.
    const int place = block.number < 0 ? -1 - access.buffer : block.number;
    candidates[{place, access.dtype, nest.addresses[a].coefficient}].emplace_back(
        block.offset + nest.addresses[a].offset, static_cast<uint16_t>(a));
  }
  for (auto& [kind, reads] : candidates) {
    const int64_t most = kVectorBytes / static_cast<int64_t>(size_of(std::get<DType>(kind)));
    std::sort(reads.begin(), reads.end());
    for (size_t first = 0, next = 0; first < reads.size(); first = next) {
      const auto [start, leader] = reads[first];
      while (next < reads.size() && reads[next].first - start <= most) ++next;
      if (next - first < kFewReads) continue;
      for (size_t i = first + 1; i < next; ++i) {
        Access& access = program->accesses[reads[i].second];
        access.leader = leader;
        access.distance = static_cast<uint8_t>(reads[i].first - start);
      }
    }
  }
}

}  // namespace sluice::fusion
