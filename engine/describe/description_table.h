// The graphs that the trace has met, and the places in the program that they come from. Windows
// that run the same plan for the same places share one description.
#ifndef SLUICE_ENGINE_DESCRIBE_DESCRIPTION_TABLE_H_
#define SLUICE_ENGINE_DESCRIBE_DESCRIPTION_TABLE_H_

#include <cstdint>
#include <memory>
#include <source_location>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "engine/describe/graph_description.h"
#include "engine/describe/provenance.h"
#include "engine/record/window.h"
#include "engine/run/plan_cache.h"

namespace sluice::engine {

// Not thread-safe.
class DescriptionTable {
 public:
  // That of a window that is about to be submitted. Of a window like one before, this costs a
  // comparison of its ops' places.
  std::shared_ptr<GraphDescription> find(const Window& window,
                                         std::shared_ptr<const ReadyPlan> plan,
                                         std::vector<Provenance> provenance);
  // Forgets the graphs. The sites stay: there are as many as the program's text has.
  void clear();

  std::vector<trace::Site> sites() const;

 private:
  struct Site {
    const char* file;
    const char* function;
    int line;
  };

  void make_key(const Window& window, const ReadyPlan* plan,
                const std::vector<Provenance>& provenance);
  int32_t site_number(const std::source_location& where);

  // By plan, origins, names and provenance.
  absl::flat_hash_map<std::vector<uint64_t>, std::weak_ptr<GraphDescription>> descriptions_;
  std::shared_ptr<GraphDescription> last_;  // most likely the next one, too
  std::vector<uint64_t> key_, last_key_;

  std::vector<Site> sites_;
  absl::flat_hash_map<std::pair<const void*, int>, int32_t> site_numbers_;
};

}  // namespace sluice::engine

#endif  // SLUICE_ENGINE_DESCRIBE_DESCRIPTION_TABLE_H_
