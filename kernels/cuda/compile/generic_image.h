#ifndef SLUICE_KERNELS_CUDA_COMPILE_GENERIC_IMAGE_H_
#define SLUICE_KERNELS_CUDA_COMPILE_GENERIC_IMAGE_H_

namespace sluice::kernels::cuda {

// The generic kernel as nvcc compiled it when sluice was built, for Module::load(); null if there
// was no nvcc.
const void* generic_image();

}  // namespace sluice::kernels::cuda

#endif  // SLUICE_KERNELS_CUDA_COMPILE_GENERIC_IMAGE_H_
