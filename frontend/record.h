// How the frontend hands ops to the engine.
#ifndef SLUICE_FRONTEND_RECORD_H_
#define SLUICE_FRONTEND_RECORD_H_

#include <initializer_list>

#include <sluice/tensor.h>
#include "absl/types/span.h"
#include "engine/engine.h"
#include "fusion/ir/op.h"

namespace sluice::frontend {

// An op of which the shape and dtypes are known to be right. `op_name` is what the user called.
// What it refers to outlives the call.
struct NewOp {
  const char* op_name;
  fusion::Op op;
  DType dtype;
  DType operand_dtype;
  const Shape& shape;
  absl::Span<const engine::NodeOperand> operands;
  absl::Span<const int64_t> attrs = {};
};
Tensor record(const NewOp& op, Device device);

// A view: one operand, its dtype and device.
Tensor record_view(const char* op_name, fusion::Op op, const Tensor& x, const Shape& shape,
                   absl::Span<const int64_t> attrs = {});

// int64: each element's index along `axis`.
Tensor coordinate(const char* op_name, const Shape& shape, int axis, Device device);

// Throws unless both are on one device; that device.
Device common_device(const char* op_name, const Tensor& a, const Tensor& b);

}  // namespace sluice::frontend

#endif  // SLUICE_FRONTEND_RECORD_H_
