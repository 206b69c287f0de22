// Lines of 16-bit elements along the depth, as the instructions read them that multiply pairs along
// it: a run of a line, or pairs of many lines side by side. Included like products_lanes.h, by
// files that are compiled for AVX-512.
#ifndef SLUICE_KERNELS_LIBRARY_PRODUCTS_PRODUCTS_PAIRS_H_
#define SLUICE_KERNELS_LIBRARY_PRODUCTS_PRODUCTS_PAIRS_H_

#include <immintrin.h>

#include <cstdint>

namespace sluice::kernels::SLUICE_ISA_NAMESPACE {

inline constexpr int kLines = 16, kRun = 32;    // of a tile: 16 runs of 32 along the depth
inline constexpr int kPairsWidth = 2 * kLines;  // of the widest panel
inline constexpr int kPartsAhead = 4;           // what is fetched, to pack

// Rows of a tile register. Of pairs along the depth: one of each of 16 lines, or 16 of a line.
struct Tile {
  __m512i rows[kLines];

  void store(uint16_t* out, int64_t stride) const {
#pragma GCC unroll 16
    for (int i = 0; i < kLines; ++i) _mm512_storeu_si512(out + i * stride, rows[i]);
  }
  // The first `pairs` of the first `count` rows.
  void store(uint16_t* out, int64_t stride, int64_t count, __mmask16 pairs) const {
#pragma GCC unroll 16
    for (int i = 0; i < kLines; ++i) {
      if (i < count) _mm512_mask_storeu_epi32(out + i * stride, pairs, rows[i]);
    }
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

inline __mmask32 first_of_run(int64_t count) {
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
    for (int64_t i = 0; i < kPairsWidth; ++i) {
      for (int64_t p = 0; p < kRun; ++p) {
        out[i * kRun + p] = i < lines && p < depth ? x[i * line_stride + p * depth_stride] : 0;
      }
    }
  }
};

// The first kRun of the depth of at most kPairsWidth lines, tile by tile: store(tile, line), where
// `line` is the first of the kLines in it. kPairs: rows of tiles are pairs of lines, else lines.
template <bool kPairs, typename Store>
void pack_part(const Part& part, int64_t width, const Store& store) {
  if (part.line_stride == 1 && part.depth_stride != 1) {
    Tile tiles[2];
    part.interleaved_lines(tiles);
    for (int64_t i = 0; i < width; i += kLines) {
      const Tile& tile = tiles[i / kLines];
      store(kPairs ? tile : transposed(tile), i);
    }
    return;
  }
  uint16_t gathered[kPairsWidth * kRun];
  Part lines = part;
  if (part.depth_stride != 1) {
    part.gather(gathered);
    lines = {gathered, kRun, 1, kPairsWidth, kRun};
  }
  for (int64_t i = 0; i < width; i += kLines) {
#pragma GCC unroll 16
    for (int q = 0; q < kLines; ++q) {
      __builtin_prefetch(lines.x + (i + q) * lines.line_stride + kPartsAhead * kRun);
    }
    const Tile tile = lines.contiguous_lines(i);
    store(kPairs ? transposed(tile) : tile, i);
  }
}

}  // namespace sluice::kernels::SLUICE_ISA_NAMESPACE

#endif  // SLUICE_KERNELS_LIBRARY_PRODUCTS_PRODUCTS_PAIRS_H_
