#include <sluice/nn/init.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include <sluice/creation.h>
#include <sluice/ops.h>
#include "frontend/checks.h"

namespace sluice::nn::init {
namespace {

struct Fans {
  double in, out;
};

Fans fans_of(const char* name, const Shape& shape) {
  if (shape.rank() < 2) frontend::fail(name, to_string(shape), " has fewer than 2 axes");
  double window = 1;
  for (int axis = 2; axis < shape.rank(); ++axis) window *= static_cast<double>(shape[axis]);
  return {static_cast<double>(shape[1]) * window, static_cast<double>(shape[0]) * window};
}

double normal_cdf(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }

double deviation(const char* name, const Shape& shape, double slope, Fan fan) {
  const Fans fans = fans_of(name, shape);
  return std::sqrt(2 / (1 + slope * slope) / (fan == Fan::kIn ? fans.in : fans.out));
}

double xavier_deviation(const char* name, const Shape& shape, double gain) {
  const Fans fans = fans_of(name, shape);
  return gain * std::sqrt(2 / (fans.in + fans.out));
}

// Of this standard deviation and mean 0.
Tensor centred_uniform(const Shape& shape, double std, DType dtype) {
  const double bound = std * std::numbers::sqrt3;
  return uniform(shape, -bound, bound, dtype);
}

}  // namespace

Tensor uniform(const Shape& shape, double low, double high, DType dtype) {
  return rand(shape, dtype) * Scalar(high - low) + Scalar(low);
}

Tensor normal(const Shape& shape, double mean, double std, DType dtype) {
  return randn(shape, dtype) * Scalar(std) + Scalar(mean);
}

Tensor truncated_normal(const Shape& shape, double mean, double std, double low, double high,
                        DType dtype) {
  if (!(low < high)) frontend::fail("truncated_normal", "[", low, ", ", high, "] is empty");
  // By inversion: uniform probabilities between those of the bounds, from a table of the quantiles.
  constexpr int64_t kSteps = 4096;
  const double first = normal_cdf(low), last = normal_cdf(high);
  std::vector<double> quantiles;
  double below = low;
  for (int64_t i = 0; i <= kSteps; ++i) {
    const double wanted = first + (last - first) * static_cast<double>(i) / kSteps;
    double from = below, to = high;
    for (int round = 0; round < 60; ++round) {
      const double middle = (from + to) / 2;
      (normal_cdf(middle) < wanted ? from : to) = middle;
    }
    below = i == kSteps ? high : from;
    quantiles.push_back(below);
  }
  const Tensor table = Tensor::from(quantiles).to(default_device());
  const Tensor place = rand(shape, DType::kFloat64) * Scalar(static_cast<double>(kSteps));
  const Tensor index = astype(floor(place), DType::kInt64);
  const Tensor value = lerp(take(table, index, 0), take(table, index + 1, 0), place - floor(place));
  return astype(value * Scalar(std) + Scalar(mean), dtype);
}

Tensor xavier_uniform(const Shape& shape, double gain, DType dtype) {
  return centred_uniform(shape, xavier_deviation("xavier_uniform", shape, gain), dtype);
}

Tensor xavier_normal(const Shape& shape, double gain, DType dtype) {
  return normal(shape, 0, xavier_deviation("xavier_normal", shape, gain), dtype);
}

Tensor kaiming_uniform(const Shape& shape, double slope, Fan fan, DType dtype) {
  return centred_uniform(shape, deviation("kaiming_uniform", shape, slope, fan), dtype);
}

Tensor kaiming_normal(const Shape& shape, double slope, Fan fan, DType dtype) {
  return normal(shape, 0, deviation("kaiming_normal", shape, slope, fan), dtype);
}

Tensor orthogonal(const Shape& shape, double gain, DType dtype) {
  if (shape.rank() < 2) frontend::fail("orthogonal", to_string(shape), " has fewer than 2 axes");
  const int64_t rows = shape[0], columns = shape.numel() / std::max<int64_t>(rows, 1);
  // Gram and Schmidt's method, twice, on the vectors that there are fewer of; in double that is as
  // good as Householder's.
  const int64_t count = std::min(rows, columns), length = std::max(rows, columns);
  std::vector<double> vectors = randn({count, length}, DType::kFloat64).to_vector<double>();
  const auto vector = [&](int64_t i) { return vectors.data() + i * length; };
  const auto dot = [&](const double* a, const double* b) {
    double sum = 0;
    for (int64_t k = 0; k < length; ++k) sum += a[k] * b[k];
    return sum;
  };
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t round = 0; round < 2; ++round) {
      for (int64_t j = 0; j < i; ++j) {
        const double share = dot(vector(i), vector(j));
        for (int64_t k = 0; k < length; ++k) vector(i)[k] -= share * vector(j)[k];
      }
    }
    const double norm = std::sqrt(dot(vector(i), vector(i)));
    for (int64_t k = 0; k < length; ++k) vector(i)[k] /= norm;
  }
  Tensor result = Tensor::from(vectors, {count, length}) * Scalar(gain);
  if (rows > columns) result = transpose(result);
  return astype(reshape(std::move(result), shape), dtype);
}

}  // namespace sluice::nn::init
