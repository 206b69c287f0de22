// Texts by number: names of scopes and nodes, sentences of traces.
#ifndef SLUICE_ENGINE_OBSERVE_NAMES_H_
#define SLUICE_ENGINE_OBSERVE_NAMES_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"

namespace sluice::engine {

// Numbers distinct texts from 1; 0 is the empty one. Texts are never freed: most come from the
// program's source, so there are few. All texts past the first kMaxNames become "...". Thread-safe.
class Names {
 public:
  static constexpr uint16_t kMaxNames = 0xffff;

  static Names& of_scopes();
  static Names& of_sentences();

  uint16_t number_of(std::string_view text);
  std::string_view text(uint16_t number) const;

 private:
  mutable std::mutex mutex_;
  std::deque<std::string> texts_{""};
  absl::flat_hash_map<std::string, uint16_t> numbers_;
};

struct Node;

// The names of nodes, while the trace records. Nodes are recycled: call forget() when one is
// created. Thread-safe.
class NodeNames {
 public:
  static NodeNames& get();

  void set(const Node* node, std::string_view name);
  void forget(const Node* node);
  void forget_all();
  uint16_t number(const Node* node) const;  // 0: it has none
  // Of a name's number; valid for good.
  std::string_view text(uint16_t number) const { return texts_.text(number); }
  std::string_view text(const Node* node) const { return texts_.text(number(node)); }

 private:
  mutable std::mutex mutex_;
  absl::flat_hash_map<const Node*, uint16_t> names_;
  std::atomic<bool> has_names_{false};  // most programs name nothing
  Names texts_;
};

}  // namespace sluice::engine

#endif  // SLUICE_ENGINE_OBSERVE_NAMES_H_
