// The placement of a tensor's elements in its buffer.
#ifndef SLUICE_RUNTIME_LAYOUT_H_
#define SLUICE_RUNTIME_LAYOUT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include <sluice/shape.h>

namespace sluice {

using Strides = std::array<int64_t, kMaxRank>;

// Element (i0, i1, ...) lies at offset + i0 * strides[0] + i1 * strides[1] + ... elements from the
// start of the buffer. Strides may be 0 (broadcast) or negative (flipped).
struct Layout {
  Shape shape;
  Strides strides{};
  int64_t offset = 0;

  bool operator==(const Layout&) const = default;
};

// Row-major without gaps, at offset 0.
Layout contiguous_layout(const Shape& shape);

// True if the elements are row-major without gaps. The offset and the strides of dims of extent 1
// do not matter.
bool is_contiguous(const Layout& layout);

// The lowest and the highest address of an element, relative to that of index 0, in elements. The
// layout must not be empty.
std::pair<int64_t, int64_t> address_range(const Layout& layout);

// `layout` viewed as `shape` (same number of elements); nullopt if strides cannot express it.
std::optional<Layout> reshape_layout(const Layout& layout, const Shape& shape);

// Copies elements of `size` bytes from one layout of a shape to another. Both pointers are those of
// the element of index 0; strides are in elements.
void copy_elements(const Shape& shape, size_t size, const char* from, const Strides& from_strides,
                   char* to, const Strides& to_strides);

}  // namespace sluice

#endif  // SLUICE_RUNTIME_LAYOUT_H_
