// The ops that are methods too: each is its function, of a tensor or of a temporary.
#include <initializer_list>
#include <utility>
#include <vector>

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
#define SLUICE_METHOD_1(name) SLUICE_UNARY_METHOD(name)
#define SLUICE_METHOD_2(name)
#define SLUICE_METHOD_3(name)
#define SLUICE_POINTWISE_OP(id, name, arity, ...) SLUICE_METHOD_##arity(name)
#include "fusion/ir/ops.def"

#define SLUICE_BINARY_METHOD(name)                                            \
  Tensor Tensor::name(const Operand& y, Location where) const& {              \
    return y.is_tensor() ? sluice::name(*this, y.tensor(), where)             \
                         : sluice::name(*this, y.scalar(), where);            \
  }                                                                           \
  Tensor Tensor::name(const Operand& y, Location where)&& {                   \
    return y.is_tensor() ? sluice::name(std::move(*this), y.tensor(), where)  \
                         : sluice::name(std::move(*this), y.scalar(), where); \
  }
SLUICE_BINARY_METHOD(pow)
SLUICE_BINARY_METHOD(maximum)
SLUICE_BINARY_METHOD(minimum)
SLUICE_METHOD(clip, (const Operand& lo, const Operand& hi), clip(self, lo, hi))
SLUICE_METHOD(cumsum, (int axis), cumsum(self, axis))
SLUICE_METHOD(cumprod, (int axis), cumprod(self, axis))

SLUICE_METHOD(take, (std::initializer_list<int64_t> indices, int axis), take(self, indices, axis))
SLUICE_METHOD(reshape, (int64_t extent), reshape(self, extent))

static std::vector<int64_t> given(std::initializer_list<Extent> extents) {
  std::vector<int64_t> dims;
  for (const Extent& extent : extents) {
    if (extent.given()) dims.push_back(extent.value());
  }
  return dims;
}

Tensor Tensor::reshape(Extent a, Extent b, Extent c, Extent d, Extent e, Extent f, Extent g,
                       Extent h) const& {
  return sluice::reshape(Arg(*this, a.where()), given({a, b, c, d, e, f, g, h}));
}
Tensor Tensor::reshape(Extent a, Extent b, Extent c, Extent d, Extent e, Extent f, Extent g,
                       Extent h) && {
  return sluice::reshape(Arg(std::move(*this), a.where()), given({a, b, c, d, e, f, g, h}));
}

}  // namespace sluice
