// Reachability beside a search through all edges, in random graphs whose vertices are merged.
#include "fusion/partition/reachability.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

namespace sluice::fusion {
namespace {

// By a search.
class Searched {
 public:
  void add() { targets_.emplace_back(); }
  void add_edge(int from, int to) { targets_[from].insert(to); }
  void merge(int into, int from) {
    targets_[into].insert(targets_[from].begin(), targets_[from].end());
    targets_[from].clear();
    for (std::set<int>& targets : targets_) {
      if (targets.erase(from) > 0) targets.insert(into);
    }
    targets_[into].erase(into);
  }
  bool reaches(int from, int to) const {
    std::vector<int> stack = {from};
    std::set<int> seen;
    while (!stack.empty()) {
      const int v = stack.back();
      stack.pop_back();
      for (const int target : targets_[v]) {
        if (target == to) return true;
        if (seen.insert(target).second) stack.push_back(target);
      }
    }
    return false;
  }

 private:
  std::vector<std::set<int>> targets_;
};

TEST(ReachabilityTest, KnowsWhatASearchFinds) {
  constexpr int kVertices = 150;
  std::mt19937 random(7);
  Reachability order;
  Searched searched;
  std::vector<int> alive;
  const auto draw = [&] { return alive[random() % alive.size()]; };
  for (int v = 0; v < kVertices; ++v) {
    order.add();
    searched.add();
    // Most edges lead from what is new to what was there, some the other way.
    for (int i = 0; i < 3 && !alive.empty(); ++i) {
      const int other = draw();
      const bool backwards = random() % 8 == 0;
      const int from = backwards ? other : v, to = backwards ? v : other;
      if (searched.reaches(to, from)) continue;
      order.add_edge(from, to);
      searched.add_edge(from, to);
    }
    alive.push_back(v);
    if (v % 4 == 3) {
      const int into = draw(), from = draw();
      if (into == from || searched.reaches(into, from) || searched.reaches(from, into)) continue;
      order.merge(into, from);
      searched.merge(into, from);
      alive.erase(std::find(alive.begin(), alive.end(), from));
    }
    for (const int a : alive) {
      for (const int b : alive) {
        if (a == b) continue;
        ASSERT_EQ(order.reaches(a, b), searched.reaches(a, b)) << a << " to " << b << " of " << v;
      }
    }
  }
}

}  // namespace
}  // namespace sluice::fusion
