// Shuffles between vectors of consecutive elements and vectors of every n-th one. Includes LLVM.
#ifndef SLUICE_KERNELS_LLVM_IR_INTERLEAVE_H_
#define SLUICE_KERNELS_LLVM_IR_INTERLEAVE_H_

#include <vector>

#include "llvm/IR/IRBuilder.h"

namespace sluice::kernels::ir {

// `vectors`: n vectors of equal length that hold consecutive elements. The k-th result has elements
// k, k + n, k + 2n, ...
std::vector<llvm::Value*> deinterleave(llvm::IRBuilder<>& ir, std::vector<llvm::Value*> vectors);

// The inverse.
std::vector<llvm::Value*> interleave(llvm::IRBuilder<>& ir, std::vector<llvm::Value*> vectors);

// `vectors`: n of them, n a power of two, whose parts of n elements are taken apart from each
// other. Element i of a part of the k-th result is element k of that part of the i-th vector.
std::vector<llvm::Value*> transpose(llvm::IRBuilder<>& ir, std::vector<llvm::Value*> vectors);

// Within so many bytes of a vector shuffles are fastest, unless there are some of two vectors by
// any indices.
inline constexpr int kShuffledBytes = 16;

// Loads `part` elements of each of `lines`, both powers of two and `part` not the larger: lane j of
// the k-th result is element k of the j-th line. Elements change places within parts only.
std::vector<llvm::Value*> load_transposed(llvm::IRBuilder<>& ir, llvm::Type* element, int part,
                                          const std::vector<llvm::Value*>& lines,
                                          llvm::Align align);

}  // namespace sluice::kernels::ir

#endif  // SLUICE_KERNELS_LLVM_IR_INTERLEAVE_H_
