#include "kernels/cuda/compile/generic_image.h"

namespace sluice::kernels::cuda {

#if SLUICE_HAVE_NVCC
// Made by cmake/SluiceCuda.cmake.
extern const unsigned char kGenericImage[];
const void* generic_image() { return kGenericImage; }
#else
const void* generic_image() { return nullptr; }
#endif

}  // namespace sluice::kernels::cuda
