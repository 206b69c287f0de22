#include "workloads/fused_programs.h"

#include <utility>

#include "workloads/inputs.h"

namespace sluice::workloads {
namespace {

// What most programs run on.
Extents matrix() { return {{48, 300}, {4096, 1024}}; }

int64_t bytes_of(const Tensor& x) { return x.numel() * static_cast<int64_t>(size_of(x.dtype())); }

int64_t bytes_of(const Tensors& tensors) {
  int64_t bytes = 0;
  for (const Tensor& x : tensors) bytes += bytes_of(x);
  return bytes;
}

// Reductions and what reads them.

Tensor softmax_of(const Tensor& x, int axis) {
  Tensor e = exp(x - max(x, axis, true));
  return e / sum(e, axis, true);
}

Tensor layer_norm_of(const Tensor& x, int axis) {
  Tensor d = x - mean(x, axis, true);
  return d / sqrt(mean(square(d), axis, true) + 1e-5f);
}

Tensor rms_norm_of(const Tensor& x, int axis) {
  return x * rsqrt(mean(square(x), axis, true) + 1e-6f);
}

Tensor log_sum_exp_of(const Tensor& x, int axis) {
  Tensor m = max(x, axis, true);
  return log(sum(exp(x - m), axis, true)) + m;
}

void add_normalisations(std::vector<FusedProgram>* programs) {
  struct Place {
    const char* name;
    int axis;
    Extents extents;
  };
  const Place places[] = {{"the last axis", 1, matrix()},
                          {"the first axis", 0, matrix()},
                          {"a middle axis", 2, {{6, 5, 33, 9}, {32, 16, 128, 64}}}};
  struct Function {
    const char* name;
    Tensor (*f)(const Tensor& x, int axis);
  };
  const Function functions[] = {{"softmax", softmax_of},
                                {"layer norm", layer_norm_of},
                                {"RMS norm", rms_norm_of},
                                {"log-sum-exp", log_sum_exp_of}};
  for (const Function& function : functions) {
    for (const Place& place : places) {
      programs->push_back({.name = std::string(function.name) + " over " + place.name,
                           .make_inputs = normal({place.extents}),
                           .run = [f = function.f, axis = place.axis](const Tensors& in) {
                             return Tensors{f(in[0], axis)};
                           }});
    }
  }
}

// Inputs: logits, the label of each row.
Tensors log_softmax_nll(const Tensors& in) {
  Tensor shifted = in[0] - max(in[0], 1, true);
  Tensor log_p = shifted - log(sum(exp(shifted), 1, true));
  return {-mean(take_along_axis(log_p, expand_dims(in[1], 1), 1))};
}

Tensors row_statistics(const Tensors& in) {
  const Tensor& x = in[0];
  Tensor variance = mean(square(x - mean(x, 1, true)), 1);
  return {mean(x, 1), variance, max(x, 1), argmax(x, 1)};
}

// Inputs: x, the gradient of the output, the weight. The gradients of x, the weight and the bias.
Tensors layer_norm_backward(const Tensors& in) {
  const Tensor& x = in[0];
  const Tensor& g = in[1];
  Tensor d = x - mean(x, 1, true);
  Tensor r = rsqrt(mean(square(d), 1, true) + 1e-5f);
  Tensor normalised = d * r;
  Tensor gw = g * in[2];
  Tensor dx = (gw - mean(gw, 1, true) - normalised * mean(gw * normalised, 1, true)) * r;
  return {dx, sum(g * normalised, 0), sum(g, 0)};
}

// Of NCHW images: the output, the mean and the variance of each channel.
Tensors batch_norm_training(const Tensors& in) {
  const Tensor& x = in[0];
  Tensor m = mean(x, {0, 2, 3}, true);
  Tensor d = x - m;
  Tensor v = mean(square(d), {0, 2, 3}, true);
  return {d * rsqrt(v + 1e-5f), m, v};
}

Tensors pairwise_squared_distances(const Tensors& in) {
  return {sum(square(expand_dims(in[0], 1) - expand_dims(in[1], 0)), 2)};
}

void add_rows(std::vector<FusedProgram>* programs) {
  add_normalisations(programs);
  programs->push_back({.name = "softmax over rows of 65536",
                       .make_inputs = normal({{{2, 65536}, {64, 65536}}}),
                       .run = [](const Tensors& in) { return Tensors{softmax_of(in[0], 1)}; }});
  programs->push_back({.name = "log-softmax and NLL",
                       .kernels = 2,
                       .make_inputs = seeded([](Size size) {
                         const Shape shape = matrix().at(size);
                         return Tensors{randn(shape), randint(0, shape[1], {shape[0]})};
                       }),
                       .run = log_softmax_nll});
  programs->push_back({.name = "mean, var, max, argmax of the same rows",
                       .make_inputs = normal({matrix()}),
                       .run = row_statistics});
  programs->push_back({.name = "layer norm backward",
                       .kernels = 2,
                       .make_inputs = normal({matrix(), matrix(), {{300}, {1024}}}),
                       .run = layer_norm_backward});
  programs->push_back({.name = "batch norm, training",
                       .kernels = 2,
                       .make_inputs = normal({{{6, 5, 8, 9}, {16, 64, 64, 64}}}),
                       .run = batch_norm_training});
  programs->push_back({.name = "pairwise squared distances",
                       .make_inputs = normal({{{48, 7}, {2048, 16}}, {{33, 7}, {1024, 16}}}),
                       .run = pairwise_squared_distances});
  programs->push_back({.name = "sum of squares",
                       .kernels = 2,
                       .make_inputs = normal({matrix()}),
                       .run = [](const Tensors& in) { return Tensors{sum(in[0] * in[0])}; }});
}

// Views and joins.

// The average of each inner point's four neighbours.
Tensor average_of_neighbours(const Tensor& u) {
  Tensor rows = slice(u, 0, 1, -1);
  Tensor columns = slice(u, 1, 1, -1);
  return 0.25f * (slice(columns, 0, 0, -2) + slice(columns, 0, 2, u.shape(0)) +
                  slice(rows, 1, 0, -2) + slice(rows, 1, 2, u.shape(1)));
}

Tensors jacobi_with_zero_boundary(const Tensors& in) {
  return {pad(average_of_neighbours(in[0]), {{1, 1}, {1, 1}})};
}

Tensors jacobi_with_kept_boundary(const Tensors& in) {
  const Tensor& u = in[0];
  Tensor rows = slice(u, 0, 1, -1);
  Tensor inner =
      concat({slice(rows, 1, 0, 1), average_of_neighbours(u), slice(rows, 1, -1, u.shape(1))}, 1);
  return {concat({slice(u, 0, 0, 1), inner, slice(u, 0, -1, u.shape(0))}, 0)};
}

// Diffusion on a torus.
Tensors stencil_by_roll(const Tensors& in) {
  const Tensor& u = in[0];
  Tensor laplacian = roll(u, 1, 0) + roll(u, -1, 0) + roll(u, 1, 1) + roll(u, -1, 1) - 4.f * u;
  return {u + 0.1f * laplacian};
}

void add_views(std::vector<FusedProgram>* programs) {
  programs->push_back({.name = "x.T() + y",
                       .make_inputs = normal({matrix(), {{300, 48}, {1024, 4096}}}),
                       .run = [](const Tensors& in) { return Tensors{in[0].T() + in[1]}; }});
  programs->push_back({.name = "Jacobi step, zero boundary",
                       .make_inputs = normal({matrix()}),
                       .run = jacobi_with_zero_boundary});
  programs->push_back({.name = "Jacobi step, boundary kept",
                       .make_inputs = normal({matrix()}),
                       .run = jacobi_with_kept_boundary});
  programs->push_back(
      {.name = "stencil by roll", .make_inputs = normal({matrix()}), .run = stencil_by_roll});
  programs->push_back(
      {.name = "concat of three pointwise results",
       .make_inputs = normal({matrix(), {{7, 300}, {1000, 1024}}, {{33, 300}, {3000, 1024}}}),
       .run = [](const Tensors& in) {
         return Tensors{concat({exp(in[0]) + 1.f, tanh(in[1] * 0.5f), square(in[2]) - in[2]}, 0)};
       }});
}

// Pointwise programs.

Tensor sigmoid_of(const Tensor& x) { return 1.f / (1.f + exp(-x)); }

Tensor gelu_of(const Tensor& x) { return 0.5f * x * (1.f + erf(x * 0.70710678f)); }

// Inputs: x, the residual.
Tensors dropout_scale_residual(const Tensors& in) {
  constexpr float kKeep = 0.9f;
  manual_seed(11);
  Tensor kept = rand(in[0].shape()) < kKeep;
  return {in[1] + 0.5f * where(kept, in[0] / kKeep, 0.f)};
}

// Inputs: spot, strike, years, rate, dividend yield, volatility. The prices of a call and a put.
Tensors black_scholes(const Tensors& in) {
  const Tensor &s = in[0], &k = in[1], &t = in[2], &r = in[3], &q = in[4], &sigma = in[5];
  const auto phi = [](const Tensor& x) { return 0.5f * (1.f + erf(x / 1.41421356f)); };
  const auto discounted = [&](const Tensor& x, const Tensor& rate) { return x * exp(-rate * t); };
  Tensor d1 = (log(s / k) + (r - q + 0.5f * sigma * sigma) * t) / (sigma * sqrt(t));
  Tensor d2 = d1 - sigma * sqrt(t);
  return {discounted(s, q) * phi(d1) - discounted(k, r) * phi(d2),
          discounted(k, r) * phi(-d2) - discounted(s, q) * phi(-d1)};
}

// Inputs: the real and imaginary parts of c. The iterations that each stays bounded for.
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

// Inputs: the four gates before their functions, side by side; the cell. The new output and cell.
Tensors lstm_cell(const Tensors& in) {
  const std::vector<Tensor> gates = split(in[0], 4, 1);
  Tensor cell = sigmoid_of(gates[1]) * in[1] + sigmoid_of(gates[0]) * tanh(gates[2]);
  return {sigmoid_of(gates[3]) * tanh(cell), cell};
}

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
                       // z and the count pass from one to the other, and both read c.
                       .least_bytes = [](const Tensors& in, const Tensors& out) {
                         return each_once(in, out) + 2 * (bytes_of(in) + bytes_of(out)) +
                                bytes_of(in);
                       }});
  programs->push_back(
      {.name = "LSTM cell",
       .make_inputs = normal({{{33, 4 * 70}, {2048, 4 * 1024}}, {{33, 70}, {2048, 1024}}}),
       .run = lstm_cell});
}

// Independent groups.

// Inputs: parameter, gradient, first and second moment, of each parameter in turn. The new
// parameter and moments, likewise.
Tensors adam(const Tensors& in) {
  constexpr float kRate = 1e-3f, kBeta1 = 0.9f, kBeta2 = 0.999f;
  constexpr float kCorrection1 = 0.1f, kCorrection2 = 0.001f;  // of the first step
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

// Inputs: parameter, gradient, velocity, of each parameter in turn. The new parameter and velocity.
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

// Op 1 of every chain, then op 2 of every chain, and so on.
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

// Around library calls.

// Inputs: queries, keys, values, where a query sees a key.
Tensors attention(const Tensors& in) {
  Tensor scores = matmul(in[0], swapaxes(in[1], -1, -2)) * 0.125f;
  return {matmul(softmax_of(where(in[3], scores, -1e9f), -1), in[2])};
}

Tensors make_attention_inputs(Size size) {
  const Shape shape = size == Size::kSmall ? Shape{2, 33, 20} : Shape{8, 512, 64};
  Tensor mask = tril(ones({shape[1], shape[1]}, DType::kBool));
  return {randn(shape), randn(shape), randn(shape), mask};
}

// Inputs: x, weight, bias.
Tensors linear_gelu(const Tensors& in) { return {gelu_of(matmul(in[0], in[1]) + in[2])}; }

void add_around_library(std::vector<FusedProgram>* programs) {
  programs->push_back({.name = "attention",
                       .kernels = 1,
                       .library_calls = 2,
                       .make_inputs = seeded(make_attention_inputs),
                       .run = attention,
                       // Scores and probabilities, each written and read.
                       .least_bytes = [](const Tensors& in, const Tensors& out) {
                         const int64_t scores = in[0].numel() * in[0].shape(1) / in[0].shape(2);
                         return each_once(in, out) + 4 * scores * int64_t{sizeof(float)};
                       }});
  programs->push_back(
      {.name = "matmul, bias, GELU",
       .kernels = 1,
       .library_calls = 1,
       .make_inputs = normal({{{48, 33}, {2048, 512}}, {{33, 300}, {512, 2048}}, {{300}, {2048}}}),
       .run = linear_gelu,
       // The product, written and read.
       .least_bytes = [](const Tensors& in, const Tensors& out) {
         return each_once(in, out) + 2 * bytes_of(out);
       }});
}

}  // namespace

int64_t each_once(const Tensors& inputs, const Tensors& outputs) {
  return bytes_of(inputs) + bytes_of(outputs);
}

std::vector<FusedProgram> fused_programs() {
  std::vector<FusedProgram> programs;
  add_rows(&programs);
  add_views(&programs);
  add_pointwise(&programs);
  add_independent(&programs);
  add_around_library(&programs);
  return programs;
}

}  // namespace sluice::workloads
