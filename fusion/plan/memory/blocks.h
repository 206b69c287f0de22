// Which blocks of memory a run of a plan takes, and where in them its results lie.
#ifndef SLUICE_FUSION_PLAN_BLOCKS_H_
#define SLUICE_FUSION_PLAN_BLOCKS_H_

#include <cstdint>
#include <limits>
#include <vector>

#include "absl/types/span.h"
#include "fusion/plan/plan.h"

namespace sluice::fusion {

// The last step that touches what outlives the plan.
inline constexpr int32_t kForEver = std::numeric_limits<int32_t>::max();

struct Block {
  int32_t input = -1;   // whose memory it is; -1: it is to be allocated
  int32_t result = -1;  // the largest of those that lie in it, or the one that outlives the plan
  int64_t bytes = 0;
};

struct Place {
  int32_t block = -1;  // -1: none
  int64_t offset = 0;  // in bytes
};

struct Blocks {
  std::vector<Block> blocks;
  std::vector<Place> places;  // by result
};

// The memory of an input, as a run of the plan finds it.
struct InputMemory {
  int64_t bytes = -1;       // of the whole block; -1: it may not be overwritten
  int32_t same_as = -1;     // the first input in the same block
  bool is_at_begin = true;  // of the block

  bool operator==(const InputMemory&) const = default;
};

// A result that outlives the plan is at the begin of a block, which has its size: that of a donor,
// or its own. All others lie in what nobody uses at the time of these blocks and of the inputs, or
// in one block for all that find no room there.
//
// `inputs`: what may be overwritten once the plan has read it for the last time, as nobody else has
// any more use for it. `left_out`: results that get no place. Either may be empty: none.
Blocks place_results(const Plan& plan, absl::Span<const InputMemory> inputs,
                     const std::vector<bool>& left_out);

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_PLAN_BLOCKS_H_
