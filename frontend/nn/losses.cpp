#include <sluice/nn/losses.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include <sluice/creation.h>
#include <sluice/ops.h>
#include "frontend/composed/compose.h"

namespace sluice::nn {
namespace {

using frontend::composed;
using frontend::describe;
using frontend::fail;

// The losses of elements, reduced and rounded to `dtype`.
Tensor reduced(Tensor losses, Reduction reduction, DType dtype) {
  if (reduction == Reduction::kMean) losses = mean(std::move(losses));
  if (reduction == Reduction::kSum) losses = sum(std::move(losses));
  return astype(std::move(losses), dtype);
}

// f of two tensors as floats, in the type that they are computed in.
template <typename F>
Tensor pairwise(const char* name, const Arg& x, const Arg& y, Reduction reduction, F f) {
  return composed(x, y, name, [&](const Tensor& a, const Tensor& b) {
    const DType dtype = float_type(promote(a.dtype(), b.dtype()));
    const DType wide = compute_type(dtype);
    return reduced(f(astype(a, wide), astype(b, wide)), reduction, dtype);
  });
}

Tensor weighted(const Tensor& losses, const Tensor& weight) {
  return weight.defined() ? losses * astype(weight, losses.dtype()) : losses;
}

// The axis of classes: 1, or the only one.
int class_axis(const char* name, const Tensor& logits) {
  if (logits.ndim() == 0) fail(name, describe(logits), " has no axis of classes");
  return logits.ndim() == 1 ? 0 : 1;
}

// One for each class, to be broadcast along the other axes of `logits`.
Tensor along_classes(const Tensor& values, const Tensor& logits, int axis) {
  std::vector<int64_t> dims(logits.ndim() - axis, 1);
  dims[0] = values.numel();
  return reshape(values, Shape(dims));
}

Tensor class_weights(const char* name, const Tensor& weight, const Tensor& logits, int axis) {
  if (weight.ndim() != 1 || weight.numel() != logits.shape(axis)) {
    fail(name, "weight ", describe(weight), " has not one element for each of axis ", axis, " of ",
         describe(logits));
  }
  return along_classes(astype(weight, logits.dtype()), logits, axis);
}

// The losses of samples as terms by class; those of samples that do not count are 0. `share` is
// what each sample counts in the mean.
struct Sampled {
  Tensor terms;
  int axis;      // of the classes
  Tensor share;  // empty: all count 1
};

Tensor reduced(const Sampled& sampled, Reduction reduction, DType dtype) {
  const Tensor& terms = sampled.terms;
  // By the kernel that has the sample's classes at hand: added up at once, they would be written.
  const Tensor losses = sum(terms, sampled.axis);
  if (reduction == Reduction::kNone) return astype(losses, dtype);
  Tensor total = sum(losses);
  if (reduction == Reduction::kMean && sampled.share.defined()) {
    total = std::move(total) / sum(sampled.share);
  } else if (reduction == Reduction::kMean) {
    const int64_t samples = terms.numel() / std::max<int64_t>(terms.shape(sampled.axis), 1);
    total = std::move(total) / Scalar(static_cast<double>(samples));
  }
  return astype(std::move(total), dtype);
}

// -(1 - smoothing) * log p at the label - smoothing * the mean of log p.
Sampled at_labels(const char* name, const Tensor& logp, const Tensor& labels,
                  const CrossEntropyOptions& options) {
  const int axis = class_axis(name, logp);
  std::vector<int64_t> dims(logp.shape().begin(), logp.shape().end());
  dims.erase(dims.begin() + axis);
  if (labels.shape() != Shape(dims)) {
    fail(name, "labels ", describe(labels), " are not of shape ", to_string(Shape(dims)), " for ",
         describe(logp));
  }
  const int64_t classes = logp.shape(axis);
  const Tensor numbers =
      along_classes(arange(0, classes, 1, DType::kInt64, logp.device()), logp, axis);
  const Tensor chosen = astype(labels, DType::kInt64);
  const Tensor hit = expand_dims(chosen, axis) == numbers;
  Tensor weight;
  if (options.weight.defined()) weight = class_weights(name, options.weight, logp, axis);
  const double smoothing = options.label_smoothing;
  Tensor terms = where(hit, logp * Scalar(smoothing - 1), Scalar(0));
  if (smoothing != 0) {
    terms = std::move(terms) - logp * Scalar(smoothing / static_cast<double>(classes));
  }
  if (weight.defined()) terms = std::move(terms) * weight;
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  const Tensor sample = expand_dims(chosen, axis);
  terms = where((sample >= Scalar(0)) & (sample < Scalar(classes)), std::move(terms), Scalar(kNaN));
  Tensor share;
  if (weight.defined()) share = sum(where(hit, weight, Scalar(0)), axis);
  if (options.ignore_index) {
    const Scalar ignored = *options.ignore_index;
    terms = where(sample == ignored, Scalar(0), std::move(terms));
    share = share.defined() ? where(chosen == ignored, Scalar(0), std::move(share))
                            : astype(chosen != ignored, logp.dtype());
  }
  return {std::move(terms), axis, std::move(share)};
}

// -sum(y log p), of probabilities y.
Sampled at_probabilities(const char* name, const Tensor& logp, const Tensor& targets,
                         const CrossEntropyOptions& options) {
  const int axis = class_axis(name, logp);
  if (targets.shape() != logp.shape()) {
    fail(name, "labels ", describe(targets), " are neither integers nor of the shape of ",
         describe(logp));
  }
  if (options.ignore_index) fail(name, "ignore_index is for labels that are integers");
  Tensor shares = astype(targets, logp.dtype());
  if (options.label_smoothing != 0) {
    const auto classes = static_cast<double>(logp.shape(axis));
    shares = std::move(shares) * Scalar(1 - options.label_smoothing) +
             Scalar(options.label_smoothing / classes);
  }
  Tensor terms = logp * std::move(shares);
  if (options.weight.defined()) {
    terms = std::move(terms) * class_weights(name, options.weight, logp, axis);
  }
  return {-std::move(terms), axis, {}};
}

Tensor huber(const Tensor& a, const Tensor& b, double delta) {
  const Tensor distance = abs(a - b);
  return where(distance < Scalar(delta), square(distance) * Scalar(0.5),
               (distance - Scalar(delta / 2)) * Scalar(delta));
}

}  // namespace

Tensor cross_entropy(Arg logits, Arg labels, const CrossEntropyOptions& options) {
  constexpr const char* kName = "cross_entropy";
  return composed(logits, labels, kName, [&](const Tensor& x, const Tensor& y) {
    if (!(options.label_smoothing >= 0 && options.label_smoothing <= 1)) {
      fail(kName, "label_smoothing is ", options.label_smoothing, ", not within [0, 1]");
    }
    const DType dtype = float_type(x.dtype());
    const Tensor logp = log_softmax(astype(x, compute_type(dtype)), class_axis(kName, x));
    return reduced(is_float(y.dtype()) ? at_probabilities(kName, logp, y, options)
                                       : at_labels(kName, logp, y, options),
                   options.reduction, dtype);
  });
}

Tensor nll_loss(Arg log_probabilities, Arg labels, const NllOptions& options) {
  constexpr const char* kName = "nll_loss";
  return composed(log_probabilities, labels, kName, [&](const Tensor& x, const Tensor& y) {
    if (is_float(y.dtype())) fail(kName, "labels ", describe(y), " are not integers");
    const DType dtype = float_type(x.dtype());
    return reduced(at_labels(kName, astype(x, compute_type(dtype)), y,
                             {.ignore_index = options.ignore_index, .weight = options.weight}),
                   options.reduction, dtype);
  });
}

Tensor bce_loss(Arg probabilities, Arg targets, const BceOptions& options) {
  return pairwise("bce_loss", probabilities, targets, options.reduction,
                  [&](const Tensor& p, const Tensor& y) {
                    const Scalar least(-100.0);
                    const Tensor losses =
                        -(y * maximum(log(p), least) + (Scalar(1) - y) * maximum(log1p(-p), least));
                    return weighted(losses, options.weight);
                  });
}

Tensor bce_with_logits_loss(Arg logits, Arg targets, const BceWithLogitsOptions& options) {
  return pairwise("bce_with_logits_loss", logits, targets, options.reduction,
                  [&](const Tensor& x, const Tensor& y) {
                    // (1 - y) x + (1 + (pos_weight - 1) y) log(1 + exp(-x)).
                    Tensor tail = softplus(-x);
                    if (options.pos_weight.defined()) {
                      const Tensor more = astype(options.pos_weight, x.dtype()) - Scalar(1);
                      tail = (more * y + Scalar(1)) * std::move(tail);
                    }
                    return weighted((Scalar(1) - y) * x + std::move(tail), options.weight);
                  });
}

Tensor mse_loss(Arg x, Arg y, const LossOptions& options) {
  return pairwise("mse_loss", x, y, options.reduction,
                  [](const Tensor& a, const Tensor& b) { return square(a - b); });
}

Tensor l1_loss(Arg x, Arg y, const LossOptions& options) {
  return pairwise("l1_loss", x, y, options.reduction,
                  [](const Tensor& a, const Tensor& b) { return abs(a - b); });
}

Tensor huber_loss(Arg x, Arg y, const HuberOptions& options) {
  if (!(options.delta > 0)) fail("huber_loss", "delta is ", options.delta, ", not positive");
  return pairwise("huber_loss", x, y, options.reduction,
                  [&](const Tensor& a, const Tensor& b) { return huber(a, b, options.delta); });
}

Tensor smooth_l1_loss(Arg x, Arg y, const SmoothL1Options& options) {
  if (!(options.beta >= 0)) fail("smooth_l1_loss", "beta is ", options.beta, ", negative");
  return pairwise("smooth_l1_loss", x, y, options.reduction, [&](const Tensor& a, const Tensor& b) {
    if (options.beta == 0) return abs(a - b);
    return huber(a, b, options.beta) * Scalar(1 / options.beta);
  });
}

Tensor kl_div_loss(Arg x, Arg targets, const KlDivOptions& options) {
  return pairwise("kl_div_loss", x, targets, options.reduction,
                  [&](const Tensor& a, const Tensor& y) {
                    if (options.log_target) return exp(y) * (y - a);
                    const Tensor is_positive = y > Scalar(0);
                    const Tensor safe = where(is_positive, y, Scalar(1));
                    return where(is_positive, y * log(safe), Scalar(0)) - y * a;
                  });
}

Tensor hinge_loss(Arg x, Arg y, const MarginOptions& options) {
  return pairwise("hinge_loss", x, y, options.reduction, [&](const Tensor& a, const Tensor& b) {
    return relu(Scalar(options.margin) - a * b);
  });
}

Tensor cosine_embedding_loss(Arg a, Arg b, const Tensor& y, const CosineEmbeddingOptions& options) {
  constexpr double kEpsilon = 1e-12;  // as PyTorch's
  return pairwise(
      "cosine_embedding_loss", a, b, options.reduction, [&](const Tensor& u, const Tensor& v) {
        const Tensor lengths =
            (sum(square(u), -1) + Scalar(kEpsilon)) * (sum(square(v), -1) + Scalar(kEpsilon));
        const Tensor cosine = sum(u * v, -1) * rsqrt(lengths);
        return where(y > Scalar(0), Scalar(1) - cosine, relu(cosine - Scalar(options.margin)));
      });
}

Tensor poisson_nll_loss(Arg x, Arg targets, const PoissonNllOptions& options) {
  return pairwise("poisson_nll_loss", x, targets, options.reduction,
                  [&](const Tensor& a, const Tensor& y) {
                    if (options.log_input) return exp(a) - y * a;
                    return a - y * log(a + Scalar(options.eps));
                  });
}

}  // namespace sluice::nn
