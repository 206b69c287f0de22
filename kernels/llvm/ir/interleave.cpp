#include "kernels/llvm/ir/interleave.h"

#include <functional>
#include <utility>

#include "llvm/Analysis/VectorUtils.h"

#include "kernels/llvm/host.h"

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

// The vector whose lane j is that of vectors[source(j)].
llvm::Value* blend(llvm::IRBuilder<>& ir, const Values& vectors, int lanes,
                   const std::function<int(int)>& source) {
  llvm::Value* result = vectors[0];
  for (int v = 1; v < static_cast<int>(vectors.size()); ++v) {
    std::vector<int> mask(lanes);
    for (int j = 0; j < lanes; ++j) mask[j] = source(j) == v ? lanes + j : j;
    result = ir.CreateShuffleVector(result, vectors[v], mask);
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

// Every p-th element from the q-th on has a lane of its own, where p and the number of lanes have
// no common factor: p vectors are blended before, or after, their lanes are moved. Only AVX-512
// moves lanes of two vectors at a time.
bool blends_lanes(int p, int lanes) { return !host().masked_vectors && p % 2 != 0 && lanes > 1; }

// What makes lane j of a vector lane (j * p + q) % lanes, and the other way around.
std::vector<int> every(int p, int q, int lanes) {
  std::vector<int> from(lanes);
  for (int j = 0; j < lanes; ++j) from[j] = (j * p + q) % lanes;
  return from;
}
std::vector<int> back_to_every(int p, int q, int lanes) {
  std::vector<int> from(lanes);
  for (int j = 0; j < lanes; ++j) from[(j * p + q) % lanes] = j;
  return from;
}

// Of p neighbouring vectors every p-th element, from the q-th on.
llvm::Value* take_every(llvm::IRBuilder<>& ir, const Values& neighbours, int q, int lanes) {
  const int p = static_cast<int>(neighbours.size());
  if (!blends_lanes(p, lanes)) {
    return gather_lanes(ir, neighbours, lanes, [&](int j) {
      return Source{(j * p + q) / lanes, (j * p + q) % lanes};
    });
  }
  const std::vector<int> back = back_to_every(p, q, lanes);
  llvm::Value* blended =
      blend(ir, neighbours, lanes, [&](int lane) { return (back[lane] * p + q) / lanes; });
  return ir.CreateShuffleVector(blended, every(p, q, lanes));
}

// The p neighbouring vectors of which parts[q] is every p-th element, from the q-th on.
Values put_every(llvm::IRBuilder<>& ir, Values parts, int lanes) {
  const int p = static_cast<int>(parts.size());
  const bool blends = blends_lanes(p, lanes);
  for (int q = 0; blends && q < p; ++q) {
    parts[q] = ir.CreateShuffleVector(parts[q], back_to_every(p, q, lanes));
  }
  Values result;
  for (int t = 0; t < p; ++t) {
    const int first = t * lanes;
    result.push_back(blends ? blend(ir, parts, lanes, [&](int j) { return (first + j) % p; })
                            : gather_lanes(ir, parts, lanes, [&](int j) {
                                return Source{(first + j) % p, (first + j) / p};
                              }));
  }
  return result;
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
      by_remainder[q].push_back(take_every(ir, neighbours, q, lanes));
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
    const Values neighbours = put_every(ir, std::move(parts), lanes);
    result.insert(result.end(), neighbours.begin(), neighbours.end());
  }
  return result;
}

// Interleaving the first half of the vectors with the second rotates the bits of an element's
// (vector, place in its part) number by one place; log2(n) times that swaps the two.
std::vector<llvm::Value*> transpose(llvm::IRBuilder<>& ir, std::vector<llvm::Value*> vectors) {
  const int n = static_cast<int>(vectors.size());
  const auto* type = llvm::cast<llvm::FixedVectorType>(vectors[0]->getType());
  const int lanes = static_cast<int>(type->getNumElements());
  std::vector<int> low, high;
  for (int part = 0; part < lanes; part += n) {
    for (int i = part; i < part + n / 2; ++i) {
      for (const int from : {i, lanes + i}) {
        low.push_back(from);
        high.push_back(from + n / 2);
      }
    }
  }
  for (int step = 1; step < n; step *= 2) {
    std::vector<llvm::Value*> next(n);
    for (int i = 0; i < n / 2; ++i) {
      next[2 * i] = ir.CreateShuffleVector(vectors[i], vectors[i + n / 2], low);
      next[2 * i + 1] = ir.CreateShuffleVector(vectors[i], vectors[i + n / 2], high);
    }
    vectors = std::move(next);
  }
  return vectors;
}

std::vector<llvm::Value*> load_transposed(llvm::IRBuilder<>& ir, llvm::Type* element, int part,
                                          const std::vector<llvm::Value*>& lines,
                                          llvm::Align align) {
  auto* const type = llvm::FixedVectorType::get(element, part);
  std::vector<std::vector<llvm::Value*>> parts(part);
  for (size_t j = 0; j < lines.size(); ++j) {
    parts[j % part].push_back(ir.CreateAlignedLoad(type, lines[j], align));
  }
  std::vector<llvm::Value*> vectors;
  for (const auto& of_vector : parts) {
    vectors.push_back(llvm::concatenateVectors(ir, of_vector));
  }
  return transpose(ir, std::move(vectors));
}

}  // namespace sluice::kernels::ir
