// The frame of a function that is composed of ops: their errors are the function's.
#ifndef SLUICE_FRONTEND_COMPOSED_COMPOSE_H_
#define SLUICE_FRONTEND_COMPOSED_COMPOSE_H_

#include <utility>

#include <sluice/creation.h>
#include <sluice/tensor.h>
#include "absl/strings/str_cat.h"
#include "frontend/call.h"
#include "frontend/checks.h"

namespace sluice::frontend {

// f(). What it throws says what the user called: "isclose: sub: shapes do not broadcast ...".
template <typename F>
auto in_name_of(const char* name, F f) {
  try {
    return f();
  } catch (const Error& error) {
    const std::string message = error.what();
    if (message.starts_with(absl::StrCat(name, ":"))) throw;
    throw Error(error.code(), absl::StrCat(name, ": ", message));
  }
}

// Like with_call(): f(tensor) for the tensor of `x`, and f(a, b).
template <typename F>
auto composed(const Arg& x, const char* name, F f) {
  return with_call(
      x, name, [&](const Tensor& tensor) { return in_name_of(name, [&] { return f(tensor); }); });
}
template <typename F>
auto composed(const Arg& a, const Arg& b, const char* name, F f) {
  return with_call(a, b, name, [&](const Tensor& x, const Tensor& y) {
    return in_name_of(name, [&] { return f(x, y); });
  });
}

// Likewise of two operands, one of which is a tensor: f(x, y) of tensors. A scalar is one without
// axes, of their common dtype.
template <typename F>
auto composed(const Operand& a, const Operand& b, const char* name, F f) {
  const engine::CallSite site(a.is_tensor() ? a.where() : b.where(), name);
  if (!a.is_tensor() && !b.is_tensor()) fail(name, "needs a tensor, was given scalars only");
  for (const Operand* operand : {&a, &b}) {
    if (operand->is_tensor()) node_of(name, operand->tensor());
  }
  const Device device = a.is_tensor() ? a.tensor().device() : b.tensor().device();
  const DType dtype = common_dtype({a, b});
  auto tensor_of = [&](const Operand& operand) {
    if (operand.is_tensor()) return operand.tensor();
    return full({}, operand.scalar(), dtype, device);
  };
  auto result = in_name_of(name, [&] { return f(tensor_of(a), tensor_of(b)); });
  for (const Operand* operand : {&a, &b}) {
    if (operand->consumed() != nullptr) *operand->consumed() = Tensor();
  }
  return result;
}

}  // namespace sluice::frontend

#endif  // SLUICE_FRONTEND_COMPOSED_COMPOSE_H_
