// Programs as the natural sciences, statistics, graphics and signal processing have them.
#include <cstdint>
#include <initializer_list>
#include <numeric>
#include <vector>

#include "bench/cliffs/cliffs.h"

namespace sluice::bench {
namespace {

Tensor total(const std::vector<Tensor>& terms) {
  return std::accumulate(terms.begin() + 1, terms.end(), terms[0]);
}

// Component k of vectors along the last axis.
Tensor part(const Tensor& x, int64_t k) {
  return reshape(x.slice(-1, k, k + 1),
                 x.shape().size() == 2 ? Shape{x.shape(0)} : Shape{x.shape(0), x.shape(1)});
}

Tensor quaternion_product(const Given& in) {
  const Tensor p = in[0], q = in[1];
  const Tensor pw = part(p, 0), px = part(p, 1), py = part(p, 2), pz = part(p, 3);
  const Tensor qw = part(q, 0), qx = part(q, 1), qy = part(q, 2), qz = part(q, 3);
  return stack({pw * qw - px * qx - py * qy - pz * qz, pw * qx + px * qw + py * qz - pz * qy,
                pw * qy - px * qz + py * qw + pz * qx, pw * qz + px * qy - py * qx + pz * qw},
               -1);
}

Tensor k_means_step(const Given& in) {
  const Tensor x = in[0], centres = in[1];
  const int64_t k = centres.shape(0);
  const Tensor distances = sum(square(expand_dims(x, 1) - centres), {2});
  const Tensor members = one_hot(argmin(distances, 1), k, x.dtype());
  const Tensor counts = maximum(sum(members, {0}), 1);
  return matmul(members.swapaxes(0, 1), x) / expand_dims(counts, 1);
}

Tensor mandelbrot(const Given& in) {
  const Tensor re = expand_dims(in[0], 0), im = expand_dims(in[1], 1);
  Tensor x = re + 0 * im, y = im + 0 * re, count = zeros_like(x);
  for (int i = 0; i < 20; ++i) {
    const Tensor next = x * x - y * y + re;
    y = 2 * x * y + im;
    x = next;
    count = where(x * x + y * y < 4, count + 1, count);
    x = clip(x, -4, 4);
    y = clip(y, -4, 4);
  }
  return count;
}

// Distances on the globe; columns are latitudes and longitudes in radians.
Tensor haversine(const Given& in) {
  const Tensor a = in[0], b = in[1];
  const Tensor latitude = part(a, 0), other = part(b, 0);
  const Tensor u = sin((other - latitude) / 2), v = sin((part(b, 1) - part(a, 1)) / 2);
  return 12742 * asin(sqrt(u * u + cos(latitude) * cos(other) * v * v));
}

// Hue, saturation and value of pixels (h, w, 3).
Tensor hsv(const Given& in) {
  const Tensor x = in[0], r = part(x, 0), g = part(x, 1), b = part(x, 2);
  const Tensor high = max(x, {-1}), span = high - min(x, {-1}), safe = maximum(span, 1e-6);
  const Tensor hue =
      where(high == r, (g - b) / safe, where(high == g, 2 + (b - r) / safe, 4 + (r - g) / safe));
  return stack({hue / 6, span / maximum(high, 1e-6), high}, -1);
}

Tensor blur(const Given& in) {
  const double taps[] = {0.0625, 0.25, 0.375, 0.25, 0.0625};
  Tensor x = in[0];
  for (const int axis : {0, 1}) {
    std::vector<Tensor> terms;
    for (int64_t i = 0; i < 5; ++i) {
      terms.push_back(taps[i] * x.slice(axis, i, x.shape(axis) - 4 + i));
    }
    x = total(terms);
  }
  return x;
}

Tensor filtered(const Given& in) {
  const Tensor x = in[0];
  std::vector<Tensor> terms;
  for (int64_t i = 0; i < 9; ++i) {
    terms.push_back(0.1 * static_cast<double>(i + 1) * x.slice(0, i, x.shape(0) - 8 + i));
  }
  return total(terms);
}

Tensor power_iteration(const Given& in) {
  Tensor v = in[1];
  for (int i = 0; i < 10; ++i) {
    v = matmul(in[0], v);
    v = v / sqrt(sum(v * v));
  }
  return v;
}

Tensor wave_step(const Given& in) {
  const Tensor u = in[0];
  const Tensor around = roll(u, 1, 0) + roll(u, -1, 0) + roll(u, 1, 1) + roll(u, -1, 1);
  return 2 * u - in[1] + 0.1 * (around - 4 * u);
}

// Entropy of softmax rows of which some elements are masked.
Tensor entropy(const Given& in) {
  const Tensor x = where(in[1], in[0], -1e9);
  const Tensor e = exp(x - max(x, {-1}, true)), p = e / sum(e, {-1}, true);
  return -sum(p * log(p + 1e-9), {-1});
}

Tensor lennard_jones(const Given& in) {
  const Tensor x = in[0];
  const Tensor d = expand_dims(x, 1) - expand_dims(x, 0);
  const Tensor r2 = sum(d * d, {-1}) + 0.1, i6 = 1 / (r2 * r2 * r2);
  return sum(expand_dims((48 * i6 * i6 - 24 * i6) / r2, 2) * d, {1});
}

Tensor logistic_gradient(const Given& in) {
  const Tensor x = in[0];
  return matmul(x.swapaxes(0, 1), sigmoid(matmul(x, in[1])) - in[2]) /
         static_cast<double>(x.shape(0));
}

Tensor hashed(const Given& in) {
  Tensor x = in[0];
  x = bitwise_xor(x, bitwise_left_shift(x, 13));
  x = bitwise_xor(x, bitwise_right_shift(x, 7));
  return bitwise_xor(x, bitwise_left_shift(x, 17));
}

Tensor bits_set(const Given& in) {
  Tensor x = bitwise_and(in[0], 0x7fffffff);
  x = x - bitwise_and(bitwise_right_shift(x, 1), 0x55555555);
  x = bitwise_and(x, 0x33333333) + bitwise_and(bitwise_right_shift(x, 2), 0x33333333);
  x = bitwise_and(x + bitwise_right_shift(x, 4), 0x0f0f0f0f);
  return bitwise_right_shift(x * 0x01010101, 24);
}

}  // namespace

void add_science_programs() {
  add_program("transformed",
              [](const Given& in) { return matmul(in[0], in[1].swapaxes(0, 1)) + in[2]; });
  add_program("turned_each", [](const Given& in) { return einsum("nij,nj->ni", {in[0], in[1]}); });
  add_program("cross", [](const Given& in) { return linalg::cross(in[0], in[1]); });
  add_program("det", [](const Given& in) { return linalg::det(in[0]); });
  add_program("row_dots", [](const Given& in) { return sum(in[0] * in[1], {-1}); });
  add_program("quaternion_product", quaternion_product);
  add_program("covariance", [](const Given& in) { return cov(in[0], false); });
  add_program("moving_mean", [](const Given& in) {
    const int64_t n = in.argument(0);
    const Tensor c = cumsum(in[0], 0);
    return (c.slice(0, n, c.shape(0)) - c.slice(0, 0, c.shape(0) - n)) / static_cast<double>(n);
  });
  add_program("lagged_product", [](const Given& in) {
    const Tensor x = in[0];
    const int64_t k = in.argument(0), n = x.shape(0);
    return sum(x.slice(0, 0, n - k) * x.slice(0, k, n));
  });
  add_program("k_means_step", k_means_step);
  add_program("squared_distances", [](const Given& in) {
    const Tensor x = in[0], y = in[1];
    return sum(x * x, {1}, true) + sum(y * y, {1}) - 2 * matmul(x, y.swapaxes(0, 1));
  });
  add_program("counts_in_bins", [](const Given& in) {
    const Tensor bins = floor(in[0] * static_cast<double>(in.argument(0))).astype(kInt64);
    return scatter_add(zeros({in.argument(0)}, kInt64), bins, ones({in[0].shape(0)}, kInt64), 0);
  });
  add_program("quartile", [](const Given& in) { return quantile(in[0], 0.25, in.axes()); });
  add_program("interp", [](const Given& in) {
    const Tensor knots = cumsum(in[1], 0);
    return interp(in[0], knots, in[2]);
  });
  add_program("wave_step", wave_step);
  add_program("mandelbrot", mandelbrot);
  add_program("haversine", haversine);
  add_program("hsv", hsv);
  add_program("blur", blur);
  add_program("filtered", filtered);
  add_program("integral_image", [](const Given& in) { return cumsum(cumsum(in[0], 0), 1); });
  add_program("power_iteration", power_iteration);
  add_program("entropy", entropy);
  add_program("trapezoid", [](const Given& in) { return trapezoid(in[0], 0.1); });
  add_program("hashed", hashed);
  add_program("bits_set", bits_set);
  add_program("quantised", [](const Given& in) {
    return clip(round(in[0].astype(kFloat32) * 0.7f + 3.0f), -128, 127).astype(kInt8);
  });
  add_program("drawdown", [](const Given& in) {
    const Tensor worth = exp(cumsum(in[0], 0) * 0.01);
    return min(worth / cummax(worth, 0) - 1);
  });
  add_program("mean_of_positive", [](const Given& in) {
    const Tensor x = in[0], good = x > 0;
    return sum(where(good, x, 0), in.axes()) / sum(good.astype(x.dtype()), in.axes());
  });
  add_program("distances_from", [](const Given& in) {
    const Tensor x = expand_dims(in[0], 0), y = expand_dims(in[1], 1);
    return sqrt(square(x - 0.3) + square(y - 0.1));
  });
  add_program("complex_product", [](const Given& in) -> Tensors {
    return {in[0] * in[2] - in[1] * in[3], in[0] * in[3] + in[1] * in[2]};
  });
  add_program("lennard_jones", lennard_jones);
  add_program("logistic_gradient", logistic_gradient);
  add_program("sorted_by_key",
              [](const Given& in) { return take(in[0], argsort(part(in[0], 0)), 0); });
  add_program("ranks", [](const Given& in) { return argsort(argsort(in[0], -1), -1); });
  add_program("all_close",
              [](const Given& in) { return all(abs(in[0] - in[1]) <= 1e-5 + 1e-3 * abs(in[1])); });
}

}  // namespace sluice::bench
