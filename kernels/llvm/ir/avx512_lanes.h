// The current lanes as whole vectors of AVX-512, for instructions that LLVM has no name for.
// Includes LLVM.
#ifndef SLUICE_KERNELS_LLVM_IR_AVX512_LANES_H_
#define SLUICE_KERNELS_LLVM_IR_AVX512_LANES_H_

#if defined(__x86_64__)
#include <algorithm>
#include <numeric>
#include <vector>

#include <sluice/dtype.h>
#include "kernels/llvm/host.h"
#include "kernels/llvm/ir/builder.h"
#include "llvm/Analysis/VectorUtils.h"

namespace sluice::kernels::ir {

inline constexpr int kCurrentRounding = 4;

struct Avx512Lanes {
  explicit Avx512Lanes(DType dtype) : all_lanes(Builder::current().lanes()) {
    const int size = static_cast<int>(size_of(dtype));
    if (!host().masked_vectors || all_lanes * size < 16) return;
    bytes = std::min(all_lanes * size, host().vector_bytes);
    lanes = bytes / size;
    all = llvm::ConstantInt::getAllOnesValue(Builder::current()->getIntNTy(std::max(lanes, 8)));
  }

  // `instruction(parts)` of each vector of the operands.
  template <typename F>
  llvm::Value* each(const std::vector<llvm::Value*>& operands, const F& instruction) const {
    Builder& ir = Builder::current();
    std::vector<llvm::Value*> results;
    for (int first = 0; first < all_lanes; first += lanes) {
      std::vector<int> places(lanes);
      std::iota(places.begin(), places.end(), first);
      std::vector<llvm::Value*> parts;
      for (llvm::Value* x : operands) {
        parts.push_back(lanes == all_lanes ? x : ir->CreateShuffleVector(x, places));
      }
      results.push_back(instruction(parts));
    }
    return llvm::concatenateVectors(*ir, results);
  }

  const int all_lanes;
  int lanes = 0;  // of one vector; 0 where there are none
  int bytes = 0;
  llvm::Value* all = nullptr;  // the mask
};

}  // namespace sluice::kernels::ir
#endif

#endif  // SLUICE_KERNELS_LLVM_IR_AVX512_LANES_H_
