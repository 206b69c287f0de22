#include "frontend/layers/library_convolution.h"

#include <sluice/ops.h>
#include "frontend/record.h"
#include "kernels/library/convolution/block_convolution.h"

namespace sluice::frontend {

namespace {

// On the CPU.
bool has_library() {
  static const bool has_it = [] {
    if (kernels::find_convolutions() == nullptr) return false;
    engine::wait_at_exit();
    return true;
  }();
  return has_it;
}

}  // namespace

bool can_convolve(const Tensor& x, const Tensor& y) {
  return is_float(x.dtype()) && x.dtype() != DType::kFloat64 && x.numel() > 0 && y.numel() > 0 &&
         (x.device().type() != DeviceType::kCpu || has_library());
}

Tensor convolution(const char* name, fusion::Op op, const Tensor& x, const Tensor& y,
                   const Shape& result, const std::vector<WindowSteps>& steps, int64_t groups) {
  // The CPU's library is of float32 alone.
  const DType dtype = x.device().type() == DeviceType::kCpu ? DType::kFloat32 : x.dtype();
  const Tensor a = astype(x, dtype), b = astype(y, dtype);
  const engine::NodeOperand operands[] = {{a.node_ref().get()}, {b.node_ref().get()}};
  std::vector<int64_t> attrs;
  for (const WindowSteps& axis : steps) {
    attrs.insert(attrs.end(), {axis.stride, axis.dilation, axis.before, axis.after});
  }
  attrs.push_back(groups);
  const Tensor sums = record({.caller = {.name = name},
                              .op = op,
                              .dtype = dtype,
                              .operand_dtype = dtype,
                              .device = x.device(),
                              .shape = result,
                              .operands = operands,
                              .attrs = attrs});
  return astype(sums, x.dtype());
}

}  // namespace sluice::frontend
