#include "kernels/llvm/body/halves.h"

#include "kernels/llvm/host.h"

namespace sluice::kernels {
namespace {

using fusion::Instr;
using fusion::Op;
using fusion::Program;

// Not quotients and roots: float32's take less time.
bool is_native(Op op) {
  switch (op) {
    case Op::kNeg:
    case Op::kAbs:
    case Op::kSign:
    case Op::kSquare:
    case Op::kFloor:
    case Op::kCeil:
    case Op::kRound:
    case Op::kTrunc:
    case Op::kIsNan:
    case Op::kIsInf:
    case Op::kIsFinite:
    case Op::kRelu:
    case Op::kReluGradient:
    case Op::kAdd:
    case Op::kSub:
    case Op::kMul:
    case Op::kMaximum:
    case Op::kMinimum:
    case Op::kClip:
    case Op::kWhere:
    case Op::kEqual:
    case Op::kNotEqual:
    case Op::kLess:
    case Op::kLessEqual:
    case Op::kGreater:
    case Op::kGreaterEqual:
    case Op::kMax:
    case Op::kMin:
    case Op::kArgMax:
    case Op::kArgMin: return true;
    default: return false;
  }
}

}  // namespace

bool is_native_half(const Program& program, const Instr& instr) {
  if (!host().computes_float16 || program.contracts || !is_native(instr.op)) return false;
  const int typed = instr.op == Op::kWhere ? 1 : 0;
  return program.body[instr.operands[typed]].dtype == DType::kFloat16;
}

}  // namespace sluice::kernels
