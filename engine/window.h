// The part of a queue that one flush runs: its signature, its graph, its inputs and scalars.
#ifndef SLUICE_ENGINE_WINDOW_H_
#define SLUICE_ENGINE_WINDOW_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
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
  absl::Span<const uint64_t> signature() const { return {words_.data(), num_words_}; }

  void clear();

  // Room for so many more words of the signature; end_words() says where those end that were
  // written there.
  uint64_t* begin_words(size_t most) {
    if (words_.size() - num_words_ < most) words_.resize(2 * words_.size() + most);
    return words_.data() + num_words_;
  }
  void end_words(const uint64_t* end) { num_words_ = end - words_.data(); }

 private:
  std::vector<uint64_t> words_;  // never shrinks
  size_t num_words_ = 0;
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
