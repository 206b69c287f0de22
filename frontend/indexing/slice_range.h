// Python's start:stop:step along an axis; the frontend's own.
#ifndef SLUICE_FRONTEND_INDEXING_SLICE_RANGE_H_
#define SLUICE_FRONTEND_INDEXING_SLICE_RANGE_H_

#include <algorithm>
#include <cstdint>
#include <optional>

namespace sluice::frontend {

// Elements start, start + step, ...: `count` of them. Of none, start is 0; of one, step is 1.
struct SliceRange {
  int64_t start = 0, count = 0, step = 1;
};

// `step` is not 0. Negative positions count from the end once, then both are clamped to where a
// walk in the direction of the step may begin and end.
inline SliceRange slice_range(std::optional<int64_t> start, std::optional<int64_t> stop,
                              int64_t step, int64_t extent) {
  const int64_t low = step > 0 ? 0 : -1;
  const int64_t high = step > 0 ? extent : extent - 1;
  auto clamp = [&](std::optional<int64_t> given, int64_t otherwise) {
    if (!given) return otherwise;
    int64_t position = *given;
    if (position < 0) position = position < -extent ? -1 - extent : position + extent;
    return position < 0 ? low : std::clamp(position, low, high);
  };
  const int64_t first = clamp(start, step > 0 ? low : high);
  const int64_t last = clamp(stop, step > 0 ? high : low);
  int64_t count = 0;
  if (step > 0 && last > first) count = (last - first - 1) / step + 1;
  // -step would overflow for the least int64; dividing by a negative step and negating does not.
  if (step < 0 && last < first) count = -((first - last - 1) / step) + 1;
  return {count > 0 ? first : 0, count, count > 1 ? step : 1};
}

}  // namespace sluice::frontend

#endif  // SLUICE_FRONTEND_INDEXING_SLICE_RANGE_H_
