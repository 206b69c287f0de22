// One attempt to lower a group: a walk from its outputs to its loads that carries, for each node,
// the map from the points of the group's space to the node's elements.
//
// Views and broadcasts change the map and emit nothing. One node read at two maps is two values.
#ifndef SLUICE_FUSION_LOWER_GROUP_LOWERING_H_
#define SLUICE_FUSION_LOWER_GROUP_LOWERING_H_

#include <array>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "fusion/graph/constraints.h"
#include "fusion/ir/numbering.h"
#include "fusion/lower/locate.h"
#include "fusion/lower/map_table.h"
#include "fusion/lower/program_builder.h"
#include "fusion/partition/partition.h"

namespace sluice::fusion {

// Operand number `operand` of a concat; its first index along the axis is `start`.
struct ConcatPart {
  NodeId concat = kNoNode;
  size_t operand = 0;
  int64_t start = 0;
};

class GroupLowering {
 public:
  // `dims`: what the axes of the group's space are split into, outer before reduced. Refers to all
  // else, which must outlive it.
  GroupLowering(const Graph& graph, const Partition& partition, const Group& group,
                const MemoryMap& memory, Constraints* constraints, const std::vector<Dim>& dims,
                Schedule schedule);

  // The call, and the bytes it moves; or nullopt if the attempt failed. Then either split() says
  // how a dim has to be split, or a constraint has been added. To be called once.
  std::optional<KernelCall> run(int64_t* bytes_read, int64_t* bytes_written);

  // Likewise, of a part of a concat; the group's space is the part's.
  std::optional<KernelCall> run_part(const ConcatPart& part, int64_t* bytes_read,
                                     int64_t* bytes_written);

  std::optional<SplitDim> split() const { return split_; }

  // Of the call that run() gave: if its rows fall into short runs, adds the constraint that puts
  // them together, and returns true.
  bool mend_short_runs(const KernelCall& call);

 private:
  const GraphNode& node(NodeId n) const { return graph_.nodes[n]; }

  // Functions that return a value return kNoValue after the attempt has failed, and nothing else
  // may be done with it. `predicate`: where the value is needed; kNoValue: everywhere.

  // Where a stored member has the element that it has at a point.
  Affine output_address(NodeId member, absl::Span<const int> without,
                        absl::Span<const int64_t> place) const;
  // The element that a point stores of output `n`, which does not vary along the axes `without`.
  ValueId output_value(NodeId n, absl::Span<const int> without, absl::Span<const int64_t> place);
  // The element of `n` at `map`, whether it is loaded or computed.
  ValueId value_of(NodeId n, MapId map, ValueId predicate);
  // Operand k of `n`, which is computed at `map`, in the dtype that the op asks for.
  ValueId operand_value(NodeId n, int k, MapId map, ValueId predicate);
  ValueId load(NodeId n, MapId map, ValueId predicate);
  ValueId reduced(NodeId n, MapId map, ValueId predicate);
  ValueId computed(NodeId n, MapId map, ValueId predicate);
  // The op of `n` on the values that operand(k) returns.
  ValueId pointwise(NodeId n, absl::FunctionRef<ValueId(int)> operand);

  // lower_unrolled.cpp
  // The indices along the unrolled axes of what a point computes of a value that does not vary
  // along the axes `without`. A single place without indices if there are no such axes.
  std::vector<std::vector<int64_t>> places(absl::Span<const int> without) const;
  // True if `n` reduces the unrolled axes.
  bool is_unrolled(NodeId n) const;
  ValueId unrolled(NodeId n, MapId map, ValueId predicate);
  ValueId position(int64_t number);
  ValueId best_position(Op op, const std::vector<ValueId>& elements);

  // lower_scan.cpp
  ValueId scanned(NodeId n, MapId map);
  // A scan along an unrolled axis.
  ValueId scanned_unrolled(NodeId n, MapId map);
  // True if the rows of scans would become several dims.
  bool cuts_scans(const SplitDim& split) const;

  // lower_pad.cpp
  // Where something holds: at no point, or where `value` does; kNoValue: at all points.
  struct Condition {
    bool never = false;
    ValueId value = kNoValue;
  };
  enum class Side : uint8_t { kBelow, kFrom };
  Condition both(const Condition& a, const Condition& b);
  Condition compare(const Affine& index, MapId map, Side side, int64_t bound);
  Condition in_range(const Affine& index, MapId map, int64_t low, int64_t high, int64_t extent);
  ValueId padded(NodeId n, MapId map, ValueId predicate);
  ValueId concatenated(NodeId n, MapId map, ValueId predicate);
  ValueId rolled(NodeId n, MapId map, ValueId predicate);
  // The element of `memory` at `address` + `offset` (kNoValue: 0). `address`, as every `index`
  // here, has the conditions of `map`.
  ValueId element_at(const MemoryRef& memory, DType dtype, const Affine& address, ValueId offset,
                     MapId map, ValueId predicate);
  ValueId index_value(const Affine& index, MapId map);
  // What the conditions of `map` add to `index`; kNoValue: 0.
  ValueId conditional_part(const Affine& index, MapId map);
  Affine fixed_part(Affine index) const;

  // lower_gather.cpp
  ValueId gathered(NodeId n, MapId map, ValueId predicate);
  ValueId gathered_from_computed(NodeId n, MapId map, ValueId predicate);
  ValueId value_at(NodeId n, int axis, ValueId index, MapId map, ValueId predicate);
  ValueId checked_index(NodeId n, int64_t extent, MapId map, ValueId predicate);
  ValueId gather_at(const Located& source, DType dtype, int axis, ValueId index, IndexMap map,
                    MapId from, ValueId predicate);

  // The axes of the group's space that output `n` does not vary along.
  absl::Span<const int> axes_without(NodeId n) const;
  // True if the group reads `n` from memory.
  bool in_memory(NodeId n) const;
  // Where `n`, which is in memory, lies; tells the builder about its block.
  Located source(NodeId n);
  // The map onto `operand`, of which `n` is a view; any map if the attempt has failed.
  MapId through_view(NodeId n, NodeId operand, MapId map);

  // Each fails the attempt and adds a constraint.
  ValueId fail_until_stored(NodeId n);
  ValueId fail_until_copied(NodeId view);

  const Graph& graph_;
  const Partition& partition_;
  const Group& group_;
  const MemoryMap& memory_;
  Constraints* constraints_;
  const int64_t outer_dims_;  // how many dims are not reduced
  MapTable maps_;
  ProgramBuilder builder_;

  // The element of `node` at `map`, where `predicate` holds.
  struct Computed {
    NodeId node;
    MapId map;
    ValueId predicate;
    ValueId value;
  };
  std::vector<Computed> values_;
  Numbering value_numbers_;
  std::vector<ValueId> positions_;  // by number: see position()
  // Comparisons of indices with bounds, by coefficients, conditional part, side and bound; and what
  // conditions add to an index, by condition and coefficient.
  std::map<std::tuple<decltype(Affine::coefficient), ValueId, Side, int64_t>, ValueId> comparisons_;
  std::map<std::pair<ValueId, int64_t>, ValueId> distances_;
  bool failed_ = false;
  std::optional<SplitDim> split_;
};

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_LOWER_GROUP_LOWERING_H_
