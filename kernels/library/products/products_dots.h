// Sums along contiguous lines. Included like products_lanes.h.
#ifndef SLUICE_KERNELS_LIBRARY_PRODUCTS_PRODUCTS_DOTS_H_
#define SLUICE_KERNELS_LIBRARY_PRODUCTS_PRODUCTS_DOTS_H_

#include <array>
#include <utility>

#include "kernels/library/products/products.h"
#include "kernels/library/products/products_lanes.h"
#include "kernels/shuffled.h"

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
    return shuffled<kFrom(lane)...>(x, y) + shuffled<kFrom(lane) + kHalf...>(x, y);
  }
  // lines[0] alone, in the same order.
  template <int kGroup = L::kCount>
  static Vector one(Vector line) {
    if constexpr (kGroup == 1) {
      return line;
    } else {
      return one<kGroup / 2>(
          halves<kGroup>(line, line, std::make_integer_sequence<int, L::kCount>()));
    }
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

// Contiguous lines of kDepth elements, as many as a vector has lanes, in kDepth vectors.
template <typename L, int kDepth>
struct DenseLines {
  typename L::Vector vectors[kDepth];

  // The elements kPlace of all lines.
  template <int kPlace>
  typename L::Vector elements() const {
    return with_vectors<kPlace, 1>(vectors[0], std::make_integer_sequence<int, L::kCount>());
  }

 private:
  template <int kPlace, int kVector, int... lane>
  typename L::Vector with_vectors(typename L::Vector found,
                                  std::integer_sequence<int, lane...> lanes) const {
    if constexpr (kVector == kDepth) {
      return found;
    } else {
      constexpr auto kFrom = [](int i) {
        const int place = i * kDepth + kPlace;
        if (place / L::kCount == kVector) return L::kCount + place % L::kCount;
        return kVector == 1 && place < L::kCount ? place : i;
      };
      return with_vectors<kPlace, kVector + 1>(shuffled<kFrom(lane)...>(found, vectors[kVector]),
                                               lanes);
    }
  }
};

template <typename T, typename S>
struct Dots {
  using Widest = Lanes<T, S>;
  static constexpr int kLanes = Widest::kCount;
  // At a time, as registers allow.
  static constexpr int kLines = kVectorBytes == 64 ? 4 : 2;
  static constexpr int kLinesOfOne = 4;  // by one column
  using Vector = typename Widest::Vector;
  using Result = typename Widest::Result;

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
    auto* const y = static_cast<Result*>(d.y) + line * d.y_line_stride + column * d.y_column_stride;
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
  static void short_dots(const ProductDots& given) {
    const typename L::Mask mask(given.depth);
    ProductDots d = given;
    for (int64_t item = 0; item < given.count; ++item, next(&d)) {
      typename L::Vector v = L::load(vector_of(d, 0), mask);
      for (int64_t line = 0; line < d.lines; line += L::kCount) {
        const int64_t count = d.lines - line < L::kCount ? d.lines - line : L::kCount;
        for (int64_t column = 0; column < d.columns; ++column) {
          if (d.columns > 1) v = L::load(vector_of(d, column), mask);
          if (count == L::kCount) {
            store<L>(d, line, L::kCount, column, short_group<L, true>(d, line, count, mask, v));
          } else {
            store<L>(d, line, count, column, short_group<L, false>(d, line, count, mask, v));
          }
        }
      }
    }
  }
  template <typename L, bool kAll>
  static typename L::Vector short_group(const ProductDots& d, int64_t line, int64_t count,
                                        const typename L::Mask& mask, typename L::Vector v) {
    const T* x = line_of(d, line);
    typename L::Vector products[L::kCount];
#pragma GCC unroll 16
    for (int i = 0; i < L::kCount; ++i, x += d.line_stride) {
      products[i] = typename L::Vector{};  // which a sum begins with
      if (kAll || i < count) products[i] += L::load(x, mask) * v;
    }
    return Fold<L>::all(products);
  }

  // Of contiguous lines of kDepth elements.
  template <int kDepth>
  static void dense_dots(const ProductDots& given) {
    const bool follow = given.x_next == given.lines * kDepth && given.y_next == given.lines &&
                        (given.y_line_stride == 1 || given.lines == 1);
    if (given.count > 1 && follow && given.columns == 1 && given.lines <= kLanes) {
      return dense_items<kDepth>(given);
    }
    ProductDots d = given;
    for (int64_t item = 0; item < given.count; ++item, next(&d)) {
      int64_t line = 0;
      for (; line + kLanes <= d.lines; line += kLanes) {
        store_dense(d, line, kLanes, dense_lines<kDepth>(d, line, kLanes));
      }
      if (line == d.lines) continue;
      store_dense(d, line, d.lines - line, dense_lines<kDepth>(d, line, d.lines - line));
    }
  }
  // Of few lines each, which follow those of the item before, as do their sums. The vectors of
  // kLanes items are first spread: an element for each line.
  template <int kDepth>
  static void dense_items(const ProductDots& given) {
    ProductDots all = given;
    all.y_line_stride = 1;
    S spread[kDepth][kLanes * kLanes + kLanes];
    for (int64_t item = 0; item < given.count; item += kLanes) {
      const int64_t items = given.count - item < kLanes ? given.count - item : kLanes;
      const S* v = static_cast<const S*>(given.v) + item * given.v_next;
      for (int64_t i = 0; i < items; ++i, v += given.v_next) {
        for (int p = 0; p < kDepth; ++p) {
          *reinterpret_cast<typename Widest::Unaligned*>(spread[p] + i * given.lines) =
              Vector{} + v[p];
        }
      }
      const int64_t first = item * given.lines, lines = items * given.lines;
      for (int64_t line = 0; line < lines; line += kLanes) {
        const int64_t count = lines - line < kLanes ? lines - line : kLanes;
        const auto loaded = dense_lines<kDepth>(given, first + line, count);
        store<Widest>(all, first + line, count, 0, dense_sums<kDepth>(loaded, [&](int p) {
                        return Widest::load_sums(spread[p] + line);
                      }));
      }
    }
  }
  // Zeros after the first `count`.
  template <int kDepth>
  static DenseLines<Widest, kDepth> dense_lines(const ProductDots& d, int64_t line, int64_t count) {
    DenseLines<Widest, kDepth> lines;
    for (int i = 0; i < kDepth; ++i) {
      const T* const x = line_of(d, line) + i * kLanes;
      const int64_t left = count * kDepth - i * kLanes;
      lines.vectors[i] = left >= kLanes
                             ? Widest::load_sums(x)
                             : Widest::load(x, typename Widest::Mask(left < 0 ? 0 : left));
    }
    return lines;
  }
  // The factors of element p of all lines are factor(p).
  template <int kDepth, typename F>
  static Vector dense_sums(const DenseLines<Widest, kDepth>& lines, const F& factor) {
    Vector sums = Vector{} + lines.template elements<0>() * factor(0);
    sums += lines.template elements<1>() * factor(1);
    if constexpr (kDepth > 2) sums += lines.template elements<2>() * factor(2);
    if constexpr (kDepth > 3) sums += lines.template elements<3>() * factor(3);
    return sums;
  }
  template <int kDepth>
  static void store_dense(const ProductDots& d, int64_t line, int64_t count,
                          const DenseLines<Widest, kDepth>& lines) {
    for (int64_t column = 0; column < d.columns; ++column) {
      const S* const v = vector_of(d, column);
      store<Widest>(d, line, count, column, dense_sums<kDepth>(lines, [&](int p) { return v[p]; }));
    }
  }

  // Of several vectors as much as stays in the first-level cache, beside a few lines.
  static constexpr int64_t kBlockBytes = 2048;

  // kSums additions at a time of each, so that all together hide their latency. The sums of line i
  // and column j are added to out[j * kLanes + i].
  template <int kNumLines, int kColumns, int kSums>
  static void dots_of(const ProductDots& d, int64_t line, int64_t column, Vector* out) {
    const T* const x = line_of(d, line);
    const S* const v = vector_of(d, column);
    // Pages of lines far apart are not foreseen from one block to the next.
    constexpr int64_t kAhead = kBlockBytes / sizeof(T);
    Vector sums[kNumLines][kColumns][kSums] = {};
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
        for (int i = 0; i < kNumLines; ++i) {
          const T* const at = x + i * d.line_stride + p + s * kLanes;
          const Vector loaded = Widest::load(at);
          if (kNumLines > 1 && kColumns > 1) __builtin_prefetch(at + kAhead);
#pragma GCC unroll 4
          for (int j = 0; j < kColumns; ++j) sums[i][j][s] += loaded * factors[j];
        }
      }
    }
#pragma GCC unroll 4
    for (int i = 0; i < kNumLines; ++i) {
#pragma GCC unroll 4
      for (int j = 0; j < kColumns; ++j) {
        out[j * kLanes + i] +=
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
            Widest::multiply_add(Widest::widened(line_of(d, line + i)[p]), factor, (*sums)[i]);
      }
    }
  }

  // `count` lines, at most kLines (by one column kLinesOfOne), and kColumns columns.
  template <int kColumns>
  static void dots_of_lines(const ProductDots& d, int64_t line, int64_t count, int64_t column,
                            Vector* out) {
    constexpr int kSums = kColumns == 1 ? 2 : 1;
    if (kColumns == 1 && count == kLinesOfOne) {
      return dots_of<kLinesOfOne, 1, kSums>(d, line, column, out);
    }
    if (count == kLines) return dots_of<kLines, kColumns, kSums>(d, line, column, out);
    for (int64_t i = 0; i < count; ++i) {
      dots_of<1, kColumns, kColumns == 1 ? 8 : 1>(d, line + i, column, out + i);
    }
  }
  static void dots_of_columns(const ProductDots& d, int64_t line, int64_t count, int64_t column,
                              int64_t columns, Vector* out) {
    for (; columns >= 4; columns -= 4, column += 4, out += 4 * kLanes) {
      dots_of_lines<4>(d, line, count, column, out);
    }
    switch (columns) {
      case 3: dots_of_lines<3>(d, line, count, column, out); break;
      case 2: dots_of_lines<2>(d, line, count, column, out); break;
      case 1: dots_of_lines<1>(d, line, count, column, out); break;
      default: break;
    }
  }

  static void long_dots(const ProductDots& d) {
    constexpr int kMaxColumns = 16, kFewLines = 2;
    constexpr int64_t kBlock = kBlockBytes / sizeof(S);
    Vector sums[kMaxColumns * kLanes];
    for (int64_t first = 0; first < d.columns; first += kMaxColumns) {
      const int64_t columns = d.columns - first < kMaxColumns ? d.columns - first : kMaxColumns;
      const int64_t block = columns <= 4 ? d.depth : kBlock;
      for (int64_t line = 0; line < d.lines; line += kLanes) {
        const int64_t count = d.lines - line < kLanes ? d.lines - line : kLanes;
        const int64_t used = count > kFewLines ? kLanes : count;
        for (int64_t j = 0; j < columns; ++j) {
          for (int64_t i = 0; i < used; ++i) sums[j * kLanes + i] = Vector{};
        }
        const int64_t step = columns == 1 && count >= kLinesOfOne ? kLinesOfOne : kLines;
        for (int64_t i = 0; i < count; i += step) {
          const int64_t lines = count - i < step ? count - i : step;
          ProductDots part = d;
          for (int64_t p = 0; p < d.depth; p += block) {
            part.depth = d.depth - p < block ? d.depth - p : block;
            part.x = static_cast<const T*>(d.x) + p;
            part.v = static_cast<const S*>(d.v) + p;
            dots_of_columns(part, line + i, lines, first, columns, sums + i);
          }
        }
        for (int64_t j = 0; j < columns; ++j) {
          Vector* const of_column = sums + j * kLanes;
          Vector all{};
          if (count > kFewLines) {
            all = Fold<Widest>::all(of_column);
          } else {
            for (int64_t i = 0; i < count; ++i) all[i] = Fold<Widest>::one(of_column[i])[0];
          }
          if constexpr (!Widest::kMasks) add_rest(d, line, count, first + j, &all);
          store<Widest>(d, line, count, first + j, all);
        }
      }
    }
  }

  // Of lines of kWhole vectors and a part of one, and one column. In the order of long_dots().
  template <int kWhole>
  static void middling_dots(const ProductDots& given) {
    constexpr int kPairs = kWhole / 2;
    const int64_t rest = given.depth - kWhole * kLanes;
    const typename Widest::Mask mask(rest);
    const auto dot = [&](const T* x, const Vector(&v)[kWhole + 1]) {
      Vector sums[2] = {};
#pragma GCC unroll 16
      for (int p = 0; p < 2 * kPairs; ++p) sums[p % 2] += Widest::load(x + p * kLanes) * v[p];
      if (kPairs > 0) sums[0] += sums[1];
      if (kWhole % 2 != 0) {
        sums[0] += Widest::load(x + 2 * kPairs * kLanes) * v[2 * kPairs];
      }
      if (rest > 0) sums[0] += Widest::load(x + kWhole * kLanes, mask) * v[kWhole];
      return sums[0];
    };
    ProductDots d = given;
    for (int64_t item = 0; item < given.count; ++item, next(&d)) {
      Vector v[kWhole + 1];
      for (int p = 0; p < kWhole; ++p) v[p] = Widest::load_sums(vector_of(d, 0) + p * kLanes);
      v[kWhole] = Widest::load(vector_of(d, 0) + kWhole * kLanes, mask);
      const T* x = line_of(d, 0);
      int64_t line = 0;
      for (; line + kLanes <= d.lines; line += kLanes) {
        Vector sums[kLanes];
#pragma GCC unroll 16
        for (int i = 0; i < kLanes; ++i, x += d.line_stride) sums[i] = dot(x, v);
        // Long sums begin with 0, so that none is -0.
        store<Widest>(d, line, kLanes, 0, Vector{} + Fold<Widest>::all(sums));
      }
      if (line == d.lines) continue;
      ProductDots left = d;
      left.lines = d.lines - line;
      left.x = x;
      left.y = static_cast<Result*>(d.y) + line * d.y_line_stride;
      long_dots(left);
    }
  }

  static constexpr int kMaxWhole = 16;
  using DotsFn = void (*)(const ProductDots&);
  template <int... i>
  static constexpr std::array<DotsFn, sizeof...(i)> middling_by_whole(
      std::integer_sequence<int, i...>) {
    return {&middling_dots<i + 1>...};
  }

  static void next(ProductDots* d) {
    d->x = static_cast<const T*>(d->x) + d->x_next;
    d->v = static_cast<const S*>(d->v) + d->v_next;
    d->y = static_cast<Result*>(d->y) + d->y_next;
  }

  static void dots(const ProductDots& given) {
    if constexpr (Widest::kMasks) {
      if (given.line_stride == given.depth) {
        switch (given.depth) {
          case 2: return dense_dots<2>(given);
          case 3: return dense_dots<3>(given);
          case 4: return dense_dots<4>(given);
          default: break;
        }
      }
      const int64_t bytes = given.depth * static_cast<int64_t>(sizeof(S));
      if constexpr (kVectorBytes > 16) {
        if (bytes <= 16) return short_dots<Lanes<T, S, 16>>(given);
      }
      if constexpr (kVectorBytes > 32) {
        if (bytes <= 32) return short_dots<Lanes<T, S, 32>>(given);
      }
      if (bytes <= kVectorBytes) return short_dots<Widest>(given);
      if (given.columns == 1 && given.lines >= kLanes && given.depth / kLanes <= kMaxWhole) {
        static constexpr auto kMiddling =
            middling_by_whole(std::make_integer_sequence<int, kMaxWhole>());
        return kMiddling[given.depth / kLanes - 1](given);
      }
    }
    ProductDots d = given;
    for (int64_t item = 0; item < given.count; ++item, next(&d)) long_dots(d);
  }
};

}  // namespace sluice::kernels::SLUICE_ISA_NAMESPACE

#endif  // SLUICE_KERNELS_LIBRARY_PRODUCTS_PRODUCTS_DOTS_H_
