#include "fusion/partition/group_graph.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

#include "fusion/ir/cost.h"
#include "fusion/partition/row_facts.h"

namespace sluice::fusion {
namespace {

// Whether a kernel of ops of this weight and this long code is not too long to compile.
bool compiles_soon(int64_t weight, int64_t long_code, bool has_rows) {
  return weight + long_code * (has_rows ? kLongCodeOfRows : 1) <= kMaxWeight;
}

}  // namespace

int GroupGraph::add(const Shape& space) {
  const auto number = static_cast<int>(states_.size());
  states_.emplace_back().group.space = space;
  order_.add();
  return number;
}

void GroupGraph::add_reader(int g, int reader) {
  states_[g].readers.push_back(reader);
  order_.add_edge(g, reader);
}

int GroupGraph::find(int g) const {
  while (states_[g].parent >= 0) g = states_[g].parent;
  return g;
}

void GroupGraph::add_member(int g, NodeId n, bool at_index) {
  states_[g].group.members.push_back(n);
  const GraphNode& node = graph_->nodes[n];
  states_[g].weight += weight_of(node.op, node.dtype);
  states_[g].long_code += long_code_of(node.op, node.dtype);
  memberships_[n].push_back({g, at_index});
}

bool GroupGraph::has_member(int g, NodeId n) const {
  return std::any_of(memberships_[n].begin(), memberships_[n].end(),
                     [&](const Membership& member) { return find(member.group) == g; });
}

bool GroupGraph::has_member_at_index(int g, NodeId n) const {
  return std::any_of(memberships_[n].begin(), memberships_[n].end(), [&](const Membership& member) {
    return member.at_index && find(member.group) == g;
  });
}

GroupNumbers GroupGraph::groups_of(NodeId n) const {
  GroupNumbers groups;
  for (const Membership& member : memberships_[n]) groups.push_back(find(member.group));
  return groups;
}

GroupNumbers GroupGraph::readers(absl::Span<const Use> uses) const {
  GroupNumbers readers;
  for (const Use& use : uses) {
    for (const Membership& member : memberships_[use.consumer]) {
      const int g = find(member.group);
      if (std::find(readers.begin(), readers.end(), g) == readers.end()) readers.push_back(g);
    }
  }
  return readers;
}

bool GroupGraph::has_room(int g, NodeId n) const {
  const Group& group = at(g);
  const GraphNode& node = graph_->nodes[n];
  const int64_t weight = states_[g].weight + weight_of(node.op, node.dtype);
  const int64_t most = group.unrolled.empty() ? kMaxWeight : kMaxUnrolledWeight;
  const int64_t long_code = states_[g].long_code + long_code_of(node.op, node.dtype);
  return weight * row_length(group.space, group.unrolled) <= most &&
         compiles_soon(weight, long_code, !group.axes.empty()) && states_[g].outputs < max_outputs_;
}

bool GroupGraph::has_room_unrolled(int g, const std::vector<int>& axes) const {
  return states_[g].weight * row_length(at(g).space, axes) <= kMaxUnrolledWeight;
}

bool GroupGraph::can_merge(int a, int b) const {
  const Group& first = at(a);
  const Group& second = at(b);
  if (first.library || second.library || first.space != second.space) return false;
  if (first.by_parts || second.by_parts || first.alone || second.alone) return false;
  if (first.axes != second.axes) {
    if (!first.axes.empty() && !second.axes.empty()) return false;
    if (!rows_fit(first.space, first.axes.empty() ? second.axes : first.axes)) return false;
  }
  if (first.unrolled != second.unrolled) {
    // The other one becomes unrolled as well.
    if (!first.unrolled.empty() && !second.unrolled.empty()) return false;
    if (first.axes != second.axes) return false;
  }
  const Group& unrolled = first.unrolled.empty() ? second : first;
  const int64_t most = unrolled.unrolled.empty() ? kMaxWeight : kMaxUnrolledWeight;
  const int64_t weight = states_[a].weight + states_[b].weight;
  const int64_t long_code = states_[a].long_code + states_[b].long_code;
  return weight * row_length(unrolled.space, unrolled.unrolled) <= most &&
         compiles_soon(weight, long_code, !first.axes.empty() || !second.axes.empty()) &&
         states_[a].outputs + states_[b].outputs <= max_outputs_ && !reaches(a, b) &&
         !reaches(b, a);
}

void GroupGraph::merge(int into, int from) {
  State& target = states_[into];
  State& source = states_[from];
  for (NodeId member : source.group.members) {
    if (!has_member(into, member)) target.group.members.push_back(member);
  }
  if (target.group.axes.empty()) target.group.axes = source.group.axes;
  if (target.group.unrolled.empty()) target.group.unrolled = source.group.unrolled;
  target.readers.insert(target.readers.end(), source.readers.begin(), source.readers.end());
  target.weight += source.weight;
  target.long_code += source.long_code;
  target.outputs += source.outputs;
  source.parent = into;
  source.group = Group{};
  source.readers.clear();
  order_.merge(into, from);
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
