// The frame of a call: its name and place, and its temporary, which it lets go of.
#ifndef SLUICE_FRONTEND_CALL_H_
#define SLUICE_FRONTEND_CALL_H_

#include <sluice/tensor.h>
#include "engine/observe/call_site.h"
#include "frontend/checks.h"

namespace sluice::frontend {

// f(tensor) for the tensor of `x`, the operand of op `name`; throws if the handle is empty. What
// f records was called so at x.where(). The handle of a temporary is let go of unless f throws.
template <typename F>
auto with_call(const Arg& x, const char* name, F f) {
  const engine::CallSite site(x.where(), name);
  const Tensor& tensor = x.tensor();
  node_of(name, tensor);
  auto result = f(tensor);
  x.release();
  return result;
}

// Likewise, of two operands: f(a, b).
template <typename F>
auto with_call(const Arg& a, const Arg& b, const char* name, F f) {
  auto result = with_call(a, name, [&](const Tensor& first) {
    node_of(name, b.tensor());
    return f(first, b.tensor());
  });
  b.release();
  return result;
}

}  // namespace sluice::frontend

#endif  // SLUICE_FRONTEND_CALL_H_
