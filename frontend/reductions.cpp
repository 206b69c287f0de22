#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <sluice/autograd.h>
#include <sluice/ops.h>
#include "frontend/call.h"
#include "frontend/record.h"
#include "frontend/reduce.h"

namespace sluice {
namespace frontend {

using fusion::Op;

int64_t count_reduced(const Tensor& x, const std::vector<int>& axes) {
  int64_t count = 1;
  for (int axis : axes) count *= x.shape()[axis];
  return count;
}

Tensor reduce(const char* name, Op op, const Tensor& x, std::vector<int> axes, bool keepdims,
              DType dtype) {
  if (x.ndim() == 0) {
    // A row of one element.
    const Tensor row = record_view(name, Op::kReshape, x, Shape{1});
    return reduce(name, op, row, {0}, false, dtype);
  }
  std::vector<int64_t> dims;
  for (int i = 0; i < x.ndim(); ++i) {
    const bool reduced = std::find(axes.begin(), axes.end(), i) != axes.end();
    if (!reduced || keepdims) dims.push_back(reduced ? 1 : x.shape()[i]);
  }
  const Shape shape{std::span<const int64_t>(dims)};
  // Reducing no axes, as of a tensor whose list is empty: each element is a row of its own.
  if (axes.empty()) return astype(x, dtype);
  const std::vector<int64_t> attrs(axes.begin(), axes.end());
  const engine::NodeOperand operand{x.node_ref().get()};
  const DType result = fusion::is_arg_reduction(op) ? DType::kInt64 : dtype;
  return record({.caller = {.name = name},
                 .op = op,
                 .dtype = result,
                 .operand_dtype = dtype,
                 .device = x.device(),
                 .shape = shape,
                 .operands = {&operand, 1},
                 .attrs = attrs});
}

Tensor mean_of(const char* name, const Tensor& x, const std::vector<int>& axes, bool keepdims) {
  const auto count = static_cast<double>(count_reduced(x, axes));
  return reduce(name, Op::kSum, x, axes, keepdims, x.dtype()) / Scalar(count);
}

DType sum_dtype(DType dtype) {
  switch (kind_of(dtype)) {
    case DTypeKind::kFloat: return dtype;
    case DTypeKind::kUnsigned: return DType::kUInt64;
    default: return DType::kInt64;
  }
}

}  // namespace frontend

namespace {

using frontend::check_axes;
using frontend::count_reduced;
using frontend::describe;
using frontend::fail;
using frontend::mean_of;
using frontend::reduce;
using frontend::sum_dtype;
using frontend::with_call;
using fusion::Op;

Tensor accumulate(const char* name, Op op, const Arg& x, const Axes& axes, bool keepdims) {
  return with_call(x, name, [&](const Tensor& tensor) {
    return reduce(name, op, tensor, check_axes(name, axes, tensor), keepdims,
                  sum_dtype(tensor.dtype()));
  });
}

void check_not_empty(const char* name, const Tensor& x, const std::vector<int>& axes) {
  if (count_reduced(x, axes) == 0) fail(name, describe(x), " has nothing to reduce");
}

Tensor extremum(const char* name, Op op, const Arg& x, const Axes& axes, bool keepdims) {
  return with_call(x, name, [&](const Tensor& tensor) {
    const std::vector<int> list = check_axes(name, axes, tensor);
    check_not_empty(name, tensor, list);
    return reduce(name, op, tensor, list, keepdims, tensor.dtype());
  });
}

Tensor logical(const char* name, Op op, const Arg& x, const Axes& axes, bool keepdims) {
  return with_call(x, name, [&](const Tensor& tensor) {
    return reduce(name, op, tensor, check_axes(name, axes, tensor), keepdims, DType::kBool);
  });
}

Tensor arg_extremum(const char* name, Op op, const Arg& x, const Axes& axes, bool keepdims) {
  return with_call(x, name, [&](const Tensor& tensor) {
    if (axes.span().size() > 1) {
      fail(name, axes.span().size(), " axes for ", describe(tensor),
           "; takes one, or none for all");
    }
    const std::vector<int> list = check_axes(name, axes, tensor);
    check_not_empty(name, tensor, list);
    if (!axes.empty() || tensor.ndim() <= 1) {
      return reduce(name, op, tensor, list, keepdims, tensor.dtype());
    }
    Tensor result =
        reduce(name, op, reshape(tensor, Shape{tensor.numel()}), {0}, false, tensor.dtype());
    if (!keepdims) return result;
    const std::vector<int64_t> ones(tensor.ndim(), 1);
    return reshape(std::move(result), Shape(std::span<const int64_t>(ones)));
  });
}

// f(x, axes) of floats. Statistics of half types are computed in float32 and rounded once.
template <typename F>
Tensor statistic(const char* name, const Arg& x, const Axes& axes, F f) {
  return with_call(x, name, [&](const Tensor& tensor) {
    const std::vector<int> list = check_axes(name, axes, tensor);
    const DType computed = frontend::statistic_dtype(tensor.dtype());
    return astype(f(astype(tensor, computed), list), float_type(tensor.dtype()));
  });
}

Tensor variance_of(const char* name, const Tensor& x, const std::vector<int>& axes, bool keepdims,
                   int ddof) {
  const Tensor difference = x - mean_of(name, x, axes, true);
  const auto count = static_cast<double>(std::max<int64_t>(count_reduced(x, axes) - ddof, 0));
  return reduce(name, Op::kSum, square(difference), axes, keepdims, x.dtype()) / Scalar(count);
}

}  // namespace

Tensor sum(Arg x, const Axes& axes, bool keepdims) {
  return accumulate("sum", Op::kSum, x, axes, keepdims);
}
Tensor prod(Arg x, const Axes& axes, bool keepdims) {
  return accumulate("prod", Op::kProd, x, axes, keepdims);
}
Tensor max(Arg x, const Axes& axes, bool keepdims) {
  return extremum("max", Op::kMax, x, axes, keepdims);
}
Tensor min(Arg x, const Axes& axes, bool keepdims) {
  return extremum("min", Op::kMin, x, axes, keepdims);
}
Tensor any(Arg x, const Axes& axes, bool keepdims) {
  return logical("any", Op::kAny, x, axes, keepdims);
}
Tensor all(Arg x, const Axes& axes, bool keepdims) {
  return logical("all", Op::kAll, x, axes, keepdims);
}
Tensor argmax(Arg x, const Axes& axes, bool keepdims) {
  return arg_extremum("argmax", Op::kArgMax, x, axes, keepdims);
}
Tensor argmin(Arg x, const Axes& axes, bool keepdims) {
  return arg_extremum("argmin", Op::kArgMin, x, axes, keepdims);
}

Tensor mean(Arg x, const Axes& axes, bool keepdims) {
  return statistic("mean", x, axes, [&](const Tensor& values, const std::vector<int>& list) {
    return mean_of("mean", values, list, keepdims);
  });
}

Tensor var(Arg x, const Axes& axes, bool keepdims, int ddof) {
  return statistic("var", x, axes, [&](const Tensor& values, const std::vector<int>& list) {
    return variance_of("var", values, list, keepdims, ddof);
  });
}

Tensor std(Arg x, const Axes& axes, bool keepdims, int ddof) {
  return statistic("std", x, axes, [&](const Tensor& values, const std::vector<int>& list) {
    return sqrt(variance_of("std", values, list, keepdims, ddof));
  });
}

Tensor norm(Arg x, const Axes& axes, bool keepdims) {
  return statistic("norm", x, axes, [&](const Tensor& values, const std::vector<int>& list) {
    return sqrt(reduce("norm", Op::kSum, square(values), list, keepdims, values.dtype()));
  });
}

Tensor logsumexp(Arg x, const Axes& axes, bool keepdims) {
  constexpr const char* kName = "logsumexp";
  return statistic(kName, x, axes, [&](const Tensor& values, const std::vector<int>& list) {
    const DType dtype = values.dtype();
    if (count_reduced(values, list) == 0) {
      return log(reduce(kName, Op::kSum, values, list, keepdims, dtype));
    }
    // The result is the same whatever is subtracted.
    const Tensor greatest = reduce(kName, Op::kMax, stop_gradient(values), list, true, dtype);
    const Tensor shift = where(isfinite(greatest), greatest, Scalar(0));
    Tensor logarithm = log(reduce(kName, Op::kSum, exp(values - shift), list, keepdims, dtype));
    const Tensor back = keepdims ? shift : reshape(shift, logarithm.shape());
    return std::move(logarithm) + back;
  });
}

}  // namespace sluice
