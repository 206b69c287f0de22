#include "kernels/gpu/emit/expression.h"

#include <utility>

#include "kernels/math/op_expressions.h"

namespace sluice::kernels::cuda {
namespace {

using fusion::Op;
using fusion::TypeRule;
using Text = math::OpExpressions<Value>;

bool is_among(DeviceTypes type, DeviceTypes types) {
  return (static_cast<int>(type) & static_cast<int>(types)) != 0;
}

// What `f` records and returns.
template <typename F>
Expression record(const F& f) {
  Statements statements;
  const char* const result = f();
  return {std::move(statements.list), result == nullptr ? "" : result};
}

}  // namespace

const char* library_function(Op op, DType dtype) {
  const DeviceTypes type = dtype == DType::kFloat32   ? DeviceTypes::kFloat32
                           : dtype == DType::kFloat64 ? DeviceTypes::kFloat64
                           : dtype == DType::kBool    ? DeviceTypes::kNone
                                                      : DeviceTypes::kIntegers;
#define SLUICE_DEVICE_FUNCTION(id, name, arity, types) \
  if (op == Op::k##id && is_among(type, DeviceTypes::types)) return "sl_" #name;
#include "kernels/gpu/emit/device_functions.def"
  return nullptr;
}

DType result_dtype(Op op, DType dtype) {
  const fusion::OpInfo& info = fusion::op_info(op);
  if (info.rule == TypeRule::kFixed) return info.result_dtype;
  const bool is_bool = info.rule == TypeRule::kPredicate || info.rule == TypeRule::kLogical;
  return is_bool ? DType::kBool : dtype;
}

Expression pointwise(Op op, DType dtype, const std::string* operands) {
  return record([&] {
    const int arity = fusion::op_info(op).arity;
    const char* names[3] = {};
    for (int k = 0; k < arity; ++k) names[k] = operands[k].c_str();
    if (const char* function = library_function(op, dtype)) {
      return arity == 1 ? raw::call(dtype, function, names[0])
                        : raw::call(dtype, function, names[0], names[1]);
    }
    return Text::pointwise(op, dtype, names);
  });
}

Expression cast(DType from, DType to, const std::string& operand) {
  return record([&] { return Text::cast(from, to, operand.c_str()); });
}

std::string identity(Op op, DType dtype) {
  return record([&] { return Text::identity(op, dtype); }).result;
}

Expression combine(Op op, DType dtype, const std::string& a, const std::string& b) {
  return record([&] { return Text::combine(op, dtype, a.c_str(), b.c_str()); });
}

}  // namespace sluice::kernels::cuda
