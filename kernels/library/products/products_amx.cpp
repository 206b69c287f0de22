// Products of bfloat16 by AMX, whose registers are tiles of 16 rows of 64 bytes, and one of whose
// instructions multiplies 16 x 32 by 32 x 16 elements: of each pair along the depth first those at
// odd and those at even places, each in order, and then both added. Subnormals count as zero.
//
// Compiled like the x86-64-v4 loops, whose other functions these ones complete.
#include <immintrin.h>

#include "kernels/library/products/products_impl.h"

namespace sluice::kernels::SLUICE_ISA_NAMESPACE {

void use_amx(ProductLoops& loops);

namespace {

constexpr int kLines = 16, kRun = 32;  // of a tile of operands: 16 runs of 32 along the depth
constexpr int kWidth = 2 * kLines;     // of a tile of the product
constexpr int kTileElements = kLines * kRun;
constexpr int kAhead = 4 * kWidth * kRun, kPartsAhead = 4;  // what is fetched, of b and to pack

// Rows of a tile register. Of pairs along the depth: one of each of 16 lines, or 16 of a line.
struct Tile {
  __m512i rows[kLines];

  void store(uint16_t* out, int64_t stride) const {
#pragma GCC unroll 16
    for (int i = 0; i < kLines; ++i) _mm512_storeu_si512(out + i * stride, rows[i]);
  }
};

// GCC 12 believes that the plain forms of these read a register that nothing has written.
template <bool kHigh>
__m512i pairs_of(__m512i x, __m512i y) {
  return kHigh ? _mm512_maskz_unpackhi_epi32(0xffff, x, y)
               : _mm512_maskz_unpacklo_epi32(0xffff, x, y);
}
template <bool kHigh>
__m512i fours_of(__m512i x, __m512i y) {
  return kHigh ? _mm512_maskz_unpackhi_epi64(0xff, x, y) : _mm512_maskz_unpacklo_epi64(0xff, x, y);
}
template <int kParts>
__m512i parts_of(__m512i x, __m512i y) {
  return _mm512_maskz_shuffle_i32x4(0xffff, x, y, kParts);
}

// Pair j of line i becomes pair i of line j.
inline Tile transposed(const Tile& x) {
  Tile by2, by4, by8, out;
#pragma GCC unroll 8
  for (int i = 0; i < kLines; i += 2) {
    by2.rows[i] = pairs_of<false>(x.rows[i], x.rows[i + 1]);
    by2.rows[i + 1] = pairs_of<true>(x.rows[i], x.rows[i + 1]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < kLines; i += 4) {
    by4.rows[i] = fours_of<false>(by2.rows[i], by2.rows[i + 2]);
    by4.rows[i + 1] = fours_of<true>(by2.rows[i], by2.rows[i + 2]);
    by4.rows[i + 2] = fours_of<false>(by2.rows[i + 1], by2.rows[i + 3]);
    by4.rows[i + 3] = fours_of<true>(by2.rows[i + 1], by2.rows[i + 3]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    by8.rows[i] = parts_of<0x88>(by4.rows[i], by4.rows[i + 4]);
    by8.rows[i + 4] = parts_of<0xdd>(by4.rows[i], by4.rows[i + 4]);
    by8.rows[i + 8] = parts_of<0x88>(by4.rows[i + 8], by4.rows[i + 12]);
    by8.rows[i + 12] = parts_of<0xdd>(by4.rows[i + 8], by4.rows[i + 12]);
  }
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) {
    out.rows[i] = parts_of<0x88>(by8.rows[i], by8.rows[i + 8]);
    out.rows[i + 8] = parts_of<0xdd>(by8.rows[i], by8.rows[i + 8]);
  }
  return out;
}

__mmask32 first_of_run(int64_t count) {
  return count >= kRun ? ~__mmask32{0} : (__mmask32{1} << count) - 1;
}

// Some of the lines of a panel, for some of its depth; what is not there reads as zeros.
struct Part {
  const uint16_t* x;
  int64_t line_stride, depth_stride, lines, depth;

  // Of kLines contiguous lines from `first` on.
  Tile contiguous_lines(int64_t first) const {
    Tile tile;
    const __mmask32 mask = first_of_run(depth);
#pragma GCC unroll 16
    for (int i = 0; i < kLines; ++i) {
      tile.rows[i] = first + i < lines
                         ? _mm512_maskz_loadu_epi16(mask, x + (first + i) * line_stride)
                         : _mm512_setzero_si512();
    }
    return tile;
  }
  // Pairs of all lines, which are beside each other: two tiles.
  void interleaved_lines(Tile* tiles) const {
    const __mmask32 mask = first_of_run(lines);
    // What unpacking takes from four parts of a register, it takes from its halves.
    const __m512i order = _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7);
    const auto row = [&](int64_t p) {
      if (p >= depth) return _mm512_setzero_si512();
      return _mm512_maskz_permutexvar_epi64(0xff, order,
                                            _mm512_maskz_loadu_epi16(mask, x + p * depth_stride));
    };
#pragma GCC unroll 16
    for (int p = 0; p < kLines; ++p) {
      const __m512i even = row(2 * p), odd = row(2 * p + 1);
      tiles[0].rows[p] = _mm512_unpacklo_epi16(even, odd);
      tiles[1].rows[p] = _mm512_unpackhi_epi16(even, odd);
    }
  }
  void gather(uint16_t* out) const {
    for (int64_t i = 0; i < kWidth; ++i) {
      for (int64_t p = 0; p < kRun; ++p) {
        out[i * kRun + p] = i < lines && p < depth ? x[i * line_stride + p * depth_stride] : 0;
      }
    }
  }
};

// kPairs: rows of the tiles are pairs of 16 lines, else 16 lines.
template <bool kPairs>
void pack_part(const Part& part, int64_t width, uint16_t* out) {
  const int64_t stride = kPairs ? 2 * width : kRun;
  const int64_t next = kPairs ? kRun : kTileElements;
  if (part.line_stride == 1 && part.depth_stride != 1) {
    Tile tiles[2];
    part.interleaved_lines(tiles);
    for (int64_t i = 0; i < width; i += kLines, out += next) {
      const Tile& tile = tiles[i / kLines];
      (kPairs ? tile : transposed(tile)).store(out, stride);
    }
    return;
  }
  uint16_t gathered[kWidth * kRun];
  Part lines = part;
  if (part.depth_stride != 1) {
    part.gather(gathered);
    lines = {gathered, kRun, 1, kWidth, kRun};
  }
  for (int64_t i = 0; i < width; i += kLines, out += next) {
#pragma GCC unroll 16
    for (int q = 0; q < kLines; ++q) {
      __builtin_prefetch(lines.x + (i + q) * lines.line_stride + kPartsAhead * kRun);
    }
    const Tile tile = lines.contiguous_lines(i);
    (kPairs ? transposed(tile) : tile).store(out, stride);
  }
}

// Panels are parts of kRun of the depth; `width` is kLines or kWidth.
template <bool kPairs>
void pack(const void* from, int64_t line_stride, int64_t depth_stride, int64_t lines, int64_t depth,
          int64_t width, void* to) {
  const auto* x = static_cast<const uint16_t*>(from);
  auto* out = static_cast<uint16_t*>(to);
  for (int64_t line = 0; line < lines; line += width, x += width * line_stride) {
    for (int64_t p = 0; p < depth; p += kRun, out += width * kRun) {
      pack_part<kPairs>({x + p * depth_stride, line_stride, depth_stride, lines - line, depth - p},
                        width, out);
    }
  }
}

// As LDTILECFG reads it. Sums are tiles 0 to 3, a is in 4 and 5, b in 6 and 7; all are whole.
struct alignas(64) TileConfig {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
constexpr TileConfig kTileConfig;

// For one part of the depth, of rows that are not filled up with zeros.
TileConfig short_config(int64_t depth) {
  TileConfig config;
  config.row_bytes[4] = config.row_bytes[5] = static_cast<uint16_t>(2 * depth);
  config.rows[6] = config.rows[7] = static_cast<uint8_t>(depth / 2);
  return config;
}

// out[i * kWidth + j]; kRows and kColumns in tiles.
template <int kRows, int kColumns>
void sum_tiles(const ProductTile& t, const uint16_t* a, const uint16_t* b, float* out) {
  const bool is_packed = t.a_stride != 1;
  const int64_t a_next = t.a_stride * kRun, a_row = is_packed ? kRun : t.a_line_stride;
  _tile_zero(0);
  if constexpr (kColumns == 2) _tile_zero(1);
  if constexpr (kRows == 2) _tile_zero(2);
  if constexpr (kRows == 2 && kColumns == 2) _tile_zero(3);
  for (int64_t p = 0; p < t.depth; p += kRun, a += a_next, b += t.b_stride * kRun) {
#pragma GCC unroll 32
    for (int i = 0; i < 16 * kColumns; ++i) __builtin_prefetch(b + kAhead + i * kRun);
    _tile_loadd(4, a, a_row * 2);
    _tile_loadd(6, b, t.b_stride * 4);
    _tile_dpbf16ps(0, 4, 6);
    if constexpr (kColumns == 2) {
      _tile_loadd(7, b + kRun, t.b_stride * 4);
      _tile_dpbf16ps(1, 4, 7);
    }
    if constexpr (kRows == 2) {
      _tile_loadd(5, a + kLines * a_row, a_row * 2);
      _tile_dpbf16ps(2, 5, 6);
      if constexpr (kColumns == 2) _tile_dpbf16ps(3, 5, 7);
    }
  }
  constexpr int kRowBytes = kWidth * sizeof(float);
  _tile_stored(0, out, kRowBytes);
  if constexpr (kColumns == 2) _tile_stored(1, out + kLines, kRowBytes);
  if constexpr (kRows == 2) _tile_stored(2, out + kLines * kWidth, kRowBytes);
  if constexpr (kRows == 2 && kColumns == 2) {
    _tile_stored(3, out + kLines * kWidth + kLines, kRowBytes);
  }
}

using L = Lanes<float, float>;
using Halves = Rounding<BFloat16>;

// Two vectors, rounded: one of 32 halves.
__m512i rounded(L::Vector low, L::Vector high) {
  typedef uint16_t Words __attribute__((vector_size(64)));
  constexpr Words kUpper{1,  3,  5,  7,  9,  11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31,
                         33, 35, 37, 39, 41, 43, 45, 47, 49, 51, 53, 55, 57, 59, 61, 63};
  return _mm512_permutex2var_epi16(
      reinterpret_cast<__m512i>(Halves::rounded_in_place(L::canonical(low))),
      reinterpret_cast<__m512i>(kUpper),
      reinterpret_cast<__m512i>(Halves::rounded_in_place(L::canonical(high))));
}

// The same of what AMX summed, by one instruction. That takes subnormals for zero, but AMX gives
// none; it keeps NaN as they are.
__m512i rounded_at_once(L::Vector low, L::Vector high) {
  const __m512i halves = reinterpret_cast<__m512i>(
      _mm512_cvtne2ps_pbh(reinterpret_cast<__m512>(high), reinterpret_cast<__m512>(low)));
  const __m512i magnitudes = _mm512_and_si512(halves, _mm512_set1_epi16(0x7fff));
  const __mmask32 is_nan = _mm512_cmpgt_epu16_mask(magnitudes, _mm512_set1_epi16(0x7f80));
  return _mm512_mask_mov_epi16(halves, is_nan, _mm512_set1_epi16(0x7fc0));
}

// Pairs of vectors of sums, added to c or not, are 32 halves that lie side by side: a row of whole
// tiles, or two rows. `next_sums`, `next_c`: from one of a pair to the other.
void store_pairs(const ProductTile& t, int64_t rows, const float* sums, int64_t next_sums,
                 const float* c, int64_t next_c, uint16_t* halves) {
#pragma GCC unroll 2
  for (int64_t i = 0; i < t.rows; i += rows) {
    L::Vector low = L::load_sums(sums), high = L::load_sums(sums + next_sums);
    if (t.adds) {
      low = L::load_sums(c) + low;
      high = L::load_sums(c + next_c) + high;
    }
    _mm512_storeu_si512(halves, t.adds ? rounded(low, high) : rounded_at_once(low, high));
    sums += rows * kWidth;
    c += rows * t.c_stride;
    halves += rows * t.halves_stride;
  }
}

// Rows of kLines sums, added to c or not; where they go, as float32 or rounded.
template <bool kRounds>
void store_whole(const ProductTile& t, const float* sums, const float* c, int64_t rows, void* to,
                 int64_t to_stride) {
#pragma GCC unroll 4
  for (int64_t i = 0; i < rows; ++i, sums += kWidth, c += t.c_stride) {
    L::Vector sum = L::load_sums(sums);
    if (t.adds) sum = L::load_sums(c) + sum;
    sum = L::canonical(sum);
    if constexpr (kRounds) {
      *reinterpret_cast<Halves::Halves*>(static_cast<uint16_t*>(to) + i * to_stride) =
          Halves::rounded(sum);
    } else {
      *reinterpret_cast<L::Unaligned*>(static_cast<float*>(to) + i * to_stride) = sum;
    }
  }
}

void store_sums(const ProductTile& t, float* sums, float* c, uint16_t* halves) {
  if (halves != nullptr && t.columns == kWidth) {
    return store_pairs(t, 1, sums, kLines, c, kLines, halves);
  }
  if (halves != nullptr && t.columns == kLines && t.halves_stride == kLines && t.rows % 2 == 0) {
    return store_pairs(t, 2, sums, kWidth, c, t.c_stride, halves);
  }
  for (int64_t j = 0; j < t.columns; j += kLines, sums += kLines, c += kLines) {
    const int64_t columns = t.columns - j < kLines ? t.columns - j : kLines;
    if (columns == kLines && halves != nullptr) {
      store_whole<true>(t, sums, c, t.rows, halves + j, t.halves_stride);
      continue;
    }
    if (columns == kLines) {
      store_whole<false>(t, sums, c, t.rows, c, t.c_stride);
      continue;
    }
    const L::Mask mask(columns);
    for (int64_t i = 0; i < t.rows; ++i) {
      float* const row = c + i * t.c_stride;
      L::Vector sum = L::load_sums(sums + i * kWidth);
      if (t.adds) sum = L::load(row, mask) + sum;
      L::store(row, mask, L::canonical(sum));
    }
    if (halves == nullptr) continue;
    Halves::round(c, t.c_stride, t.rows, columns, halves + j, t.halves_stride);
  }
}

void tile(const ProductTile& t) {
  const auto* a = static_cast<const uint16_t*>(t.a);
  const auto* b = static_cast<const uint16_t*>(t.b);
  auto* c = static_cast<float*>(t.c);
  auto* halves = static_cast<uint16_t*>(t.halves);
  const auto sum = t.rows <= kLines ? (t.columns <= kLines ? &sum_tiles<1, 1> : &sum_tiles<1, 2>)
                                    : (t.columns <= kLines ? &sum_tiles<2, 1> : &sum_tiles<2, 2>);
  alignas(64) float sums[kWidth * kWidth];
  if (t.a_stride == 1 && t.depth < kRun) {
    const TileConfig config = short_config(t.depth);
    _tile_loadconfig(&config);
  } else {
    _tile_loadconfig(&kTileConfig);
  }
  for (int64_t i = 0; i < t.count; ++i, a += t.a_next, b += t.b_next, c += t.c_next) {
    sum(t, a, b, sums);
    store_sums(t, sums, c, halves);
    if (halves != nullptr) halves += t.halves_next;
  }
  _tile_release();  // or the operating system saves and restores tiles
}

}  // namespace

void use_amx(ProductLoops& loops) {
  loops.rows = kWidth;
  loops.columns = kWidth;
  loops.packed_rows = kLines;
  loops.packed_depth = kRun;
  loops.whole_depth = 1024;  // more misses of the first-level cache, but nothing is added to c
  loops.reads_rows = true;
  loops.short_depth = 2;
  loops.max_vectors = 8;
  loops.packed_size = sizeof(uint16_t);
  loops.direct = false;
  loops.pack_rows = &pack<false>;
  loops.pack_columns = &pack<true>;
  loops.tile = &tile;
}

}  // namespace sluice::kernels::SLUICE_ISA_NAMESPACE
