// Rough costs: the planner chooses between plans by them, and launches are divided between threads.
#ifndef SLUICE_FUSION_IR_COST_H_
#define SLUICE_FUSION_IR_COST_H_

#include "fusion/ir/program.h"

namespace sluice::fusion {

// Float functions cost many times an addition; everything else is about one.
inline bool is_costly(Op op) { return is_pointwise(op) && op_info(op).domain == kFloating; }

// ---- Limits of the partition.

// A kernel's size bounds the time to compile it; its outputs bound the number of address streams.
// The first limit is that of a group's ops, the second that of the program they become.
inline constexpr int kMaxWeight = 1024;
inline constexpr int kMaxProgramWeight = 1536;
inline constexpr int kMaxOutputs = 64;
// Likewise where memory is short: what one kernel writes is in memory at one time.
inline constexpr int kMaxOutputsForMemory = 6;
// A value is stored if a group would compute each element more often than the first, or a point
// more elements than the second: maps may lead to different parts of the value, as to the gates of
// a recurrence or the corners of a window.
inline constexpr int kMaxRecomputations = 3;
inline constexpr int kMaxIndexMaps = 8;
// A costly value is stored if inlining would compute each element this many times.
inline constexpr int64_t kMaxBroadcastOfCostly = 16;
// A kernel of several passes runs whole rows, a row on one thread: rows have to be many or short.
inline constexpr int64_t kManyRows = 32;
inline constexpr int64_t kShortRow = 65536;
// Of a few columns most lanes are empty, in every pass over them. Kernels of one pass each, which
// are packed or split, take half as long, unless the columns are short.
inline constexpr int64_t kFewColumns = 8;
inline constexpr int64_t kMostOfFewColumns = 1024;
// Row epilogues aren't vectorised: shorter rows don't pay for one, unless they are unrolled.
inline constexpr int64_t kMinRowForEpilogue = 16;
// Rows of at most so many elements are unrolled, if there are many enough to be worth a kernel for
// rows of one length, and it weighs no more than this.
inline constexpr int64_t kMaxUnrolled = 16;
inline constexpr int64_t kMinUnrolledRows = 64;
inline constexpr int64_t kMaxUnrolledWeight = 400;
// A kernel that reduces other axes too needs so many points beside them.
inline constexpr int64_t kMinUnrolledLanes = 16;

// ---- Estimates.

// The share of a kernel's size that an op or instruction with a result of type `dtype` has, in
// units of about ten vector instructions. Halves are rounded after every op.
inline int weight_of(Op op, DType dtype) {
  switch (op) {
    case Op::kParam:
    case Op::kScalar: return 0;
    case Op::kLoad: return 2;
    case Op::kGather: return 4;
    default: return (is_costly(op) ? 8 : 1) + (is_half(dtype) ? 2 : 0);
  }
}
// What a load weighs besides if a predicate says where it is needed.
inline constexpr int kWeightOfPredicate = 48;
// What an access weighs besides that has to be transposed by tiles.
inline constexpr int kWeightOfTile = 128;
// What runs at each element of a row is written several times: in loops of whole vectors and of
// tails, for whole rows and for blocks.
inline constexpr int kLoopsOfRows = 4;

// What weight_of() lacks of the time to compile the longest functions, in units of 0.1 ms. Apart,
// since it says little about how long they run. It is for pointwise kernels, which hold the code
// twice; those of rows hold it kLongCodeOfRows times as often.
int long_code_of(Op op, DType dtype);
inline constexpr int kLongCodeOfRows = 2;

// Nanoseconds on one core with wide vectors for one point of the iteration space.
double cost_of_point(const Program& program);

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_IR_COST_H_
