// The Mandelbrot set, as text.
#include <cstdio>

#include <sluice/sluice.h>

namespace sl = sluice;

int main() {
  constexpr int kRows = 24, kColumns = 72;
  const sl::Tensor cx = sl::linspace(-2.2, 0.8, kColumns).expand_dims(0);
  const sl::Tensor cy = sl::linspace(-1.2, 1.2, kRows).expand_dims(1);
  sl::Tensor x = sl::zeros({kRows, kColumns}), y = x, steps = x;
  for (int i = 0; i < 50; ++i) {
    const sl::Tensor next_x = sl::clip(x * x - y * y + cx, -1e3f, 1e3f);
    y = sl::clip(x * y * 2.f + cy, -1e3f, 1e3f);
    x = next_x;
    steps += (x * x + y * y < 4.f).astype(sl::kFloat32);
  }
  const std::vector<float> count = steps.to_vector<float>();
  for (int row = 0; row < kRows; ++row) {
    for (int column = 0; column < kColumns; ++column) {
      const int n = static_cast<int>(count[static_cast<size_t>(row * kColumns + column)]);
      std::putchar(" .:-=+*#%@"[n * 9 / 50]);
    }
    std::putchar('\n');
  }
  return count[12 * kColumns + 50] > 40 ? 0 : 1;
}
