#include "fusion/library/matmul.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "fusion/library/library.h"

namespace sluice::fusion {
namespace {

// Of the last two axes, and of the one before them if there is one.
void copy_strides(const Layout& layout, int64_t* strides) {
  const int rank = layout.shape.rank();
  strides[0] = rank == 3 ? layout.strides[0] : 0;
  strides[1] = layout.strides[rank - 2];
  strides[2] = layout.strides[rank - 1];
}

}  // namespace

std::string MatmulAttributes::text() const {
  return absl::StrCat(shape.batch, "x", shape.m, "x", shape.n, "x", shape.k);
}

double MatmulAttributes::cost() const {
  return 0.01 * static_cast<double>(shape.batch * shape.m) * static_cast<double>(shape.n * shape.k);
}

std::shared_ptr<const LibraryAttributes> make_matmul_attributes(const GraphNode& node,
                                                                absl::Span<const Layout> operands) {
  auto result = std::make_shared<MatmulAttributes>();
  MatmulShape& shape = result->shape;
  result->operand_dtype = node.operand_dtype;
  result->dtype = node.dtype;
  const int rank = node.shape.rank();  // 2 or 3
  shape.batch = rank == 3 ? node.shape[0] : 1;
  shape.m = node.shape[rank - 2];
  shape.n = node.shape[rank - 1];
  shape.k = operands[0].shape[operands[0].shape.rank() - 1];
  copy_strides(operands[0], shape.a_strides);
  copy_strides(operands[1], shape.b_strides);
  result->a_offset = operands[0].offset;
  result->b_offset = operands[1].offset;
  return result;
}

}  // namespace sluice::fusion
