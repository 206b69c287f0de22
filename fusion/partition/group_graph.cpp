#include "fusion/partition/group_graph.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

namespace sluice::fusion {

int GroupGraph::add(const Shape& space) {
  states_.emplace_back();
  states_.back().group.space = space;
  return static_cast<int>(states_.size()) - 1;
}

int GroupGraph::find(int g) const {
  while (states_[g].parent >= 0) g = states_[g].parent;
  return g;
}

bool GroupGraph::reaches(int from, int to) const {
  std::vector<bool> seen(states_.size(), false);
  std::vector<int> stack = {from};
  while (!stack.empty()) {
    const int group = stack.back();
    stack.pop_back();
    for (int reader : states_[group].readers) {
      reader = find(reader);
      if (reader == to) return true;
      if (reader == group || seen[reader]) continue;
      seen[reader] = true;
      stack.push_back(reader);
    }
  }
  return false;
}

void GroupGraph::merge(int into, int from) {
  State& target = states_[into];
  State& source = states_[from];
  std::vector<NodeId>& members = target.group.members;
  for (NodeId member : source.group.members) {
    if (std::find(members.begin(), members.end(), member) == members.end()) {
      members.push_back(member);
    }
  }
  if (target.group.axes.empty()) target.group.axes = source.group.axes;
  target.readers.insert(target.readers.end(), source.readers.begin(), source.readers.end());
  target.weight += source.weight;
  target.outputs += source.outputs;
  source.parent = into;
  source.group = Group{};
  source.readers.clear();
}

std::vector<Group> GroupGraph::in_order() && {
  const int count = static_cast<int>(states_.size());
  std::vector<int> waiting(count, 0);
  std::vector<std::vector<int>> readers(count);
  for (int g = 0; g < count; ++g) {
    if (states_[g].parent >= 0) continue;
    std::sort(at(g).members.begin(), at(g).members.end());
    for (int reader : states_[g].readers) {
      reader = find(reader);
      if (reader != g) readers[g].push_back(reader);
    }
    std::sort(readers[g].begin(), readers[g].end());
    readers[g].erase(std::unique(readers[g].begin(), readers[g].end()), readers[g].end());
    for (int reader : readers[g]) ++waiting[reader];
  }
  // Kahn's algorithm.
  using Entry = std::pair<NodeId, int>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  auto push_if_ready = [&](int g) {
    if (waiting[g] == 0) ready.push({at(g).members.back(), g});
  };
  for (int g = 0; g < count; ++g) {
    if (states_[g].parent < 0) push_if_ready(g);
  }
  std::vector<Group> result;
  while (!ready.empty()) {
    const int g = ready.top().second;
    ready.pop();
    for (int reader : readers[g]) {
      --waiting[reader];
      push_if_ready(reader);
    }
    result.push_back(std::move(at(g)));
  }
  return result;
}

}  // namespace sluice::fusion
