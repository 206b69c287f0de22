#include "bench/hand/step_loops.h"

#include <algorithm>
#include <cmath>

#include "bench/for_elements.h"

namespace sluice::bench {
namespace {

constexpr float kMeanDecay = 0.9f;
constexpr float kSquareDecay = 0.999f;

inline void update(const AdamScale& s, float gradient, float& parameter, float& mean,
                   float& square) {
  mean = kMeanDecay * mean + (1 - kMeanDecay) * gradient;
  square = kSquareDecay * square + (1 - kSquareDecay) * gradient * gradient;
  const float direction = mean * s.mean / (std::sqrt(square * s.square) + 1e-8f);
  parameter -= s.rate * (direction + s.decay * parameter);
}

constexpr int64_t kRows = 8, kColumns = 32;  // the block held in registers

// out = x * weight + bias.
void forward(const HandLayer& layer, const float* __restrict x, float* __restrict out,
             int64_t batch) {
  const int64_t n = layer.outputs;
#pragma omp parallel for if (layer.inputs * n * batch >= kWorthThreads) schedule(static)
  for (int64_t begin = 0; begin < n; begin += kColumns) {
    const int64_t width = std::min(kColumns, n - begin);
    for (int64_t first = 0; first < batch; first += kRows) {
      const int64_t rows = std::min(kRows, batch - first);
      float sums[kRows][kColumns] = {};
      for (int64_t k = 0; k < layer.inputs; ++k) {
        const float* __restrict weight = layer.weight + k * n + begin;
        if (rows == kRows && width == kColumns) {
          for (int64_t r = 0; r < kRows; ++r) {
            const float factor = x[(first + r) * layer.inputs + k];
            for (int64_t c = 0; c < kColumns; ++c) sums[r][c] += factor * weight[c];
          }
          continue;
        }
        for (int64_t r = 0; r < rows; ++r) {
          const float factor = x[(first + r) * layer.inputs + k];
          for (int64_t c = 0; c < width; ++c) sums[r][c] += factor * weight[c];
        }
      }
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t c = 0; c < width; ++c) {
          out[(first + r) * n + begin + c] = sums[r][c] + layer.bias[begin + c];
        }
      }
    }
  }
}

// Replaces logits by their gradient. Returns the loss.
float softmax_loss(float* logits, int64_t batch, int64_t classes) {
  float loss = 0;
  for (int64_t r = 0; r < batch; ++r) {
    float* __restrict row = logits + r * classes;
    const float greatest = *std::max_element(row, row + classes);
    float sum = 0;
    for (int64_t c = 0; c < classes; ++c) sum += std::exp(row[c] - greatest);
    const int64_t label = r % classes;
    loss -= row[label] - greatest - std::log(sum);
    for (int64_t c = 0; c < classes; ++c) {
      row[c] = (std::exp(row[c] - greatest) / sum - (c == label)) / static_cast<float>(batch);
    }
  }
  return loss / static_cast<float>(batch);
}

// Propagates layer.delta to `before` (unless null) and updates the layer's parameters in the same
// pass over the weights.
void backward(HandLayer& layer, float* before, int64_t batch, const AdamScale& scale) {
  const int64_t n = layer.outputs, k_end = layer.inputs;
  const float* __restrict delta = layer.delta.data();
#pragma omp parallel for if (k_end * n * batch >= kWorthThreads) schedule(static)
  for (int64_t k = 0; k < k_end; ++k) {
    float* __restrict weight = layer.weight + k * n;
    if (before != nullptr) {
      for (int64_t r = 0; r < batch; ++r) {
        float sum = 0;
        for (int64_t c = 0; c < n; ++c) sum += delta[r * n + c] * weight[c];
        before[r * k_end + k] = layer.activation[r * k_end + k] > 0 ? sum : 0;
      }
    }
    float* __restrict mean = &layer.weight_mean[k * n];
    float* __restrict square = &layer.weight_square[k * n];
    for (int64_t begin = 0; begin < n; begin += kColumns) {
      const int64_t width = std::min(kColumns, n - begin);
      float gradient[kColumns] = {};
      for (int64_t r = 0; r < batch; ++r) {
        const float factor = layer.activation[r * k_end + k];
        for (int64_t c = 0; c < width; ++c) gradient[c] += factor * delta[r * n + begin + c];
      }
      for (int64_t c = begin; c < begin + width; ++c) {
        update(scale, gradient[c - begin], weight[c], mean[c], square[c]);
      }
    }
  }
  AdamScale bias_scale = scale;
  bias_scale.decay = 0;
  for (int64_t c = 0; c < n; ++c) {
    float gradient = 0;
    for (int64_t r = 0; r < batch; ++r) gradient += delta[r * n + c];
    update(bias_scale, gradient, layer.bias[c], layer.bias_mean[c], layer.bias_square[c]);
  }
}

}  // namespace

void hand_small_chain(const float* __restrict x, const float* __restrict y, float* __restrict out,
                      int64_t n, int64_t ops) {
  std::copy_n(x, n, out);
  for (int64_t k = 0; k < ops; k += 2) {
    for (int64_t i = 0; i < n; ++i) out[i] = out[i] * y[i] + x[i];
  }
}

void hand_small_chain(const float* __restrict x, float y, float* __restrict out, int64_t n,
                      int64_t ops) {
  std::copy_n(x, n, out);
  for (int64_t k = 0; k < ops; k += 2) {
    for (int64_t i = 0; i < n; ++i) out[i] = out[i] * y + x[i];
  }
}

AdamScale adam_scale(int64_t t, float rate, float decay) {
  const auto corrected = [t](double d) {
    return static_cast<float>(1 / (1 - std::pow(d, static_cast<double>(t))));
  };
  return {rate, decay, corrected(0.9), corrected(0.999)};
}

void hand_adam(const AdamScale& scale, const float* __restrict gradient,
               float* __restrict parameter, float* __restrict mean, float* __restrict square,
               int64_t n) {
  for_elements(n, [=](int64_t i) { update(scale, gradient[i], parameter[i], mean[i], square[i]); });
}

float hand_training_step(std::vector<HandLayer>& layers, const float* images, int64_t batch,
                         int64_t t, float rate, float decay) {
  std::copy_n(images, layers[0].activation.size(), layers[0].activation.data());
  for (size_t i = 0; i < layers.size(); ++i) {
    HandLayer& layer = layers[i];
    forward(layer, layer.activation.data(), layer.delta.data(), batch);
    if (i + 1 == layers.size()) break;
    std::transform(layer.delta.begin(), layer.delta.end(), layers[i + 1].activation.begin(),
                   [](float x) { return x > 0 ? x : 0; });
  }
  const float loss = softmax_loss(layers.back().delta.data(), batch, layers.back().outputs);
  const AdamScale scale = adam_scale(t, rate, decay);
  for (size_t i = layers.size(); i-- > 0;) {
    backward(layers[i], i == 0 ? nullptr : layers[i - 1].delta.data(), batch, scale);
  }
  return loss;
}

}  // namespace sluice::bench
