// Tiles of a product: their sums stay in registers throughout. Included like products_lanes.h.
#ifndef SLUICE_KERNELS_LIBRARY_PRODUCTS_PRODUCTS_TILES_H_
#define SLUICE_KERNELS_LIBRARY_PRODUCTS_PRODUCTS_TILES_H_

#include <array>
#include <utility>

#include "kernels/library/products/products.h"
#include "kernels/library/products/products_lanes.h"
#include "kernels/library/products/products_squares.h"

namespace sluice::kernels::SLUICE_ISA_NAMESPACE {

// A tile's sums, a row of b and an element of a are in registers: 32 of 64 bytes, or 16.
inline constexpr int kTileRows = kVectorBytes == 64 ? 14 : 6;
inline constexpr int kTileVectors = 2;  // in a row
// Of a tile whose rows are one vector: as many sums as keep both units of multiply-adds busy.
inline constexpr int kThinTileRows = kVectorBytes == 64 ? 14 : 12;
inline constexpr int64_t kFetchedDepth = 16;

template <typename T, typename S>
struct Tiles {
  using Widest = Lanes<T, S>;
  using Vector = typename Widest::Vector;

  template <typename L, int kRows, int kVectors>
  static void tile_of(const ProductTile& t) {
    using Vector = typename L::Vector;
    constexpr int kLast = (kVectors - 1) * L::kCount;  // the first column of the last vector
    constexpr int kSteps = kVectors == 2 ? 2 : 1;      // along the depth, unrolled
    const typename L::Mask mask(t.columns - kLast);
    const auto load_last = [&](const S* x) {
      if constexpr (L::kMasks) {
        return L::load(x, mask);
      } else {
        return L::load_sums(x);
      }
    };
    using Operand = typename L::Operand;
    const auto* a = static_cast<const Operand*>(t.a);
    const S* b = static_cast<const S*>(t.b);
    T* c = static_cast<T*>(t.c);
    const int64_t a_line = t.a_line_stride;
    // Where little is computed of them: lines of a that are read where they are, so far ahead.
    constexpr int64_t kElementsOfLine = 64 / sizeof(Operand), kAhead = 4 * kElementsOfLine;
    const bool fetches = kVectors == 1 && t.a_stride == 1 && t.depth > kAhead;
    const char* of_tile = t.fetch != nullptr ? t.fetch : static_cast<const char*>(t.b);
    for (int64_t tiles = t.count; tiles > 0;
         --tiles, a += t.a_next, b += t.b_next, c += t.c_next, of_tile += t.fetch_next) {
      Vector sums[kRows][kVectors];
#pragma GCC unroll 16
      for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
        for (int j = 0; j < kVectors; ++j) sums[i][j] = Vector{};
      }
      // Where this takes little beside the rest: what the tile after the next one reads, or writes.
      if (t.depth >= kFetchedDepth) {
#pragma GCC unroll 16
        for (int i = 0; i < kRows; ++i) {
          __builtin_prefetch(a + 2 * t.a_next + i * a_line);
          __builtin_prefetch(c + i * t.c_stride, 1);
          if (kVectors == 2) __builtin_prefetch(c + i * t.c_stride + L::kCount, 1);
        }
      } else if (t.ahead > 0) {
        constexpr int64_t kSize = sizeof(S);
        prefetch(a, t.ahead, t.a_next * kSize);
        prefetch(b, t.ahead, t.b_next * kSize);
        prefetch(c, t.ahead, t.c_next * static_cast<int64_t>(sizeof(T)));
      } else if (kVectors == 2 && t.count > 1) {
#pragma GCC unroll 16
        for (int i = 0; i < kRows; ++i) {
          T* const row = c + 2 * t.c_next + i * t.c_stride;
          __builtin_prefetch(row, 1);
          __builtin_prefetch(row + L::kCount, 1);
        }
      }
      // There are not enough registers for the address of each line.
      constexpr int kLinesOfAddress = 3, kAddresses = (kRows + 2) / kLinesOfAddress;
      const Operand* lines[kAddresses];
#pragma GCC unroll 16
      for (int i = 0; i < kAddresses; ++i) {
        lines[i] = a + i * kLinesOfAddress * a_line;
        asm("" : "+r"(lines[i]));
      }
      const S* row_of_b = b;
      const char* fetched = of_tile;
      bool skips = kSteps == 2 && t.depth % 2 != 0;  // the first of two steps
      for (int64_t left = t.depth; left > 0;) {
        if (fetches && left % kElementsOfLine == 0) {
          // At the end of its lines: of the next tile's.
          const int64_t beyond = left > kAhead ? kAhead : kAhead - t.depth + t.a_next;
#pragma GCC unroll 16
          for (int i = 0; i < kRows; ++i) {
            __builtin_prefetch(lines[i / kLinesOfAddress] + i % kLinesOfAddress * a_line + beyond);
          }
        }
#pragma GCC unroll 2
        for (int s = 0; s < kSteps; ++s) {
          if (s == 0 && skips) {
            skips = false;
            continue;
          }
          Vector row[kVectors];
          if constexpr (kVectors == 2) {
            row[0] = L::load_sums(row_of_b);
            __builtin_prefetch(fetched);
            __builtin_prefetch(fetched + 64);
            fetched += t.fetch_stride;
          }
          row[kVectors - 1] = load_last(row_of_b + kLast);
#pragma GCC unroll 16
          for (int i = 0; i < kRows; ++i) {
            const S factor = lines[i / kLinesOfAddress][i % kLinesOfAddress * a_line];
#pragma GCC unroll 2
            for (int j = 0; j < kVectors; ++j) {
              sums[i][j] = L::add_product(factor, row[j], sums[i][j]);
            }
          }
#pragma GCC unroll 16
          for (int i = 0; i < kAddresses; ++i) lines[i] += t.a_stride;
          row_of_b += t.b_stride;
          --left;
        }
      }
      if constexpr (L::kMasks) {
        if (t.adds) {
#pragma GCC unroll 16
          for (int i = 0; i < kRows; ++i) {
            const T* const from = c + i * t.c_stride;
            if constexpr (kVectors == 2) sums[i][0] = L::load_sums(from) + sums[i][0];
            sums[i][kVectors - 1] = L::load(from + kLast, mask) + sums[i][kVectors - 1];
          }
        }
#pragma GCC unroll 16
        for (int i = 0; i < kRows; ++i) {
          T* const to = c + i * t.c_stride;
          if constexpr (kVectors == 2) {
            *reinterpret_cast<typename L::Unaligned*>(to) = L::canonical(sums[i][0]);
          }
          L::store(to + kLast, mask, L::canonical(sums[i][kVectors - 1]));
        }
      } else {
        S rows[kRows][kVectors * L::kCount];
        __builtin_memcpy(rows, sums, sizeof(rows));
        for (int i = 0; i < kRows; ++i) {
          T* const to = c + i * t.c_stride;
          for (int64_t j = 0; j < t.columns; ++j) {
            to[j] = L::stored(t.adds ? static_cast<S>(rows[i][j] + to[j]) : rows[i][j]);
          }
        }
      }
    }
  }

  using TileFn = void (*)(const ProductTile&);
  template <typename L, int kVectors, int... i>
  static constexpr std::array<TileFn, sizeof...(i)> of_rows(std::integer_sequence<int, i...>) {
    return {&tile_of<L, i + 1, kVectors>...};
  }
  template <typename L, int kVectors>
  static void run(const ProductTile& t) {
    constexpr int kMostRows = kVectors == 1 ? kThinTileRows : kTileRows;
    static constexpr auto kTiles =
        of_rows<L, kVectors>(std::make_integer_sequence<int, kMostRows>());
    kTiles[t.rows - 1](t);
  }

  // In the narrowest vectors: stores of others that cross a cache line take longer, even where
  // masks leave nothing beyond it.
  static void tile(const ProductTile& t) {
    if constexpr (Widest::kMasks && kVectorBytes > 16) {
      if (SquareTiles<T, S>::run(t)) return;
    }
    const int64_t bytes = t.columns * static_cast<int64_t>(sizeof(S));
    if constexpr (Widest::kMasks && kVectorBytes > 16) {
      if (bytes <= 16) return run<Lanes<T, S, 16>, 1>(t);
    }
    if constexpr (Widest::kMasks && kVectorBytes > 32) {
      if (bytes <= 32) return run<Lanes<T, S, 32>, 1>(t);
    }
    if (bytes <= kVectorBytes) return run<Widest, 1>(t);
    run<Widest, kTileVectors>(t);
  }
};

}  // namespace sluice::kernels::SLUICE_ISA_NAMESPACE

#endif  // SLUICE_KERNELS_LIBRARY_PRODUCTS_PRODUCTS_TILES_H_
