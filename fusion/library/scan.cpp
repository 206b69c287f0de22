#include "fusion/library/scan.h"

#include "absl/strings/str_cat.h"
#include "fusion/library/library.h"

namespace sluice::fusion {

namespace {

ScanKind kind_of(Op op) {
  switch (op) {
    case Op::kCumprod: return ScanKind::kProduct;
    case Op::kCummax: return ScanKind::kMax;
    case Op::kCummin: return ScanKind::kMin;
    case Op::kLogcumsumexp: return ScanKind::kLogSumExp;
    default: return ScanKind::kSum;
  }
}

}  // namespace

std::string ScanAttributes::text() const {
  return absl::StrCat(shape.lines, " lines of ", shape.length);
}

std::shared_ptr<const LibraryAttributes> make_scan_attributes(const GraphNode& node,
                                                              absl::Span<const Layout> operands) {
  auto result = std::make_shared<ScanAttributes>();
  result->dtype = node.dtype;
  result->offset = operands[0].offset;
  result->shape = {Lines::along(static_cast<int>(node.attrs[0]), operands[0]), kind_of(node.op)};
  return result;
}

}  // namespace sluice::fusion
