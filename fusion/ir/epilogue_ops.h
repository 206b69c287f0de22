// The ops that libraries apply as epilogues.
#ifndef SLUICE_FUSION_IR_EPILOGUE_OPS_H_
#define SLUICE_FUSION_IR_EPILOGUE_OPS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "fusion/ir/op.h"

namespace sluice::fusion {

// Of a call.
inline constexpr size_t kMaxEpilogues = 4;

inline constexpr Op kActivations[] = {
#define SLUICE_ACTIVATION(id) Op::k##id,
#include "fusion/ir/activations.def"
};

inline bool is_activation(Op op) {
  return std::find(std::begin(kActivations), std::end(kActivations), op) != std::end(kActivations);
}

// Epilogues that have an operand beside the result of the call: its sum with the result, its
// product with it, and the result where the operand is positive.
inline bool is_epilogue_of_two(Op op) {
  return op == Op::kAdd || op == Op::kMul || op == Op::kReluGradient;
}

// Which of them a plan folds into calls. kCheap, for devices that apply them with the bits of the
// ops' own kernels: the CPU does so by loops of the interpreter, when the result is whole, which is
// worth no more than the launch of a kernel. kInPlace, for those of them that are short of memory:
// the call may write over an operand, where a kernel would read the product beside it.
enum class EpilogueUse : uint8_t { kNone, kCheap, kInPlace, kAny };

inline bool folds(EpilogueUse use, Op op, int64_t result_bytes) {
  constexpr int64_t kCacheBytes = int64_t{1} << 20;
  if (use == EpilogueUse::kNone) return false;
  if (use == EpilogueUse::kInPlace && is_epilogue_of_two(op)) return true;
  if (op == Op::kMul) return false;  // no library has it
  if (use == EpilogueUse::kAny) return true;
  return result_bytes <= kCacheBytes && (is_epilogue_of_two(op) || op == Op::kRelu);
}

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_IR_EPILOGUE_OPS_H_
