// Reductions, scans and normalisations.
#include <string>
#include <utility>

#include "bench/cliffs/cliffs.h"

namespace sluice::bench {
namespace {

using Reduction = Tensor (*)(Arg, const Axes&, bool);

constexpr std::pair<const char*, Reduction> kReductions[] = {
    {"sum", sum},
    {"prod", prod},
    {"max", max},
    {"min", min},
    {"any", any},
    {"all", all},
    {"mean", mean},
    {"argmax", argmax},
    {"norm", norm},
    {"argmin", argmin},
    {"logsumexp", logsumexp},
};

// (x - mean) / sqrt(var + eps) over the axes.
Tensor standardised(const Tensor& x, const Axes& axes) {
  Tensor scale = rsqrt(var(x, axes, true) + 1e-5f);
  return (x - mean(x, axes, true)) * std::move(scale);
}

}  // namespace

void add_reduction_programs() {
  for (const auto& [name, op] : kReductions) {
    add_program(name, [op = op](const Given& in) { return op(in[0], in.axes(), false); });
  }
  add_program("var", [](const Given& in) { return var(in[0], in.axes()); });
  add_program("sum_of_sum", [](const Given& in) { return sum(in[0] + in[1], in.axes()); });
  add_program("dot", [](const Given& in) { return sum(in[0] * in[1], in.axes()); });
  add_program("softmax",
              [](const Given& in) { return softmax(in[0], static_cast<int>(in.argument(0))); });
  add_program("log_softmax",
              [](const Given& in) { return log_softmax(in[0], static_cast<int>(in.argument(0))); });
  add_program("layer_norm",
              [](const Given& in) { return standardised(in[0], {-1}) * in[1] + in[2]; });
  add_program("batch_norm", [](const Given& in) { return standardised(in[0], {0, 2, 3}); });
  add_program("rms_norm", [](const Given& in) {
    return in[0] * rsqrt(mean(square(in[0]), {-1}, true) + 1e-6f) * in[1];
  });
  add_program("cumsum",
              [](const Given& in) { return cumsum(in[0], static_cast<int>(in.argument(0))); });
  add_program("cumprod",
              [](const Given& in) { return cumprod(in[0], static_cast<int>(in.argument(0))); });
}

}  // namespace sluice::bench
