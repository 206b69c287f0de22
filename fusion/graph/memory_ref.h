// Names a block of memory of a window's plan.
#ifndef SLUICE_FUSION_GRAPH_MEMORY_REF_H_
#define SLUICE_FUSION_GRAPH_MEMORY_REF_H_

#include <cstdint>

namespace sluice::fusion {

// The k-th input of the window, or the k-th result: a block that the plan itself fills.
struct MemoryRef {
  enum class Kind : uint8_t { kInput, kResult };
  Kind kind = Kind::kInput;
  int32_t index = 0;

  bool operator==(const MemoryRef&) const = default;
};

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_GRAPH_MEMORY_REF_H_
