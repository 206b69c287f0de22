// Where values that are in memory lie there.
#ifndef SLUICE_FUSION_LOWER_LOCATE_H_
#define SLUICE_FUSION_LOWER_LOCATE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "fusion/graph/constraints.h"
#include "fusion/graph/graph.h"
#include "fusion/graph/memory_ref.h"
#include "runtime/layout.h"

namespace sluice::fusion {

// The blocks of memory that hold values, as far as the plan has been made.
struct MemoryMap {
  std::vector<int32_t> input;                    // by node: the number of the input, or -1
  std::vector<int32_t> result;                   // by node: the number of the result, or -1
  absl::flat_hash_map<NodeId, Strides> strides;  // of results that are not in row-major order
};

// A block and the elements in it.
struct Located {
  MemoryRef memory;
  Layout layout;  // its offset is relative to the base address of `memory`
};

// Where `node`, which is in memory, lies: an input at its strides, a result in row-major order,
// unless it has strides of its own.
Located locate_value(const Graph& graph, const MemoryMap& memory, NodeId node);

// Where `node` lies, through any number of views of what is in memory. nullopt if strides cannot
// express one of the views, and then *blocking is that view, which would have to be copied.
std::optional<Located> locate(const Graph& graph, const Constraints& constraints,
                              const MemoryMap& memory, NodeId node, NodeId* blocking);

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_LOWER_LOCATE_H_
