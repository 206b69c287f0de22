// The kernels of the process by canonical key: each distinct Program is compiled once.
#ifndef SLUICE_KERNELS_CACHE_CACHE_H_
#define SLUICE_KERNELS_CACHE_CACHE_H_

#include <cstdint>
#include <memory>

#include "fusion/ir/program.h"
#include "kernels/kernel.h"

namespace sluice::kernels {

struct CacheStats {
  int64_t compiles = 0;
  int64_t compile_failures = 0;
  int64_t hits = 0;
  int64_t disk_hits = 0;  // kernels that another process had compiled
  int64_t slower = 0;     // kernels that run interpreted since compiled they took longer
};

// The kernel of `program`, from the cache or new. Keys are compared whole, never by hash alone.
// Compilation happens outside the cache's lock. Beyond 4,096 kernels, those that no plan holds are
// dropped.
std::shared_ptr<Kernel> find_kernel(fusion::Program program);

// Since the start of the process.
CacheStats cache_stats();

}  // namespace sluice::kernels

#endif  // SLUICE_KERNELS_CACHE_CACHE_H_
