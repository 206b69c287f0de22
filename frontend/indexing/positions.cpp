#include "frontend/indexing/positions.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include <sluice/creation.h>
#include <sluice/ops.h>
#include "frontend/call.h"
#include "frontend/record.h"
#include "fusion/library/compaction.h"
#include "runtime/integers.h"

namespace sluice {
namespace frontend {
namespace {

// How many elements of a mask are true: of each block and of those before it, and of all.
struct Counts {
  Tensor of_blocks;
  int64_t all;
};

int64_t count_true(std::span<const bool> values) {
  constexpr size_t kMostInByte = 255;
  int64_t count = 0;
  size_t i = 0;
  uint64_t eight;
  while (values.size() - i >= sizeof(eight)) {
    uint64_t sums = 0;  // of each eighth byte
    for (size_t k = 0; k < kMostInByte && values.size() - i >= sizeof(eight); ++k) {
      std::memcpy(&eight, &values[i], sizeof(eight));
      sums += eight;
      i += sizeof(eight);
    }
    for (; sums != 0; sums >>= 8) count += static_cast<int64_t>(sums & 0xff);
  }
  return count + std::count(values.begin() + static_cast<std::ptrdiff_t>(i), values.end(), true);
}

Counts count(const Tensor& mask, int64_t blocks) {
  if (blocks > 1) {
    const int64_t padding = blocks * fusion::kCompactionBlock - mask.numel();
    const Tensor padded = padding == 0 ? mask : pad(mask, {{0, padding}}, false);
    const Tensor counts =
        cumsum(sum(reshape(padded, Shape{blocks, fusion::kCompactionBlock}), 1), 0);
    return {counts, slice(counts, 0, blocks - 1, blocks).item<int64_t>()};
  }
  if (mask.device().type() != DeviceType::kCpu) {
    const Tensor counts = sum(mask, 0, true);
    return {counts, counts.item<int64_t>()};
  }
  // Where they lie: a kernel would take longer to start.
  const int64_t all = count_true(mask.span<bool>());
  return {Tensor::from({all}), all};
}

}  // namespace

Tensor true_positions(const char* op, const Tensor& mask) {
  const int64_t length = mask.numel();
  if (length == 0) return zeros({0}, DType::kInt64, mask.device());
  const Counts counts = count(mask, ceil_div(length, fusion::kCompactionBlock));
  const engine::NodeOperand operands[] = {{mask.node_ref().get()},
                                          {counts.of_blocks.node_ref().get()}};
  return record({.caller = {.name = op},
                 .op = fusion::Op::kNonzero,
                 .dtype = DType::kInt64,
                 .operand_dtype = DType::kBool,
                 .device = mask.device(),
                 .shape = Shape{counts.all},
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
