// Sums along contiguous lines. Included like products_lanes.h.
#ifndef SLUICE_KERNELS_LIBRARY_PRODUCTS_PRODUCTS_DOTS_H_
#define SLUICE_KERNELS_LIBRARY_PRODUCTS_PRODUCTS_DOTS_H_

#include <utility>

#include "kernels/library/products/products.h"
#include "kernels/library/products/products_lanes.h"

namespace sluice::kernels::SLUICE_ISA_NAMESPACE {

// As many vectors as one has lanes, folded by halving: lane i of the result is the sum of lines[i].
template <typename L>
struct Fold {
  using Vector = typename L::Vector;

  // The halves of each group of kGroup lanes of x, added; and the same of y, beside it.
  template <int kGroup, int... lane>
  static Vector halves(Vector x, Vector y, std::integer_sequence<int, lane...>) {
    constexpr int kHalf = kGroup / 2;
    constexpr auto kFrom = [](int i) {
      return i / kGroup * kGroup + i % kHalf + (i % kGroup < kHalf ? 0 : L::kCount);
    };
    return __builtin_shufflevector(x, y, kFrom(lane)...) +
           __builtin_shufflevector(x, y, kFrom(lane) + kHalf...);
  }
  template <int kGroup = L::kCount>
  static Vector all(Vector* lines) {
    if constexpr (kGroup == 1) {
      return lines[0];
    } else {
#pragma GCC unroll 16
      for (int i = 0; i < kGroup / 2; ++i) {
        lines[i] = halves<kGroup>(lines[i], lines[i + kGroup / 2],
                                  std::make_integer_sequence<int, L::kCount>());
      }
      return all<kGroup / 2>(lines);
    }
  }
};

template <typename T, typename S>
struct Dots {
  using Widest = Lanes<T, S>;
  static constexpr int kLanes = Widest::kCount;
  using Vector = typename Widest::Vector;

  static const T* line_of(const ProductDots& d, int64_t line) {
    return static_cast<const T*>(d.x) + line * d.line_stride;
  }
  static const S* vector_of(const ProductDots& d, int64_t column) {
    return static_cast<const S*>(d.v) + column * d.v_stride;
  }

  // The sums of `count` lines from `line` on.
  template <typename L>
  static void store(const ProductDots& d, int64_t line, int64_t count, int64_t column,
                    typename L::Vector sums) {
    T* const y = static_cast<T*>(d.y) + line * d.y_line_stride + column * d.y_column_stride;
    if constexpr (L::kMasks) {
      sums = L::canonical(sums);
      if (d.y_line_stride == 1) return L::store(y, typename L::Mask(count), sums);
    }
    S all[L::kCount];
    __builtin_memcpy(all, &sums, sizeof(all));
    for (int64_t i = 0; i < count; ++i) y[i * d.y_line_stride] = L::stored(all[i]);
  }

  // Of lines that a vector holds.
  template <typename L>
  static void short_dots(const ProductDots& d) {
    const typename L::Mask mask(d.depth);
    for (int64_t line = 0; line < d.lines; line += L::kCount) {
      const int64_t count = d.lines - line < L::kCount ? d.lines - line : L::kCount;
      for (int64_t column = 0; column < d.columns; ++column) {
        const typename L::Vector v = L::load(vector_of(d, column), mask);
        const T* x = line_of(d, line);
        typename L::Vector products[L::kCount];
        if (count == L::kCount) {
#pragma GCC unroll 16
          for (int i = 0; i < L::kCount; ++i, x += d.line_stride) {
            products[i] = typename L::Vector{} + L::load(x, mask) * v;
          }
        } else {
#pragma GCC unroll 16
          for (int i = 0; i < L::kCount; ++i, x += d.line_stride) {
            products[i] = typename L::Vector{};
            if (i < count) products[i] += L::load(x, mask) * v;
          }
        }
        store<L>(d, line, count, column, Fold<L>::all(products));
      }
    }
  }

  // kSums additions at a time of each, so that all together hide their latency. The sums of line i
  // and column j go to out[j * kLanes + i].
  template <int kLines, int kColumns, int kSums>
  static void dots_of(const ProductDots& d, int64_t line, int64_t column, Vector* out) {
    const T* const x = line_of(d, line);
    const S* const v = vector_of(d, column);
    Vector sums[kLines][kColumns][kSums] = {};
    int64_t p = 0;
    for (; p + kSums * kLanes <= d.depth; p += kSums * kLanes) {
#pragma GCC unroll 8
      for (int s = 0; s < kSums; ++s) {
        Vector factors[kColumns];
#pragma GCC unroll 4
        for (int j = 0; j < kColumns; ++j) {
          factors[j] = Widest::load_sums(v + j * d.v_stride + p + s * kLanes);
        }
#pragma GCC unroll 4
        for (int i = 0; i < kLines; ++i) {
          const Vector loaded = Widest::load(x + i * d.line_stride + p + s * kLanes);
#pragma GCC unroll 4
          for (int j = 0; j < kColumns; ++j) sums[i][j][s] += loaded * factors[j];
        }
      }
    }
    for (int i = 0; i < kLines; ++i) {
      for (int j = 0; j < kColumns; ++j) {
        out[j * kLanes + i] =
            finish<kSums>(sums[i][j], x + i * d.line_stride, v + j * d.v_stride, p, d.depth);
      }
    }
  }

  // Adds the products from `p` on; without masks, of whole vectors only.
  template <int kSums>
  static Vector finish(const Vector* sums, const T* x, const S* v, int64_t p, int64_t depth) {
    Vector all = sums[0];
    for (int s = 1; s < kSums; ++s) all += sums[s];
    for (; p + kLanes <= depth; p += kLanes) {
      all += Widest::load(x + p) * Widest::load_sums(v + p);
    }
    if constexpr (Widest::kMasks) {
      const typename Widest::Mask mask(depth - p);
      if (p < depth) all += Widest::load(x + p, mask) * Widest::load(v + p, mask);
    }
    return all;
  }

  // The products that finish() left, for whom one lane is as good as another.
  static void add_rest(const ProductDots& d, int64_t line, int64_t count, int64_t column,
                       Vector* sums) {
    for (int64_t p = d.depth / kLanes * kLanes; p < d.depth; ++p) {
      const S factor = vector_of(d, column)[p];
      for (int64_t i = 0; i < count; ++i) {
        (*sums)[i] =
            Widest::multiply_add(static_cast<S>(line_of(d, line + i)[p]), factor, (*sums)[i]);
      }
    }
  }

  template <int kColumns>
  static void dots_of_columns(const ProductDots& d, int64_t line, int64_t count, int64_t column) {
    constexpr int kLines = kVectorBytes == 64 ? 4 : 2;  // as registers allow
    Vector sums[kColumns * kLanes];
    int64_t i = 0;
    for (; i + kLines <= count; i += kLines) {
      dots_of<kLines, kColumns, kColumns == 1 ? 2 : 1>(d, line + i, column, sums + i);
    }
    for (; i < count; ++i) {
      dots_of<1, kColumns, kColumns == 1 ? 8 : 1>(d, line + i, column, sums + i);
    }
    for (int j = 0; j < kColumns; ++j) {
      for (int64_t rest = count; rest < kLanes; ++rest) sums[j * kLanes + rest] = Vector{};
      Vector all = Fold<Widest>::all(sums + j * kLanes);
      if constexpr (!Widest::kMasks) add_rest(d, line, count, column + j, &all);
      store<Widest>(d, line, count, column + j, all);
    }
  }

  static void long_dots(const ProductDots& d) {
    constexpr int kColumns = 4;
    for (int64_t line = 0; line < d.lines; line += kLanes) {
      const int64_t count = d.lines - line < kLanes ? d.lines - line : kLanes;
      int64_t j = 0;
      for (; j + kColumns <= d.columns; j += kColumns) dots_of_columns<kColumns>(d, line, count, j);
      for (; j < d.columns; ++j) dots_of_columns<1>(d, line, count, j);
    }
  }

  static void dots_of_item(const ProductDots& d) {
    const int64_t bytes = d.depth * static_cast<int64_t>(sizeof(S));
    if constexpr (Widest::kMasks) {
      if constexpr (kVectorBytes > 16) {
        if (bytes <= 16) return short_dots<Lanes<T, S, 16>>(d);
      }
      if constexpr (kVectorBytes > 32) {
        if (bytes <= 32) return short_dots<Lanes<T, S, 32>>(d);
      }
      if (bytes <= kVectorBytes) return short_dots<Widest>(d);
    }
    long_dots(d);
  }

  static void dots(const ProductDots& given) {
    ProductDots d = given;
    for (int64_t i = 0; i < given.count; ++i) {
      d.x = static_cast<const T*>(given.x) + i * given.x_next;
      d.v = static_cast<const S*>(given.v) + i * given.v_next;
      d.y = static_cast<T*>(given.y) + i * given.y_next;
      dots_of_item(d);
    }
  }
};

}  // namespace sluice::kernels::SLUICE_ISA_NAMESPACE

#endif  // SLUICE_KERNELS_LIBRARY_PRODUCTS_PRODUCTS_DOTS_H_
