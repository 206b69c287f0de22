// Library calls whose loops are compiled once for each instruction set (cmake/SluiceLibrary.cmake).
//
// Their sources use no inline function of the standard library that might be linked from another
// set's object.
#ifndef SLUICE_KERNELS_LIBRARY_LOOPS_LOOPS_H_
#define SLUICE_KERNELS_LIBRARY_LOOPS_LOOPS_H_

#include <cstdint>

#include "fusion/library/factor.h"
#include "fusion/library/scatter.h"
#include "fusion/library/search.h"
#include "fusion/library/sort.h"
#include "kernels/library/loops/recurrence.h"

namespace sluice::kernels {

// Most rows and sides of matrices that small_factor() takes side by side.
inline constexpr int kMaxSmallMatrix = 8;

// Run calls, on the calling thread and workers. `buffers`: the addresses of the call's.
struct LibraryLoops {
  void (*scatter)(const fusion::ScatterAttributes&, void* const* buffers) = nullptr;
  void (*search)(const fusion::SearchAttributes&, void* const* buffers) = nullptr;
  void (*sort)(const fusion::SortAttributes&, void* const* buffers) = nullptr;

  // The matrices [begin, end) of a solve, inv, det or cholesky of up to kMaxRowFactor rows and
  // sides (row_factor.h), on the calling thread. The first that has no result; else `end`.
  int64_t (*small_factor)(const fusion::FactorAttributes&, void* const* buffers, int64_t begin,
                          int64_t end) = nullptr;

  // By whether it is of float64, the fusion::RecurrenceCell, and for steps whether it keeps what
  // the gradient needs. On the calling thread.
  void (*recurrence_step[2][3][2])(const RecurrenceStep&) = {};
  void (*recurrence_gradient_step[2][3])(const RecurrenceGradientStep&) = {};

  // Sort words on the calling thread; null if this set has none that are better than a library's.
  void (*sort32)(uint32_t* words, int64_t count) = nullptr;
  void (*sort64)(uint64_t* words, int64_t count) = nullptr;
};

// Those for this machine.
const LibraryLoops& library_loops();

}  // namespace sluice::kernels

#endif  // SLUICE_KERNELS_LIBRARY_LOOPS_LOOPS_H_
