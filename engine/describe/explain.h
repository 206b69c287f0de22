// Why values went through memory: a typed reason and a sentence for each.
#ifndef SLUICE_ENGINE_DESCRIBE_EXPLAIN_H_
#define SLUICE_ENGINE_DESCRIBE_EXPLAIN_H_

#include <cstdint>
#include <source_location>
#include <string>
#include <vector>

#include "fusion/plan/plan.h"
#include "trace/trace.h"

namespace sluice::engine {

// An input that was not computed in its window, though it might have been.
struct InputProvenance {
  int32_t input;
  const char* reason;  // "window" or "device"
  std::string why;     // the sentence's predicate: "was computed by an earlier window"
};

// The cuts of `described`, which has its ops and steps, in the order of their producers. `graph`
// and `plan` are those that it describes. `held`, by node: there is a handle on it. A live node
// without one is read by an op that is still pending. `places`, by node: where it was called.
std::vector<trace::Cut> explain_cuts(const trace::Graph& described, const fusion::Graph& graph,
                                     const fusion::Plan& plan, const std::vector<bool>& held,
                                     const std::vector<std::source_location>& places,
                                     const std::vector<InputProvenance>& inputs);

}  // namespace sluice::engine

#endif  // SLUICE_ENGINE_DESCRIBE_EXPLAIN_H_
