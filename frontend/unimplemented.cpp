// Ops that are declared and not there yet: each says so by name.
#include <sluice/ops.h>
#include "frontend/checks.h"

namespace sluice {

using frontend::fail_unimplemented;

Tensor nonzero(Arg) { fail_unimplemented("nonzero"); }
Tensor sort(Arg, int, bool) { fail_unimplemented("sort"); }
Tensor argsort(Arg, int, bool) { fail_unimplemented("argsort"); }
std::pair<Tensor, Tensor> topk(Arg, int64_t, int) { fail_unimplemented("topk"); }
Tensor conv2d(Arg, Arg, const Conv2dOptions&) { fail_unimplemented("conv2d"); }
Tensor max_pool2d(Arg, Pair, const Pool2dOptions&) { fail_unimplemented("max_pool2d"); }
Tensor avg_pool2d(Arg, Pair, const Pool2dOptions&) { fail_unimplemented("avg_pool2d"); }
Tensor layer_norm(Arg, Arg, Arg, double) { fail_unimplemented("layer_norm"); }
Tensor rms_norm(Arg, Arg, double) { fail_unimplemented("rms_norm"); }
Tensor batch_norm(Arg, Arg, Arg, Arg, Arg, double) { fail_unimplemented("batch_norm"); }
Tensor dropout(Arg, double) { fail_unimplemented("dropout"); }
Tensor scaled_dot_product_attention(Arg, Arg, Arg, const Tensor&, bool) {
  fail_unimplemented("scaled_dot_product_attention");
}

}  // namespace sluice
