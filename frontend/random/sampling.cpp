// Permutations, and samples of what is given.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include <sluice/creation.h>
#include <sluice/ops.h>
#include "frontend/checks.h"
#include "frontend/random/random.h"
#include "frontend/record.h"
#include "kernels/math/random.h"

namespace sluice::frontend {
namespace {

// Random bits on the host: those that element `index` of the call gets.
uint64_t bits_at(Draw draw, uint64_t index) {
  return kernels::math::philox_low<uint64_t>(index, draw.seed, draw.call);
}

// The first `count` elements of a permutation of `size`. An offset is as likely as another but for
// one part in 2^64 / size.
std::vector<int64_t> shuffled(Draw draw, int64_t size, int64_t count) {
  std::vector<int64_t> order(static_cast<size_t>(size));
  std::iota(order.begin(), order.end(), 0);
  for (int64_t i = 0; i < count; ++i) {
    const auto rest = static_cast<uint64_t>(size - i);
    const auto product =
        static_cast<unsigned __int128>(bits_at(draw, static_cast<uint64_t>(i))) * rest;
    const auto offset = static_cast<int64_t>(static_cast<uint64_t>(product >> 64));
    std::swap(order[static_cast<size_t>(i)], order[static_cast<size_t>(i + offset)]);
  }
  order.resize(static_cast<size_t>(count));
  return order;
}

// The `count` indices with the greatest keys log(u) / weight, the greatest first.
std::vector<int64_t> without_replacement(Draw draw, const Tensor& weights, int64_t rows,
                                         int64_t size, int64_t count) {
  const std::vector<double> values = astype(weights, DType::kFloat64).to_vector<double>();
  std::vector<int64_t> result;
  std::vector<std::pair<double, int64_t>> keys;
  for (int64_t row = 0; row < rows; ++row) {
    keys.clear();
    for (int64_t k = 0; k < size; ++k) {
      const auto index = static_cast<uint64_t>(row * size + k);
      const double weight = values[index];
      if (!(weight >= 0)) fail("multinomial", "a weight of row ", row, " is ", weight);
      if (weight == 0) continue;
      const double u = (static_cast<double>(bits_at(draw, index) >> 11) + 0.5) * 0x1p-53;
      keys.emplace_back(-std::log(u) / weight, k);
    }
    if (static_cast<int64_t>(keys.size()) < count) {
      fail("multinomial", count, " different indices of ", describe(weights), ", whose row ", row,
           " has ", keys.size(), " positive weights");
    }
    std::partial_sort(keys.begin(), keys.begin() + count, keys.end());
    for (int64_t k = 0; k < count; ++k) result.push_back(keys[static_cast<size_t>(k)].second);
  }
  return result;
}

}  // namespace

Tensor search(const Tensor& table, const Tensor& target) {
  const auto [rows, width] = table.shape().as<2>();
  const Tensor flat = reshape(table, Shape{rows * width});
  const Tensor start = coordinate("search", Shape{rows, 1}, 0, table.device()) * width;
  Tensor at = zeros_like(target).astype(DType::kInt64) + start;
  for (int64_t step = width / 2; step > 0; step /= 2) {
    at = at + where(take(flat, at + (step - 1), 0) <= target, step, int64_t{0});
  }
  return at - start;
}

Tensor permutation(Draw draw, int64_t count, std::optional<Device> device) {
  if (count < 0) fail("permutation", "of ", count, " elements");
  const Device target = device.value_or(default_device());
  check_device(target);
  return Tensor::from(shuffled(draw, count, count)).to(target);
}

Tensor shuffle(Draw draw, const Tensor& x, int axis) {
  node_of("shuffle", x);
  axis = check_axis("shuffle", axis, x.ndim(), x);
  return take(x, permutation(draw, x.shape()[axis], x.device()), axis);
}

Tensor choice(Draw draw, const Tensor& x, const Shape& shape, bool replacement) {
  node_of("choice", x);
  check_axis("choice", 0, x.ndim(), x);
  const int64_t size = x.shape()[0], count = shape.numel();
  if (count > 0 && size == 0) fail("choice", "of nothing: ", describe(x));
  if (replacement && size > 0) {
    return take(x, integers(draw, 0, size, shape, DType::kInt64, x.device()), 0);
  }
  if (count > size) {
    fail("choice", count, " different elements of ", describe(x), ", which has ", size);
  }
  const Tensor indices = Tensor::from(shuffled(draw, size, count), shape).to(x.device());
  return take(x, indices, 0);
}

Tensor multinomial(Draw draw, const Tensor& weights, int64_t count, bool replacement) {
  node_of("multinomial", weights);
  if (weights.ndim() < 1 || weights.ndim() > 2 || weights.dtype() == DType::kBool) {
    fail("multinomial", "the weights are numbers of shape (n) or (rows, n), not ",
         describe(weights));
  }
  if (count < 0) fail("multinomial", count, " indices");
  const int64_t size = weights.shape()[-1];
  const int64_t rows = weights.ndim() == 2 ? weights.shape()[0] : 1;
  const Shape shape = weights.ndim() == 2 ? Shape{rows, count} : Shape{count};
  if (size == 0 && shape.numel() > 0) fail("multinomial", "no weights: ", describe(weights));
  if (shape.numel() == 0) return zeros(shape, DType::kInt64, weights.device());
  if (!replacement) {
    return Tensor::from(without_replacement(draw, weights, rows, size, count), shape)
        .to(weights.device());
  }
  const Tensor sums = cumsum(reshape(astype(weights, DType::kFloat64), Shape{rows, size}), 1);
  const Tensor u =
      uniform(draw, "multinomial", Shape{rows, count}, DType::kFloat64, weights.device());
  // At most the last index: rounding may leave a target at the total.
  const auto width = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(size)));
  const Tensor table = pad(slice(sums, 1, 0, size - 1), {{0, 0}, {0, width - size + 1}},
                           std::numeric_limits<double>::infinity());
  return reshape(search(table, u * slice(sums, 1, size - 1, size)), shape);
}

}  // namespace sluice::frontend
