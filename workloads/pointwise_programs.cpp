#include "workloads/program_lists.h"

namespace sluice::workloads {
namespace {

Tensor sigmoid_of(const Tensor& x) { return 1.f / (1.f + exp(-x)); }

// Inputs: x, the residual.
Tensors dropout_scale_residual(const Tensors& in) {
  constexpr float kKeep = 0.9f;
  manual_seed(11);
  Tensor kept = rand(in[0].shape()) < kKeep;
  return {in[1] + 0.5f * where(kept, in[0] / kKeep, 0.f)};
}

// Inputs: spot, strike, years, rate, dividend yield, volatility. Outputs: call and put prices.
Tensors black_scholes(const Tensors& in) {
  const Tensor &s = in[0], &k = in[1], &t = in[2], &r = in[3], &q = in[4], &sigma = in[5];
  const auto phi = [](const Tensor& x) { return 0.5f * (1.f + erf(x / 1.41421356f)); };
  const auto discounted = [&](const Tensor& x, const Tensor& rate) { return x * exp(-rate * t); };
  Tensor d1 = (log(s / k) + (r - q + 0.5f * sigma * sigma) * t) / (sigma * sqrt(t));
  Tensor d2 = d1 - sigma * sqrt(t);
  return {discounted(s, q) * phi(d1) - discounted(k, r) * phi(d2),
          discounted(k, r) * phi(-d2) - discounted(s, q) * phi(-d1)};
}

// Inputs: the real and imaginary parts of c. Output: the iterations for which each stays bounded.
Tensors mandelbrot(const Tensors& in) {
  Tensor re = in[0];
  Tensor im = in[1];
  Tensor count = zeros(re.shape(), DType::kInt32);
  for (int i = 0; i < 50; ++i) {
    Tensor re2 = square(re);
    Tensor im2 = square(im);
    Tensor bounded = re2 + im2 <= 4.f;
    im = where(bounded, 2.f * re * im + in[1], im);
    re = where(bounded, re2 - im2 + in[0], re);
    count = count + bounded;
  }
  return {count};
}

// Inputs: the pre-activations of the four gates, concatenated; the cell. Outputs: output, cell.
Tensors lstm_cell(const Tensors& in) {
  const std::vector<Tensor> gates = split(in[0], 4, 1);
  Tensor cell = sigmoid_of(gates[1]) * in[1] + sigmoid_of(gates[0]) * tanh(gates[2]);
  return {sigmoid_of(gates[3]) * tanh(cell), cell};
}

}  // namespace

void add_pointwise(std::vector<FusedProgram>* programs) {
  programs->push_back({.name = "dropout, scale, residual",
                       .make_inputs = normal({matrix(), matrix()}),
                       .run = dropout_scale_residual});
  programs->push_back({.name = "Black-Scholes, call and put",
                       .make_inputs = seeded([](Size size) {
                         const Shape shape = matrix().at(size);
                         return Tensors{uniform(50, 150, shape),  uniform(50, 150, shape),
                                        uniform(0.1f, 2, shape),  uniform(0.01f, 0.05f, shape),
                                        uniform(0, 0.03f, shape), uniform(0.1f, 0.5f, shape)};
                       }),
                       .run = black_scholes});
  programs->push_back({.name = "50 Mandelbrot iterations",
                       .kernels = 2,
                       .make_inputs = seeded([](Size size) {
                         const Shape shape = matrix().at(size);
                         return Tensors{uniform(-2, 1, shape), uniform(-1.2f, 1.2f, shape)};
                       }),
                       .run = mandelbrot,
                       // z and the count pass between the two kernels, and both read c.
                       .least_bytes = [](const Tensors& in, const Tensors& out) {
                         return each_once(in, out) + 2 * (bytes_of(in) + bytes_of(out)) +
                                bytes_of(in);
                       }});
  programs->push_back(
      {.name = "LSTM cell",
       .make_inputs = normal({{{33, 4 * 70}, {2048, 4 * 1024}}, {{33, 70}, {2048, 1024}}}),
       .run = lstm_cell});
}

}  // namespace sluice::workloads
