#include "fusion/library/scatter.h"

#include "absl/strings/str_cat.h"
#include "fusion/library/library.h"

namespace sluice::fusion {

std::string ScatterAttributes::text() const {
  constexpr const char* kVerbs[] = {"set", "add", "maximum of", "minimum of"};
  return absl::StrCat(kVerbs[static_cast<int>(mode)], " ", count, " of ", rows, " rows of ",
                      columns);
}

std::shared_ptr<const LibraryAttributes> make_scatter_attributes(
    const GraphNode& node, absl::Span<const Layout> operands) {
  const Layout &x = operands[0], &positions = operands[1], &updates = operands[2];
  auto result = std::make_shared<ScatterAttributes>();
  result->dtype = node.dtype;
  result->mode = node.op == Op::kScatterAdd   ? ScatterMode::kAdd
                 : node.op == Op::kScatterMax ? ScatterMode::kMax
                 : node.op == Op::kScatterMin ? ScatterMode::kMin
                                              : ScatterMode::kSet;
  result->rows = x.shape[0];
  result->columns = x.shape[1];
  result->count = positions.shape[0];
  result->x = {x.offset, x.strides[0], x.strides[1]};
  result->positions = {positions.offset, positions.strides[0], 0};
  result->updates = {updates.offset, updates.strides[0], updates.strides[1]};
  return result;
}

}  // namespace sluice::fusion
