#include "fusion/library/compaction.h"

#include "absl/strings/str_cat.h"
#include "fusion/library/library.h"

namespace sluice::fusion {

std::string CompactionAttributes::text() const { return absl::StrCat("of ", length); }

std::shared_ptr<const LibraryAttributes> make_compaction_attributes(
    const GraphNode&, absl::Span<const Layout> operands) {
  auto result = std::make_shared<CompactionAttributes>();
  result->length = operands[0].shape[0];
  result->offset = operands[0].offset;
  result->stride = operands[0].strides[0];
  result->counts_offset = operands[1].offset;
  result->counts_stride = operands[1].strides[0];
  return result;
}

}  // namespace sluice::fusion
