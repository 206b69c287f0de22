#include "fusion/library/sort.h"

#include <bit>

#include "absl/strings/str_cat.h"
#include "fusion/library/library.h"

namespace sluice::fusion {

std::string SortAttributes::text() const {
  return absl::StrCat(result == SortResult::kFirst ? absl::StrCat("first ", count, " of ") : "",
                      lines.lines, " lines of ", lines.length, descending ? ", descending" : "");
}

double SortAttributes::cost() const {
  const int levels = std::bit_width(static_cast<uint64_t>(lines.length));
  const auto elements = static_cast<double>(lines.lines * lines.length);
  return elements * (result == SortResult::kFirst ? 1 : 0.3 * levels);
}

std::shared_ptr<const LibraryAttributes> make_sort_attributes(const GraphNode& node,
                                                              absl::Span<const Layout> operands) {
  const int axis = static_cast<int>(node.attrs[0]);
  auto result = std::make_shared<SortAttributes>();
  result->dtype = node.operand_dtype;
  result->result = node.op == Op::kSort      ? SortResult::kValues
                   : node.op == Op::kArgsort ? SortResult::kPositions
                                             : SortResult::kFirst;
  result->descending = node.attrs[1] != 0;
  result->lines = Lines::along(axis, operands[0]);
  result->count = node.shape[axis];
  result->offset = operands[0].offset;
  return result;
}

}  // namespace sluice::fusion
