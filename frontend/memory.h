// Tensors on memory that is not the engine's.
#ifndef SLUICE_FRONTEND_MEMORY_H_
#define SLUICE_FRONTEND_MEMORY_H_

#include <functional>
#include <span>

#include <sluice/tensor.h>
#include "runtime/layout.h"

namespace sluice::frontend {

// The layout with these strides, row-major's if empty. Throws Error (kInvalidArgument), in the name
// of `op`, if their count is not the rank or an address overflows.
Layout checked_layout(const char* op, DType dtype, const Shape& shape,
                      std::span<const int64_t> strides);

// A tensor on the default device with a copy of what `layout` says of `data`.
Tensor copied(const void* data, const Layout& layout, DType dtype);

// Tensor::adopt(), in the name of `op`.
Tensor adopt(const char* op, const void* data, const Shape& shape, DType dtype,
             std::function<void()> deleter, std::span<const int64_t> strides);

}  // namespace sluice::frontend

#endif  // SLUICE_FRONTEND_MEMORY_H_
