// Tensors made from nothing: filled, counted, or random.
#ifndef SLUICE_CREATION_H_
#define SLUICE_CREATION_H_

#include <optional>

#include <sluice/tensor.h>

#pragma GCC visibility push(default)
namespace sluice {

// None of these computes or allocates anything by itself: inside an expression they are part of the
// kernel that reads them. Without a device they are made on default_device().
Tensor zeros(const Shape& shape, DType dtype = DType::kFloat32,
             std::optional<Device> device = std::nullopt, Location where = Location::current());
Tensor ones(const Shape& shape, DType dtype = DType::kFloat32,
            std::optional<Device> device = std::nullopt, Location where = Location::current());
// Without a dtype, a float or double gives float32 and an integer int64, as literals are written:
// full({2}, 1.0), full({2}, 1). A half type gives its own dtype, a bool kBool.
Tensor full(const Shape& shape, Scalar value, std::optional<DType> dtype = std::nullopt,
            std::optional<Device> device = std::nullopt, Location where = Location::current());
// The contents are unspecified (they are zeros).
Tensor empty(const Shape& shape, DType dtype = DType::kFloat32,
             std::optional<Device> device = std::nullopt, Location where = Location::current());

// Of x's shape, on its device; of its dtype when none is given.
Tensor zeros_like(const Tensor& x, std::optional<DType> dtype = std::nullopt,
                  Location where = Location::current());
Tensor ones_like(const Tensor& x, std::optional<DType> dtype = std::nullopt,
                 Location where = Location::current());
Tensor full_like(const Tensor& x, Scalar value, std::optional<DType> dtype = std::nullopt,
                 Location where = Location::current());
Tensor empty_like(const Tensor& x, std::optional<DType> dtype = std::nullopt,
                  Location where = Location::current());

// What is a tensor already, in another dtype if one is given; a number, without axes; the elements
// of a contiguous range, along one axis.
Tensor asarray(const Tensor& x, std::optional<DType> dtype = std::nullopt,
               Location where = Location::current());
Tensor asarray(Scalar value, std::optional<DType> dtype = std::nullopt,
               std::optional<Device> device = std::nullopt, Location where = Location::current());
template <std::ranges::contiguous_range R>
requires Element<std::ranges::range_value_t<R>> Tensor
asarray(const R& values, std::optional<DType> dtype = std::nullopt,
        Location where = Location::current()) {
  return asarray(Tensor::from(values), dtype, where);
}
template <Element T>
Tensor asarray(std::initializer_list<T> values, std::optional<DType> dtype = std::nullopt,
               Location where = Location::current()) {
  return asarray(Tensor::from(values), dtype, where);
}

// start, start + step, ... below stop. The dtype is that of the arguments when not given: float32
// if any is a float, int64 otherwise. Element i is start + i * step, computed in float64 or int64.
Tensor arange(Scalar stop, Location where = Location::current());
Tensor arange(Scalar start, Scalar stop, Scalar step = 1, std::optional<DType> dtype = std::nullopt,
              std::optional<Device> device = std::nullopt, Location where = Location::current());
// num >= 0 evenly spaced numbers, the first `start`, the last exactly `stop`.
Tensor linspace(Scalar start, Scalar stop, int64_t num, DType dtype = DType::kFloat32,
                std::optional<Device> device = std::nullopt, Location where = Location::current());
// Likewise; without the endpoint the first num of num + 1 such numbers.
Tensor linspace(Scalar start, Scalar stop, int64_t num, bool endpoint,
                DType dtype = DType::kFloat32, std::optional<Device> device = std::nullopt,
                Location where = Location::current());
// Ones on the main diagonal of (n, m).
Tensor eye(int64_t n, std::optional<int64_t> m = std::nullopt, DType dtype = DType::kFloat32,
           std::optional<Device> device = std::nullopt, Location where = Location::current());
// On diagonal k: above the main one if k > 0, below it if k < 0.
Tensor eye(int64_t n, std::optional<int64_t> m, int64_t k, DType dtype = DType::kFloat32,
           std::optional<Device> device = std::nullopt, Location where = Location::current());

// Random numbers are counter-based (Philox4x32-10): element i of the k-th random call after
// manual_seed(s) depends on s, k and i alone, whatever is fused or run in between. Calls are
// numbered per process; the seed is 0 until set. Float dtypes only, but for randint.
void manual_seed(uint64_t seed);
Tensor rand(const Shape& shape, DType dtype = DType::kFloat32,
            std::optional<Device> device = std::nullopt,
            Location where = Location::current());  // uniform in [0, 1)
Tensor randn(const Shape& shape, DType dtype = DType::kFloat32,
             std::optional<Device> device = std::nullopt,
             Location where = Location::current());  // standard normal
// Integers in [low, high).
Tensor randint(int64_t low, int64_t high, const Shape& shape, DType dtype = DType::kInt64,
               std::optional<Device> device = std::nullopt, Location where = Location::current());

}  // namespace sluice
#pragma GCC visibility pop

#endif  // SLUICE_CREATION_H_
