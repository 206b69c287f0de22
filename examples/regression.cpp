// Linear regression by gradient descent: recovers the weights that made the data.
#include <cmath>
#include <cstdio>

#include <sluice/sluice.h>

namespace sl = sluice;

int main() {
  sl::manual_seed(1);
  const sl::Tensor x = sl::randn({1000, 3});
  const sl::Tensor truth = sl::Tensor::from({2.f, -1.f, 0.5f}, {3, 1});
  const sl::Tensor y = sl::matmul(x, truth) + sl::randn({1000, 1}) * 0.01f;

  sl::Tensor w = sl::zeros({3, 1});
  for (int step = 0; step < 100; ++step) {
    const sl::Tensor error = sl::matmul(x, w) - y;
    w -= sl::matmul(x.T(), error) * (0.2f / 1000);
  }

  // The loop never read anything: its hundred steps run here.
  const std::vector<float> found = w.to_vector<float>();
  std::printf("weights %.2f %.2f %.2f\n", found[0], found[1], found[2]);
  return std::abs(found[0] - 2) < 0.02f ? 0 : 1;
}
