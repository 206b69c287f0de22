#include "frontend/indexing/positions.h"

#include <algorithm>
#include <cstdint>

#include <sluice/creation.h>
#include <sluice/ops.h>
#include "frontend/call.h"
#include "frontend/record.h"
#include "fusion/library/compaction.h"
#include "runtime/integers.h"

namespace sluice {
namespace frontend {
namespace {

// How many of each block and of those before it are true.
Tensor counts_of_blocks(const Tensor& mask, int64_t blocks) {
  const int64_t padding = blocks * fusion::kCompactionBlock - mask.numel();
  const Tensor padded = padding == 0 ? mask : pad(mask, {{0, padding}}, false);
  return cumsum(sum(reshape(padded, Shape{blocks, fusion::kCompactionBlock}), 1), 0);
}

}  // namespace

Tensor true_positions(const char* op, const Tensor& mask) {
  const int64_t length = mask.numel();
  if (length == 0) return zeros({0}, DType::kInt64, mask.device());
  const int64_t blocks = ceil_div(length, fusion::kCompactionBlock);
  const Tensor counts = blocks == 1 ? sum(mask, 0, true) : counts_of_blocks(mask, blocks);
  const auto count = slice(counts, 0, blocks - 1, blocks).item<int64_t>();
  const engine::NodeOperand operands[] = {{mask.node_ref().get()}, {counts.node_ref().get()}};
  return record({.caller = {.name = op},
                 .op = fusion::Op::kNonzero,
                 .dtype = DType::kInt64,
                 .operand_dtype = DType::kBool,
                 .device = mask.device(),
                 .shape = Shape{count},
                 .operands = operands});
}

std::vector<Tensor> unravelled(const Tensor& positions, const Shape& shape) {
  std::vector<Tensor> along(shape.rank());
  Tensor rest = positions;
  for (int k = shape.rank() - 1; k > 0; --k) {
    along[k] = rest % shape[k];
    rest = floor_divide(rest, shape[k]);
  }
  if (!along.empty()) along[0] = rest;
  return along;
}

}  // namespace frontend

Tensor nonzero(Arg x) {
  constexpr const char* kOp = "nonzero";
  return frontend::with_call(x, kOp, [&](const Tensor& tensor) {
    if (tensor.ndim() == 0) frontend::fail(kOp, frontend::describe(tensor), " has no axis");
    const Tensor positions =
        frontend::true_positions(kOp, astype(reshape(tensor, Shape{tensor.numel()}), DType::kBool));
    return stack(frontend::unravelled(positions, tensor.shape()), 1);
  });
}

}  // namespace sluice
