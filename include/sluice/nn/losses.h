// Losses: how far predictions are from what they ought to be, floats.
#ifndef SLUICE_NN_LOSSES_H_
#define SLUICE_NN_LOSSES_H_

#include <cstdint>
#include <optional>

#include <sluice/tensor.h>

#pragma GCC visibility push(default)
namespace sluice {
namespace nn {

// What becomes of the losses of a batch: their mean, their sum, or nothing. Half types are summed
// in float32.
enum class Reduction : uint8_t { kMean, kSum, kNone };

struct LossOptions {
  Reduction reduction = Reduction::kMean;
};

struct CrossEntropyOptions {
  Reduction reduction = Reduction::kMean;
  double label_smoothing = 0;  // the share of a label that all classes divide
  std::optional<int64_t> ignore_index = std::nullopt;  // samples of this label do not count
  Tensor weight = {};  // of each class; the mean is the weighted one
};
// Of logits (n, classes, ...) or (classes), before any softmax: -log_softmax(logits) at the label.
// Labels are integers, of the logits' shape without the axis of classes, or probabilities, floats
// of the logits' shape. A label that is no class gives NaN.
Tensor cross_entropy(Arg logits, Arg labels, const CrossEntropyOptions& options = {});

struct NllOptions {
  Reduction reduction = Reduction::kMean;
  std::optional<int64_t> ignore_index = std::nullopt;
  Tensor weight = {};
};
// Likewise of logarithms of probabilities, which log_softmax() gives, and integer labels.
Tensor nll_loss(Arg log_probabilities, Arg labels, const NllOptions& options = {});

struct BceOptions {
  Reduction reduction = Reduction::kMean;
  Tensor weight = {};  // of each element: is broadcast
};
// Of probabilities p and targets y in [0, 1]: -(y log(p) + (1 - y) log(1 - p)), logarithms from
// -100.
Tensor bce_loss(Arg probabilities, Arg targets, const BceOptions& options = {});

struct BceWithLogitsOptions {
  Reduction reduction = Reduction::kMean;
  Tensor weight = {};
  Tensor pos_weight = {};  // a factor of the terms with y: is broadcast
};
// bce_loss() of sigmoid(logits), without overflow on the way.
Tensor bce_with_logits_loss(Arg logits, Arg targets, const BceWithLogitsOptions& options = {});

// (x - y)^2, and |x - y|. Here and below the operands broadcast.
Tensor mse_loss(Arg x, Arg y, const LossOptions& options = {});
Tensor l1_loss(Arg x, Arg y, const LossOptions& options = {});

struct HuberOptions {
  Reduction reduction = Reduction::kMean;
  double delta = 1;
};
// d^2 / 2 of d = |x - y| up to delta, then delta * (d - delta / 2).
Tensor huber_loss(Arg x, Arg y, const HuberOptions& options = {});

struct SmoothL1Options {
  Reduction reduction = Reduction::kMean;
  double beta = 1;
};
// huber_loss() of delta beta, by beta; |x - y| if beta is 0.
Tensor smooth_l1_loss(Arg x, Arg y, const SmoothL1Options& options = {});

struct KlDivOptions {
  Reduction reduction = Reduction::kMean;  // of all elements; PyTorch's "batchmean" is a sum by n
  bool log_target = false;                 // targets are logarithms too
};
// y * (log(y) - x), of x the logarithms of probabilities; 0 where y is.
Tensor kl_div_loss(Arg x, Arg targets, const KlDivOptions& options = {});

struct MarginOptions {
  Reduction reduction = Reduction::kMean;
  double margin = 1;
};
// max(0, margin - x * y), of y -1 or 1.
Tensor hinge_loss(Arg x, Arg y, const MarginOptions& options = {});

struct CosineEmbeddingOptions {
  Reduction reduction = Reduction::kMean;
  double margin = 0;
};
// Of c, the cosine of the angle between a and b (along the last axis): 1 - c where y is 1,
// max(0, c - margin) where it is -1.
Tensor cosine_embedding_loss(Arg a, Arg b, const Tensor& y,
                             const CosineEmbeddingOptions& options = {});

struct PoissonNllOptions {
  Reduction reduction = Reduction::kMean;
  bool log_input = true;  // x is the logarithm of the mean
  double eps = 1e-8;      // is added to x before its logarithm is taken
};
// exp(x) - y * x, or x - y * log(x + eps).
Tensor poisson_nll_loss(Arg x, Arg targets, const PoissonNllOptions& options = {});

struct CtcOptions {
  Reduction reduction = Reduction::kMean;  // each by its label's length, then the mean
  int64_t blank = 0;
};
// Connectionist temporal classification (Graves et al., 2006): -log of the probability of all paths
// that spell the label, of log_probabilities (time, n, classes). Of labels (n, longest), integers,
// the first label_lengths[i] count, and of the steps the first input_lengths[i], both (n). Where
// there is no such path it is infinite, and its gradient 0.
Tensor ctc_loss(Arg log_probabilities, Arg labels, const Tensor& input_lengths,
                const Tensor& label_lengths, const CtcOptions& options = {});

// The same, with the reduction alone.
inline Tensor cross_entropy(Arg logits, Arg labels, Reduction reduction) {
  return cross_entropy(logits, labels, CrossEntropyOptions{.reduction = reduction});
}
inline Tensor nll_loss(Arg log_probabilities, Arg labels, Reduction reduction) {
  return nll_loss(log_probabilities, labels, NllOptions{.reduction = reduction});
}
inline Tensor bce_loss(Arg probabilities, Arg targets, Reduction reduction) {
  return bce_loss(probabilities, targets, BceOptions{.reduction = reduction});
}
inline Tensor bce_with_logits_loss(Arg logits, Arg targets, Reduction reduction) {
  return bce_with_logits_loss(logits, targets, BceWithLogitsOptions{.reduction = reduction});
}
inline Tensor mse_loss(Arg x, Arg y, Reduction reduction) {
  return mse_loss(x, y, LossOptions{.reduction = reduction});
}
inline Tensor l1_loss(Arg x, Arg y, Reduction reduction) {
  return l1_loss(x, y, LossOptions{.reduction = reduction});
}
inline Tensor huber_loss(Arg x, Arg y, Reduction reduction) {
  return huber_loss(x, y, HuberOptions{.reduction = reduction});
}
inline Tensor smooth_l1_loss(Arg x, Arg y, Reduction reduction) {
  return smooth_l1_loss(x, y, SmoothL1Options{.reduction = reduction});
}
inline Tensor kl_div_loss(Arg x, Arg targets, Reduction reduction) {
  return kl_div_loss(x, targets, KlDivOptions{.reduction = reduction});
}
inline Tensor hinge_loss(Arg x, Arg y, Reduction reduction) {
  return hinge_loss(x, y, MarginOptions{.reduction = reduction});
}
inline Tensor poisson_nll_loss(Arg x, Arg targets, Reduction reduction) {
  return poisson_nll_loss(x, targets, PoissonNllOptions{.reduction = reduction});
}

}  // namespace nn
}  // namespace sluice
#pragma GCC visibility pop

#endif  // SLUICE_NN_LOSSES_H_
