#include "frontend/record.h"

#include <utility>

#include "engine/observe/call_site.h"
#include "frontend/checks.h"

namespace sluice::frontend {
namespace {

Tensor recorded(engine::NodeRef&& node) {
  if (engine::is_recording()) engine::note_origin(node.get());
  return Tensor(std::move(node));
}

}  // namespace

Tensor record(const NewOp& op, Device device) {
  check_bytes(op.op_name, op.dtype, op.shape);
  return recorded(
      engine::record({op.op, op.dtype, op.operand_dtype, device, op.shape, op.operands, op.attrs}));
}

Tensor record_view(const char* op_name, fusion::Op op, const Tensor& x, const Shape& shape,
                   absl::Span<const int64_t> attrs) {
  const engine::NodeOperand operand{node_of(op_name, x)};
  check_bytes(op_name, x.dtype(), shape);
  return recorded(
      engine::record_view({op, x.dtype(), x.dtype(), x.device(), shape, {&operand, 1}, attrs}));
}

Tensor coordinate(const char* op_name, const Shape& shape, int axis, Device device) {
  const int64_t attr = axis;
  return record(
      {op_name, fusion::Op::kCoordinate, DType::kInt64, DType::kInt64, shape, {}, {&attr, 1}},
      device);
}

Device common_device(const char* op_name, const Tensor& a, const Tensor& b) {
  if (a.device() != b.device()) {
    fail(op_name, describe(a), " is on ", to_string(a.device()), ", ", describe(b), " on ",
         to_string(b.device()));
  }
  return a.device();
}

}  // namespace sluice::frontend
