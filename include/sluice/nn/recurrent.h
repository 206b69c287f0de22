// Recurrences over a sequence.
#ifndef SLUICE_NN_RECURRENT_H_
#define SLUICE_NN_RECURRENT_H_

#include <cstdint>
#include <vector>

#include <sluice/nn/module.h>

#pragma GCC visibility push(default)
namespace sluice {
namespace nn {

struct RecurrentOptions {
  int64_t layers = 1;
  bool bias = true;
  bool bidirectional = false;  // a second recurrence from the end; results are side by side
  double dropout = 0;          // in training, between layers
};

// What a layer makes of x (n, length, inputs): `output` (n, length, hidden * directions), of every
// step, and the last `hidden` (layers * directions, n, hidden), likewise `cell` of an LSTM.
struct RecurrentResult {
  Tensor output, hidden, cell;
};

// Weights are uniform within 1 / sqrt(hidden), and named as PyTorch's: weight_ih_l0 (gates *
// hidden, inputs), weight_hh_l0 (gates * hidden, hidden), bias_ih_l0, bias_hh_l0, ... Steps without
// a given state begin with 0. All products with the inputs are one. On CPUs, in float32 and
// float64, all steps are one library call, and so is their gradient; else they are ops.
class Recurrent : public Module {
 public:
  RecurrentResult operator()(const Tensor& x, const Tensor& hidden = {},
                             const Tensor& cell = {}) const;
  RecurrentResult forward(const Tensor& x, const Tensor& hidden = {},
                          const Tensor& cell = {}) const {
    return (*this)(x, hidden, cell);
  }

 protected:
  enum class Cell : uint8_t { kRnn, kGru, kLstm };
  Recurrent(Cell cell, int64_t inputs, int64_t hidden, const RecurrentOptions& options);

 private:
  // Of one layer in one direction.
  struct Weights : Module {
    Weights(int64_t inputs, int64_t rows, int64_t hidden, bool has_bias, const std::string& suffix);
    Tensor input, state, input_bias, state_bias;
  };

  Cell cell_;
  int64_t inputs_, hidden_;
  RecurrentOptions options_;
  std::vector<Weights> weights_;  // layer by layer, each forwards and backwards
};

// h' = tanh(W x + b + V h + c).
class RNN : public Recurrent {
 public:
  RNN(int64_t inputs, int64_t hidden, const RecurrentOptions& options = {})
      : Recurrent(Cell::kRnn, inputs, hidden, options) {}
};

// Gated recurrent unit (Cho et al., 2014), as PyTorch has it: r, z, n in this order.
class GRU : public Recurrent {
 public:
  GRU(int64_t inputs, int64_t hidden, const RecurrentOptions& options = {})
      : Recurrent(Cell::kGru, inputs, hidden, options) {}
};

// Long short-term memory (Hochreiter and Schmidhuber, 1997): i, f, g, o in this order.
class LSTM : public Recurrent {
 public:
  LSTM(int64_t inputs, int64_t hidden, const RecurrentOptions& options = {})
      : Recurrent(Cell::kLstm, inputs, hidden, options) {}
};

}  // namespace nn
}  // namespace sluice
#pragma GCC visibility pop

#endif  // SLUICE_NN_RECURRENT_H_
