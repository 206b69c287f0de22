// Element-wise ops: the result's shape and dtype from the operands', by the op's type rule.
#include <algorithm>
#include <array>
#include <optional>

#include "absl/strings/str_join.h"
#include "sluice/frontend/checks.h"
#include "sluice/frontend/ops.h"
#include "sluice/frontend/record.h"

namespace sluice {
namespace frontend {
namespace {

using fusion::Op;
using fusion::TypeRule;

// What `scalar` counts as beside tensors of dtype `dtype`: nothing, unless its kind is wider.
DType join_scalar(DType dtype, Scalar scalar) {
  if (dtype == DType::kBool) {
    return scalar.kind() == DTypeKind::kFloat ? DType::kFloat32 : scalar.dtype();
  }
  if (is_integer(dtype) && scalar.kind() == DTypeKind::kFloat) return DType::kFloat32;
  return dtype;
}

std::string describe_operands(absl::Span<const Operand> operands) {
  return absl::StrJoin(operands, ", ", [](std::string* out, const Operand& operand) {
    out->append(operand.is_tensor() ? describe(operand.tensor()) : "a scalar");
  });
}

// The dtype that the operands from `first` on are brought to.
DType join_dtypes(absl::Span<const Operand> operands, size_t first) {
  std::optional<DType> dtype;
  for (const Operand& operand : operands.subspan(first)) {
    if (!operand.is_tensor()) continue;
    const DType own = operand.tensor().dtype();
    dtype = dtype ? promote(*dtype, own) : own;
  }
  for (const Operand& operand : operands.subspan(first)) {
    if (operand.is_tensor()) continue;
    if (!dtype) {
      // Scalars alone (where(condition, 1.f, 0.f)): as C++ has them, but for double, which is how
      // literals are written.
      const DType own = operand.scalar().dtype();
      dtype = own == DType::kFloat64 ? DType::kFloat32 : own;
    } else {
      dtype = join_scalar(*dtype, operand.scalar());
    }
  }
  return *dtype;
}

Tensor pointwise(const char* name, Op op, absl::Span<const Operand> operands) {
  const fusion::OpInfo& info = fusion::op_info(op);
  const Shape* shape = nullptr;
  std::optional<Shape> broadcast;
  const Tensor* first_tensor = nullptr;
  const engine::Node* first = nullptr;
  for (const Operand& operand : operands) {
    if (!operand.is_tensor()) continue;
    const Tensor& x = operand.tensor();
    const engine::Node* node = node_of(name, x);
    if (first == nullptr) {
      first_tensor = &x;
      first = node;
      shape = &node->layout.shape;
      continue;
    }
    if (node->device != first->device) common_device(name, *first_tensor, x);
    if (node->layout.shape == *shape) continue;
    broadcast = broadcast_shapes(*shape, node->layout.shape);
    if (!broadcast) fail(name, "shapes do not broadcast: ", describe_operands(operands));
    shape = &*broadcast;
  }
  if (first == nullptr) fail(name, "needs a tensor, was given scalars only");

  const bool is_select = info.rule == TypeRule::kSelect;
  DType dtype =
      info.rule == TypeRule::kLogical ? DType::kBool : join_dtypes(operands, is_select ? 1 : 0);
  if (info.rule == TypeRule::kFloat) dtype = float_type(dtype);
  if (!fusion::in_domain(info.domain, dtype)) {
    fail(name, "is not defined for ", name_of(dtype), ": ", describe_operands(operands));
  }
  std::array<engine::NodeOperand, 3> nodes;
  for (size_t k = 0; k < operands.size(); ++k) {
    if (operands[k].is_tensor()) {
      nodes[k].node = operands[k].tensor().node_ref().get();
    } else {
      nodes[k].scalar =
          scalar_bits(operands[k].scalar(), is_select && k == 0 ? DType::kBool : dtype);
    }
  }
  const bool gives_bool = info.rule == TypeRule::kPredicate || info.rule == TypeRule::kLogical;
  Tensor result = record({name, op, gives_bool ? DType::kBool : dtype, dtype, *shape,
                          absl::MakeSpan(nodes.data(), operands.size())},
                         first->device);
  for (const Operand& operand : operands) operand.release();
  return result;
}

}  // namespace

Tensor unary(Op op, Arg x) {
  const Operand operand(x);
  Tensor result = pointwise(fusion::name_of(op), op, {&operand, 1});
  x.release();
  return result;
}

Tensor binary(Op op, Operand a, Operand b) {
  const std::array<Operand, 2> operands = {a, b};
  // A square is rounded once.
  if (op == Op::kPow && a.is_tensor() && !b.is_tensor() && node_of("pow", a.tensor())) {
    const double exponent = b.scalar().as<double>();
    if (exponent == 2 &&
        (!is_integer(a.tensor().dtype()) || b.scalar().kind() != DTypeKind::kFloat) &&
        a.tensor().dtype() != DType::kBool) {
      return pointwise("pow", Op::kSquare, {&operands[0], 1});
    }
  }
  return pointwise(fusion::name_of(op), op, operands);
}

}  // namespace frontend

Tensor where(Operand condition, Operand a, Operand b) {
  const std::array<Operand, 3> operands = {condition, a, b};
  return frontend::pointwise("where", fusion::Op::kWhere, operands);
}

Tensor clip(Operand x, Operand lo, Operand hi) {
  const std::array<Operand, 3> operands = {x, lo, hi};
  return frontend::pointwise("clip", fusion::Op::kClip, operands);
}

Tensor lerp(Operand a, Operand b, Operand t) {
  const std::array<Operand, 3> operands = {a, b, t};
  return frontend::pointwise("lerp", fusion::Op::kLerp, operands);
}

Tensor astype(Arg x, DType dtype) {
  const Tensor& tensor = x.tensor();
  const engine::NodeOperand operand{frontend::node_of("astype", tensor)};
  if (tensor.dtype() == dtype) {
    Tensor same = tensor;
    x.release();
    return same;
  }
  Tensor result = frontend::record(
      {"astype", fusion::Op::kCast, dtype, tensor.dtype(), tensor.shape(), {&operand, 1}},
      tensor.device());
  x.release();
  return result;
}

}  // namespace sluice
