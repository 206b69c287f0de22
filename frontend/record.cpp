#include "frontend/record.h"

#include <utility>

#include "engine/observe/call_site.h"
#include "frontend/autograd/eviction.h"
#include "frontend/autograd/tape.h"
#include "frontend/checks.h"
#include "frontend/dims.h"

namespace sluice::frontend {
namespace {

// What `record` makes of the call, with what its gradient needs.
template <typename Record>
Tensor recorded(const engine::OpCall& call, Record record) {
  TapeRef tape = has_tape(call) || may_be_constant() ? make_tape(call) : TapeRef();
  engine::NodeRef node = record(call);
  if (tape) attach(node.get(), std::move(tape));
  if (engine::is_recording()) engine::note_origin(node.get());
  return Tensor(std::move(node));
}

}  // namespace

Tensor record(engine::OpCall call) {
  check_bytes(call.caller.name, call.dtype, call.shape);
  call.caller = engine::outermost(call.caller);
  return recorded(call, engine::record);
}

Tensor record_view(const char* name, fusion::Op op, const Tensor& x, const Shape& shape,
                   absl::Span<const int64_t> attrs) {
  const engine::NodeOperand operand{node_of(name, x)};
  check_bytes(name, x.dtype(), shape);
  return recorded({.caller = engine::outermost({.name = name}),
                   .op = op,
                   .dtype = x.dtype(),
                   .operand_dtype = x.dtype(),
                   .device = x.device(),
                   .shape = shape,
                   .operands = {&operand, 1},
                   .attrs = attrs},
                  engine::record_view);
}

Tensor reshaped(const char* name, const Tensor& x, const Shape& shape) {
  return record_view(name, fusion::Op::kReshape, x, shape);
}

Tensor permuted(const char* name, const Tensor& x, absl::Span<const int64_t> order) {
  Dims dims;
  for (const int64_t axis : order) dims.push_back(x.shape()[static_cast<int>(axis)]);
  return record_view(name, fusion::Op::kPermute, x, make_shape(name, span_of(dims), x), order);
}

Tensor coordinate(const char* name, const Shape& shape, int axis, Device device) {
  const int64_t attr = axis;
  return record({.caller = {.name = name},
                 .op = fusion::Op::kCoordinate,
                 .dtype = DType::kInt64,
                 .operand_dtype = DType::kInt64,
                 .device = device,
                 .shape = shape,
                 .attrs = {&attr, 1}});
}

Device common_device(const char* name, const Tensor& a, const Tensor& b) {
  if (a.device() != b.device()) {
    fail(name, describe(a), " is on ", to_string(a.device()), ", ", describe(b), " on ",
         to_string(b.device()));
  }
  return a.device();
}

}  // namespace sluice::frontend
