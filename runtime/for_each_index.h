// Calls f(0), ..., f(n - 1): in a loop, or fully unrolled if n is a compile-time constant.
#ifndef SLUICE_RUNTIME_FOR_EACH_INDEX_H_
#define SLUICE_RUNTIME_FOR_EACH_INDEX_H_

#include <cstddef>
#include <type_traits>
#include <utility>

namespace sluice {

template <typename F>
void for_each_index(size_t n, F f) {
  for (size_t k = 0; k < n; ++k) f(k);
}

// Compilers may leave a short constant loop rolled, which forces the arrays it indexes into memory.
template <size_t n, typename F>
[[gnu::always_inline]] inline void for_each_index(std::integral_constant<size_t, n>, F f) {
  // GCC leaves it a call in a caller that is large.
  [&]<size_t... k>(std::index_sequence<k...>) __attribute__((always_inline)) {
    (f(std::integral_constant<size_t, k>()), ...);
  }
  (std::make_index_sequence<n>());
}

}  // namespace sluice

#endif  // SLUICE_RUNTIME_FOR_EACH_INDEX_H_
