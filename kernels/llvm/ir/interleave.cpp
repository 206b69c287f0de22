#include "kernels/llvm/ir/interleave.h"

#include <functional>

namespace sluice::kernels::ir {
namespace {

using Values = std::vector<llvm::Value*>;

// Where a lane of a result comes from.
struct Source {
  int vector;
  int lane;
};

// The vector whose lane j is source(j), by one shuffle less than there are sources, at least one.
llvm::Value* gather_lanes(llvm::IRBuilder<>& ir, const Values& vectors, int lanes,
                          const std::function<Source(int)>& source) {
  llvm::Value* result = nullptr;
  std::vector<int> mask(lanes, -1);
  for (int v = 0; v < static_cast<int>(vectors.size()); ++v) {
    bool is_source = false;
    std::vector<int> next = mask;
    for (int j = 0; j < lanes; ++j) {
      const Source from = source(j);
      if (from.vector != v) continue;
      is_source = true;
      next[j] = result == nullptr ? from.lane : lanes + from.lane;
    }
    if (!is_source) continue;
    if (result == nullptr) {
      result = vectors[v];
    } else {
      result = ir.CreateShuffleVector(result, vectors[v], next);
      for (int j = 0; j < lanes; ++j) next[j] = next[j] < 0 ? -1 : j;
    }
    mask = std::move(next);
  }
  for (int j = 0; j < lanes; ++j) {
    if (mask[j] != j) return ir.CreateShuffleVector(result, mask);
  }
  return result;
}

int lanes_of(llvm::Value* vector) {
  return static_cast<int>(llvm::cast<llvm::FixedVectorType>(vector->getType())->getNumElements());
}

int least_factor(int n) {
  for (int p = 2; p * p <= n; ++p) {
    if (n % p == 0) return p;
  }
  return n;
}

}  // namespace

// By one prime factor p of n at a time: every p-th element of p neighbouring vectors at a time, and
// then the rest of n for what is left of each remainder.
Values deinterleave(llvm::IRBuilder<>& ir, Values vectors) {
  const int n = static_cast<int>(vectors.size());
  if (n == 1) return vectors;
  const int lanes = lanes_of(vectors[0]);
  const int p = least_factor(n);
  Values result(n);
  std::vector<Values> by_remainder(p);
  for (int group = 0; group < n; group += p) {
    const Values neighbours(vectors.begin() + group, vectors.begin() + group + p);
    for (int q = 0; q < p; ++q) {
      by_remainder[q].push_back(gather_lanes(ir, neighbours, lanes, [&](int j) {
        return Source{(j * p + q) / lanes, (j * p + q) % lanes};
      }));
    }
  }
  for (int q = 0; q < p; ++q) {
    const Values rest = deinterleave(ir, std::move(by_remainder[q]));
    for (int k = 0; k < n / p; ++k) result[k * p + q] = rest[k];
  }
  return result;
}

Values interleave(llvm::IRBuilder<>& ir, Values vectors) {
  const int n = static_cast<int>(vectors.size());
  if (n == 1) return vectors;
  const int lanes = lanes_of(vectors[0]);
  const int p = least_factor(n);
  std::vector<Values> by_remainder(p);
  for (int q = 0; q < p; ++q) {
    Values part;
    for (int k = 0; k < n / p; ++k) part.push_back(vectors[k * p + q]);
    by_remainder[q] = interleave(ir, std::move(part));
  }
  Values result;
  for (int group = 0; group < n / p; ++group) {
    Values parts;
    for (int q = 0; q < p; ++q) parts.push_back(by_remainder[q][group]);
    for (int t = 0; t < p; ++t) {
      result.push_back(gather_lanes(ir, parts, lanes, [&](int j) {
        return Source{(t * lanes + j) % p, (t * lanes + j) / p};
      }));
    }
  }
  return result;
}

}  // namespace sluice::kernels::ir
