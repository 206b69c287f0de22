#include <limits>
#include <utility>
#include <vector>

#include <sluice/creation.h>
#include <sluice/nn/losses.h>
#include <sluice/ops.h>
#include "frontend/composed/compose.h"

namespace sluice::nn {
namespace {

using frontend::describe;
using frontend::fail;

constexpr const char* kName = "ctc_loss";

// The logarithm of a probability of 0. It is finite, so that what is made of it has a gradient.
constexpr double kNever = -1e30;

// x (n, length) moved to the right by `places`.
Tensor moved(const Tensor& x, int64_t places) {
  return slice(pad(x, {{0, 0}, {places, 0}}, Scalar(kNever)), 1, 0, x.shape(1));
}

void check_lengths(const char* what, const Tensor& lengths, int64_t count) {
  frontend::node_of(kName, lengths);
  if (!is_integer(lengths.dtype()) || lengths.shape() != Shape{count}) {
    fail(kName, what, " ", describe(lengths), " are not ", count, " integers");
  }
}

// -log of the probability of each label, by the forward variables of Graves et al.: of place s in
// the label with blanks around all its classes, the probability of the paths that are there.
Tensor losses_of(const Tensor& logp, const Tensor& labels, const Tensor& input_lengths,
                 const Tensor& label_lengths, int64_t blank) {
  const int64_t steps = logp.shape(0), count = logp.shape(1), longest = labels.shape(1);
  const Tensor blanks = full({count, longest, 1}, blank, DType::kInt64, logp.device());
  const Tensor end = full({count, 1}, blank, DType::kInt64, logp.device());
  const Tensor between = reshape(concat({blanks, expand_dims(labels, 2)}, 2), {count, 2 * longest});
  const Tensor places = concat({between, end}, 1);
  const int64_t length = 2 * longest + 1;
  const Tensor scores = take_along_axis(logp, expand_dims(places, 0), 2);
  // A blank between two classes may be left out unless they are equal.
  const Tensor two_before = slice(pad(places, {{0, 0}, {2, 0}}, Scalar(blank)), 1, 0, length);
  const Tensor may_skip = (places != Scalar(blank)) & (places != two_before);
  const Tensor numbers = arange(0, length, 1, DType::kInt64, logp.device());
  const Tensor lengths = expand_dims(input_lengths, 1), never = full_like(scores[0], kNever);

  Tensor forward = where(numbers < Scalar(2), scores[0], never);
  for (int64_t step = 1; step < steps; ++step) {
    Tensor from = logaddexp(forward, moved(forward, 1));
    from = logaddexp(std::move(from), where(may_skip, moved(forward, 2), never));
    forward = where(lengths > Scalar(step), std::move(from) + scores[step], forward);
  }
  const Tensor last = expand_dims(label_lengths, 1) * Scalar(2);
  const Tensor is_end = (numbers == last) | (numbers == last - Scalar(1));
  return -logsumexp(where(is_end, forward, never), 1);
}

}  // namespace

Tensor ctc_loss(Arg log_probabilities, Arg labels, const Tensor& input_lengths,
                const Tensor& label_lengths, const CtcOptions& options) {
  return frontend::composed(
      log_probabilities, labels, kName, [&](const Tensor& x, const Tensor& y) {
        if (x.ndim() != 3 || y.ndim() != 2 || y.shape(0) != x.shape(1) || !is_integer(y.dtype())) {
          fail(kName, describe(x), " and labels ", describe(y),
               " are not (time, n, classes) and integers (n, longest)");
        }
        if (x.shape(0) < 1) fail(kName, describe(x), " has no step");
        if (options.blank < 0 || options.blank >= x.shape(2)) {
          fail(kName, "blank is ", options.blank, ", none of ", x.shape(2), " classes");
        }
        check_lengths("input_lengths", input_lengths, x.shape(1));
        check_lengths("label_lengths", label_lengths, x.shape(1));
        const DType dtype = float_type(x.dtype()), wide = compute_type(dtype);
        const Tensor counts = astype(label_lengths, DType::kInt64);
        const Tensor exact = losses_of(astype(x, wide), astype(y, DType::kInt64),
                                       astype(input_lengths, DType::kInt64), counts, options.blank);
        Tensor losses = where(exact < Scalar(-kNever / 2), exact,
                              Scalar(std::numeric_limits<double>::infinity()));
        if (options.reduction == Reduction::kMean) {
          losses = mean(std::move(losses) / astype(maximum(counts, Scalar(1)), wide));
        } else if (options.reduction == Reduction::kSum) {
          losses = sum(std::move(losses));
        }
        return astype(std::move(losses), dtype);
      });
}

}  // namespace sluice::nn
