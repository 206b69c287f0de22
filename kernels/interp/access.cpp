#include "sluice/kernels/interp/access.h"

#include <cstring>

#ifdef __SSE2__
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

void copy_streaming(void* out, const void* in, int64_t bytes) {
#ifdef __SSE2__
  constexpr int64_t kSize = sizeof(__m128i);
  const auto places = reinterpret_cast<uintptr_t>(out) | reinterpret_cast<uintptr_t>(in);
  if ((places | static_cast<uintptr_t>(bytes)) % kSize == 0) {
    __m128i* o = static_cast<__m128i*>(out);
    const __m128i* a = static_cast<const __m128i*>(in);
    for (int64_t i = 0; i < bytes / kSize; ++i) _mm_stream_si128(o + i, _mm_load_si128(a + i));
    return;
  }
#endif
  std::memcpy(out, in, bytes);
}

void fence_streams() {
#ifdef __SSE2__
  _mm_sfence();
#endif
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

}  // namespace sluice::kernels::interp
