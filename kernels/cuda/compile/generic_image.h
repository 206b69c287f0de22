#ifndef SLUICE_KERNELS_CUDA_COMPILE_GENERIC_IMAGE_H_
#define SLUICE_KERNELS_CUDA_COMPILE_GENERIC_IMAGE_H_

namespace sluice::kernels::cuda {

// The generic kernel as nvcc compiled it when sluice was built, for Module::load(); null if there
// was no nvcc.
const void* generic_image();
// The version of nvcc: 13000 for CUDA 13.0; 0 without an image.
int generic_image_version();

// Whether an image of that version is to be used under a driver for CUDA `driver_version`, where
// own kernels are compiled by NVRTC `nvrtc_version` (0: there is none). Functions of CUDA's library
// differ from version to version, and both tiers must give the same bits. Drivers do not load
// machine code of later major versions.
bool fits_generic_image(int image_version, int driver_version, int nvrtc_version);

}  // namespace sluice::kernels::cuda

#endif  // SLUICE_KERNELS_CUDA_COMPILE_GENERIC_IMAGE_H_
