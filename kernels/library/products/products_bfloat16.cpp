// Products of bfloat16 by AVX-512's instruction for them, which adds to each float32 of a vector
// the products of a pair of elements with another one: that at the odd place first, each by a fused
// multiply-add. Subnormals count as zero.
//
// Compiled like the x86-64-v4 loops, whose other functions these ones complete.
#include <immintrin.h>

#include <algorithm>

#include "kernels/library/products/products_impl.h"
#include "kernels/library/products/products_pairs.h"

namespace sluice::kernels::SLUICE_ISA_NAMESPACE {

void use_pairs(ProductLoops& loops);

namespace {

// Panels of pairs: out[(p * width + i) * 2 + q] is element 2 p + q of line i.
void pack(const void* from, int64_t line_stride, int64_t depth_stride, int64_t lines, int64_t depth,
          int64_t width, void* to) {
  const auto* x = static_cast<const uint16_t*>(from);
  auto* out = static_cast<uint16_t*>(to);
  for (int64_t line = 0; line < lines; line += width, x += width * line_stride) {
    for (int64_t p = 0; p < depth; p += kRun) {
      const int64_t pairs = (std::min<int64_t>(kRun, depth - p) + 1) / 2;
      pack_part<true>({x + p * depth_stride, line_stride, depth_stride, lines - line, depth - p},
                      width, [&](const Tile& tile, int64_t first) {
                        const int64_t count = std::min<int64_t>(kLines, width - first);
                        tile.store(out + 2 * first, 2 * width, pairs,
                                   static_cast<__mmask16>((uint32_t{1} << count) - 1));
                      });
      out += pairs * 2 * width;
    }
  }
}

// Of pairs, each as the float32 of its bits.
struct PairLanes : Lanes<float, float> {
  // Rows that are read where they are may begin at any element.
  typedef float Operand __attribute__((aligned(2), may_alias));

  static Vector add_product(float factor, Vector row, Vector sum) {
    return reinterpret_cast<Vector>(_mm512_dpbf16_ps(reinterpret_cast<__m512>(sum),
                                                     reinterpret_cast<__m512bh>(Vector{} + factor),
                                                     reinterpret_cast<__m512bh>(row)));
  }
};

// As Rounding::round_tiles, by an instruction that takes subnormals for zero: sums of one slab are
// none.
void round_tiles(const ProductTile& t) {
  if (t.halves == nullptr) return;
  if (t.adds) return Rounding<BFloat16>::round_tiles(t);
  const auto* sums = static_cast<const float*>(t.c);
  auto* halves = static_cast<uint16_t*>(t.halves);
  const __mmask32 mask = first_of_run(t.columns);
  const auto low_mask = static_cast<__mmask16>(mask),
             high_mask = static_cast<__mmask16>(mask >> 16);
  for (int64_t i = 0; i < t.count; ++i, sums += t.c_next, halves += t.halves_next) {
    for (int64_t row = 0; row < t.rows; ++row) {
      const float* const from = sums + row * t.c_stride;
      const __m512 low = _mm512_maskz_loadu_ps(low_mask, from);
      const __m512 high = _mm512_maskz_loadu_ps(high_mask, from + kLines);
      _mm512_mask_storeu_epi16(halves + row * t.halves_stride, mask,
                               reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low)));
    }
  }
}

void tile(const ProductTile& t) {
  ProductTile of_pairs = t;
  of_pairs.depth = (t.depth + 1) / 2;
  if (t.a_line_stride > 1) of_pairs.a_line_stride /= 2;  // not of packed rows
  of_pairs.a_next /= 2;
  of_pairs.b_next /= 2;
  of_pairs.fetch_stride *= 2;
  using Sums = Tiles<float, float>;
  if (t.columns <= PairLanes::kCount) {
    Sums::run<PairLanes, 1>(of_pairs);
  } else {
    Sums::run<PairLanes, kTileVectors>(of_pairs);
  }
  round_tiles(t);
}

}  // namespace

void use_pairs(ProductLoops& loops) {
  loops.packed_rows = 1;
  loops.packed_depth = 2;
  loops.slab_depth = 768;
  loops.whole_depth = 1024;
  loops.reads_rows = true;
  loops.short_depth = 2;
  loops.max_vectors = 8;
  loops.packed_size = sizeof(uint16_t);
  loops.direct = false;
  loops.pack_rows = &pack;
  loops.pack_columns = &pack;
  loops.tile = &tile;
}

}  // namespace sluice::kernels::SLUICE_ISA_NAMESPACE
