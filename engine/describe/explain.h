// Why values went through memory: one typed reason and one sentence for each.
#ifndef SLUICE_ENGINE_DESCRIBE_EXPLAIN_H_
#define SLUICE_ENGINE_DESCRIBE_EXPLAIN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "fusion/plan/plan.h"
#include "trace/trace.h"

namespace sluice::engine {

// What a window ends up reading from memory because of what came before it.
struct InputProvenance {
  int32_t input;
  const char* reason;  // "window" or "device"
  std::string why;     // what a sentence says of it: "was computed by an earlier window"
};

// The cuts of `described`, in the order of their producers. Its ops, steps and names are filled in;
// `graph` and `plan` are those that it describes. `held`, by node: somebody has a handle on it; a
// live node without one is read by an op that is still pending.
std::vector<trace::Cut> explain_cuts(const trace::Graph& described, const fusion::Graph& graph,
                                     const fusion::Plan& plan, const std::vector<bool>& held,
                                     const std::vector<InputProvenance>& inputs);

}  // namespace sluice::engine

#endif  // SLUICE_ENGINE_DESCRIBE_EXPLAIN_H_
