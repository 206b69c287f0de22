// Lanes of two vectors.
#ifndef SLUICE_KERNELS_SHUFFLED_H_
#define SLUICE_KERNELS_SHUFFLED_H_

#include <cstdint>
#include <type_traits>

namespace sluice::kernels {

// Lanes kFrom of x, and from as many on as it has of y. Always inlined: it has the instructions of
// its caller's set. Spelt lane by lane, a vector of lanes of memory would be loaded lane by lane.
template <int... kFrom, typename Vector>
[[gnu::always_inline]] inline Vector shuffled(Vector x, Vector y) {
#if defined(__clang__) || __GNUC__ >= 12
  return __builtin_shufflevector(x, y, kFrom...);
#else
  constexpr int kSize = sizeof(Vector) / sizeof...(kFrom);
  using Narrow = std::conditional_t<kSize == 1, int8_t, int16_t>;
  using Wide = std::conditional_t<kSize == 4, int32_t, int64_t>;
  using Index = std::conditional_t<kSize <= 2, Narrow, Wide>;
  typedef Index Indices __attribute__((vector_size(sizeof(Vector))));
  return __builtin_shuffle(x, y, Indices{kFrom...});
#endif
}

}  // namespace sluice::kernels

#endif  // SLUICE_KERNELS_SHUFFLED_H_
