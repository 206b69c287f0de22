// Sums rounded to a half type. Included like products_lanes.h.
#ifndef SLUICE_KERNELS_LIBRARY_PRODUCTS_PRODUCTS_ROUND_H_
#define SLUICE_KERNELS_LIBRARY_PRODUCTS_PRODUCTS_ROUND_H_

#include "kernels/library/products/products.h"
#include "kernels/library/products/products_lanes.h"

namespace sluice::kernels::SLUICE_ISA_NAMESPACE {

// T: Float16 or BFloat16. Ties to even, as kernels/math/cast.h has it.
template <typename T>
struct Rounding {
  using L = Lanes<T, float>;
  using Vector = typename L::Vector;
  using Halves = typename L::Elements;
  typedef uint32_t Bits __attribute__((vector_size(kVectorBytes)));

  // A bfloat16 is the upper half of these bits.
  static Bits rounded_in_place(Vector x) {
    const Bits bits = __builtin_bit_cast(Bits, x);
    return bits + 0x7fff + ((bits >> 16) & 1);
  }
  static Bits rounded_bits(Vector x) {
    if constexpr (std::is_same_v<T, BFloat16>) {
      return rounded_in_place(x) >> 16;
    } else {
      const Bits bits = __builtin_bit_cast(Bits, x);
      const Bits magnitude = bits & 0x7fffffff;
      // The last place of a subnormal is that of 0.5.
      const Bits subnormal =
          __builtin_bit_cast(Bits, __builtin_bit_cast(Vector, magnitude) + 0.5f) - 0x3f000000;
      const Bits normal = (magnitude - (112u << 23) + 0xfff + ((magnitude >> 13) & 1)) >> 13;
      const Bits finite = magnitude < 0x38800000 ? subnormal : normal;
      const Bits infinite = magnitude > 0x7f800000 ? Bits{} + 0x7e00 : Bits{} + 0x7c00;
      return (magnitude < 0x477ff000 ? finite : infinite) | ((bits >> 16) & 0x8000);
    }
  }
  static Halves rounded(Vector x) {
#if defined(__AVX512F__)
    if constexpr (std::is_same_v<T, Float16>) {
      return reinterpret_cast<Halves>(
          _mm512_maskz_cvtps_ph(0xffff, reinterpret_cast<__m512>(x), _MM_FROUND_TO_NEAREST_INT));
    }
#elif defined(__F16C__)
    if constexpr (std::is_same_v<T, Float16>) {
      return reinterpret_cast<Halves>(
          _mm256_cvtps_ph(reinterpret_cast<__m256>(x), _MM_FROUND_TO_NEAREST_INT));
    }
#endif
    return __builtin_convertvector(rounded_bits(x), Halves);
  }

  static void round(const void* sums, int64_t stride, int64_t rows, int64_t columns, void* halves,
                    int64_t out_stride) {
    const auto* from = static_cast<const float*>(sums);
    auto* to = static_cast<uint16_t*>(halves);
    for (int64_t i = 0; i < rows; ++i, from += stride, to += out_stride) {
      int64_t j = 0;
      for (; j + L::kCount <= columns; j += L::kCount) {
        *reinterpret_cast<Halves*>(to + j) = rounded(L::canonical(L::load_sums(from + j)));
      }
      if (j == columns) continue;
      Vector last{};
      __builtin_memcpy(&last, from + j, (columns - j) * sizeof(float));
      const Halves halves_of_last = rounded(L::canonical(last));
      __builtin_memcpy(to + j, &halves_of_last, (columns - j) * sizeof(uint16_t));
    }
  }

  // The sums of tiles, to where these want them.
  static void round_tiles(const ProductTile& t) {
    if (t.halves == nullptr) return;
    for (int64_t i = 0; i < t.count; ++i) {
      round(static_cast<const float*>(t.c) + i * t.c_next, t.c_stride, t.rows, t.columns,
            static_cast<uint16_t*>(t.halves) + i * t.halves_next, t.halves_stride);
    }
  }
};

}  // namespace sluice::kernels::SLUICE_ISA_NAMESPACE

#endif  // SLUICE_KERNELS_LIBRARY_PRODUCTS_PRODUCTS_ROUND_H_
