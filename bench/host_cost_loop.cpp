// Runs chains of element-wise ops on 16 floats, for counting the instructions of steady_state():
//   host_cost_loop <ops in a chain> <chains> [scalars | gradients]
// With "gradients" each op needs a gradient, which nobody asks for. By then the chain has a plan
// and a compiled kernel.
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <sluice/sluice.h>

namespace {

void run_chains(const sluice::Tensor& x, int ops, int chains, bool scalars) {
  std::vector<float> result(16);
  const bool has_gradient = x.needs_grad();
  for (int i = 0; i < chains; ++i) {
    sluice::Tensor t = x;
    for (int k = 0; k < ops; ++k) t = scalars ? std::move(t) * 0.5f : std::move(t) * x;
    // A read would leave in the queue what gradients may need.
    if (has_gradient) sluice::sync();
    t.copy_to(std::span<float>(result));
  }
}

}  // namespace

// A C name, for the tool that counts.
extern "C" [[gnu::noinline]] void steady_state(const sluice::Tensor& x, int ops, int chains,
                                               bool scalars) {
  run_chains(x, ops, chains, scalars);
}

int main(int argc, char** argv) {
  const int ops = argc > 2 ? std::atoi(argv[1]) : 0;
  const int chains = argc > 2 ? std::atoi(argv[2]) : 0;
  if (ops < 1 || chains < 1) {
    std::fprintf(stderr, "usage: host_cost_loop <ops in a chain> <chains> [scalars | gradients]\n");
    return 2;
  }
  const std::string_view mode = argc > 3 ? argv[3] : "";
  const bool scalars = mode == "scalars";
  sluice::Tensor x = sluice::Tensor::from(std::vector<float>(16, 0.5f));
  if (mode == "gradients") x = x.requires_grad();
  run_chains(x, ops, 10, scalars);
  steady_state(x, ops, chains, scalars);
  return 0;
}
