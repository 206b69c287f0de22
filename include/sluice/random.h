// Random numbers: distributions, permutations and samples, and generators of one's own.
#ifndef SLUICE_RANDOM_H_
#define SLUICE_RANDOM_H_

#include <cstdint>
#include <optional>

#include <sluice/tensor.h>

#pragma GCC visibility push(default)
namespace sluice {

// Where random numbers come from. Each call of a member draws numbers that depend on the seed, on
// how many were called before and on the element's index alone: not on threads, devices or what is
// fused. The free functions of the same names (creation.h, and below) do the same by the process's
// generator, whose seed manual_seed() sets; a Generator(s) gives what they give after
// manual_seed(s).
//
// Generators are cheap, and copies continue alike. One is for one thread at a time: for results
// that do not depend on how threads run, give each its own, with another seed.
class Generator {
 public:
  explicit Generator(uint64_t seed) : seed_(seed) {}

  // Uniform in [0, 1).
  Tensor rand(const Shape& shape, DType dtype = DType::kFloat32,
              std::optional<Device> device = std::nullopt, Location where = Location::current());
  // Standard normal.
  Tensor randn(const Shape& shape, DType dtype = DType::kFloat32,
               std::optional<Device> device = std::nullopt, Location where = Location::current());
  // Integers in [low, high).
  Tensor randint(int64_t low, int64_t high, const Shape& shape, DType dtype = DType::kInt64,
                 std::optional<Device> device = std::nullopt, Location where = Location::current());
  // As the functions below.
  Tensor normal(double mean, double std, const Shape& shape, DType dtype = DType::kFloat32,
                std::optional<Device> device = std::nullopt, Location where = Location::current());
  Tensor exponential(double scale, const Shape& shape, DType dtype = DType::kFloat32,
                     std::optional<Device> device = std::nullopt,
                     Location where = Location::current());
  Tensor gamma(double k, double scale, const Shape& shape, DType dtype = DType::kFloat32,
               std::optional<Device> device = std::nullopt, Location where = Location::current());
  Tensor poisson(double mean, const Shape& shape, DType dtype = DType::kInt64,
                 std::optional<Device> device = std::nullopt, Location where = Location::current());
  Tensor permutation(int64_t count, std::optional<Device> device = std::nullopt,
                     Location where = Location::current());
  Tensor shuffle(const Tensor& x, int axis = 0, Location where = Location::current());
  Tensor choice(const Tensor& x, const Shape& shape, bool replacement = true,
                Location where = Location::current());
  Tensor multinomial(const Tensor& weights, int64_t count, bool replacement = true,
                     Location where = Location::current());

 private:
  uint64_t seed_;
  uint64_t next_call_ = 0;
};

// Where the process's generator is: what it draws next follows from these two.
struct RandomState {
  uint64_t seed;
  uint64_t next_call;
};
[[nodiscard]] RandomState random_state();
void set_random_state(const RandomState& state);

// mean + std * randn(). std is not negative.
Tensor normal(double mean, double std, const Shape& shape, DType dtype = DType::kFloat32,
              std::optional<Device> device = std::nullopt, Location where = Location::current());
// With this mean, not negative: -scale * log(1 - rand()).
Tensor exponential(double scale, const Shape& shape, DType dtype = DType::kFloat32,
                   std::optional<Device> device = std::nullopt,
                   Location where = Location::current());
// Of mean k * scale; k is positive, scale not negative. Marsaglia and Tsang's method ("A simple
// method for generating gamma variables", 2000) in six rounds; an element that all of them reject
// (less than 2e-8 of them) is that of the mode.
Tensor gamma(double k, double scale, const Shape& shape, DType dtype = DType::kFloat32,
             std::optional<Device> device = std::nullopt, Location where = Location::current());
// Counts of this mean, from 0 to 1e10, by inversion: a table of the distribution, in float64, is
// searched for each element. Any dtype but bool.
Tensor poisson(double mean, const Shape& shape, DType dtype = DType::kInt64,
               std::optional<Device> device = std::nullopt, Location where = Location::current());
// 0 to count - 1 in random order, int64: Fisher and Yates's shuffle, on the host.
Tensor permutation(int64_t count, std::optional<Device> device = std::nullopt,
                   Location where = Location::current());
// x in random order along an axis.
Tensor shuffle(const Tensor& x, int axis = 0, Location where = Location::current());
// Elements of x along axis 0, of shape (shape..., x's other extents): each drawn from all, or
// without replacement each at most once.
Tensor choice(const Tensor& x, const Shape& shape, bool replacement = true,
              Location where = Location::current());
// `count` indices along the last axis of `weights`, (n) or (rows, n), drawn in proportion to them:
// int64 (count) or (rows, count). Weights are not negative, and not all 0; those of a row need not
// add up to 1. With replacement the cumulative sums are searched, in float64. Without, an index is
// drawn at most once: this waits for the weights, of which at least `count` must be positive, and
// sorts keys on the host (Efraimidis and Spirakis, "Weighted random sampling with a reservoir",
// 2006).
Tensor multinomial(const Tensor& weights, int64_t count, bool replacement = true,
                   Location where = Location::current());

}  // namespace sluice
#pragma GCC visibility pop

#endif  // SLUICE_RANDOM_H_
