// The distinct elements of a tensor, by sorting and compaction.
#include <sluice/creation.h>
#include <sluice/ops.h>
#include "frontend/composed/compose.h"
#include "frontend/indexing/positions.h"
#include "frontend/indexing/scatter.h"

namespace sluice {
namespace {

using frontend::composed;
using frontend::true_positions;

Tensor flat(const Tensor& x) { return reshape(x, Shape{x.numel()}); }

// Whether each of some elements in order differs from the one before.
Tensor begins(const Tensor& sorted) {
  const int64_t count = sorted.numel();
  if (count == 0) return zeros({0}, DType::kBool, sorted.device());
  return pad(slice(sorted, 0, 1, count) != slice(sorted, 0, 0, count - 1), {{1, 0}}, true);
}

// How many elements each run has of those that begin here; `count`: all elements.
Tensor lengths(const Tensor& starts, int64_t count) {
  if (starts.numel() == 0) return starts;
  const Tensor ends = pad(slice(starts, 0, 1, starts.numel()), {{0, 1}}, count);
  return ends - starts;
}

// For each element of x, by `order`, in which run it is.
Tensor run_of(const char* op, const Tensor& x, const Tensor& order, const Tensor& is_start) {
  if (x.numel() == 0) return zeros(x.shape(), DType::kInt64, x.device());
  const Shape column{x.numel(), 1};
  const Tensor run = reshape(cumsum(is_start, 0) - 1, column);
  return reshape(frontend::scattered({op}, zeros(column, DType::kInt64, x.device()), order, run),
                 x.shape());
}

struct Runs {
  Tensor order, sorted, is_start, starts;

  Runs(const char* op, const Tensor& x)
      : order(argsort(flat(x), 0)),
        sorted(take(flat(x), order, 0)),
        is_start(begins(sorted)),
        starts(true_positions(op, is_start)) {}
  Tensor values() const { return take(sorted, starts, 0); }
};

}  // namespace

Tensor unique_values(Arg x) {
  constexpr const char* kOp = "unique_values";
  return composed(x, kOp, [&](const Tensor& tensor) {
    const Tensor sorted = sort(flat(tensor), 0);
    return take(sorted, true_positions(kOp, begins(sorted)), 0);
  });
}

TensorPair unique_counts(Arg x) {
  constexpr const char* kOp = "unique_counts";
  return composed(x, kOp, [&](const Tensor& tensor) {
    const Tensor sorted = sort(flat(tensor), 0);
    const Tensor starts = true_positions(kOp, begins(sorted));
    return TensorPair(take(sorted, starts, 0), lengths(starts, tensor.numel()));
  });
}

TensorPair unique_inverse(Arg x) {
  constexpr const char* kOp = "unique_inverse";
  return composed(x, kOp, [&](const Tensor& tensor) {
    const Runs runs(kOp, tensor);
    return TensorPair(runs.values(), run_of(kOp, tensor, runs.order, runs.is_start));
  });
}

UniqueAll unique_all(Arg x) {
  constexpr const char* kOp = "unique_all";
  return composed(x, kOp, [&](const Tensor& tensor) {
    const Runs runs(kOp, tensor);
    return UniqueAll{runs.values(), take(runs.order, runs.starts, 0),
                     run_of(kOp, tensor, runs.order, runs.is_start),
                     lengths(runs.starts, tensor.numel())};
  });
}

Tensor isin(Arg x, Arg test, bool invert) {
  constexpr const char* kOp = "isin";
  return composed(x, test, kOp, [&](const Tensor& tensor, const Tensor& wanted) {
    const int64_t count = wanted.numel();
    if (count == 0) return full(tensor.shape(), invert, DType::kBool, tensor.device());
    const DType dtype = promote(tensor.dtype(), wanted.dtype());
    const Tensor sorted = sort(astype(flat(wanted), dtype), 0);
    const Tensor values = astype(tensor, dtype);
    const Tensor at = minimum(searchsorted(sorted, values), count - 1);
    const Tensor found = take(sorted, at, 0);
    return invert ? found != values : found == values;
  });
}

}  // namespace sluice
