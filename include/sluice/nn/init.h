// Values that parameters begin with. All draw as rand() and randn() do.
#ifndef SLUICE_NN_INIT_H_
#define SLUICE_NN_INIT_H_

#include <cstdint>

#include <sluice/dtype.h>
#include <sluice/tensor.h>

#pragma GCC visibility push(default)
namespace sluice {
namespace nn::init {

// Of a weight (outputs, inputs, window...): fan in is inputs * window's elements, fan out outputs *
// window's elements. A shape of fewer than two axes is an Error (kInvalidArgument).
enum class Fan : uint8_t { kIn, kOut };

// Uniform in [low, high).
Tensor uniform(const Shape& shape, double low = 0, double high = 1, DType dtype = DType::kFloat32);
Tensor normal(const Shape& shape, double mean = 0, double std = 1, DType dtype = DType::kFloat32);
// Normal, but for what lies outside [low, high] standard deviations, which is drawn within.
Tensor truncated_normal(const Shape& shape, double mean = 0, double std = 1, double low = -2,
                        double high = 2, DType dtype = DType::kFloat32);
// Of variance gain^2 * 2 / (fan in + fan out) (Glorot and Bengio, 2010).
Tensor xavier_uniform(const Shape& shape, double gain = 1, DType dtype = DType::kFloat32);
Tensor xavier_normal(const Shape& shape, double gain = 1, DType dtype = DType::kFloat32);
// Of variance 2 / (1 + slope^2) / fan, for leaky_relu of this slope (He et al., 2015).
Tensor kaiming_uniform(const Shape& shape, double slope = 0, Fan fan = Fan::kIn,
                       DType dtype = DType::kFloat32);
Tensor kaiming_normal(const Shape& shape, double slope = 0, Fan fan = Fan::kIn,
                      DType dtype = DType::kFloat32);
// gain times orthonormal rows, or columns if there are fewer, of the weight as (outputs, rest)
// (Saxe et al., 2013). Computed on the host.
Tensor orthogonal(const Shape& shape, double gain = 1, DType dtype = DType::kFloat32);

}  // namespace nn::init
}  // namespace sluice
#pragma GCC visibility pop

#endif  // SLUICE_NN_INIT_H_
