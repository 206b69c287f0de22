// A window of 2,000 ops, for tests of what reads traces: layers of a network without products, of
// which every tenth is held. An argument says how to end: throw, abort, or wait for a signal.
#include <sluice/sluice.h>

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace sl = sluice;

int main(int argc, char** argv) {
  constexpr int kLayers = 200;  // of 10 ops
  sl::Tensor x = sl::linspace(-1., 1., 64 * 96).reshape({64, 96}).named("data");
  const sl::Tensor scale = sl::linspace(0.5, 1.5, 96).named("scale");
  sl::sync();
  std::vector<sl::Tensor> kept;
  for (int layer = 0; layer < kLayers; ++layer) {
    const sl::Scope scope("layer" + std::to_string(layer));
    sl::Tensor y = sl::tanh(x * scale + 0.25f) - sl::square(x) * 0.125f;
    const sl::Tensor mean = sl::sum(y, {layer % 2}, true) * (1.f / 64);
    x = (y - mean) * 0.5f;
    if (layer % 10 == 9) kept.push_back(x.named("h" + std::to_string(layer)));
  }
  sl::sync();
  const std::string end = argc > 1 ? argv[1] : "";
  if (end == "throw") static_cast<void>(x + sl::ones({7}));
  if (end == "abort") std::abort();
  if (end == "wait") {
    std::puts("ready");
    std::fflush(stdout);
    pause();
  }
}
