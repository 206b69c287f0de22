// Plans of known structure in new sizes.
//
// The windows of a growing sequence or of ragged batches differ in sizes alone, and their sizes lie
// on a line: each number of such a graph is a linear function of one. The numbers of their plans
// are then mostly quadratic functions of it. A family plans four graphs on its line, of which
// nobody may have asked for three yet; if the plans have one structure and their numbers fit, the
// plans between them are made by evaluating these functions.
//
// That is exact, not a guess, for the graphs that family_rules.h admits.
#ifndef SLUICE_FUSION_PLAN_PLAN_FAMILY_H_
#define SLUICE_FUSION_PLAN_PLAN_FAMILY_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "fusion/graph/graph.h"
#include "fusion/plan/plan.h"
#include "fusion/plan/planner.h"

namespace sluice::fusion {

// Thread-safe.
class PlanFamilies {
 public:
  // Of the process.
  static PlanFamilies& get();

  PlanFamilies();
  ~PlanFamilies();
  PlanFamilies(const PlanFamilies&) = delete;
  PlanFamilies& operator=(const PlanFamilies&) = delete;

  // As make_plan(), from what is known of the graph's family where possible. Bytes may be counted
  // as if inputs were alone in their blocks of memory.
  absl::StatusOr<Plan> make(const Graph& graph, const PlanOptions& options);

  // How many plans make() has made without planning.
  int64_t instantiated() const { return instantiated_.load(std::memory_order_relaxed); }

 private:
  class Family;
  struct Samples;

  absl::StatusOr<Plan> sample(const Samples& samples, const Graph& graph,
                              const PlanOptions& options, Family* family);

  void forget_if_many(const Graph& graph);

  std::mutex mutex_;
  // By structure and options. Guarded by mutex_, and so are the families.
  absl::flat_hash_map<std::vector<int64_t>, std::shared_ptr<Family>> families_;
  int64_t num_nodes_ = 0;  // of graphs met and templates made since all was forgotten, at most
  std::atomic<int64_t> instantiated_{0};
};

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_PLAN_PLAN_FAMILY_H_
