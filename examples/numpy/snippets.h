// Pieces of everyday NumPy code, line by line. The comment above each function is the NumPy code;
// expected.py runs these comments and writes what they print to expected.txt.
#ifndef SLUICE_EXAMPLES_NUMPY_SNIPPETS_H_
#define SLUICE_EXAMPLES_NUMPY_SNIPPETS_H_

#include <cmath>
#include <initializer_list>
#include <iostream>
#include <span>
#include <tuple>
#include <vector>

#include <sluice/sluice.h>

namespace snippets {

namespace sl = sluice;
using sl::Slice;
using sl::Tensor;

struct Snippet {
  const char* name;
  void (*run)();
};

// One list for each file.
std::span<const Snippet> preprocessing();
std::span<const Snippet> statistics();
std::span<const Snippet> signals();
std::span<const Snippet> images();
std::span<const Snippet> numerics();

inline void print(const Tensor& x) { std::cout << x << '\n'; }

// NumPy's default dtype of floats.
inline Tensor array(std::initializer_list<double> values) { return Tensor::from(values); }
inline Tensor table(std::initializer_list<std::initializer_list<double>> rows) {
  return Tensor::from(rows);
}

// The data that the snippets share; expected.py has the same.
inline Tensor samples() {
  return table({{5.1, 3.5, 1.4},
                {4.9, 3.0, 1.4},
                {6.3, 2.8, 5.1},
                {5.8, 2.7, 5.1},
                {7.1, 3.0, 5.9},
                {4.7, 3.2, 1.3}});
}
inline Tensor labels() { return Tensor::from<int64_t>({0, 0, 1, 1, 2, 0}); }
inline Tensor wave() { return array({1, 3, 2, 5, 4, 6, 8, 7, 9, 12, 10, 11}); }
inline Tensor picture() { return (sl::arange(30).reshape(5, 6) * 7 % 32).astype(sl::kFloat64); }

}  // namespace snippets

#endif  // SLUICE_EXAMPLES_NUMPY_SNIPPETS_H_
