// The ops that are methods too: each is its function, of a tensor or of a temporary.
#include <utility>

#include <sluice/ops.h>
#include <sluice/tensor.h>

namespace sluice {

#define SLUICE_PARAMETERS(...) (__VA_ARGS__ __VA_OPT__(, ) Location where)
#define SLUICE_METHOD(method, parameters, call)               \
  Tensor Tensor::method SLUICE_PARAMETERS parameters const& { \
    const Arg self(*this, where);                             \
    return sluice::call;                                      \
  }                                                           \
  Tensor Tensor::method SLUICE_PARAMETERS parameters&& {      \
    const Arg self(std::move(*this), where);                  \
    return sluice::call;                                      \
  }

SLUICE_METHOD(astype, (DType dtype), astype(self, dtype))
SLUICE_METHOD(reshape, (const Shape& shape), reshape(self, shape))
SLUICE_METHOD(reshape, (std::initializer_list<int64_t> dims), reshape(self, dims))
SLUICE_METHOD(permute, (const Axes& axes), permute(self, axes))
SLUICE_METHOD(transpose, (), transpose(self))
SLUICE_METHOD(T, (), transpose(self))
SLUICE_METHOD(swapaxes, (int a, int b), swapaxes(self, a, b))
SLUICE_METHOD(slice, (int axis, int64_t start, int64_t stop, int64_t step),
              slice(self, axis, start, stop, step))
SLUICE_METHOD(squeeze, (const Axes& axes), squeeze(self, axes))
SLUICE_METHOD(expand_dims, (int axis), expand_dims(self, axis))
SLUICE_METHOD(broadcast_to, (const Shape& shape), broadcast_to(self, shape))
SLUICE_METHOD(flip, (const Axes& axes), flip(self, axes))
SLUICE_METHOD(softmax, (int axis), softmax(self, axis))
SLUICE_METHOD(matmul, (const Tensor& other), matmul(self, other))
SLUICE_METHOD(take, (const Tensor& indices, int axis), take(self, indices, axis))
SLUICE_METHOD(var, (const Axes& axes, bool keepdims, int ddof), var(self, axes, keepdims, ddof))
SLUICE_METHOD(std, (const Axes& axes, bool keepdims, int ddof), std(self, axes, keepdims, ddof))

#define SLUICE_REDUCTION_METHOD(name) \
  SLUICE_METHOD(name, (const Axes& axes, bool keepdims), name(self, axes, keepdims))
SLUICE_REDUCTION_METHOD(sum)
SLUICE_REDUCTION_METHOD(prod)
SLUICE_REDUCTION_METHOD(max)
SLUICE_REDUCTION_METHOD(min)
SLUICE_REDUCTION_METHOD(mean)
SLUICE_REDUCTION_METHOD(any)
SLUICE_REDUCTION_METHOD(all)
SLUICE_REDUCTION_METHOD(argmax)
SLUICE_REDUCTION_METHOD(argmin)
SLUICE_REDUCTION_METHOD(logsumexp)
SLUICE_REDUCTION_METHOD(norm)

#define SLUICE_UNARY_METHOD(name)                                                   \
  Tensor Tensor::name(Location where) const& { return sluice::name(*this, where); } \
  Tensor Tensor::name(Location where)&& { return sluice::name(std::move(*this), where); }
SLUICE_UNARY_METHOD(exp)
SLUICE_UNARY_METHOD(log)
SLUICE_UNARY_METHOD(sqrt)
SLUICE_UNARY_METHOD(abs)
SLUICE_UNARY_METHOD(square)
SLUICE_UNARY_METHOD(tanh)
SLUICE_UNARY_METHOD(sigmoid)
SLUICE_UNARY_METHOD(relu)

}  // namespace sluice
