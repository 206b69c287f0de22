#include "fusion/plan/family_rules.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/container/inlined_vector.h"

namespace sluice::fusion {
namespace {

// Of a shape: the degree of its number of elements.
constexpr int kMaxVaryingExtents = 2;

class Rules {
 public:
  Rules(const Graph& first, const Graph& last)
      : first_(first), last_(last), is_reshaped_(first.nodes.size(), false) {}

  bool hold() {
    std::vector<int32_t> blocks;
    for (size_t n = 0; n < first_.nodes.size(); ++n) {
      const GraphNode& node = first_.nodes[n];
      if (node.op == Op::kRoll || !varies_little(n) || !reshape_is_known(n)) return false;
      if (node.op == Op::kSlice && !slice_keeps_variation(n)) slices_vary_ = true;
      for (const GraphOperand& operand : node.operands) {
        if (!operand.is_scalar() && is_reshaped_[operand.node]) is_reshaped_[n] = true;
      }
      // They ask their operands for indices outside, which a reshape may take for others inside.
      if ((node.op == Op::kPad || node.op == Op::kConcat) && is_reshaped_[n]) return false;
      if (node.op == Op::kInput && node.block.number >= 0) blocks.push_back(node.block.number);
    }
    // Inputs in one block are counted together.
    std::sort(blocks.begin(), blocks.end());
    if (std::adjacent_find(blocks.begin(), blocks.end()) != blocks.end()) return false;
    return !(regroups_ && slices_vary_);
  }

 private:
  int64_t extent(size_t n, int k) const { return first_.nodes[n].shape[k]; }
  bool varies(size_t n, int k) const { return extent(n, k) != last_.nodes[n].shape[k]; }

  bool varies_little(size_t n) const {
    int varying = 0;
    for (int k = 0; k < first_.nodes[n].shape.rank(); ++k) {
      if (!varies(n, k)) continue;
      // An extent of 1 is none.
      if (extent(n, k) < 2 || last_.nodes[n].shape[k] < 2) return false;
      ++varying;
    }
    return varying <= kMaxVaryingExtents;
  }

  // True if an axis of the slice varies where its operand's does, so that no index that runs over a
  // varying extent gets to a constant one.
  bool slice_keeps_variation(size_t n) const {
    const GraphNode& node = first_.nodes[n];
    const auto operand = static_cast<size_t>(node.operands[0].node);
    for (int k = 0; k < node.shape.rank(); ++k) {
      if (varies(n, k) != varies(operand, k)) return false;
      if (node.attrs[2 * k] != last_.nodes[n].attrs[2 * k] && !varies(n, k)) return false;
    }
    return true;
  }

  // The axes of extents other than 1.
  absl::InlinedVector<int, kMaxRank> axes_of(size_t n) const {
    absl::InlinedVector<int, kMaxRank> axes;
    for (int k = 0; k < first_.nodes[n].shape.rank(); ++k) {
      if (extent(n, k) != 1) axes.push_back(k);
    }
    return axes;
  }

  // True unless `n` is a reshape that regroups extents of which some vary.
  bool reshape_is_known(size_t n) {
    if (first_.nodes[n].op != Op::kReshape) return true;
    const auto operand = static_cast<size_t>(first_.nodes[n].operands[0].node);
    if (first_.nodes[n].shape == first_.nodes[operand].shape &&
        last_.nodes[n].shape == last_.nodes[operand].shape) {
      return true;
    }
    is_reshaped_[n] = true;
    const auto to = axes_of(n);
    const auto from = axes_of(operand);
    size_t i = 0, j = 0;
    while (i < to.size() || j < from.size()) {
      const bool both = i < to.size() && j < from.size();
      if (both && extent(n, to[i]) == extent(operand, from[j]) &&
          last_.nodes[n].shape[to[i]] == last_.nodes[operand].shape[from[j]]) {
        ++i, ++j;
        continue;
      }
      // The least group of axes of either side with as many elements.
      regroups_ = true;
      int64_t elements_to = 1, elements_from = 1;
      do {
        const bool takes_to = elements_to <= elements_from;
        if (takes_to ? i == to.size() : j == from.size()) return false;
        const size_t of = takes_to ? n : operand;
        const int axis = takes_to ? to[i++] : from[j++];
        if (varies(of, axis)) return false;
        (takes_to ? elements_to : elements_from) *= extent(of, axis);
      } while (elements_to != elements_from);
    }
    return true;
  }

  const Graph& first_;
  const Graph& last_;
  std::vector<bool> is_reshaped_;  // by node: a reshape that is no identity, or made from one
  bool regroups_ = false;          // some reshape regroups constant extents
  bool slices_vary_ = false;       // some slice does not keep variation
};

}  // namespace

bool may_have_family(const Graph& first, const Graph& last) { return Rules(first, last).hold(); }

}  // namespace sluice::fusion
