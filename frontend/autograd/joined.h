// Gradients by what a program reads many times, as the weights of a recurrence or a sequence whose
// steps are slices: joined before they are added, so that many small ops are one.
#ifndef SLUICE_FRONTEND_AUTOGRAD_JOINED_H_
#define SLUICE_FRONTEND_AUTOGRAD_JOINED_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <sluice/tensor.h>
#include "frontend/autograd/rules.h"

namespace sluice::frontend {

// What a slice along one axis adds to the gradient of what it is a slice of.
struct SliceGradient {
  int axis = 0;
  int64_t start = 0;
  Tensor g;

  int64_t end() const { return start + g.shape()[axis]; }
};

// That of an op that is such a slice, by a step of one.
std::optional<SliceGradient> gradient_of_slice(const Backward& backward);

// The sum of them among zeros, in `shape`. What lies side by side is joined: the steps of a
// sequence of length n cost n, not n^2.
Tensor join_slices(std::vector<SliceGradient> slices, const Shape& shape);

// What ops have to add to the gradient of one value, not yet added.
class JoinedGradients {
 public:
  // Takes that by operand k of the op, which reads it as one of `uses`. False: it is no slice and
  // no product, or is better added at once.
  bool take(const Backward& backward, size_t k, uint32_t uses);
  // Takes a gradient that has yet to be summed over the rows in which the value was repeated.
  bool take_rows(const Tensor& gradient, const Shape& shape, uint32_t uses);
  bool empty() const { return parts_ == nullptr; }
  // The sum of all that was taken, in the shape of the value.
  Tensor total(const Shape& shape) &&;

 private:
  struct Parts {
    std::vector<SliceGradient> slices;
    std::vector<Tensor> left, right;  // of products with a matrix: the rows, and their gradients
    std::vector<Tensor> rows;
  };
  Parts& parts();

  std::unique_ptr<Parts> parts_;  // few values have any
};

}  // namespace sluice::frontend

#endif  // SLUICE_FRONTEND_AUTOGRAD_JOINED_H_
