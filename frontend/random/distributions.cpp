// Random numbers that are not uniform, made of those that are.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include <sluice/creation.h>
#include <sluice/ops.h>
#include "frontend/checks.h"
#include "frontend/random/random.h"

namespace sluice::frontend {
namespace {

void check_at_least_0(const char* op, const char* parameter, double value) {
  if (!(value >= 0) || std::isinf(value)) fail(op, parameter, " is ", value);
}

// What is computed in: floats round once, at the end.
DType computed_in(DType dtype) {
  return dtype == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
}

// The distribution function of counts of this mean, from count `first` on. Beyond the ends of the
// table lies less than float64 can tell from 0 and 1.
struct PoissonTable {
  explicit PoissonTable(double mean) {
    const double reach = 9 * std::sqrt(mean) + 30;
    first = static_cast<int64_t>(std::max(0.0, std::floor(mean - reach)));
    const auto mode = static_cast<int64_t>(mean);
    const auto last = static_cast<int64_t>(mean + reach);
    std::vector<double> masses(static_cast<size_t>(last - first + 1));  // relative to the mode's
    double mass = 1;
    for (int64_t k = mode; k <= last; ++k) {
      masses[static_cast<size_t>(k - first)] = mass;
      mass *= mean / static_cast<double>(k + 1);
    }
    mass = 1;
    for (int64_t k = mode; k > first; --k) {
      mass *= static_cast<double>(k) / mean;
      masses[static_cast<size_t>(k - 1 - first)] = mass;
    }
    double total = 0;
    for (const double each : masses) total += each;
    double below = 0;
    for (const double each : masses) below_and_at.push_back((below += each) / total);
    below_and_at.back() = std::numeric_limits<double>::infinity();
    below_and_at.resize(std::bit_ceil(below_and_at.size()), below_and_at.back());
  }

  int64_t first;
  std::vector<double> below_and_at;  // as search() takes it
};

}  // namespace

Tensor normal(Draw draw, double mean, double std, const Shape& shape, DType dtype,
              std::optional<Device> device) {
  check_at_least_0("normal", "std", std);
  const DType computed = is_float(dtype) ? computed_in(dtype) : dtype;
  return astype(standard_normal(draw, "normal", shape, computed, device) * std + mean, dtype);
}

Tensor exponential(Draw draw, double scale, const Shape& shape, DType dtype,
                   std::optional<Device> device) {
  check_at_least_0("exponential", "scale", scale);
  const DType computed = is_float(dtype) ? computed_in(dtype) : dtype;
  return astype(log1p(-uniform(draw, "exponential", shape, computed, device)) * -scale, dtype);
}

// A gamma variable of k < 1 is one of k + 1 times u^(1 / k).
Tensor gamma(Draw draw, double k, double scale, const Shape& shape, DType dtype,
             std::optional<Device> device) {
  if (!(k > 0) || std::isinf(k)) fail("gamma", "k is ", k);
  check_at_least_0("gamma", "scale", scale);
  const DType computed = is_float(dtype) ? computed_in(dtype) : dtype;
  const double d = (k < 1 ? k + 1 : k) - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  constexpr int kRounds = 6;
  static_assert(2 * kRounds + 1 == kGammaCalls);
  Tensor result;
  // The first round that accepts counts.
  for (int round = kRounds; round-- > 0;) {
    const Draw first = draw.next(uint64_t{2} * static_cast<uint64_t>(round));
    const Tensor x = standard_normal(first, "gamma", shape, computed, device);
    const Tensor u = uniform(first.next(), "gamma", shape, computed, device);
    const Tensor root = x * c + 1;
    const Tensor v = square(root) * root;
    const Tensor accepted =
        root > 0 && log1p(-u) < square(x) * 0.5 + (1 - v + log(maximum(v, 1e-30))) * d;
    result = where(accepted, v, result.defined() ? Operand(result) : Operand(1.0));
  }
  result = result * (d * scale);
  if (k < 1) {
    const Tensor u = uniform(draw.next(kGammaCalls - 1), "gamma", shape, computed, device);
    result = result * exp(log1p(-u) / k);
  }
  return astype(result, dtype);
}

Tensor poisson(Draw draw, double mean, const Shape& shape, DType dtype,
               std::optional<Device> device) {
  if (!(mean >= 0 && mean <= 1e10)) fail("poisson", "the mean ", mean, " is not within 0 and 1e10");
  if (dtype == DType::kBool) fail("poisson", "is not defined for bool");
  check_bytes("poisson", dtype, shape);
  const PoissonTable table(mean);
  const Tensor u = uniform(draw, "poisson", shape, DType::kFloat64, device);
  const Shape rows{1, static_cast<int64_t>(table.below_and_at.size())};
  const Tensor at = search(Tensor::from(table.below_and_at, rows).to(u.device()),
                           reshape(u, Shape{1, shape.numel()}));
  return reshape(astype(at + table.first, dtype), shape);
}

}  // namespace sluice::frontend
