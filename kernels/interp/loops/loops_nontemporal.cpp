// Non-temporal stores, a whole vector of the instruction set at a time.
#include "kernels/interp/loops/loops_impl.h"
#include "kernels/vector_bytes.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace sluice::kernels::interp::SLUICE_ISA_NAMESPACE {

#if defined(__SSE2__)
namespace {

using kernels::SLUICE_ISA_NAMESPACE::kVectorBytes;
static_assert(kVectorBytes <= kNontemporalLoopAlignment);

template <typename V>
using Vector __attribute__((vector_size(kVectorBytes))) = V;

template <typename Value>
void store_nontemporal(void* out, Value value) {
#if defined(__AVX512F__)
  _mm512_stream_si512(static_cast<__m512i*>(out), reinterpret_cast<__m512i>(value));
#elif defined(__AVX__)
  _mm256_stream_si256(static_cast<__m256i*>(out), reinterpret_cast<__m256i>(value));
#else
  _mm_stream_si128(static_cast<__m128i*>(out), reinterpret_cast<__m128i>(value));
#endif
}

// out[i] = in[i], NaN made canonical.
template <typename V>
void nontemporal_loop(void* out, const void* const* in, int64_t n) {
  V* o = static_cast<V*>(out);
  const V* a = static_cast<const V*>(in[0]);
  constexpr int64_t kCount = kVectorBytes / sizeof(V);
  int64_t i = 0;
  for (; i + kCount <= n; i += kCount) {
    Vector<V> value;
    __builtin_memcpy(&value, a + i, sizeof(value));
    if constexpr (m::kIsFloat<V>) {
      value = value == value ? value : Vector<V>{} + m::quiet_nan<V>();
    }
    store_nontemporal(o + i, value);
  }
  for (; i < n; ++i) {
    if constexpr (m::kIsFloat<V>) {
      o[i] = m::canonical_nan(a[i]);
    } else {
      o[i] = a[i];
    }
  }
}

}  // namespace

void fill_nontemporal(LoopTable& table) {
  auto set = [&table](DType dtype, MapFn loop) {
    table.nontemporal[static_cast<int>(dtype)] = loop;
  };
  set(DType::kFloat32, nontemporal_loop<float>);
  set(DType::kFloat64, nontemporal_loop<double>);
  set(DType::kInt32, nontemporal_loop<uint32_t>);
  set(DType::kUInt32, nontemporal_loop<uint32_t>);
  set(DType::kInt64, nontemporal_loop<uint64_t>);
  set(DType::kUInt64, nontemporal_loop<uint64_t>);
}
#else
void fill_nontemporal(LoopTable&) {}
#endif

}  // namespace sluice::kernels::interp::SLUICE_ISA_NAMESPACE
