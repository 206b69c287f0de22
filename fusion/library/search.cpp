#include "fusion/library/search.h"

#include <bit>

#include "absl/strings/str_cat.h"
#include "fusion/library/library.h"

namespace sluice::fusion {

std::string SearchAttributes::text() const {
  return absl::StrCat(count, " among ", length, right ? ", right" : "");
}

double SearchAttributes::cost() const {
  return static_cast<double>(count * std::bit_width(static_cast<uint64_t>(length)));
}

std::shared_ptr<const LibraryAttributes> make_search_attributes(const GraphNode& node,
                                                                absl::Span<const Layout> operands) {
  const Layout &line = operands[0], &values = operands[1];
  auto result = std::make_shared<SearchAttributes>();
  result->dtype = node.operand_dtype;
  result->right = node.attrs[0] != 0;
  result->length = line.shape[0];
  result->count = values.shape[0];
  result->offset = line.offset;
  result->stride = line.strides[0];
  result->values_offset = values.offset;
  result->values_stride = values.strides[0];
  return result;
}

}  // namespace sluice::fusion
