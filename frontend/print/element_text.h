// The elements of a tensor as words of equal width.
#ifndef SLUICE_FRONTEND_PRINT_ELEMENT_TEXT_H_
#define SLUICE_FRONTEND_PRINT_ELEMENT_TEXT_H_

#include <string>
#include <vector>

#include <sluice/tensor.h>

namespace sluice::frontend {

// A word for each element of `x`, in row-major order, as numpy.array2string formats the elements of
// an array: padded to one width, floats with at most `precision` digits after the point. Waits for
// the elements.
std::vector<std::string> element_words(const Tensor& x, int precision);

// The one element of `x`, as str() of a NumPy scalar.
std::string scalar_word(const Tensor& x);

}  // namespace sluice::frontend

#endif  // SLUICE_FRONTEND_PRINT_ELEMENT_TEXT_H_
