// Where the elements of a tensor lie in its buffer.
#ifndef SLUICE_RUNTIME_LAYOUT_H_
#define SLUICE_RUNTIME_LAYOUT_H_

#include <array>
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

// Row-major with no gaps, from the start of the buffer.
Layout contiguous_layout(const Shape& shape);

// True if the elements lie one after another in row-major order. The offset may be anything;
// strides of dims of extent 1 don't matter.
bool is_contiguous(const Layout& layout);

// The least and the greatest place of an element, counted from that of index 0. The layout has
// elements.
std::pair<int64_t, int64_t> reach_of(const Layout& layout);

// The strides under which `layout` shows as `shape` (same number of elements), if there are any.
std::optional<Layout> reshape_layout(const Layout& layout, const Shape& shape);

}  // namespace sluice

#endif  // SLUICE_RUNTIME_LAYOUT_H_
