// Whether a mask has a lane.
#ifndef SLUICE_KERNELS_LIBRARY_LOOPS_ANY_LANE_H_
#define SLUICE_KERNELS_LIBRARY_LOOPS_ANY_LANE_H_

#include <cstdint>

#if defined(__AVX__)
#include <immintrin.h>
#endif

#include "kernels/vector_bytes.h"

namespace sluice::kernels::SLUICE_ISA_NAMESPACE {

// Mask: a vector of kVectorBytes. Compilers take a lane at a time for this.
template <typename Mask>
bool any_lane(const Mask& mask) {
  static_assert(sizeof(Mask) == kVectorBytes);
#if defined(__AVX512F__)
  const auto bits = reinterpret_cast<__m512i>(mask);
  return _mm512_test_epi64_mask(bits, bits) != 0;
#elif defined(__AVX__)
  const auto bits = reinterpret_cast<__m256i>(mask);
  return _mm256_testz_si256(bits, bits) == 0;
#else
  typedef int64_t Bits __attribute__((vector_size(kVectorBytes)));
  const auto bits = reinterpret_cast<Bits>(mask);
  return (bits[0] | bits[1]) != 0;
#endif
}

}  // namespace sluice::kernels::SLUICE_ISA_NAMESPACE

#endif  // SLUICE_KERNELS_LIBRARY_LOOPS_ANY_LANE_H_
