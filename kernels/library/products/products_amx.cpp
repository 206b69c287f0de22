// Products of bfloat16 by AMX, whose registers are tiles of 16 rows of 64 bytes, and one of whose
// instructions multiplies 16 x 32 by 32 x 16 elements: of each pair along the depth first those at
// odd and those at even places, each in order, and then both added. Subnormals count as zero.
//
// Compiled like the x86-64-v4 loops, whose other functions these ones complete.
#include <immintrin.h>

#include "kernels/library/products/products_impl.h"
#include "kernels/library/products/products_pairs.h"

namespace sluice::kernels::SLUICE_ISA_NAMESPACE {

void use_amx(ProductLoops& loops);

namespace {

constexpr int kWidth = kPairsWidth;        // of a tile of the product
constexpr int kAhead = 4 * kWidth * kRun;  // what is fetched of b

// Panels are parts of kRun of the depth; `width` is kLines or kWidth.
template <bool kPairs>
void pack(const void* from, int64_t line_stride, int64_t depth_stride, int64_t lines, int64_t depth,
          int64_t width, void* to) {
  const auto* x = static_cast<const uint16_t*>(from);
  auto* out = static_cast<uint16_t*>(to);
  const int64_t stride = kPairs ? 2 * width : kRun;
  const int64_t next = kPairs ? 2 : kRun;  // from line to line
  for (int64_t line = 0; line < lines; line += width, x += width * line_stride) {
    for (int64_t p = 0; p < depth; p += kRun, out += width * kRun) {
      pack_part<kPairs>(
          {x + p * depth_stride, line_stride, depth_stride, lines - line, depth - p}, width,
          [&](const Tile& tile, int64_t first) { tile.store(out + first * next, stride); });
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
