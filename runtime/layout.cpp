#include "runtime/layout.h"

#include <array>
#include <cstring>

namespace sluice {

Layout contiguous_layout(const Shape& shape) {
  Layout layout{.shape = shape};
  int64_t stride = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    layout.strides[i] = stride;
    stride *= shape[i] > 0 ? shape[i] : 1;
  }
  return layout;
}

bool is_contiguous(const Layout& layout) {
  if (layout.shape.numel() == 0) return true;
  int64_t stride = 1;
  for (int i = layout.shape.rank() - 1; i >= 0; --i) {
    if (layout.shape[i] == 1) continue;
    if (layout.strides[i] != stride) return false;
    stride *= layout.shape[i];
  }
  return true;
}

std::pair<int64_t, int64_t> address_range(const Layout& layout) {
  std::pair<int64_t, int64_t> range = {0, 0};
  for (int i = 0; i < layout.shape.rank(); ++i) {
    const int64_t last = (layout.shape[i] - 1) * layout.strides[i];
    (last < 0 ? range.first : range.second) += last;
  }
  return range;
}

std::optional<Layout> reshape_layout(const Layout& layout, const Shape& shape) {
  Layout result = contiguous_layout(shape);
  result.offset = layout.offset;
  if (is_contiguous(layout)) return result;

  // Merge the old dims into maximal runs of one stride, then split each new dim off the innermost
  // remaining run.
  struct Run {
    int64_t extent, stride;
  };
  std::array<Run, kMaxRank> runs;
  int num_runs = 0;
  for (int i = 0; i < layout.shape.rank(); ++i) {
    if (layout.shape[i] == 1) continue;
    if (num_runs > 0 && runs[num_runs - 1].stride == layout.strides[i] * layout.shape[i]) {
      runs[num_runs - 1] = {runs[num_runs - 1].extent * layout.shape[i], layout.strides[i]};
    } else {
      runs[num_runs++] = {layout.shape[i], layout.strides[i]};
    }
  }
  int run = num_runs - 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    if (shape[i] == 1) continue;
    while (run >= 0 && runs[run].extent == 1) --run;
    if (run < 0 || runs[run].extent % shape[i] != 0) return std::nullopt;
    result.strides[i] = runs[run].stride;
    runs[run].stride *= shape[i];
    runs[run].extent /= shape[i];
  }
  return result;
}

void copy_elements(const Shape& shape, size_t size, const char* from, const Strides& from_strides,
                   char* to, const Strides& to_strides) {
  const int rank = shape.rank();
  const auto bytes = static_cast<int64_t>(size);
  std::array<int64_t, kMaxRank> index{};
  for (int64_t i = 0, count = shape.numel(); i < count; ++i) {
    std::memcpy(to, from, size);
    for (int k = rank - 1; k >= 0; --k) {
      from += from_strides[k] * bytes;
      to += to_strides[k] * bytes;
      if (++index[k] < shape[k]) break;
      from -= from_strides[k] * shape[k] * bytes;
      to -= to_strides[k] * shape[k] * bytes;
      index[k] = 0;
    }
  }
}

}  // namespace sluice
