// Rotary position embedding.
#include <cmath>
#include <numbers>
#include <utility>

#include <sluice/creation.h>
#include <sluice/ops.h>
#include "frontend/composed/compose.h"
#include "frontend/dims.h"

namespace sluice {
namespace {

// The angles of (length, depth / 2) pairs. They are multiplied in float64 and brought within
// [0, 2 pi) before they are rounded, as at position 100,000 they would be off by 0.004 in float32.
Tensor angles(int64_t first, int64_t length, int64_t pairs, double base, DType dtype,
              Device device) {
  const auto range = [&](int64_t begin, int64_t count) {
    return arange(begin, begin + count, 1, DType::kFloat64, device);
  };
  const double step = -std::log2(base) / static_cast<double>(pairs);
  const Tensor rates = exp2(range(0, pairs) * Scalar(step));
  Tensor all = expand_dims(range(first, length), 1) * rates;
  if (dtype == DType::kFloat64) return all;
  return astype(remainder(std::move(all), Scalar(2 * std::numbers::pi)), dtype);
}

}  // namespace

Tensor rope(Arg x, double base, int64_t offset, bool interleaved) {
  constexpr const char* kName = "rope";
  return frontend::composed(x, kName, [&](const Tensor& tensor) {
    if (tensor.ndim() < 2 || tensor.shape(-1) % 2 != 0) {
      frontend::fail(kName, frontend::describe(tensor),
                     " has not the axes (.., length, depth), of an even depth");
    }
    if (!(base > 0)) frontend::fail(kName, "base is ", base, ", not positive");
    const DType result = float_type(tensor.dtype());
    const int64_t pairs = tensor.shape(-1) / 2;
    // (.., pairs, 2) or (.., 2, pairs)
    const int axis = interleaved ? -1 : -2;
    frontend::Dims dims = frontend::dims_of(tensor);
    dims.back() = interleaved ? pairs : 2;
    dims.push_back(interleaved ? 2 : pairs);
    frontend::check_rank(kName, dims.size(), tensor);
    const Tensor parts =
        reshape(astype(tensor, compute_type(result)), Shape(frontend::span_of(dims)));
    const auto part = [&](int64_t i) { return squeeze(slice(parts, axis, i, i + 1), axis); };
    const Tensor a = part(0), b = part(1);
    const Tensor angle = angles(offset, tensor.shape(-2), pairs, base, a.dtype(), tensor.device());
    const Tensor c = cos(angle), s = sin(angle);
    const Tensor turned = stack({a * c - b * s, b * c + a * s}, axis);
    return astype(reshape(turned, tensor.shape()), result);
  });
}

}  // namespace sluice
