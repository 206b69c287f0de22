// The functions that a source's programs call. They are made of the expressions of
// fusion/ir/ops.def when they are first asked for.
#ifndef SLUICE_KERNELS_GPU_EMIT_FUNCTIONS_H_
#define SLUICE_KERNELS_GPU_EMIT_FUNCTIONS_H_

#include <set>
#include <string>
#include <vector>

#include <sluice/dtype.h>
#include "fusion/ir/op.h"
#include "kernels/gpu/emit/expression.h"
#include "kernels/gpu/emit/writer.h"

namespace sluice::kernels::cuda {

// All dtypes are compute types.
class Functions {
 public:
  // Text of the op's value: its expression where that is one operation, else a call.
  std::string pointwise(fusion::Op op, DType dtype, const std::vector<std::string>& operands);
  std::string cast(DType from, DType to, const std::string& operand);

  // The name of a struct with the reduction's accumulator Type, identity() and combine().
  std::string reduction(fusion::Op op, DType dtype);

  // The definitions of all functions asked for so far.
  const std::string& text() const { return writer_.text(); }

 private:
  struct Signature {
    std::string name;
    DType result;
    std::vector<DType> parameters;
  };
  // The parameters are named a, b, c.
  void define(const Signature& signature, const Expression& expression);

  Writer writer_;
  std::set<std::string> defined_;
};

}  // namespace sluice::kernels::cuda

#endif  // SLUICE_KERNELS_GPU_EMIT_FUNCTIONS_H_
