// Ops that are declared and not there yet: each says so by name.
#include <sluice/ops.h>
#include "frontend/checks.h"

namespace sluice {

using frontend::fail_unimplemented;

Tensor nonzero(Arg) { fail_unimplemented("nonzero"); }
Tensor sort(Arg, int, bool) { fail_unimplemented("sort"); }
Tensor argsort(Arg, int, bool) { fail_unimplemented("argsort"); }
std::pair<Tensor, Tensor> topk(Arg, int64_t, int) { fail_unimplemented("topk"); }

}  // namespace sluice
