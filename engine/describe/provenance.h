// Where the inputs of windows come from: values that an earlier window computed, or that were
// copied from another device. Fusion cannot reach across either.
#ifndef SLUICE_ENGINE_DESCRIBE_PROVENANCE_H_
#define SLUICE_ENGINE_DESCRIBE_PROVENANCE_H_

#include <cstdint>
#include <deque>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "engine/observe/names.h"
#include "engine/record/window.h"
#include "runtime/memory/buffer.h"

namespace sluice::engine {

struct Provenance {
  enum class Kind : uint8_t { kUnknown, kEarlierWindow, kOtherDevice };
  Kind kind = Kind::kUnknown;
  // A number of Names::of_sentences(): why the earlier window ended, or where the value was copied.
  uint16_t sentence = 0;
};

// Knows the newest windows and copies. Not thread-safe.
class ProvenanceTable {
 public:
  // The window whose results carry `written` ended because `why`.
  void add_window(const runtime::Event& written, std::string_view why);
  // `copy` was copied from another device, as `how` says.
  void add_copy(const Node& copy, std::string_view how);
  void clear();

  // By input.
  std::vector<Provenance> of(const Window& window) const;

 private:
  using EventKey = std::pair<const runtime::Stream*, uint64_t>;
  using BufferKey = std::pair<const Node*, const runtime::Buffer*>;

  absl::flat_hash_map<EventKey, uint16_t> windows_;  // sentences
  std::deque<EventKey> order_;                       // of windows_, the oldest first
  absl::flat_hash_map<BufferKey, uint16_t> copies_;  // sentences
};

}  // namespace sluice::engine

#endif  // SLUICE_ENGINE_DESCRIBE_PROVENANCE_H_
