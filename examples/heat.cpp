// Heat spreads over a plate whose edge is kept cold: a stencil of slices, fused into one kernel.
#include <cstdio>

#include <sluice/sluice.h>

namespace sl = sluice;

namespace {

sl::Tensor step(const sl::Tensor& t) {
  const sl::Slice inner{1, -1}, before{0, -2}, after{2, {}};
  const sl::Tensor around = t(before, inner) + t(after, inner) + t(inner, before) + t(inner, after);
  const sl::Tensor next = t(inner, inner) + (around - t(inner, inner) * 4.f) * 0.2f;
  return sl::pad(next, {{1, 1}, {1, 1}});  // the edge stays 0
}

}  // namespace

int main() {
  sl::Tensor plate = sl::zeros({64, 64}).set({sl::Slice{28, 36}, sl::Slice{28, 36}}, 100.f);
  for (int i = 0; i < 200; ++i) {
    plate = step(plate);
    plate.eval();  // one step a window: a fused step reads each point's neighbours only
  }
  const float middle = plate(32, 32).item<float>();
  std::printf("%.2f degrees in the middle, %.2f at a quarter\n", middle,
              plate(16, 16).item<float>());
  return middle > 0 && middle < 100 ? 0 : 1;
}
