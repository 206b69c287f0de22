// Random numbers as all generators draw them.
#ifndef SLUICE_FRONTEND_RANDOM_RANDOM_H_
#define SLUICE_FRONTEND_RANDOM_RANDOM_H_

#include <cstdint>
#include <optional>

#include <sluice/tensor.h>

namespace sluice::frontend {

// A seed, and the number of a generator's call: together with an element's index they say what
// Philox gives. Functions that need several numbers an element say how many calls they take.
struct Draw {
  uint64_t seed;
  uint64_t call;

  Draw next(uint64_t calls = 1) const { return {seed, call + calls}; }
};

// The next numbers of the process's generator, of so many calls.
Draw take_calls(uint64_t count = 1);

Tensor uniform(Draw draw, const char* name, const Shape& shape, DType dtype,
               std::optional<Device> device);
Tensor standard_normal(Draw draw, const char* name, const Shape& shape, DType dtype,
                       std::optional<Device> device);
Tensor integers(Draw draw, int64_t low, int64_t high, const Shape& shape, DType dtype,
                std::optional<Device> device);

Tensor normal(Draw draw, double mean, double std, const Shape& shape, DType dtype,
              std::optional<Device> device);
Tensor exponential(Draw draw, double scale, const Shape& shape, DType dtype,
                   std::optional<Device> device);
inline constexpr uint64_t kGammaCalls = 13;
Tensor gamma(Draw draw, double k, double scale, const Shape& shape, DType dtype,
             std::optional<Device> device);
Tensor poisson(Draw draw, double mean, const Shape& shape, DType dtype,
               std::optional<Device> device);

Tensor permutation(Draw draw, int64_t count, std::optional<Device> device);
Tensor shuffle(Draw draw, const Tensor& x, int axis);
Tensor choice(Draw draw, const Tensor& x, const Shape& shape, bool replacement);
Tensor multinomial(Draw draw, const Tensor& weights, int64_t count, bool replacement);

// For each element of `target` (rows, n), float64, the first position in its row of `table`
// (rows, m) that holds more, as int64. m is a power of 2 and the last of a row is infinite.
Tensor search(const Tensor& table, const Tensor& target);

}  // namespace sluice::frontend

#endif  // SLUICE_FRONTEND_RANDOM_RANDOM_H_
