// The part of a queue that one flush runs: its signature, its graph, its inputs and scalars.
#ifndef SLUICE_ENGINE_WINDOW_H_
#define SLUICE_ENGINE_WINDOW_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "sluice/engine/node.h"
#include "sluice/fusion/graph.h"

namespace sluice::engine {

struct Window {
  std::vector<Node*> nodes;   // to be run, in recorded order
  std::vector<bool> live;     // by node: its value has to be there afterwards
  std::vector<Node*> inputs;  // submitted nodes that they read, each once, in order of first use
  // The place of each in `inputs`. Not kept in the nodes: other queues may read them at the same
  // time.
  absl::flat_hash_map<const Node*, uint32_t> input_numbers;
  std::vector<int32_t> input_pins;  // by input: pins that the window's own nodes hold on it
  std::vector<uint64_t> scalars;
  // Everything that a plan may depend on, and nothing that it must not: scalars' values, addresses.
  std::vector<uint64_t> signature;

  void clear();
};

// The settings that a plan depends on.
struct PlanMode {
  bool fuse = true;
  bool fast_math = false;
};

// Fills everything else from `nodes` and `live`.
void describe(Window* window, PlanMode mode);

// The window as fusion sees it: its inputs, in order, and then its nodes.
fusion::Graph to_graph(const Window& window);

}  // namespace sluice::engine

#endif  // SLUICE_ENGINE_WINDOW_H_
