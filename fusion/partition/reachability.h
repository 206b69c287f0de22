// Which vertices of a growing graph without cycles lead to which.
#ifndef SLUICE_FUSION_PARTITION_REACHABILITY_H_
#define SLUICE_FUSION_PARTITION_REACHABILITY_H_

#include <cstdint>
#include <vector>

#include "absl/container/inlined_vector.h"

namespace sluice::fusion {

// Vertices are numbered as they are added. Asking takes constant time, which matters: a planner
// asks for pairs of groups. What leads to a vertex of which paths become known late is visited, so
// that vertices are best added behind what they lead to.
class Reachability {
 public:
  void add();
  void add_edge(int from, int to);
  // From now on `into` stands for both; `from` is not asked for again.
  void merge(int into, int from);
  // True if some path leads from `from` to `to`.
  bool reaches(int from, int to) const { return contains(behind_[from], to); }

 private:
  using Set = absl::InlinedVector<uint64_t, 2>;  // bit v: vertex v

  static bool contains(const Set& set, int v);
  static void insert(Set& set, int v);
  static void unite(Set& into, const Set& other);

  std::vector<Set> behind_;     // what each leads to
  std::vector<bool> has_past_;  // whether anything leads to it
};

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_PARTITION_REACHABILITY_H_
