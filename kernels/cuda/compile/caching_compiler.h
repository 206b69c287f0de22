// A compiler with a cache on disk, which processes share.
#ifndef SLUICE_KERNELS_CUDA_COMPILE_CACHING_COMPILER_H_
#define SLUICE_KERNELS_CUDA_COMPILE_CACHING_COMPILER_H_

#include <memory>

#include "kernels/cache/disk_cache.h"
#include "kernels/cuda/compile/compiler.h"

namespace sluice::kernels::cuda {

// `compiler`, whose code is stored on disk under Compiler::disk_key(). `compiler` itself if there
// is no cache. An empty source is always compiled: it initialises the compiler.
std::unique_ptr<Compiler> with_disk_cache(std::unique_ptr<Compiler> compiler,
                                          DiskCache* cache = disk_cache());

}  // namespace sluice::kernels::cuda

#endif  // SLUICE_KERNELS_CUDA_COMPILE_CACHING_COMPILER_H_
