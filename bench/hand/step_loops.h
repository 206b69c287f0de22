// Hand-written optimiser and training steps and short chains, built like hand_loops.h.
#ifndef SLUICE_BENCH_HAND_STEP_LOOPS_H_
#define SLUICE_BENCH_HAND_STEP_LOOPS_H_

#include <cstdint>
#include <vector>

namespace sluice::bench {

// out = x, then `ops` times in turn (t * y) and (t + x).
void hand_small_chain(const float* x, const float* y, float* out, int64_t n, int64_t ops);
// The same with a scalar y.
void hand_small_chain(const float* x, float y, float* out, int64_t n, int64_t ops);

// The scalars of step t = 1, 2, ... of Adam with decoupled weight decay.
struct AdamScale {
  float rate, decay;
  float mean, square;  // bias corrections
};
AdamScale adam_scale(int64_t t, float rate, float decay);

void hand_adam(const AdamScale& scale, const float* gradient, float* parameter, float* mean,
               float* square, int64_t n);

// The multi-layer perceptron of workloads/hand_network.h, with its moments.
struct HandLayer {
  int64_t inputs, outputs;
  float *weight, *bias;  // (inputs, outputs), (outputs): changed by every step
  std::vector<float> weight_mean, weight_square, bias_mean, bias_square;
  std::vector<float> activation, delta;  // (batch, inputs), (batch, outputs)
};

// Step t of training on `images`, where image i shows digit i % outputs. Returns the loss. Weights
// are updated as soon as their gradients are known; the gradients are not stored.
float hand_training_step(std::vector<HandLayer>& layers, const float* images, int64_t batch,
                         int64_t t, float rate, float decay);

}  // namespace sluice::bench

#endif  // SLUICE_BENCH_HAND_STEP_LOOPS_H_
