// Many products of 2 x 2 or 4 x 4, of which a vector has several rows. Included like
// products_lanes.h.
#ifndef SLUICE_KERNELS_LIBRARY_PRODUCTS_PRODUCTS_SQUARES_H_
#define SLUICE_KERNELS_LIBRARY_PRODUCTS_PRODUCTS_SQUARES_H_

#include <type_traits>
#include <utility>

#include "kernels/library/products/products.h"
#include "kernels/library/products/products_lanes.h"
#include "kernels/shuffled.h"

namespace sluice::kernels::SLUICE_ISA_NAMESPACE {

template <typename T, typename S>
class SquareTiles {
  using L = Lanes<T, S>;
  using Vector = typename L::Vector;
  static constexpr int kLanes = L::kCount;

 public:
  // False if these are none.
  static bool run(const ProductTile& t) {
    const int64_t n = t.rows;
    const bool are_dense =
        t.a_stride == 1 && t.a_line_stride == n && t.b_stride == n && t.c_stride == n;
    if (t.adds || t.depth != n || t.columns != n || !are_dense) return false;
    if (n == 2 && t.a_next == 4 && t.b_next == 4 && t.c_next == 4) {
      pairs(t, std::make_integer_sequence<int, kLanes>());
      return true;
    }
    if constexpr (kRepeatsRows) {
      if (n == 4) {
        fours(t, std::make_integer_sequence<int, kLanes>());
        return true;
      }
    }
    return false;
  }

 private:
  // Of 2 x 2, as many as a vector has room for.
  template <int... lane>
  static void pairs(const ProductTile& t, std::integer_sequence<int, lane...>) {
    const S* a = static_cast<const S*>(t.a);
    const S* b = static_cast<const S*>(t.b);
    T* c = static_cast<T*>(t.c);
    const auto product = [](Vector a, Vector b) {
      Vector sums{};  // which a sum begins with
      sums += shuffled<lane / 2 * 2 ...>(a, a) * shuffled<lane / 4 * 4 + lane % 2 ...>(b, b);
      sums +=
          shuffled<lane / 2 * 2 + 1 ...>(a, a) * shuffled<lane / 4 * 4 + 2 + lane % 2 ...>(b, b);
      return L::canonical(sums);
    };
    int64_t left = 4 * t.count;
    for (; left >= kLanes; left -= kLanes, a += kLanes, b += kLanes, c += kLanes) {
      *reinterpret_cast<typename L::Unaligned*>(c) = product(L::load_sums(a), L::load_sums(b));
    }
    if (left == 0) return;
    const typename L::Mask mask(left);
    L::store(c, mask, product(L::load(a, mask), L::load(b, mask)));
  }

  // Of 4 x 4, of which a vector has two rows or all.
#if defined(__AVX512F__)
  static constexpr bool kRepeatsRows = std::is_floating_point_v<S>;
#elif defined(__AVX2__)
  static constexpr bool kRepeatsRows = kLanes == 8 && sizeof(S) == 4;
#else
  static constexpr bool kRepeatsRows = false;
#endif
  template <int... lane>
  static void fours(const ProductTile& t, std::integer_sequence<int, lane...> lanes) {
    constexpr int kVectors = 16 / kLanes;
    const S* a = static_cast<const S*>(t.a);
    const S* b = static_cast<const S*>(t.b);
    T* c = static_cast<T*>(t.c);
    for (int64_t tiles = t.count; tiles > 0; --tiles, a += t.a_next, b += t.b_next, c += t.c_next) {
      if (t.ahead > 0) {
        constexpr int64_t kBytes = 16 * sizeof(S);
        prefetch(a, t.ahead, kBytes);
        prefetch(b, t.ahead, kBytes);
        prefetch(c, t.ahead, kBytes);
      }
      Vector rows[kVectors], sums[kVectors] = {};
#pragma GCC unroll 2
      for (int i = 0; i < kVectors; ++i) rows[i] = L::load_sums(a + i * kLanes);
      add_products<0>(rows, b, sums, lanes);
      add_products<1>(rows, b, sums, lanes);
      add_products<2>(rows, b, sums, lanes);
      add_products<3>(rows, b, sums, lanes);
#pragma GCC unroll 2
      for (int i = 0; i < kVectors; ++i) {
        // Not by an `auto*`, which loses the alignment of the vector type.
        *reinterpret_cast<typename L::Unaligned*>(c + i * kLanes) = L::canonical(sums[i]);
      }
    }
  }
  // Of element p of each row of a, and row p of b.
  template <int p, int kVectors, int... lane>
  static void add_products(const Vector (&rows)[kVectors], const S* b, Vector* sums,
                           std::integer_sequence<int, lane...> /*lanes*/) {
    const Vector row = repeated(b + 4 * p);
#pragma GCC unroll 2
    for (int i = 0; i < kVectors; ++i) {
      sums[i] += shuffled<lane / 4 * 4 + p...>(rows[i], rows[i]) * row;
    }
  }
  // Four elements, again and again.
  static Vector repeated(const S* x) {
#if defined(__AVX512F__)
    if constexpr (sizeof(S) == 4) {
      return reinterpret_cast<Vector>(_mm512_maskz_broadcast_f32x4(0xffff, _mm_loadu_ps(x)));
    } else {
      return reinterpret_cast<Vector>(_mm512_maskz_broadcast_f64x4(0xff, _mm256_loadu_pd(x)));
    }
#elif defined(__AVX2__)
    return reinterpret_cast<Vector>(_mm256_broadcast_ps(reinterpret_cast<const __m128*>(x)));
#else
    return Vector{} + x[0];
#endif
  }
};

}  // namespace sluice::kernels::SLUICE_ISA_NAMESPACE

#endif  // SLUICE_KERNELS_LIBRARY_PRODUCTS_PRODUCTS_SQUARES_H_
