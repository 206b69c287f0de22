#include <utility>

#include "workloads/program_lists.h"

namespace sluice::workloads {
namespace {

// Inputs: for each parameter its value, gradient, first and second moment. Outputs: for each the
// new value and moments.
Tensors adam(const Tensors& in) {
  constexpr float kRate = 1e-3f, kBeta1 = 0.9f, kBeta2 = 0.999f;
  constexpr float kCorrection1 = 0.1f, kCorrection2 = 0.001f;  // for the first step
  Tensors out;
  for (size_t i = 0; i < in.size(); i += 4) {
    const Tensor& g = in[i + 1];
    Tensor m = kBeta1 * in[i + 2] + (1 - kBeta1) * g;
    Tensor v = kBeta2 * in[i + 3] + (1 - kBeta2) * g * g;
    out.push_back(in[i] - kRate * (m / kCorrection1) / (sqrt(v / kCorrection2) + 1e-8f));
    out.push_back(m);
    out.push_back(v);
  }
  return out;
}

Tensors make_adam_inputs(Size size) {
  Tensors inputs;
  for (int i = 0; i < 25; ++i) {
    const Extents weight{{7 + i, 33 - i}, {64 + 8 * i, 1024}};
    const Extents bias{{40 + i}, {1024 + 8 * i}};
    for (const Extents& e : {weight, bias}) {
      for (int k = 0; k < 3; ++k) inputs.push_back(randn(e.at(size)));
      inputs.push_back(square(randn(e.at(size))));
    }
  }
  return inputs;
}

// Inputs: for each parameter its value, gradient, velocity. Outputs: the new value and velocity.
Tensors sgd_with_momentum(const Tensors& in) {
  Tensors out;
  for (size_t i = 0; i < in.size(); i += 3) {
    Tensor velocity = 0.9f * in[i + 2] + (in[i + 1] + 1e-4f * in[i]);
    out.push_back(in[i] - 0.01f * velocity);
    out.push_back(velocity);
  }
  return out;
}

// The weights and biases of four layers.
Tensors make_mlp_inputs(Size size) {
  const std::vector<int64_t> small = {33, 48, 17, 7, 3}, large = {1024, 2048, 1024, 512, 10};
  const std::vector<int64_t>& widths = size == Size::kSmall ? small : large;
  Tensors inputs;
  for (size_t i = 0; i + 1 < widths.size(); ++i) {
    for (const Shape& shape : {Shape{widths[i], widths[i + 1]}, Shape{widths[i + 1]}}) {
      for (int k = 0; k < 3; ++k) inputs.push_back(randn(shape));
    }
  }
  return inputs;
}

// Applies op 1 to every chain, then op 2 to every chain, and so on.
Tensors interleaved_chains(const Tensors& in) {
  using Step = Tensor (*)(Tensor);
  const Step steps[] = {[](Tensor x) { return std::move(x) * 1.5f; },
                        [](Tensor x) { return std::move(x) + 0.25f; },
                        [](Tensor x) { return tanh(std::move(x)); },
                        [](Tensor x) { return std::move(x) - 0.5f; },
                        [](Tensor x) { return abs(std::move(x)); },
                        [](Tensor x) { return sqrt(std::move(x)); },
                        [](Tensor x) { return maximum(std::move(x), 0.125f); },
                        [](Tensor x) { return -std::move(x); },
                        [](Tensor x) { return exp(std::move(x)); },
                        [](Tensor x) { return std::move(x) / 3.f; }};
  Tensors chains = in;
  for (const Step step : steps) {
    for (Tensor& x : chains) x = step(std::move(x));
  }
  return chains;
}

}  // namespace

void add_independent(std::vector<FusedProgram>* programs) {
  programs->push_back({.name = "Adam, 50 parameters",
                       .kernels = 2,
                       .make_inputs = seeded(make_adam_inputs),
                       .run = adam});
  programs->push_back({.name = "SGD with momentum, MLP of 8 parameters",
                       .kernels = 2,
                       .make_inputs = seeded(make_mlp_inputs),
                       .run = sgd_with_momentum});
  programs->push_back({.name = "32 interleaved chains of 10",
                       .kernels = 2,
                       .make_inputs = normal(std::vector<Extents>(32, {{7, 33}, {256, 1024}})),
                       .run = interleaved_chains});
}

}  // namespace sluice::workloads
