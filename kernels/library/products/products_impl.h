// The loops of products.h, over the types of an element and of a sum. Included by the files that
// are compiled for each instruction set: everything is in that set's namespace, since an inline
// function that sets share would be linked with the instructions of any of them.
#ifndef SLUICE_KERNELS_LIBRARY_PRODUCTS_PRODUCTS_IMPL_H_
#define SLUICE_KERNELS_LIBRARY_PRODUCTS_PRODUCTS_IMPL_H_

#include <array>
#include <type_traits>
#include <utility>

#include "kernels/library/products/products.h"

namespace sluice::kernels::SLUICE_ISA_NAMESPACE {

void fill_float_products(ProductTable& table);
void fill_integer_products(ProductTable& table);

// A tile's sums, a row of b and an element of a are in registers: 32 of 64 bytes, or 16.
#if defined(__AVX512F__)
inline constexpr int kVectorBytes = 64, kTileRows = 14;
#elif defined(__AVX__)
inline constexpr int kVectorBytes = 32, kTileRows = 6;
#else
inline constexpr int kVectorBytes = 16, kTileRows = 6;
#endif
inline constexpr int kTileVectors = 2;   // in a row
inline constexpr int64_t kStrip = 4096;  // sums at a time

// T: of elements of operands and result; S: of sums.
template <typename T, typename S>
struct Products {
  typedef S Vector __attribute__((vector_size(kVectorBytes)));
  typedef S Unaligned __attribute__((vector_size(kVectorBytes), aligned(alignof(S))));
  static constexpr int kLanes = kVectorBytes / sizeof(S);
  typedef T Elements __attribute__((vector_size(kLanes * sizeof(T)), aligned(alignof(T))));
  static constexpr bool kSame = std::is_same_v<T, S>;

  static const T* elements(const void* x) { return static_cast<const T*>(x); }
  static const S* sums_of(const void* x) { return static_cast<const S*>(x); }

  static S multiply_add(S a, S b, S sum) {
    // Short integers would be promoted to int, which must not overflow.
    if constexpr (std::is_integral_v<S> && sizeof(S) < 4) {
      return static_cast<S>(static_cast<uint32_t>(a) * b + sum);
    } else {
      return a * b + sum;
    }
  }
  static T stored(S sum) {
    if constexpr (std::is_floating_point_v<S>) {
      return sum == sum ? sum : static_cast<S>(__builtin_nan(""));
    } else {
      return static_cast<T>(sum);
    }
  }
  static Vector stored_vector(Vector sums) {
    if constexpr (std::is_floating_point_v<S>) {
      const Vector nan = Vector{} + static_cast<S>(__builtin_nan(""));
      return sums == sums ? sums : nan;
    } else {
      return sums;
    }
  }
  static Vector load(const T* x) {
    const Elements loaded = *reinterpret_cast<const Elements*>(x);
    if constexpr (kSame) {
      return loaded;
    } else {
      return __builtin_convertvector(loaded, Vector);
    }
  }

  // out[q * width + i] = x[i * line_stride + q] for i, q < kShort.
  static constexpr int kShort = 16 / sizeof(S);
  typedef S Short __attribute__((vector_size(16), aligned(alignof(S))));
  static void transpose(const S* x, int64_t line_stride, int64_t width, S* out) {
    const auto line = [&](int i) { return *reinterpret_cast<const Short*>(x + i * line_stride); };
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

  // Whole panels of `width` lines each, which is kWidth unless that is 0.
  template <int kWidth>
  static void pack_panels(const T* x, int64_t line_stride, int64_t depth_stride, int64_t panels,
                          int64_t depth, int64_t given_width, S* out) {
    const int64_t width = kWidth > 0 ? kWidth : given_width;
    if (line_stride == 1) {  // in the order of memory
      for (int64_t p = 0; p < depth; ++p, x += depth_stride, out += width) {
        for (int64_t panel = 0; panel < panels; ++panel) {
          const T* const from = x + panel * width;
          S* const to = out + panel * depth * width;
          for (int64_t i = 0; i < width; ++i) to[i] = static_cast<S>(from[i]);
        }
      }
      return;
    }
    constexpr int64_t kRun = 64 / sizeof(T);  // of a line at a time: a cache line
    for (int64_t panel = 0; panel < panels; ++panel, x += width * line_stride) {
      int64_t p = 0;
      for (; depth_stride == 1 && p + kRun <= depth; p += kRun, out += kRun * width) {
        int64_t i = 0;
        if constexpr (kSame && (kShort == 2 || kShort == 4)) {
          for (; i + kShort <= width; i += kShort) {
            const T* const lines = x + i * line_stride + p;
#pragma GCC unroll 64
            for (int64_t q = 0; q < kRun; q += kShort) {
              transpose(lines + q, line_stride, width, out + q * width + i);
            }
          }
        }
        for (; i < width; ++i) {
          const T* const line = x + i * line_stride + p;
#pragma GCC unroll 64
          for (int64_t q = 0; q < kRun; ++q) out[q * width + i] = static_cast<S>(line[q]);
        }
      }
      for (; p < depth; ++p, out += width) {
        for (int64_t i = 0; i < width; ++i) {
          out[i] = static_cast<S>(x[i * line_stride + p * depth_stride]);
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
      for (int64_t i = 0; i < rest; ++i) to[i] = static_cast<S>(from[i * line_stride]);
    }
  }

  template <int kRows, int kVectors>
  static void tile_of(const ProductTile& t) {
    Vector sums[kRows][kVectors];
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
      for (int j = 0; j < kVectors; ++j) sums[i][j] = Vector{};
    }
    const S* a = sums_of(t.a);
    const S* b = sums_of(t.b);
    const int64_t a_stride = t.a_stride, b_stride = t.b_stride;
    for (int64_t p = t.depth; p > 0; --p, a += a_stride, b += b_stride) {
      Vector row[kVectors];
#pragma GCC unroll 2
      for (int j = 0; j < kVectors; ++j)
        row[j] = *reinterpret_cast<const Unaligned*>(b + j * kLanes);
#pragma GCC unroll 16
      for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
        for (int j = 0; j < kVectors; ++j) sums[i][j] += a[i] * row[j];
      }
    }
    T* c = static_cast<T*>(t.c);
    if constexpr (kSame) {
      if (t.columns == kVectors * kLanes) {
#pragma GCC unroll 16
        for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
          for (int j = 0; j < kVectors; ++j) {
            Unaligned& to = *reinterpret_cast<Unaligned*>(c + i * t.c_stride + j * kLanes);
            to = stored_vector(t.adds ? to + sums[i][j] : sums[i][j]);
          }
        }
        return;
      }
    }
    S rows[kRows][kVectors * kLanes];
    __builtin_memcpy(rows, sums, sizeof(rows));
    for (int i = 0; i < kRows; ++i, c += t.c_stride) {
      for (int64_t j = 0; j < t.columns; ++j) {
        c[j] = stored(t.adds ? static_cast<S>(rows[i][j] + c[j]) : rows[i][j]);
      }
    }
  }

  using TileFn = void (*)(const ProductTile&);
  template <int... i>
  static constexpr std::array<TileFn, kTileRows * kTileVectors> tiles(
      std::integer_sequence<int, i...>) {
    return {&tile_of<i / kTileVectors + 1, i % kTileVectors + 1>...};
  }

  static void tile(const ProductTile& t) {
    static constexpr std::array<TileFn, kTileRows* kTileVectors> kTiles =
        tiles(std::make_integer_sequence<int, kTileRows * kTileVectors>());
    const int64_t vectors = (t.columns + kLanes - 1) / kLanes;
    kTiles[(t.rows - 1) * kTileVectors + vectors - 1](t);
  }

  // kSums additions at a time of each, so that all together hide their latency.
  template <int kLines, int kColumns, int kSums>
  static void dots_of(const ProductDots& d, int64_t line, int64_t column) {
    const T* const x = elements(d.x) + line * d.line_stride;
    const S* const v = sums_of(d.v) + column * d.depth;
    Vector sums[kLines][kColumns][kSums] = {};
    int64_t p = 0;
    for (; p + kSums * kLanes <= d.depth; p += kSums * kLanes) {
#pragma GCC unroll 8
      for (int s = 0; s < kSums; ++s) {
        Vector factors[kColumns];
#pragma GCC unroll 4
        for (int j = 0; j < kColumns; ++j) {
          factors[j] = *reinterpret_cast<const Unaligned*>(v + j * d.depth + p + s * kLanes);
        }
#pragma GCC unroll 4
        for (int i = 0; i < kLines; ++i) {
          const Vector loaded = load(x + i * d.line_stride + p + s * kLanes);
#pragma GCC unroll 4
          for (int j = 0; j < kColumns; ++j) sums[i][j][s] += loaded * factors[j];
        }
      }
    }
    T* const y = static_cast<T*>(d.y) + line * d.y_line_stride + column * d.y_column_stride;
    for (int i = 0; i < kLines; ++i) {
      for (int j = 0; j < kColumns; ++j) {
        y[i * d.y_line_stride + j * d.y_column_stride] =
            finish_dot<kSums>(sums[i][j], x + i * d.line_stride, v + j * d.depth, p, d.depth);
      }
    }
  }

  // Adds the products from `p` on.
  template <int kSums>
  static T finish_dot(const Vector* sums, const T* x, const S* v, int64_t p, int64_t depth) {
    Vector all = sums[0];
    for (int s = 1; s < kSums; ++s) all += sums[s];
    for (; p + kLanes <= depth; p += kLanes) {
      all += load(x + p) * *reinterpret_cast<const Unaligned*>(v + p);
    }
    for (int half = kLanes / 2; half > 0; half /= 2) {
      for (int lane = 0; lane < half; ++lane) {
        all[lane] = static_cast<S>(all[lane] + all[lane + half]);
      }
    }
    S sum = all[0];
    for (; p < depth; ++p) sum = multiply_add(static_cast<S>(x[p]), v[p], sum);
    return stored(sum);
  }

  template <int kLines>
  static void dots_of_lines(const ProductDots& d, int64_t line) {
    constexpr int kColumns = 4;
    int64_t j = 0;
    for (; j + kColumns <= d.columns; j += kColumns) dots_of<kLines, kColumns, 1>(d, line, j);
    for (; j < d.columns; ++j) dots_of<kLines, 1, kLines == 1 ? 8 : 2>(d, line, j);
  }

  static void dots(const ProductDots& d) {
    constexpr int kLines = kTileRows > 6 ? 4 : 2;  // as registers allow
    int64_t i = 0;
    for (; i + kLines <= d.lines; i += kLines) dots_of_lines<kLines>(d, i);
    for (; i < d.lines; ++i) dots_of_lines<1>(d, i);
  }

  static void sums(const void* x, int64_t depth_stride, const void* v, int64_t lines, int64_t depth,
                   void* y) {
    const S* const factors = sums_of(v);
    T* const out = static_cast<T*>(y);
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
        for (int64_t i = 0; i < count; ++i) {
          S sum = multiply_add(static_cast<S>(row[i]), factors[p], strip[i]);
          sum = multiply_add(static_cast<S>(row1[i]), factors[p + 1], sum);
          sum = multiply_add(static_cast<S>(row2[i]), factors[p + 2], sum);
          strip[i] = multiply_add(static_cast<S>(row3[i]), factors[p + 3], sum);
        }
      }
      for (; p < depth; ++p, row += depth_stride) {
        for (int64_t i = 0; i < count; ++i) {
          strip[i] = multiply_add(static_cast<S>(row[i]), factors[p], strip[i]);
        }
      }
      for (int64_t i = 0; i < count; ++i) out[begin + i] = stored(strip[i]);
    }
  }

  // Of kColumns columns, whose rows in b are contiguous.
  template <int kColumns>
  static void small_of(const SmallProducts& x) {
    typedef S Row __attribute__((vector_size(kColumns * sizeof(S))));
    typedef T Loaded __attribute__((vector_size(kColumns * sizeof(T)), aligned(alignof(T))));
    const T* a = elements(x.a);
    const T* b = elements(x.b);
    T* c = static_cast<T*>(x.c);
    for (int64_t batch = 0; batch < x.batch; ++batch) {
      for (int64_t i = 0; i < x.m; ++i, c += kColumns) {
        Row sums{};
        for (int64_t p = 0; p < x.k; ++p) {
          const auto row = *reinterpret_cast<const Loaded*>(b + p * x.b_strides[1]);
          const S factor = static_cast<S>(a[i * x.a_strides[1] + p * x.a_strides[2]]);
          if constexpr (kSame) {
            sums += factor * row;
          } else {
            sums += factor * __builtin_convertvector(row, Row);
          }
        }
        for (int j = 0; j < kColumns; ++j) c[j] = stored(sums[j]);
      }
      a += x.a_strides[0];
      b += x.b_strides[0];
    }
  }

  static void small(const SmallProducts& x) {
    if (x.b_strides[2] == 1) {
      switch (x.n) {
        case 2: return small_of<2>(x);
        case 4: return small_of<4>(x);
        case 8: return small_of<8>(x);
        default: break;
      }
    }
    const T* a = elements(x.a);
    const T* b = elements(x.b);
    T* c = static_cast<T*>(x.c);
    for (int64_t batch = 0; batch < x.batch; ++batch) {
      for (int64_t i = 0; i < x.m; ++i, c += x.n) {
        const T* const row = a + i * x.a_strides[1];
        for (int64_t j = 0; j < x.n; ++j) {
          const T* const column = b + j * x.b_strides[2];
          S sum = 0;
          for (int64_t p = 0; p < x.k; ++p) {
            sum = multiply_add(static_cast<S>(row[p * x.a_strides[2]]),
                               static_cast<S>(column[p * x.b_strides[1]]), sum);
          }
          c[j] = stored(sum);
        }
      }
      a += x.a_strides[0];
      b += x.b_strides[0];
    }
  }

  static void fold(const void* parts, int64_t count, int64_t size, void* c) {
    T* const out = static_cast<T*>(c);
    const T* part = elements(parts);
    for (int64_t i = 0; i < size; ++i) out[i] = part[i];
    for (int64_t p = 1; p < count; ++p) {
      part += size;
      for (int64_t i = 0; i < size; ++i) out[i] = static_cast<T>(out[i] + part[i]);
    }
    for (int64_t i = 0; i < size; ++i) out[i] = stored(out[i]);
  }

  static void fill(ProductLoops& loops) {
    loops = {.rows = kTileRows,
             .columns = kTileVectors * kLanes,
             .lanes = kLanes,
             .element_size = sizeof(T),
             .sum_size = sizeof(S),
             .pack = &pack,
             .tile = &tile,
             .dots = &dots,
             .sums = &sums,
             .small = &small,
             .fold = &fold};
  }
};

}  // namespace sluice::kernels::SLUICE_ISA_NAMESPACE

#endif  // SLUICE_KERNELS_LIBRARY_PRODUCTS_PRODUCTS_IMPL_H_
