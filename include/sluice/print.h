// Tensors, shapes, dtypes and devices as text.
#ifndef SLUICE_PRINT_H_
#define SLUICE_PRINT_H_

#include <cstdint>
#include <iosfwd>
#include <string>

#include <sluice/tensor.h>

#pragma GCC visibility push(default)
namespace sluice {

// As numpy.printoptions. Negative values count as 0.
struct PrintOptions {
  int precision = 8;         // digits after the point, at most; fewer where they say the number
  int64_t threshold = 1000;  // a tensor of more elements is shown by its ends only
  int64_t edge_items = 3;    // how many elements of each end, per axis
  int width = 75;            // columns of a line
};

// The elements as NumPy's str() prints an array of this dtype; bfloat16, which NumPy has not, by
// the rules of float16. Waits for x; of a long one only the elements that are shown are read. The
// empty handle is "<empty>".
[[nodiscard]] std::string to_string(const Tensor& x, const PrintOptions& options = {},
                                    Location where = Location::current());
[[nodiscard]] std::string to_string(DType dtype);  // "float32"

std::ostream& operator<<(std::ostream& stream, const Tensor& x);
std::ostream& operator<<(std::ostream& stream, const Shape& shape);
std::ostream& operator<<(std::ostream& stream, DType dtype);
std::ostream& operator<<(std::ostream& stream, Device device);

}  // namespace sluice
#pragma GCC visibility pop

#endif  // SLUICE_PRINT_H_
