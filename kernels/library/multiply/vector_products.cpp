#include "kernels/library/multiply/vector_products.h"

#include <algorithm>
#include <cstddef>

#include "kernels/library/scratch.h"
#include "runtime/cpu/parallel.h"
#include "runtime/integers.h"

namespace sluice::kernels {
namespace {

// Products with few vectors of so many elements are sums along the lines of the matrix; so are
// products of so few multiplications, of lines that a vector holds.
constexpr int64_t kMinVectorDepth = 128;
constexpr int64_t kMaxShort = 4096;

}  // namespace

bool VectorProducts::along_depth() const {
  return x_.k == 1 ? matrix_.line_stride != 1 : matrix_.depth_stride == 1;
}

bool VectorProducts::reads_vectors() const {
  return (vectors_.depth_stride == 1 || x_.k == 1) && x_.loops.element_size == x_.loops.sum_size;
}

bool VectorProducts::pays() const {
  if (num_vectors_ == 1) {
    return along_depth() ||
           (matrix_.line_stride == 1 && !(x_.loops.direct && x_.k * lines_ <= kMaxUnpacked));
  }
  if (!along_depth()) return false;
  if (num_vectors_ <= x_.loops.max_vectors && x_.k >= kMinVectorDepth) {
    return !has_rows(x_) || 2 * num_vectors_ <= x_.loops.lanes;
  }
  return x_.loops.direct && reads_vectors() && !has_rows(x_) && x_.k <= x_.loops.lanes &&
         x_.m * x_.n * x_.k <= kMaxShort;
}

void VectorProducts::run() const {
  const ProductLoops& loops = x_.loops;
  const size_t size = loops.element_size;
  if (along_depth() && reads_vectors()) {
    dots(vectors_.data, vectors_.line_stride, matrix_.data, x_.c, x_.count);
    return;
  }
  const Scratch packed(static_cast<size_t>(num_vectors_ * x_.k) * loops.sum_size);
  for (int64_t i = 0; i < x_.count; ++i) {
    const void* v = at(vectors_.data, i * vectors_.next, size);
    const void* from = at(matrix_.data, i * matrix_.next, size);
    void* to = at(x_.c, i * x_.m * x_.n, loops.result_size);
    if (!reads_vectors()) {
      loops.pack(v, vectors_.line_stride, vectors_.depth_stride, num_vectors_, x_.k, 1,
                 packed.data());
      v = packed.data();
    }
    if (along_depth()) {
      dots(v, x_.k, from, to, 1);
    } else {
      parallel_for(lines_, 1 + kMinRead / x_.k, [&](int64_t begin, int64_t end) {
        loops.sums(at(from, begin, size), matrix_.depth_stride, v, end - begin, x_.k,
                   at(to, begin, loops.result_size));
      });
    }
  }
}

void VectorProducts::dots(const void* v, int64_t v_stride, const void* from, void* to,
                          int64_t count) const {
  const ProductLoops& loops = x_.loops;
  // Which lines are summed side by side is a matter of their place.
  const int64_t group = loops.lanes;
  parallel_for(ceil_div(lines_, group), 1 + kMinRead / (group * x_.k * num_vectors_ * count),
               [&](int64_t begin, int64_t end) {
                 const int64_t first = begin * group;
                 loops.dots({.lines = std::min(end * group, lines_) - first,
                             .columns = num_vectors_,
                             .depth = x_.k,
                             .x = at(from, first * matrix_.line_stride, loops.element_size),
                             .line_stride = matrix_.line_stride,
                             .v = v,
                             .v_stride = v_stride,
                             .y = at(to, first * c_line_, loops.result_size),
                             .y_line_stride = c_line_,
                             .y_column_stride = c_vector_,
                             .count = count,
                             .x_next = matrix_.next,
                             .v_next = vectors_.next,
                             .y_next = x_.m * x_.n});
               });
}

std::optional<VectorProducts> VectorProducts::of(const MatrixProduct& x) {
  const VectorProducts of_a(x, x.a, x.m, x.n, x.b, x.n, 1);
  if (x.n <= x.m && of_a.pays()) return of_a;
  const VectorProducts of_b(x, x.b, x.n, 1, x.a, x.m, x.n);
  if (x.m <= x.n && of_b.pays()) return of_b;
  return std::nullopt;
}

}  // namespace sluice::kernels
