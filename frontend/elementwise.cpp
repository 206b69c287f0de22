// Element-wise ops: the result's shape and dtype from the operands', by the op's type rule.
#include <algorithm>
#include <array>
#include <optional>

#include <sluice/ops.h>
#include "absl/strings/str_join.h"
#include "engine/observe/call_site.h"
#include "engine/record/queue_append.h"
#include "frontend/checks.h"
#include "frontend/record.h"
#include "runtime/for_each_index.h"

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

// What operands of several shapes and dtypes are brought to.
struct Common {
  Shape shape;
  DType dtype;
};

Common common(const char* name, absl::Span<const Operand> operands, bool is_select) {
  std::optional<Shape> shape;
  const Tensor* first = nullptr;
  for (const Operand& operand : operands) {
    if (!operand.is_tensor()) continue;
    const Tensor& x = operand.tensor();
    if (first == nullptr) {
      first = &x;
      shape = x.shape();
      continue;
    }
    common_device(name, *first, x);
    shape = broadcast_shapes(*shape, x.shape());
    if (!shape) fail(name, "shapes do not broadcast: ", describe_operands(operands));
  }
  return {*shape, join_dtypes(operands, is_select ? 1 : 0)};
}

bool is_alike(const engine::Node& a, const engine::Node& b) {
  return &a == &b ||
         (a.dtype == b.dtype && a.device == b.device && a.layout.shape == b.layout.shape);
}

// An op takes over the handle of a temporary, once.
[[gnu::always_inline]] inline bool is_consumed(const Operand* operands, size_t k) {
  const Tensor* const own = operands[k].consumed();
  return own != nullptr && std::none_of(operands, operands + k, [own](const Operand& earlier) {
           return earlier.consumed() == own;
         });
}

inline void empty_consumed(absl::Span<const Operand> operands) {
  for (const Operand& operand : operands) {
    if (operand.consumed() != nullptr) (void)std::move(*operand.consumed()).release().release();
  }
}

Tensor pointwise(const char* name, Op op, absl::Span<const Operand> operands) {
  const fusion::OpInfo& info = fusion::op_info(op);
  const bool is_select = info.rule == TypeRule::kSelect;
  std::array<engine::NodeOperand, 3> nodes;
  const engine::Node* first = nullptr;
  for (size_t k = 0; k < operands.size(); ++k) {
    if (!operands[k].is_tensor()) continue;
    nodes[k].node = node_of(name, operands[k].tensor());
    if (first == nullptr) first = nodes[k].node;
  }
  if (first == nullptr) fail(name, "needs a tensor, was given scalars only");
  auto [shape, dtype] = common(name, operands, is_select);
  if (info.rule == TypeRule::kFloat) dtype = float_type(dtype);
  if (info.rule == TypeRule::kLogical) dtype = DType::kBool;
  if (!fusion::in_domain(info.domain, dtype)) {
    fail(name, "is not defined for ", name_of(dtype), ": ", describe_operands(operands));
  }
  for (size_t k = 0; k < operands.size(); ++k) {
    if (operands[k].is_tensor()) continue;
    nodes[k].scalar = scalar_bits(operands[k].scalar(), is_select && k == 0 ? DType::kBool : dtype);
  }
  for (size_t k = 0; k < operands.size(); ++k) nodes[k].consumed = is_consumed(operands.data(), k);
  const bool gives_bool = info.rule == TypeRule::kPredicate || info.rule == TypeRule::kLogical;
  Tensor result = record({name, op, gives_bool ? DType::kBool : dtype, dtype, shape,
                          absl::MakeSpan(nodes.data(), operands.size())},
                         first->device);
  empty_consumed(operands);
  return result;
}

bool is_square(Op op, absl::Span<const Operand> operands) {
  if (op != Op::kPow) return false;
  const Operand& base = operands[0];
  const Operand& exponent = operands[1];
  return base.is_tensor() && !exponent.is_tensor() && node_of("pow", base.tensor()) &&
         exponent.scalar().as<double>() == 2 && base.tensor().dtype() != DType::kBool &&
         (!is_integer(base.tensor().dtype()) || exponent.scalar().kind() != DTypeKind::kFloat);
}

// The general way. A square is rounded once.
Tensor general_pointwise(Op op, absl::Span<const Operand> operands) {
  if (is_square(op, operands)) return pointwise("pow", Op::kSquare, operands.first(1));
  return pointwise(fusion::name_of(op), op, operands);
}

// Apart, so that what it needs is not in the way of the others.
[[gnu::noinline, gnu::cold]] Tensor traced_pointwise(Op op, absl::Span<const Operand> operands,
                                                     const std::source_location& where) {
  const engine::CallSite site(where);
  return general_pointwise(op, operands);
}

// Floats of one dtype enter the op as they are.
bool takes_floats_alike(const fusion::OpInfo& info) {
  return (info.domain & fusion::kFloating) != 0 &&
         (info.rule == TypeRule::kSame || info.rule == TypeRule::kFloat ||
          info.rule == TypeRule::kPredicate);
}

// What nearly every call is: tensors of one shape and float dtype, and scalars. Nothing has to be
// brought together then. Does what the general way does in a third of its instructions; gives null
// if the call is not of this kind.
template <size_t n>
engine::NodeRef uniform_pointwise(Op op, const Operand* operands) {
  constexpr std::integral_constant<size_t, n> kCount;
  const fusion::OpInfo& info = fusion::op_info(op);
  if (!takes_floats_alike(info)) return {};
  engine::NodeOperand nodes[n];
  const engine::Node* first = nullptr;
  bool is_uniform = true;
  for_each_index(kCount, [&](size_t k) {
    if (!operands[k].is_tensor()) return;
    engine::Node* node = operands[k].tensor().node_ref().get();
    nodes[k].node = node;
    if (first == nullptr) first = node;
    is_uniform = is_uniform && node != nullptr && is_alike(*node, *first);
  });
  if (!is_uniform || first == nullptr || !is_float(first->dtype)) return {};
  for_each_index(kCount, [&](size_t k) {
    if (!operands[k].is_tensor()) {
      nodes[k].scalar = scalar_bits(operands[k].scalar(), first->dtype);
    }
    nodes[k].consumed = is_consumed(operands, k);
  });
  const DType dtype = info.rule == TypeRule::kPredicate ? DType::kBool : first->dtype;
  engine::NodeRef result =
      engine::Queue::current(first->device)
          .append_inline({op, dtype, first->dtype, first->device, first->layout.shape, nodes, {}},
                         kCount);
  empty_consumed({operands, n});
  return result;
}

}  // namespace

Tensor pointwise(Op op, std::initializer_list<Operand> operands, std::source_location where) {
  if (engine::is_recording()) [[unlikely]]
    return traced_pointwise(op, operands, where);
  if (op == Op::kPow) [[unlikely]]
    return general_pointwise(op, operands);
  const Operand* const first = operands.begin();
  engine::NodeRef result = operands.size() == 2   ? uniform_pointwise<2>(op, first)
                           : operands.size() == 1 ? uniform_pointwise<1>(op, first)
                                                  : engine::NodeRef();
  if (result == nullptr) return general_pointwise(op, operands);
  return Tensor(std::move(result));
}

}  // namespace frontend

Tensor where(OperandArg condition, OperandArg a, OperandArg b) {
  return frontend::pointwise(fusion::Op::kWhere, {condition, a, b}, condition.where());
}

Tensor clip(OperandArg x, OperandArg lo, OperandArg hi) {
  return frontend::pointwise(fusion::Op::kClip, {x, lo, hi}, x.where());
}

Tensor lerp(OperandArg a, OperandArg b, OperandArg t) {
  return frontend::pointwise(fusion::Op::kLerp, {a, b, t}, a.where());
}

Tensor astype(Arg x, DType dtype) {
  const engine::CallSite site(x.where());
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
