#include "kernels/cuda/compile/generic_image.h"

namespace sluice::kernels::cuda {

#if SLUICE_HAVE_NVCC
// Made by cmake/SluiceCuda.cmake.
extern const unsigned char kGenericImage[];
const void* generic_image() { return kGenericImage; }
int generic_image_version() { return SLUICE_NVCC_VERSION; }
#else
const void* generic_image() { return nullptr; }
int generic_image_version() { return 0; }
#endif

bool fits_generic_image(int image_version, int driver_version, int nvrtc_version) {
  if (image_version == 0 || image_version / 1000 > driver_version / 1000) return false;
  return nvrtc_version == 0 || nvrtc_version == image_version;
}

}  // namespace sluice::kernels::cuda
