#include "fusion/library/scan.h"

#include "absl/strings/str_cat.h"
#include "fusion/library/library.h"

namespace sluice::fusion {

int64_t ScanShape::begin_of_x(int64_t line) const {
  int64_t begin = 0;
  for (int k = rank - 1; k > 0; --k) {
    begin += line % extents[k] * strides[k];
    line /= extents[k];
  }
  return rank > 0 ? begin + line * strides[0] : 0;
}

std::string ScanAttributes::text() const {
  return absl::StrCat(shape.lines, " lines of ", shape.length);
}

std::shared_ptr<const LibraryAttributes> make_scan_attributes(const GraphNode& node,
                                                              absl::Span<const Layout> operands) {
  const int axis = static_cast<int>(node.attrs[0]);
  const Layout& x = operands[0];
  auto result = std::make_shared<ScanAttributes>();
  result->dtype = node.dtype;
  result->offset = x.offset;
  ScanShape& shape = result->shape;
  shape.multiplies = node.op == Op::kCumprod;
  shape.length = x.shape[axis];
  shape.stride = x.strides[axis];
  shape.lines = 1;
  for (int k = 0; k < x.shape.rank(); ++k) {
    if (k == axis) continue;
    shape.extents[shape.rank] = x.shape[k];
    shape.strides[shape.rank++] = x.strides[k];
    shape.lines *= x.shape[k];
    if (k > axis) shape.inner *= x.shape[k];
  }
  return result;
}

}  // namespace sluice::fusion
