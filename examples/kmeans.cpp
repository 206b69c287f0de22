// k-means: groups points around their means.
#include <cstdio>
#include <iostream>

#include <sluice/sluice.h>

namespace sl = sluice;

int main() {
  sl::manual_seed(7);
  // Three clouds of 200 points in the plane.
  const sl::Tensor points =
      sl::concat({sl::randn({200, 2}) * 0.3f,  //
                  sl::randn({200, 2}) * 0.3f + 4.f, sl::randn({200, 2}) * 0.3f - 4.f});
  sl::Tensor centers = sl::take(points, sl::Tensor::from<int64_t>({0, 250, 450}), 0);

  for (int step = 0; step < 10; ++step) {
    // (600, 1, 2) - (1, 3, 2): all distances, of which none is stored but the sums.
    const sl::Tensor apart = points.expand_dims(1) - centers.expand_dims(0);
    const sl::Tensor nearest = sl::argmin(sl::sum(sl::square(apart), 2), 1);
    const sl::Tensor is_in = sl::one_hot(nearest, 3);  // (600, 3)
    const sl::Tensor count = sl::maximum(sl::sum(is_in, 0), 1.f);
    centers = sl::matmul(is_in.T(), points) / count.expand_dims(1);
  }
  std::cout << sl::to_string(centers, {.precision = 1}) << '\n';
  return std::abs(centers(1, 0).item<float>() - 4) < 0.2f ? 0 : 1;
}
