#include "kernels/interp/access.h"

#include <algorithm>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace sluice::kernels::interp {

void gather_strided(void* out, const void* in, int64_t stride, int64_t count, size_t size) {
  if (stride == 1) {
    std::memcpy(out, in, count * size);
  } else if (stride == 0) {
    fill_strided(out, 1, in, count, size);
  } else {
    visit_size(size, [&](auto zero) {
      using T = decltype(zero);
      const T* a = static_cast<const T*>(in);
      T* o = static_cast<T*>(out);
      for (int64_t i = 0; i < count; ++i) o[i] = a[i * stride];
    });
  }
}

void scatter_strided(void* out, int64_t stride, const void* in, int64_t count, size_t size) {
  if (stride == 1) {
    std::memcpy(out, in, count * size);
    return;
  }
  visit_size(size, [&](auto zero) {
    using T = decltype(zero);
    const T* a = static_cast<const T*>(in);
    T* o = static_cast<T*>(out);
    for (int64_t i = 0; i < count; ++i) o[i * stride] = a[i];
  });
}

void fill_strided(void* out, int64_t stride, const void* value, int64_t count, size_t size) {
  visit_size(size, [&](auto zero) {
    using T = decltype(zero);
    T* o = static_cast<T*>(out);
    const T x = *static_cast<const T*>(value);
    if (stride == 1) {
      std::fill_n(o, count, x);
    } else {
      for (int64_t i = 0; i < count; ++i) o[i * stride] = x;
    }
  });
}

void fence_nontemporal_stores() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

}  // namespace sluice::kernels::interp
