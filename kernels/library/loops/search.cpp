// Binary searches on the CPU.
#include "fusion/library/search.h"

#include <cstdint>
#include <limits>
#include <type_traits>

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#include "kernels/library/loops/keys.h"
#include "kernels/library/loops/loops.h"
#include "kernels/library/scratch.h"
#include "runtime/cpu/parallel.h"

namespace sluice::kernels::SLUICE_ISA_NAMESPACE {
namespace {

constexpr int64_t kSearchGrain = 1 << 10;  // values
// Of a line of up to so many elements a value, the keys are computed once.
constexpr int64_t kKeyedLength = 8;
constexpr int64_t kTogether = 64;

template <typename Order>
class Search {
  using Bits = typename Order::Bits;
  // There are no gathers of less than 32 bits.
  using Key = std::conditional_t<sizeof(Bits) < 4, uint32_t, Bits>;
  using Place = std::conditional_t<sizeof(Key) == 4, int32_t, int64_t>;

 public:
  Search(const fusion::SearchAttributes& a, void* const* buffers)
      : a_(a),
        flip_(flip_of<Bits>(a.dtype, false)),
        line_(static_cast<const Bits*>(buffers[0]) + a.offset),
        values_(static_cast<const Bits*>(buffers[1]) + a.values_offset),
        y_(static_cast<int64_t*>(buffers[2])) {}

  void run() const {
    const bool is_keyed =
        a_.length / kKeyedLength <= a_.count && a_.length <= std::numeric_limits<Place>::max();
    if (!is_keyed) {
      parallel_for(a_.count, kSearchGrain, [&](int64_t begin, int64_t end) {
        for (; begin < end; ++begin) y_[begin] = find(wanted(begin));
      });
      return;
    }
    const Scratch scratch(sizeof(Key) * a_.length);
    auto* const keys = reinterpret_cast<Key*>(scratch.data());
    parallel_for(a_.length, 16 * kSearchGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        keys[i] = Order::joined_key(line_[i * a_.stride], flip_);
      }
    });
    parallel_for(a_.count, kSearchGrain, [&](int64_t begin, int64_t end) {
      for (int64_t count; begin < end; begin += count) {
        count = end - begin < kTogether ? end - begin : kTogether;
        if (a_.right) {
          find_some<true>(keys, begin, count);
        } else {
          find_some<false>(keys, begin, count);
        }
      }
    });
  }

 private:
  Key wanted(int64_t i) const { return Order::joined_key(values_[i * a_.values_stride], flip_); }

  int64_t find(Key value) const {
    int64_t first = 0;  // that are known to come before
    // The answer is in [first, first + rest].
    for (int64_t rest = a_.length; rest > 0;) {
      const int64_t half = rest - rest / 2;
      const Key middle = Order::joined_key(line_[(first + half - 1) * a_.stride], flip_);
      if (a_.right ? middle <= value : middle < value) first += half;
      rest -= half;
    }
    return first;
  }

  // `count` values, at most kTogether, side by side: their cache misses overlap.
  template <bool kRight>
  void find_some(const Key* keys, int64_t begin, int64_t count) const {
    alignas(64) Key values[kTogether];
    alignas(64) Place first[kTogether] = {};
    for (int64_t j = 0; j < count; ++j) values[j] = wanted(begin + j);
    for (int64_t j = count; j < kTogether; ++j) values[j] = 0;
    // As many as there are, in whole vectors.
    const int64_t searched = (count + kVector - 1) / kVector * kVector;
    for (int64_t rest = a_.length; rest > 0;) {
      const int64_t half = rest - rest / 2;
      const Key* const middle = keys + half - 1;
      for (int64_t j = 0; j < searched; j += kVector) {
        advance<kRight>(middle, values + j, static_cast<Place>(half), first + j);
      }
      rest -= half;
    }
    for (int64_t j = 0; j < count; ++j) y_[begin + j] = first[j];
  }

  // Adds `step` to those of kVector places whose `middle` comes before the value.
#if defined(__AVX512F__)
  static constexpr int64_t kVector = 64 / sizeof(Key);
  template <bool kRight>
  static void advance(const Key* middle, const Key* values, Place step, Place* first) {
    const __m512i places = _mm512_load_si512(first), wanted = _mm512_load_si512(values);
    constexpr int kBefore = kRight ? _MM_CMPINT_LE : _MM_CMPINT_LT;
    if constexpr (sizeof(Key) == 4) {
      const __m512i found = _mm512_mask_i32gather_epi32(wanted, 0xffff, places, middle, 4);
      const __mmask16 before = _mm512_cmp_epu32_mask(found, wanted, kBefore);
      _mm512_store_si512(first,
                         _mm512_mask_add_epi32(places, before, places, _mm512_set1_epi32(step)));
    } else {
      const __m512i found = _mm512_mask_i64gather_epi64(wanted, 0xff, places, middle, 8);
      const __mmask8 before = _mm512_cmp_epu64_mask(found, wanted, kBefore);
      _mm512_store_si512(first,
                         _mm512_mask_add_epi64(places, before, places, _mm512_set1_epi64(step)));
    }
  }
#else
  static constexpr int64_t kVector = 1;
  template <bool kRight>
  static void advance(const Key* middle, const Key* values, Place step, Place* first) {
    const Key found = middle[*first];
    const bool before = kRight ? found <= *values : found < *values;
    *first += step & (Place{0} - static_cast<Place>(before));  // no branch
  }
#endif

  const fusion::SearchAttributes& a_;
  const Bits flip_;
  const Bits* const line_;
  const Bits* const values_;
  int64_t* const y_;
};

void search(const fusion::SearchAttributes& a, void* const* buffers) {
  visit_order(a.dtype, [&]<typename Order>() { Search<Order>(a, buffers).run(); });
}

}  // namespace

void fill_search(LibraryLoops& table) { table.search = search; }

}  // namespace sluice::kernels::SLUICE_ISA_NAMESPACE
