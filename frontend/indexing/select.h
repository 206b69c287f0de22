// NumPy's index expressions: what x(i, j, ...) selects; the frontend's own.
#ifndef SLUICE_FRONTEND_INDEXING_SELECT_H_
#define SLUICE_FRONTEND_INDEXING_SELECT_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <sluice/tensor.h>
#include "frontend/dims.h"

namespace sluice::frontend {

// One index of an expression, resolved against its axis.
struct SelectedAxis {
  enum class Kind : uint8_t { kRange, kPosition, kTensor, kNew };
  Kind kind = Kind::kRange;
  int axis = -1;  // of x; of kNew none
  // kRange: elements start, start + step, ...; kPosition: start, of which there is one.
  int64_t start = 0, count = 1, step = 1;
  Tensor positions = {};  // kTensor: integers

  bool is_whole(const Tensor& x) const {
    return kind == Kind::kRange && start == 0 && step == 1 && count == x.shape()[axis];
  }
};

// What an expression selects of a tensor. Axes that it does not name are there as whole ranges.
struct Selection {
  std::vector<SelectedAxis> axes;  // in the order of the expression
  Shape positions;                 // what the index tensors broadcast to
  bool has_tensors = false;
  // Where the axes of `positions` are in the result: they take the place of the first index tensor
  // (or integer beside them) if these follow each other, else they come first.
  bool positions_first = false;

  // The shape of the result.
  Dims dims(const char* op, const Tensor& x) const;
  // The number of axes of the result before those of `positions`.
  int lead() const;
};

// The indices along an axis of x: int64, checked and counted from the front where they are
// computed.
Tensor checked_positions(const char* op, const Tensor& x, int axis, const Tensor& indices);

// Row-major positions, an axis at a time: `at` along the next one, of this extent, after `position`
// along those before it, which is empty if there are none.
Tensor with_axis(Tensor position, int64_t extent, Tensor at);

// The mask, if it is the only index and fits the first axes of x.
std::optional<Tensor> only_mask(const Tensor& x, std::span<const Index> indices);

// Throws if the indices do not fit. Waits for masks.
Selection resolve(const char* op, const Tensor& x, std::span<const Index> indices);

}  // namespace sluice::frontend

#endif  // SLUICE_FRONTEND_INDEXING_SELECT_H_
