#include "fusion/library/factor.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "fusion/library/library.h"

namespace sluice::fusion {
namespace {

StridedMatrices matrices_of(const Layout& layout) {
  const int rank = layout.shape.rank();
  return {layout.offset, rank == 2 ? 0 : layout.strides[0], layout.strides[rank - 2],
          layout.strides[rank - 1]};
}

}  // namespace

std::array<int64_t, kMaxFactorParts> parts_of_factor(Op op, int64_t mode, int64_t rows,
                                                     int64_t columns, int64_t sides) {
  const int64_t least = std::min(rows, columns);
  switch (op) {
    case Op::kQr: {
      const int64_t middle = mode == 0 ? least : rows;
      return {rows * middle, middle * columns};
    }
    case Op::kSvd:
      if (mode == 0) return {least};
      if (mode == 1) return {rows * least, least, least * columns};
      return {rows * rows, least, columns * columns};
    case Op::kEigh: return {rows, mode == 0 ? 0 : rows * rows};
    case Op::kSolve: return {rows * sides};
    case Op::kDet: return {1, mode == 0 ? 0 : 1};
    default: return {rows * columns};
  }
}

int64_t FactorAttributes::result_numel() const {
  const auto sizes = parts();
  return count * std::accumulate(sizes.begin(), sizes.end(), int64_t{0});
}

std::string FactorAttributes::text() const {
  return absl::StrCat(count, "x", rows, "x", columns, sides > 0 ? absl::StrCat(", ", sides) : "");
}

// The leading terms, as in LAPACK's working notes; iterations are counted as they usually are.
int64_t FactorAttributes::flops_of_one() const {
  const int64_t least = std::min(rows, columns), most = std::max(rows, columns);
  const int64_t cube = rows * rows * rows;
  switch (op) {
    case Op::kCholesky: return cube / 3;
    case Op::kQr: return 4 * least * least * most;
    case Op::kSvd: return (mode == 0 ? 4 : 14) * least * least * most;
    case Op::kEigh: return (mode == 0 ? 2 : 9) * cube;
    case Op::kSolve: return 2 * cube / 3 + 2 * rows * rows * sides;
    case Op::kInv: return 2 * cube;
    default: return 2 * cube / 3;
  }
}

double FactorAttributes::cost() const {
  constexpr double kFlopsOfNanosecond = 4, kOfOne = 500;
  return static_cast<double>(flops()) / kFlopsOfNanosecond + kOfOne * static_cast<double>(count);
}

std::shared_ptr<const LibraryAttributes> make_factor_attributes(const GraphNode& node,
                                                                absl::Span<const Layout> operands) {
  const Layout& x = operands[0];
  auto result = std::make_shared<FactorAttributes>();
  result->dtype = node.dtype;
  result->op = node.op;
  result->mode = node.attrs[0];
  result->count = x.shape.rank() == 2 ? 1 : x.shape[0];
  result->rows = x.shape[-2];
  result->columns = x.shape[-1];
  result->x = matrices_of(x);
  if (node.op == Op::kSolve) {
    result->sides = operands[1].shape[-1];
    result->y = matrices_of(operands[1]);
  }
  return result;
}

}  // namespace sluice::fusion
