// The loops of the interpreter: each runs one operation over a tile of elements in registers.
//
// They are compiled once for each instruction set (see CMakeLists.txt) and found in a table, so
// that nothing else of the interpreter depends on the set. Elements have compute types: half dtypes
// are float32 in registers, masks are one byte of 0 or 1.
#ifndef SLUICE_KERNELS_INTERP_LOOPS_LOOPS_H_
#define SLUICE_KERNELS_INTERP_LOOPS_LOOPS_H_

#include <cstdint>

#include <sluice/dtype.h>
#include "fusion/ir/scan.h"

namespace sluice::kernels::interp {

// out[i] = f(in[0][i], in[1][i], ...) for i in [0, n), n >= 1. `out` may be one of the operands if
// their elements have the same size.
using MapFn = void (*)(void* out, const void* const* in, int64_t n);

// A loop for each set of uniform operands: bit k of the index is set if operand k is one element
// that stands for all. All operands uniform is no form: run form[0] with n = 1.
struct MapLoops {
  MapFn form[7];
};

// The loops of a reduction that keeps no position. Accumulators have the compute type.
struct ReduceLoops {
  // acc[i] = identity
  void (*identity)(void* acc, int64_t n);
  // acc[i] = acc[i] . x[i]
  void (*combine)(void* acc, const void* x, int64_t n);
  // acc[i % kLanes] = acc[i % kLanes] . x[i], i ascending
  void (*lanes)(void* acc, const void* x, int64_t n);
  // out[0] = the kLanes accumulators folded by halving; acc is used up
  void (*fold)(void* out, void* acc);
  // out[k] = row k of `x`, reduced as one block. Rows are `length` >= 1 apart.
  void (*rows)(void* out, const void* x, int64_t rows, int64_t length);
};

// The loops of a scan, as kernels/scan.h has it.
struct ScanLoops {
  // out[i] = identity
  void (*identity)(void* out, int64_t n);
  // out[i] = a[i] . b[i]; out may be a or b
  void (*combine)(void* out, const void* a, const void* b, int64_t n);
  // Of a row: out[i] is x[0] to x[i] with what comes before, n elements of one leaf that begin with
  // a vector of it. `vectors`: those of the leaf so far, with x from then on.
  void (*row)(void* out, const void* x, int64_t n, const void* before, void* vectors);
};

// The loops of an arg reduction. A running best is (values[i], positions[i]). Elements must come
// in ascending order of position: only a strictly better one replaces the best.
struct ArgLoops {
  // The best of no elements: loses to anything, or stands for the element at `position` if that is
  // no better than it.
  void (*identity)(void* values, int64_t* positions, int64_t position, int64_t n);
  // values[i] against x[i], which is at x_positions[i]
  void (*combine)(void* values, int64_t* positions, const void* x, const int64_t* x_positions,
                  int64_t n);
  // values[i] against x[i]; all of x is at `position`
  void (*step)(void* values, int64_t* positions, const void* x, int64_t position, int64_t n);
  // values[0] against every x[i], which is at position + i
  void (*row)(void* values, int64_t* positions, const void* x, int64_t position, int64_t n);
};

inline constexpr int kNumReductions = 6;
constexpr int reduction_index(fusion::Op op) {
  return static_cast<int>(op) - static_cast<int>(fusion::Op::kSum);
}
static_assert(reduction_index(fusion::Op::kArgMax) == kNumReductions);

inline constexpr int kNumArgReductions = 2;
constexpr int arg_reduction_index(fusion::Op op) { return reduction_index(op) - kNumReductions; }

// Ops that have loops together with another of them: (a . b) . c, and c - (a . b). Operands of the
// others may change places: what a NaN's bits are is settled by stores.
inline constexpr int kNumPaired = 3;
constexpr int paired_index(fusion::Op op) {
  return static_cast<int>(op) - static_cast<int>(fusion::Op::kAdd);
}
constexpr bool is_paired(fusion::Op op) {
  return paired_index(op) >= 0 && paired_index(op) < kNumPaired;
}
static_assert(is_paired(fusion::Op::kAdd) && is_paired(fusion::Op::kSub) &&
              is_paired(fusion::Op::kMul));
inline constexpr int kReversedSub = kNumPaired;

inline constexpr int64_t kNontemporalLoopAlignment = 64;  // bytes

// Entries that don't exist are null.
struct LoopTable {
  // By op and the compute type it is instantiated for; kFloat16: its form for float16, of float32
  // registers.
  MapLoops map[fusion::kNumOps][kNumDTypes];
  // By the ops, or kReversedSub for the second; of three operands a, b, c. Floats only.
  MapLoops pair[kNumPaired][kNumPaired + 1][kNumDTypes];
  MapLoops cast[kNumDTypes][kNumDTypes];  // compute types: from, to
  MapFn load[kNumDTypes];                 // memory to register; null: the same bytes
  MapFn store[kNumDTypes];  // register to memory, NaN made canonical; null: the same bytes
  // Like `store`, with non-temporal stores to places at multiples of kNontemporalLoopAlignment.
  // Others see them in no order before fence_nontemporal_stores() (access.h). Null: there is none.
  MapFn nontemporal[kNumDTypes];
  MapFn round[kNumDTypes];  // float32 to itself, rounded to a half dtype; else null
  ReduceLoops reduce[kNumReductions][kNumDTypes];
  ArgLoops arg[kNumArgReductions][kNumDTypes];
  ScanLoops scan[std::size(fusion::kScans)][kNumDTypes];  // of types that they accumulate in
};

// The table for the best instruction set that this machine has.
const LoopTable& loops();

}  // namespace sluice::kernels::interp

#endif  // SLUICE_KERNELS_INTERP_LOOPS_LOOPS_H_
