// Library calls that put rows into an array, or add them to it, at computed positions.
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

// y is x, and then row positions[i] of y becomes row i of the updates, or that is added to it, for
// i = 0, 1, ...: the last one wins, and sums are rounded one after another. Positions outside the
// array are skipped: what computed them has reported them.
//
// Buffers: x (rows, columns), positions (count) of int64, updates (count, columns), y like x, but
// without gaps. All but the positions are of `dtype`, which is not bool where it adds.
struct ScatterAttributes : SizedAttributes<ScatterAttributes> {
  DType dtype = DType::kFloat32;
  bool adds = false;
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
  int64_t flops() const override { return adds ? count * columns : 0; }
  double cost() const override { return static_cast<double>((rows + count) * columns + count); }
};

// `call` is of kind kScatter.
inline const ScatterAttributes& scatter_of(const LibraryCall& call) {
  return static_cast<const ScatterAttributes&>(*call.attributes);
}

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_LIBRARY_SCATTER_H_
