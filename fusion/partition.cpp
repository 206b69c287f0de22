#include "sluice/fusion/partition.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <queue>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"

namespace sluice::fusion {
namespace {

// A kernel's size is bounded so that compiling it is.
constexpr int kMaxGroupNodes = 256;
// A value that a group would compute at more index maps than this is stored instead.
constexpr int kMaxRecomputations = 3;
// A costly value is stored if inlining would compute each element this many times.
constexpr int64_t kMaxBroadcastOfCostly = 16;

// Float functions cost many times an addition; everything else is about one.
bool is_costly(Op op) { return is_pointwise(op) && op_info(op).domain == kFloating; }

// How node `consumer` reads a value.
struct Use {
  NodeId consumer;
  bool same_index;  // element i of the consumer reads element i of the value
  bool in_memory;   // the value has to be in memory for it
  CutReason reason;  // why, if so
};

class Partitioner {
 public:
  Partitioner(const Graph& graph, const Constraints& constraints, bool fuse)
      : graph_(graph), constraints_(constraints), fuse_(fuse), size_(graph.nodes.size()) {}

  Partition run() {
    collect_uses();
    groups_of_.resize(size_);
    recomputations_.resize(size_, 1);
    same_index_.resize(size_, false);
    result_.stored.resize(size_, false);
    for (NodeId n = size_ - 1; n >= 0; --n) {
      if (computes_[n]) place(n);
    }
    if (fuse_) merge_siblings();
    order_groups();
    return std::move(result_);
  }

 private:
  struct State {
    Group group;
    absl::InlinedVector<int, 4> readers;  // groups that read what this one stores
    int parent = -1;                      // the group it was merged into
  };

  const GraphNode& node(NodeId n) const { return graph_.nodes[n]; }

  bool is_transparent(NodeId n) const { return is_view(node(n).op) && !constraints_.copied_view[n]; }

  void collect_uses() {
    const std::vector<bool> needed = needed_nodes(graph_);
    computes_.resize(size_, false);
    observed_.resize(size_, false);
    uses_.resize(size_);
    for (NodeId n = 0; n < size_; ++n) {
      if (!needed[n] || node(n).op == Op::kInput) continue;
      if (is_transparent(n)) {
        if (node(n).live) observed_[viewed_node(graph_, constraints_, n)] = true;
        continue;
      }
      computes_[n] = true;
      if (node(n).live) observed_[n] = true;
      for (int k = 0; k < static_cast<int>(node(n).operands.size()); ++k) add_use(n, k);
    }
  }

  void add_use(NodeId consumer, int k) {
    const GraphOperand& operand = node(consumer).operands[k];
    if (operand.is_scalar()) return;
    const NodeId value = viewed_node(graph_, constraints_, operand.node);
    Use use{consumer, false, false, CutReason::kObserved};
    const OpClass op_class = class_of(node(consumer).op);
    const bool direct = value == operand.node;
    switch (op_class) {
      case OpClass::kPointwise:
        use.same_index = direct && node(value).shape == node(consumer).shape;
        break;
      case OpClass::kReduction: use.same_index = direct; break;
      case OpClass::kView:  // a copy: that of a reshape walks its operand, see own_space()
        use.same_index = direct && node(consumer).op == Op::kReshape;
        break;
      case OpClass::kGather:
        if (k == 0) {
          use.in_memory = true;
          use.reason = CutReason::kGather;
        } else {
          use.same_index = direct && node(value).shape == node(consumer).shape;
        }
        break;
      case OpClass::kLibrary:
        use.in_memory = true;
        use.reason = CutReason::kLibrary;
        break;
      default: break;
    }
    uses_[value].push_back(use);
  }

  int find(int group) const {
    while (states_[group].parent >= 0) group = states_[group].parent;
    return group;
  }

  // True if some path of reads leads from `from` to `to`.
  bool reaches(int from, int to) const {
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

  int new_group(const Shape& space) {
    states_.push_back({});
    states_.back().group.space = space;
    return static_cast<int>(states_.size()) - 1;
  }

  Group& group(int g) { return states_[g].group; }

  bool has_room(int g, int more) {
    return static_cast<int>(group(g).members.size()) + more <= kMaxGroupNodes;
  }

  bool mergeable(int a, int b) {
    const Group& first = group(a);
    const Group& second = group(b);
    return !first.library && !second.library && first.space == second.space &&
           first.axes == second.axes && has_room(a, static_cast<int>(second.members.size())) &&
           !reaches(a, b) && !reaches(b, a);
  }

  void merge(int into, int from) {
    Group& target = group(into);
    for (NodeId member : group(from).members) {
      if (std::find(target.members.begin(), target.members.end(), member) == target.members.end()) {
        target.members.push_back(member);
      }
    }
    for (int reader : states_[from].readers) states_[into].readers.push_back(reader);
    states_[from].parent = into;
    states_[from].group.members.clear();
  }

  // The groups that read `n`, each once.
  absl::InlinedVector<int, 4> readers_of(NodeId n) const {
    absl::InlinedVector<int, 4> readers;
    for (const Use& use : uses_[n]) {
      for (int g : groups_of_[use.consumer]) {
        g = find(g);
        if (std::find(readers.begin(), readers.end(), g) == readers.end()) readers.push_back(g);
      }
    }
    return readers;
  }

  bool in_group(NodeId n, int g) const {
    return std::any_of(groups_of_[n].begin(), groups_of_[n].end(),
                       [&](int other) { return find(other) == g; });
  }

  // True if every read of `n` in group `g` is at the iteration index: g can then hand out n as it goes.
  bool reads_in_place(NodeId n, int g) {
    if (group(g).library || group(g).space != node(n).shape) return false;
    return std::all_of(uses_[n].begin(), uses_[n].end(), [&](const Use& use) {
      return !in_group(use.consumer, g) ||
             (use.same_index && !use.in_memory && same_index_[use.consumer]);
    });
  }

  void place(NodeId n) {
    const OpClass op_class = class_of(node(n).op);
    if (op_class == OpClass::kLibrary) {
      const int g = store_in_new_group(n, node(n).shape, CutReason::kLibrary);
      group(g).library = true;
    } else if (op_class == OpClass::kReduction) {
      const int g = store_in_new_group(n, node(node(n).operands[0].node).shape, CutReason::kReduction);
      group(g).axes.assign(node(n).attrs.begin(), node(n).attrs.end());
    } else if (!fuse_) {
      store_in_new_group(n, own_space(n), CutReason::kFusionOff);
    } else {
      place_inlineable(n);
    }
  }

  Shape own_space(NodeId n) const {
    // A copied reshape walks its operand: both are in row-major order.
    return node(n).op == Op::kReshape ? node(node(n).operands[0].node).shape : node(n).shape;
  }

  void place_inlineable(NodeId n) {
    merge_readers_in_place(n);
    const auto readers = readers_of(n);
    bool stored = observed_[n] || constraints_.in_memory[n] || is_view(node(n).op);
    CutReason reason = constraints_.in_memory[n] ? CutReason::kView : CutReason::kObserved;
    for (const Use& use : uses_[n]) {
      if (use.in_memory) {
        stored = true;
        reason = use.reason;
      }
    }
    if (!stored) {
      count_recomputations(n);
      const std::optional<CutReason> cut = reason_to_store(n, readers);
      if (!cut) {
        for (int g : readers) add_member(n, g);
        same_index_[n] = readers.size() == 1 && reads_in_place(n, readers[0]);
        return;
      }
      reason = *cut;
    }
    store(n, readers, reason);
  }

  // Several kernels that all read `n` as they go become one, where that is legal.
  void merge_readers_in_place(NodeId n) {
    const auto readers = readers_of(n);
    for (size_t i = 0; i < readers.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        const int a = find(readers[j]);
        const int b = find(readers[i]);
        if (a == b || !reads_in_place(n, a) || !reads_in_place(n, b)) continue;
        if (mergeable(a, b)) merge(a, b);
      }
    }
  }

  // In how many places of its group `n` would be computed: one for all reads in place, and one for
  // each that goes through a view.
  void count_recomputations(NodeId n) {
    int in_place = 0;
    int through_views = 0;
    for (const Use& use : uses_[n]) {
      const int times = recomputations_[use.consumer];
      if (use.same_index) {
        in_place = std::max(in_place, times);
      } else {
        through_views += times;
      }
    }
    recomputations_[n] = in_place + through_views;
  }

  bool is_free(NodeId n) const { return class_of(node(n).op) == OpClass::kSource; }

  // A value that costs less to compute again from one operand in memory than to write and read.
  bool is_cheap(NodeId n) const {
    if (!is_pointwise(node(n).op) || is_costly(node(n).op)) return false;
    int operands = 0;
    for (const GraphOperand& operand : node(n).operands) {
      if (operand.is_scalar()) continue;
      const NodeId value = viewed_node(graph_, constraints_, operand.node);
      if (is_free(value)) continue;
      if (node(value).op != Op::kInput && !observed_[value]) return false;
      ++operands;
    }
    return operands <= 1;
  }

  std::optional<CutReason> reason_to_store(NodeId n, absl::Span<const int> readers) {
    if (is_free(n)) return std::nullopt;
    for (int g : readers) {
      if (!has_room(g, 1)) return CutReason::kBudget;
    }
    if (recomputations_[n] > kMaxRecomputations && !is_cheap(n)) return CutReason::kCost;
    const int64_t elements = node(n).shape.numel();
    if (readers.size() == 1) {
      const bool repeated = elements > 1 && is_costly(node(n).op) &&
                            group(readers[0]).space.numel() / elements >= kMaxBroadcastOfCostly;
      return repeated ? std::optional(CutReason::kCost) : std::nullopt;
    }
    if (is_cheap(n)) return std::nullopt;
    for (size_t i = 1; i < readers.size(); ++i) {
      if (group(readers[i]).space != group(readers[0]).space ||
          group(readers[i]).axes != group(readers[0]).axes) {
        return CutReason::kShape;
      }
    }
    return CutReason::kOrder;
  }

  void add_member(NodeId n, int g) {
    group(g).members.push_back(n);
    groups_of_[n].push_back(g);
  }

  // Stores `n` from a group that reads it in place, if there is one that may come before the others.
  void store(NodeId n, absl::Span<const int> readers, CutReason reason) {
    for (int g : readers) {
      if (is_view(node(n).op) || !has_room(g, 1) || !reads_in_place(n, g)) continue;
      const bool comes_first = std::none_of(readers.begin(), readers.end(), [&](int other) {
        return other != g && reaches(other, g);
      });
      if (!comes_first) continue;
      add_member(n, g);
      finish_store(n, g, readers, reason);
      return;
    }
    store_in_new_group(n, own_space(n), reason);
  }

  int store_in_new_group(NodeId n, const Shape& space, CutReason reason) {
    const auto readers = readers_of(n);
    const int g = new_group(space);
    add_member(n, g);
    finish_store(n, g, readers, reason);
    return g;
  }

  void finish_store(NodeId n, int g, absl::Span<const int> readers, CutReason reason) {
    result_.stored[n] = true;
    same_index_[n] = true;
    bool cut = false;
    for (int reader : readers) {
      if (reader == g) continue;
      states_[g].readers.push_back(reader);
      cut = true;
    }
    if (cut) result_.cuts.push_back({n, reason});
  }

  // Kernels over the same space that read the same memory become one: it is then read once.
  void merge_siblings() {
    absl::flat_hash_map<NodeId, std::vector<int>> readers_by_value;
    for (NodeId n = 0; n < size_; ++n) {
      if (!computes_[n]) continue;
      for (const GraphOperand& operand : node(n).operands) {
        if (operand.is_scalar()) continue;
        const NodeId value = viewed_node(graph_, constraints_, operand.node);
        if (node(value).op != Op::kInput && !result_.stored[value]) continue;
        for (int g : groups_of_[n]) {
          g = find(g);
          if (group(g).library || group(g).space.numel() != node(value).shape.numel()) continue;
          std::vector<int>& candidates = readers_by_value[value];
          bool done = false;
          for (int& other : candidates) {
            other = find(other);
            done = done || other == g;
            if (!done && mergeable(other, g)) {
              merge(other, g);
              done = true;
            }
          }
          if (!done) candidates.push_back(g);
        }
      }
    }
  }

  // Kahn's algorithm; of the groups that are ready the one that the program reached first goes first.
  void order_groups() {
    const int count = static_cast<int>(states_.size());
    std::vector<int> waiting(count, 0);
    std::vector<std::vector<int>> readers(count);
    for (int g = 0; g < count; ++g) {
      if (states_[g].parent >= 0) continue;
      std::sort(group(g).members.begin(), group(g).members.end());
      for (int reader : states_[g].readers) {
        reader = find(reader);
        if (reader != g) readers[g].push_back(reader);
      }
      std::sort(readers[g].begin(), readers[g].end());
      readers[g].erase(std::unique(readers[g].begin(), readers[g].end()), readers[g].end());
      for (int reader : readers[g]) ++waiting[reader];
    }
    using Entry = std::pair<NodeId, int>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
    auto push_if_ready = [&](int g) {
      if (waiting[g] == 0) ready.push({group(g).members.back(), g});
    };
    for (int g = 0; g < count; ++g) {
      if (states_[g].parent < 0) push_if_ready(g);
    }
    while (!ready.empty()) {
      const int g = ready.top().second;
      ready.pop();
      for (int reader : readers[g]) {
        --waiting[reader];
        push_if_ready(reader);
      }
      result_.groups.push_back(std::move(group(g)));
    }
  }

  const Graph& graph_;
  const Constraints& constraints_;
  const bool fuse_;
  const NodeId size_;

  std::vector<bool> computes_;
  std::vector<bool> observed_;
  std::vector<absl::InlinedVector<Use, 2>> uses_;

  std::vector<State> states_;
  std::vector<absl::InlinedVector<int, 1>> groups_of_;
  std::vector<int> recomputations_;
  std::vector<bool> same_index_;  // the node is computed at its group's iteration index only
  Partition result_;
};

}  // namespace

NodeId viewed_node(const Graph& graph, const Constraints& constraints, NodeId node) {
  while (is_view(graph.nodes[node].op) && !constraints.copied_view[node]) {
    node = graph.nodes[node].operands[0].node;
  }
  return node;
}

Partition partition(const Graph& graph, const Constraints& constraints, bool fuse) {
  return Partitioner(graph, constraints, fuse).run();
}

}  // namespace sluice::fusion
