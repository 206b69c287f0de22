// A compiler that finds on disk what another process has compiled.
#ifndef SLUICE_KERNELS_CUDA_COMPILE_CACHING_COMPILER_H_
#define SLUICE_KERNELS_CUDA_COMPILE_CACHING_COMPILER_H_

#include <memory>

#include "kernels/cache/disk_cache.h"
#include "kernels/cuda/compile/compiler.h"

namespace sluice::kernels::cuda {

// `compiler`, with what it says about sources (Compiler::disk_key()) kept in `cache`. `compiler`
// itself if there is no cache. An empty source is always compiled: it makes the compiler ready.
std::unique_ptr<Compiler> with_disk_cache(std::unique_ptr<Compiler> compiler,
                                          DiskCache* cache = disk_cache());

}  // namespace sluice::kernels::cuda

#endif  // SLUICE_KERNELS_CUDA_COMPILE_CACHING_COMPILER_H_
