#include "workloads/program_lists.h"

namespace sluice::workloads {
namespace {

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

// Inputs: logits, a label per row.
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

// Inputs: x, the output's gradient, the weight. Outputs: the gradients of x, weight and bias.
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

// Input: NCHW images. Outputs: the normalised images; the mean and variance of each channel.
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

}  // namespace

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

}  // namespace sluice::workloads
