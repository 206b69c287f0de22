// Library calls that put rows into an array, or combine them with it, at computed positions.
#ifndef SLUICE_FUSION_LIBRARY_SCATTER_H_
#define SLUICE_FUSION_LIBRARY_SCATTER_H_

#include <cstdint>
#include <string>

#include <sluice/dtype.h>
#include "fusion/lower/step.h"

namespace sluice::fusion {

// A matrix somewhere in a buffer; all in elements.
struct Strided {
  int64_t offset = 0, row = 0, column = 0;
};

// What becomes of an element that an update meets: the update, their sum, or what maximum() and
// minimum() give of the two.
enum class ScatterMode : uint8_t { kSet, kAdd, kMax, kMin };

// y is x, and then row positions[i] of y is combined with row i of the updates for i = 0, 1, ...:
// the last one that is set wins, and sums are rounded one after another. Positions outside the
// array are skipped: what computed them has reported them.
//
// Buffers: x (rows, columns), positions (count) of int64, updates (count, columns), y like x, but
// without gaps. All but the positions are of `dtype`, which is not bool where it adds, and a half
// type only where it sets.
struct ScatterAttributes : SizedAttributes<ScatterAttributes> {
  DType dtype = DType::kFloat32;
  ScatterMode mode = ScatterMode::kSet;
  int64_t rows = 0, columns = 0, count = 0;
  Strided x, positions, updates;  // positions have one column

  template <typename Attributes, typename F>
  static void for_each_number(Attributes& of, F f) {
    for (auto* number : {&of.rows, &of.columns, &of.count}) f(*number);
    for (auto* matrix : {&of.x, &of.positions, &of.updates}) {
      for (auto* number : {&matrix->offset, &matrix->row, &matrix->column}) f(*number);
    }
  }
  std::string text() const override;
  int64_t flops() const override { return mode == ScatterMode::kSet ? 0 : count * columns; }
  double cost() const override { return static_cast<double>((rows + count) * columns + count); }
};

// `call` is of kind kScatter.
inline const ScatterAttributes& scatter_of(const LibraryCall& call) {
  return static_cast<const ScatterAttributes&>(*call.attributes);
}

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_LIBRARY_SCATTER_H_
