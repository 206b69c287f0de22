// The width of vectors. For files that are compiled for each instruction set: it is in that set's
// namespace.
#ifndef SLUICE_KERNELS_VECTOR_BYTES_H_
#define SLUICE_KERNELS_VECTOR_BYTES_H_

namespace sluice::kernels::SLUICE_ISA_NAMESPACE {

#if defined(__AVX512F__)
inline constexpr int kVectorBytes = 64;
#elif defined(__AVX__)
inline constexpr int kVectorBytes = 32;
#else
inline constexpr int kVectorBytes = 16;
#endif

}  // namespace sluice::kernels::SLUICE_ISA_NAMESPACE

#endif  // SLUICE_KERNELS_VECTOR_BYTES_H_
