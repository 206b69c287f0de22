// Memory access by position: maps consecutive points of an iteration space to elements.
#ifndef SLUICE_KERNELS_INTERP_ACCESS_H_
#define SLUICE_KERNELS_INTERP_ACCESS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace sluice::kernels::interp {

inline constexpr int kMaxDims = 16;

// An access bound to the arguments of a launch, over dims in row-major order. Dims that the access
// walks as one are merged.
struct BoundAccess {
  char* base = nullptr;  // of the buffer; null: the address itself is the value
  int64_t offset = 0;    // in elements
  size_t element_size = 0;
  bool shared = false;  // the launch both reads and writes the buffer
  int num_dims = 0;     // >= 1
  int64_t extents[kMaxDims];
  int64_t strides[kMaxDims];

  void append_dim(int64_t extent, int64_t stride) {
    if (extent == 1) return;
    if (num_dims > 0 && strides[num_dims - 1] == stride * extent) {
      extents[num_dims - 1] *= extent;
      strides[num_dims - 1] = stride;
      return;
    }
    extents[num_dims] = extent;
    strides[num_dims] = stride;
    ++num_dims;
  }
  void finish() {
    if (num_dims > 0) return;
    extents[0] = 1;
    strides[0] = 0;
    num_dims = 1;
  }
};

// Calls f(done, element, stride, count) for each run of elements at equal distances among the
// points [start, start + n): `done` points came before it, its first element is number `element` of
// the buffer.
template <typename F>
void for_each_run(const BoundAccess& access, int64_t start, int64_t n, F&& f) {
  const int inner = access.num_dims - 1;
  const int64_t stride = access.strides[inner];
  if (inner == 0) {
    f(int64_t{0}, access.offset + start * stride, stride, n);
    return;
  }
  int64_t index[kMaxDims];
  int64_t row = access.offset;
  for (int d = inner; d > 0; --d) {
    index[d] = start % access.extents[d];
    start /= access.extents[d];
    if (d < inner) row += index[d] * access.strides[d];
  }
  index[0] = start;
  row += start * access.strides[0];
  for (int64_t done = 0;;) {
    const int64_t count = std::min(access.extents[inner] - index[inner], n - done);
    f(done, row + index[inner] * stride, stride, count);
    done += count;
    if (done == n) return;
    index[inner] = 0;
    for (int d = inner - 1;; --d) {
      row += access.strides[d];
      if (d == 0 || ++index[d] < access.extents[d]) break;
      row -= index[d] * access.strides[d];
      index[d] = 0;
    }
  }
}

// If the points [start, start + n) are one run, its first element and stride.
struct Run {
  bool single;
  int64_t element;
  int64_t stride;
};
inline Run single_run(const BoundAccess& access, int64_t start, int64_t n) {
  Run run{false, 0, 0};
  for_each_run(access, start, access.num_dims == 1 ? n : 1,
               [&](int64_t, int64_t element, int64_t stride, int64_t) {
                 run.element = element;
                 run.stride = stride;
               });
  const int64_t extent = access.extents[access.num_dims - 1];
  run.single = access.num_dims == 1 || start % extent + n <= extent;
  return run;
}

// Calls f with a value of the unsigned type of `size` bytes.
template <typename F>
void visit_size(size_t size, F&& f) {
  switch (size) {
    case 1: return f(uint8_t{});
    case 2: return f(uint16_t{});
    case 4: return f(uint32_t{});
    default: return f(uint64_t{});
  }
}

// Copy `count` elements of `size` bytes (1, 2, 4 or 8) between places `stride` elements apart and
// consecutive ones.
void gather_strided(void* out, const void* in, int64_t stride, int64_t count, size_t size);
void scatter_strided(void* out, int64_t stride, const void* in, int64_t count, size_t size);
// Writes `count` copies of the element at `value`, `stride` elements apart.
void fill_strided(void* out, int64_t stride, const void* value, int64_t count, size_t size);

// Orders non-temporal stores before later stores, as other threads see them.
void fence_nontemporal_stores();

}  // namespace sluice::kernels::interp

#endif  // SLUICE_KERNELS_INTERP_ACCESS_H_
