// Piecewise linear functions.
#include <bit>
#include <optional>

#include <sluice/ops.h>
#include "frontend/composed/compose.h"
#include "frontend/record.h"

namespace sluice {
namespace {

struct Ends {
  double left, right;
};

// The position of the last of `points` (n,), which increase, that is at most x; 0 if none is. By
// halves: log2(n) reads of an element each, in the kernel of what follows.
Tensor position_in(const Tensor& points, const Tensor& x) {
  const int64_t count = points.numel();
  Tensor position = zeros(x.shape(), DType::kInt64, x.device());
  for (int64_t step = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(count))); step > 0;
       step /= 2) {
    const Tensor next = position + step;
    const Tensor at = take(points, minimum(next, count - 1), 0);
    position = where((next < count) & (at <= x), next, position);
  }
  return position;
}

Tensor interpolated(const Arg& x, const Arg& xp, const Arg& fp, const std::optional<Ends>& ends) {
  constexpr const char* kOp = "interp";
  Tensor result = frontend::composed(x, xp, kOp, [&](const Tensor& at, const Tensor& points) {
    const Tensor& values = fp.tensor();
    frontend::node_of(kOp, values);
    frontend::common_device(kOp, at, points);
    frontend::common_device(kOp, at, values);
    if (points.ndim() != 1 || values.shape() != points.shape() || points.numel() == 0) {
      frontend::fail(kOp, "xp and fp must have one axis of one extent, not 0, but are ",
                     frontend::describe(points), " and ", frontend::describe(values));
    }
    const DType dtype = float_type(promote(promote(at.dtype(), points.dtype()), values.dtype()));
    const DType wide = compute_type(dtype);
    const Tensor a = astype(at, wide), p = astype(points, wide), v = astype(values, wide);
    const int64_t last = p.numel() - 1;
    const Tensor position = position_in(p, a), next = minimum(position + 1, last);
    const Tensor x0 = take(p, position, 0), x1 = take(p, next, 0);
    const Tensor y0 = take(v, position, 0), y1 = take(v, next, 0);
    const Tensor slope = (y1 - y0) / (x1 - x0);
    // What is not finite may spoil one end's formula alone.
    const Tensor forward = slope * (a - x0) + y0, backward = slope * (a - x1) + y1;
    const Tensor between =
        where(isnan(forward), where(isnan(backward) & (y0 == y1), y0, backward), forward);
    const Tensor inside = where(a == x0, y0, where(isnan(a), a, between));
    const Tensor left = ends ? full({}, ends->left, wide, a.device()) : v(0);
    const Tensor right = ends ? full({}, ends->right, wide, a.device()) : v(last);
    return astype(where(a < p(0), left, where(a > p(last), right, inside)), dtype);
  });
  fp.release();
  return result;
}

}  // namespace

Tensor interp(Arg x, Arg xp, Arg fp) { return interpolated(x, xp, fp, std::nullopt); }

Tensor interp(Arg x, Arg xp, Arg fp, double left, double right) {
  return interpolated(x, xp, fp, Ends{left, right});
}

}  // namespace sluice
