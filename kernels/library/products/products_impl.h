// The loops of products.h, over the types of an element and of a sum. Included like
// products_lanes.h.
#ifndef SLUICE_KERNELS_LIBRARY_PRODUCTS_PRODUCTS_IMPL_H_
#define SLUICE_KERNELS_LIBRARY_PRODUCTS_PRODUCTS_IMPL_H_

#include <array>
#include <type_traits>

#include "kernels/library/products/products.h"
#include "kernels/library/products/products_dots.h"
#include "kernels/library/products/products_lanes.h"
#include "kernels/library/products/products_round.h"
#include "kernels/library/products/products_tiles.h"

namespace sluice::kernels::SLUICE_ISA_NAMESPACE {

void fill_float_products(ProductTable& table);
void fill_integer_products(ProductTable& table);

inline constexpr int64_t kStrip = 4096;  // sums at a time

// T: of elements of operands; S: of sums.
template <typename T, typename S>
struct Products : Lanes<T, S> {
  using Lanes<T, S>::kSame, Lanes<T, S>::multiply_add, Lanes<T, S>::stored;
  using Lanes<T, S>::widen, Lanes<T, S>::widened;
  using typename Lanes<T, S>::Result;
  static constexpr int kLanes = Lanes<T, S>::kCount;

  static const T* elements(const void* x) { return static_cast<const T*>(x); }
  static const S* sums_of(const void* x) { return static_cast<const S*>(x); }

  // out[q * width + i] = x[i * line_stride + q] for i, q < kShort.
  static constexpr int kShort = 16 / sizeof(S);
  static constexpr bool kTransposes = (kSame || kIsHalf<T>)&&(kShort == 2 || kShort == 4);
  typedef S Short __attribute__((vector_size(16), aligned(alignof(S))));
  static void transpose(const T* x, int64_t line_stride, int64_t width, S* out) {
    const auto line = [&](int i) -> Short { return Lanes<T, S, 16>::load(x + i * line_stride); };
    const auto store = [&](int q, Short column) {
      *reinterpret_cast<Short*>(out + q * width) = column;
    };
    if constexpr (kShort == 2) {
      const Short a = line(0), b = line(1);
      store(0, Short{a[0], b[0]});
      store(1, Short{a[1], b[1]});
    } else {
      const Short a = line(0), b = line(1), c = line(2), d = line(3);
      const Short ac_low{a[0], c[0], a[1], c[1]}, ac_high{a[2], c[2], a[3], c[3]};
      const Short bd_low{b[0], d[0], b[1], d[1]}, bd_high{b[2], d[2], b[3], d[3]};
      store(0, Short{ac_low[0], bd_low[0], ac_low[1], bd_low[1]});
      store(1, Short{ac_low[2], bd_low[2], ac_low[3], bd_low[3]});
      store(2, Short{ac_high[0], bd_high[0], ac_high[1], bd_high[1]});
      store(3, Short{ac_high[2], bd_high[2], ac_high[3], bd_high[3]});
    }
  }

  // Lines out of rows of a matrix.
  static void pack_lines(const T* x, int64_t depth_stride, int64_t lines, int64_t depth, S* out) {
    int64_t i = 0;
    if constexpr (kTransposes) {
      const int64_t whole = depth / kShort * kShort;
      for (; i + kShort <= lines; i += kShort, x += kShort, out += kShort * depth) {
        for (int64_t p = 0; p < whole; p += kShort) {
          transpose(x + p * depth_stride, depth_stride, depth, out + p);
        }
        for (int64_t q = 0; q < kShort; ++q) {
          for (int64_t p = whole; p < depth; ++p) {
            out[q * depth + p] = widened(x[p * depth_stride + q]);
          }
        }
      }
    }
    for (; i < lines; ++i, ++x, out += depth) {
      for (int64_t p = 0; p < depth; ++p) out[p] = widened(x[p * depth_stride]);
    }
  }

  // Whole panels of `width` lines each, which is kWidth unless that is 0.
  template <int kWidth>
  static void pack_panels(const T* x, int64_t line_stride, int64_t depth_stride, int64_t panels,
                          int64_t depth, int64_t given_width, S* out) {
    const int64_t width = kWidth > 0 ? kWidth : given_width;
    if (line_stride == 1 && width == 1) return pack_lines(x, depth_stride, panels, depth, out);
    if (line_stride == 1) {  // in the order of memory
      constexpr int64_t kAhead = 8, kLine = 64 / sizeof(T);
      for (int64_t p = 0; p < depth; ++p, x += depth_stride, out += width) {
        for (int64_t panel = 0; panel < panels; ++panel) {
          const T* const from = x + panel * width;
          S* const to = out + panel * depth * width;
          for (int64_t i = 0; i < width; i += kLine) {
            __builtin_prefetch(from + kAhead * depth_stride + i);  // rows may be pages apart
          }
          widen(from, width, to);
        }
      }
      return;
    }
    constexpr int64_t kRun = 64 / sizeof(T);  // of a line at a time: a cache line
    for (int64_t panel = 0; panel < panels; ++panel, x += width * line_stride) {
      int64_t p = 0;
      for (; depth_stride == 1 && p + kRun <= depth; p += kRun, out += kRun * width) {
        int64_t i = 0;
        if constexpr (kTransposes) {
          for (; i + kShort <= width; i += kShort) {
            const T* const lines = x + i * line_stride + p;
#pragma GCC unroll 64
            for (int64_t q = 0; q < kRun; q += kShort) {
              transpose(lines + q, line_stride, width, out + q * width + i);
            }
          }
        }
        for (; i < width; ++i) {
          S line[kRun];
          for (int64_t q = 0; q < kRun; q += kLanes) {
            *reinterpret_cast<typename Lanes<T, S>::Unaligned*>(line + q) =
                Lanes<T, S>::load(x + i * line_stride + p + q);
          }
#pragma GCC unroll 64
          for (int64_t q = 0; q < kRun; ++q) out[q * width + i] = line[q];
        }
      }
      for (; p < depth; ++p, out += width) {
        for (int64_t i = 0; i < width; ++i) {
          out[i] = widened(x[i * line_stride + p * depth_stride]);
        }
      }
    }
  }

  static void pack(const void* x, int64_t line_stride, int64_t depth_stride, int64_t lines,
                   int64_t depth, int64_t width, void* out) {
    constexpr int kColumns = kTileVectors * kLanes;
    const T* from = elements(x);
    S* to = static_cast<S*>(out);
    const int64_t panels = lines / width;
    const auto pack_whole = width == kTileRows  ? &pack_panels<kTileRows>
                            : width == kColumns ? &pack_panels<kColumns>
                                                : &pack_panels<0>;
    pack_whole(from, line_stride, depth_stride, panels, depth, width, to);
    const int64_t rest = lines - panels * width;
    if (rest == 0) return;
    from += panels * width * line_stride;
    to += panels * width * depth;
    __builtin_memset(to, 0, sizeof(S) * width * depth);
    for (int64_t p = 0; p < depth; ++p, from += depth_stride, to += width) {
      for (int64_t i = 0; i < rest; ++i) to[i] = widened(from[i * line_stride]);
    }
  }

  // strip[i] += rows[0][i] * factors[0] + rows[1][i] * factors[1] + ..., in this order.
  template <size_t kRows>
  static void add_rows(int64_t count, S* strip, std::array<const T*, kRows> rows,
                       const S* factors) {
    int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
      auto sum = Lanes<T, S>::load_sums(strip + i);
#pragma GCC unroll 4
      for (size_t r = 0; r < kRows; ++r) sum += Lanes<T, S>::load(rows[r] + i) * factors[r];
      *reinterpret_cast<typename Lanes<T, S>::Unaligned*>(strip + i) = sum;
    }
    for (; i < count; ++i) {
      for (size_t r = 0; r < kRows; ++r) {
        strip[i] = multiply_add(widened(rows[r][i]), factors[r], strip[i]);
      }
    }
  }

  static void sums(const void* x, int64_t depth_stride, const void* v, int64_t lines, int64_t depth,
                   void* y) {
    const S* const factors = sums_of(v);
    auto* const out = static_cast<Result*>(y);
    for (int64_t begin = 0; begin < lines; begin += kStrip) {
      const int64_t count = lines - begin < kStrip ? lines - begin : kStrip;
      const T* row = elements(x) + begin;
      S strip[kStrip];
      for (int64_t i = 0; i < count; ++i) strip[i] = 0;
      int64_t p = 0;
      for (; p + 4 <= depth; p += 4, row += 4 * depth_stride) {
        const T* const row1 = row + depth_stride;
        const T* const row2 = row1 + depth_stride;
        const T* const row3 = row2 + depth_stride;
        add_rows(count, strip, std::array{row, row1, row2, row3}, factors + p);
      }
      for (; p < depth; ++p, row += depth_stride) {
        add_rows(count, strip, std::array{row}, factors + p);
      }
      for (int64_t i = 0; i < count; ++i) out[begin + i] = stored(strip[i]);
    }
  }

  static void small(const SmallProducts& x) {
    const T* a = elements(x.a);
    const T* b = elements(x.b);
    auto* c = static_cast<Result*>(x.c);
    for (int64_t batch = 0; batch < x.batch; ++batch) {
      for (int64_t i = 0; i < x.m; ++i, c += x.n) {
        const T* const row = a + i * x.a_strides[1];
        for (int64_t j = 0; j < x.n; ++j) {
          const T* const column = b + j * x.b_strides[2];
          S sum = 0;
          for (int64_t p = 0; p < x.k; ++p) {
            sum = multiply_add(widened(row[p * x.a_strides[2]]),
                               widened(column[p * x.b_strides[1]]), sum);
          }
          c[j] = stored(sum);
        }
      }
      a += x.a_strides[0];
      b += x.b_strides[0];
    }
  }

  static void fold(const void* parts, int64_t count, int64_t size, void* c) {
    auto* const out = static_cast<Result*>(c);
    const auto* part = static_cast<const Result*>(parts);
    for (int64_t i = 0; i < size; ++i) out[i] = part[i];
    for (int64_t p = 1; p < count; ++p) {
      part += size;
      for (int64_t i = 0; i < size; ++i) out[i] = static_cast<Result>(out[i] + part[i]);
    }
    for (int64_t i = 0; i < size; ++i) out[i] = stored(out[i]);
  }

  static void tile(const ProductTile& t) {
    Tiles<Result, S>::tile(t);
    if constexpr (kIsHalf<T>) Rounding<T>::round_tiles(t);
  }

  static void fill(ProductLoops& loops) {
    loops = {.rows = kTileRows,
             .thin_rows = kThinTileRows,
             .columns = kTileVectors * kLanes,
             .lanes = kLanes,
             .element_size = sizeof(T),
             .sum_size = sizeof(S),
             .result_size = sizeof(Result),
             .packed_size = sizeof(S),
             .direct = Lanes<T, S>::kMasks,
             .pack = &pack,
             .pack_rows = &pack,
             .pack_columns = &pack,
             .tile = &tile,
             .dots = &Dots<T, S>::dots,
             .sums = &sums,
             .small = &small,
             .fold = &fold};
    if constexpr (kIsHalf<T>) loops.round = &Rounding<T>::round;
  }
};

}  // namespace sluice::kernels::SLUICE_ISA_NAMESPACE

#endif  // SLUICE_KERNELS_LIBRARY_PRODUCTS_PRODUCTS_IMPL_H_
