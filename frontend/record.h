// How the frontend hands ops to the engine.
#ifndef SLUICE_FRONTEND_RECORD_H_
#define SLUICE_FRONTEND_RECORD_H_

#include <sluice/tensor.h>
#include "absl/types/span.h"
#include "engine/engine.h"
#include "fusion/ir/op.h"

namespace sluice::frontend {

// An op of which the shape and dtypes are known to be right. It is the call under way's, if one is.
// Throws if its result would have more bytes than int64 can count.
Tensor record(engine::OpCall call);

// A view: one operand, its dtype and device.
Tensor record_view(const char* name, fusion::Op op, const Tensor& x, const Shape& shape,
                   absl::Span<const int64_t> attrs = {});

// Of these views, in the name of the op that the user called. `order`: axis i of the result is axis
// order[i] of x.
Tensor reshaped(const char* name, const Tensor& x, const Shape& shape);
Tensor permuted(const char* name, const Tensor& x, absl::Span<const int64_t> order);

// int64: each element's index along `axis`.
Tensor coordinate(const char* name, const Shape& shape, int axis, Device device);

// Throws unless both are on one device; that device.
Device common_device(const char* name, const Tensor& a, const Tensor& b);

}  // namespace sluice::frontend

#endif  // SLUICE_FRONTEND_RECORD_H_
