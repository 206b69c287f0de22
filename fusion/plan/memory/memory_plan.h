// Passes over a plan's memory: when each block is in use, who may reuse it, and which stores bypass
// the caches.
#ifndef SLUICE_FUSION_PLAN_MEMORY_PLAN_H_
#define SLUICE_FUSION_PLAN_MEMORY_PLAN_H_

#include <cstddef>

#include "fusion/plan/plan.h"

namespace sluice::fusion {

// Outputs of less than this may still be in a cache when they are read.
inline constexpr int64_t kLeastNontemporalBytes = 32LL << 20;

// Which steps may write over what they read, beside pointwise kernels.
struct InPlace {
  bool rows = false;      // kernels with reductions, in their last pass
  bool products = false;  // calls of products, over what their epilogues read
};

// Sets first_use and last_use of every result.
void find_lifetimes(Plan* plan);

// True if the call reads its buffer `buffer` only at the element that it is about to write to
// output `output`, so that this one may have the memory of a value that dies there.
bool may_write_over(const KernelCall& call, size_t buffer, size_t output, InPlace in_place);
bool may_write_over(const LibraryCall& call, size_t buffer, InPlace in_place);

// Sets the donors of every result, and marks the programs that may work in place. Lifetimes are
// known.
void find_donors(Plan* plan, InPlace in_place);

// Marks the programs whose outputs no cache can hold until they are read.
void find_nontemporal_stores(Plan* plan);

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_PLAN_MEMORY_PLAN_H_
