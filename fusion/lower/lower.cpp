#include "fusion/lower/lower.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "fusion/graph/index_map.h"
#include "fusion/graph/projection.h"
#include "fusion/ir/cost.h"
#include "fusion/lower/program_builder.h"

namespace sluice::fusion {
namespace {

using MapId = int32_t;

class GroupLowering {
 public:
  GroupLowering(const Graph& graph, const Partition& partition, const Group& group,
                const MemoryMap& memory, Constraints* constraints, std::vector<Dim> dims,
                Schedule schedule)
      : graph_(graph),
        partition_(partition),
        group_(group),
        memory_(memory),
        constraints_(constraints),
        dims_(std::move(dims)),
        builder_(dims_, schedule) {
    for (const Dim& dim : dims_) extents_.push_back(dim.extent);
    intern(identity_map());
  }

  // The call; or nothing, and then either split() says how the iteration space has to be cut, or a
  // constraint has been added.
  std::optional<KernelCall> run(int64_t* bytes_read, int64_t* bytes_written) {
    for (NodeId member : group_.members) {
      if (!partition_.stored[member] || node(member).shape.numel() == 0) continue;
      const ValueId value = output_value(member);
      if (failed_) return std::nullopt;
      const MemoryRef result{MemoryRef::Kind::kResult, memory_.result[member]};
      builder_.store(value, result, output_address(member));
    }
    KernelCall call = std::move(builder_).finish(bytes_read, bytes_written);
    call.nodes = group_.members;
    return call;
  }

  std::optional<SplitDim> split() const { return split_; }

 private:
  static constexpr MapId kIdentity = 0;

  const GraphNode& node(NodeId n) const { return graph_.nodes[n]; }

  // Axis k of the group's space, from the dims it was cut into.
  IndexMap identity_map() const {
    IndexMap map;
    map.rank = group_.space.rank();
    std::array<int64_t, kMaxRank> step;
    step.fill(1);
    for (int d = static_cast<int>(dims_.size()) - 1; d >= 0; --d) {
      map.axes[dims_[d].axis].coefficient[d] = step[dims_[d].axis];
      step[dims_[d].axis] *= dims_[d].extent;
    }
    return map;
  }

  // Maps that differ only along dims of extent 1 are one: the first that came.
  MapId intern(const IndexMap& map) {
    IndexMap significant = map;
    for (size_t d = 0; d < extents_.size(); ++d) {
      if (extents_[d] != 1) continue;
      for (int k = 0; k < map.rank; ++k) significant.axes[k].coefficient[d] = 0;
    }
    std::string key(reinterpret_cast<const char*>(&significant.axes), sizeof(Affine) * map.rank);
    const auto [it, inserted] = map_ids_.try_emplace(key, static_cast<MapId>(maps_.size()));
    if (inserted) maps_.push_back(map);
    return it->second;
  }

  // A row-level output has one element for each row, not for each point.
  bool is_row_level(NodeId n) const {
    return !group_.axes.empty() && !is_view(node(n).op) &&
           node(n).shape.numel() != group_.space.numel();
  }

  // The index of a value of this shape that varies along all dims, or along the outer ones only.
  IndexMap output_map(const Shape& shape, bool row_level) const {
    const Projection dims =
        row_level ? outer_dims(group_.space, group_.axes) : all_dims(group_.space);
    const IndexMap by_axis = map_of(dims, group_.space, shape);
    IndexMap map;
    map.rank = shape.rank();
    for (int k = 0; k < shape.rank(); ++k) {
      for (int axis = 0; axis < group_.space.rank(); ++axis) {
        if (by_axis.axes[k].coefficient[axis] != 0) map.axes[k] = maps_[kIdentity].axes[axis];
      }
    }
    return map;
  }

  ValueId output_value(NodeId n) {
    // A copied reshape walks its operand's space.
    if (node(n).op == Op::kReshape) {
      return value_of(node(n).operands[0].node, kIdentity, kNoValue);
    }
    const MapId map = intern(output_map(node(n).shape, is_row_level(n)));
    return is_reduction(node(n).op) ? reduced(n, map) : computed(n, map, kNoValue);
  }

  // Row-major without gaps.
  Affine output_address(NodeId n) const {
    Strides strides{};
    int64_t stride = 1;
    for (int k = group_.space.rank() - 1; k >= 0; --k) {
      const bool skipped = is_row_level(n) && std::find(group_.axes.begin(), group_.axes.end(),
                                                        k) != group_.axes.end();
      if (skipped) continue;
      strides[k] = stride;
      stride *= group_.space[k];
    }
    return address_of(maps_[kIdentity], strides);
  }

  // A reduction of this group; one row's result, which `map` has to lead to.
  ValueId reduced(NodeId n, MapId map) {
    if (map != intern(output_map(node(n).shape, true))) {
      constraints_->in_memory[n] = true;
      failed_ = true;
      return kNoValue;
    }
    // Empty rows have no elements; what would compute them must not run even once.
    const ValueId operand =
        group_.space.numel() == 0
            ? builder_.cast(builder_.param(0), expected_operand_dtype(node(n), 0))
            : operand_value(n, 0, kIdentity, kNoValue);
    if (failed_) return kNoValue;
    return builder_.emit(node(n).op, node(n).dtype, {builder_.along_row(operand)});
  }

  bool in_memory(NodeId n) const {
    if (memory_.input[n] >= 0) return true;
    if (!partition_.stored[n]) return false;
    return !std::binary_search(group_.members.begin(), group_.members.end(), n);
  }

  // The element of `n` that the map leads to; kNoValue and failed_ if that cannot be said.
  ValueId value_of(NodeId n, MapId map, ValueId predicate) {
    while (is_view(node(n).op) && !constraints_->copied_view[n]) {
      const NodeId operand = node(n).operands[0].node;
      map = through_view(n, operand, map);
      if (failed_) return kNoValue;
      n = operand;
    }
    const auto key = std::make_tuple(n, map, predicate);
    const auto it = values_.find(key);
    if (it != values_.end()) return it->second;
    const ValueId value = in_memory(n)               ? load(n, map, predicate)
                          : is_reduction(node(n).op) ? reduced(n, map)
                                                     : computed(n, map, predicate);
    if (!failed_) values_.emplace(key, value);
    return value;
  }

  MapId through_view(NodeId n, NodeId operand, MapId map) {
    const MapResult result =
        map_through_view(view_of(node(n)), node(operand).shape, maps_[map], extents_);
    if (const IndexMap* found = std::get_if<IndexMap>(&result)) return intern(*found);
    failed_ = true;
    const SplitDim* split = std::get_if<SplitDim>(&result);
    if (split != nullptr && dims_.size() < kMaxDims) {
      split_ = *split;
    } else {
      constraints_->copied_view[n] = true;
    }
    return kIdentity;
  }

  ValueId load(NodeId n, MapId map, ValueId predicate) {
    const auto [memory, strides] = stored(n);
    return builder_.load(memory, node(n).dtype, address_of(maps_[map], strides), predicate);
  }

  // Where the value of `n`, which is in memory, lies there.
  std::pair<MemoryRef, Strides> stored(NodeId n) {
    const bool is_input = memory_.input[n] >= 0;
    const MemoryRef memory = is_input ? MemoryRef{MemoryRef::Kind::kInput, memory_.input[n]}
                                      : MemoryRef{MemoryRef::Kind::kResult, memory_.result[n]};
    ProgramBuilder::Block block = node(n).block;
    if (block.elements < 0) block.elements = node(n).shape.numel();
    builder_.set_block(memory, block);
    return {memory, is_input ? node(n).strides : contiguous_layout(node(n).shape).strides};
  }

  // Operand k of `n`, which is computed at `map`, in the dtype that the op asks for.
  ValueId operand_value(NodeId n, int k, MapId map, ValueId predicate) {
    const GraphOperand& operand = node(n).operands[k];
    const DType expected = expected_operand_dtype(node(n), k);
    if (operand.is_scalar()) return builder_.scalar(operand.scalar, expected);
    const Shape& shape = node(operand.node).shape;
    if (!is_reduction(node(n).op) && shape != node(n).shape) {
      map = intern(map_through_broadcast(shape, node(n).shape, maps_[map]));
    }
    const ValueId value = value_of(operand.node, map, predicate);
    return failed_ ? kNoValue : builder_.cast(value, expected);
  }

  ValueId computed(NodeId n, MapId map, ValueId predicate) {
    switch (class_of(node(n).op)) {
      case OpClass::kSource:
        if (node(n).op == Op::kFull)
          return builder_.scalar(node(n).operands[0].scalar, node(n).dtype);
        return builder_.coordinate(maps_[map].axes[node(n).attrs[0]]);
      case OpClass::kPad: return padded(n, map, predicate);
      case OpClass::kConcat: return concatenated(n, map, predicate);
      case OpClass::kGather: return gathered(n, map, predicate);
      case OpClass::kView: {  // a copy
        const NodeId operand = node(n).operands[0].node;
        map = through_view(n, operand, map);
        return failed_ ? kNoValue : value_of(operand, map, predicate);
      }
      default: break;
    }
    return pointwise(n, [&](int k) { return operand_value(n, k, map, predicate); });
  }

  // The op of `n` on what operand(k) gives.
  template <typename F>
  ValueId pointwise(NodeId n, F operand) {
    ValueId operands[3] = {kNoValue, kNoValue, kNoValue};
    for (size_t k = 0; k < node(n).operands.size(); ++k) {
      operands[k] = operand(static_cast<int>(k));
      if (failed_) return kNoValue;
    }
    if (node(n).op == Op::kCast) return builder_.cast(operands[0], node(n).dtype);
    return builder_.emit(node(n).op, node(n).dtype, {operands[0], operands[1], operands[2]});
  }

  // low <= index < high, int64.
  ValueId in_range(const Affine& index, int64_t low, int64_t high) {
    const ValueId at = builder_.coordinate(index);
    const ValueId from = builder_.emit(Op::kLessEqual, DType::kBool, {builder_.param(low), at});
    const ValueId to = builder_.emit(Op::kLess, DType::kBool, {at, builder_.param(high)});
    return builder_.both(from, to);
  }

  ValueId padded(NodeId n, MapId map, ValueId predicate) {
    const NodeId operand = node(n).operands[0].node;
    const Shape& shape = node(operand).shape;
    IndexMap inner = maps_[map];
    ValueId inside = kNoValue;
    for (int k = 0; k < inner.rank; ++k) {
      const int64_t before = node(n).attrs[k];
      if (before == 0 && shape[k] == node(n).shape[k]) continue;
      inside = builder_.both(inside, in_range(inner.axes[k], before, before + shape[k]));
      inner.axes[k].offset -= before;
    }
    const ValueId fill = operand_value(n, 1, map, predicate);
    if (failed_) return kNoValue;
    const ValueId value = value_of(operand, intern(inner), builder_.both(predicate, inside));
    if (failed_ || inside == kNoValue) return value;
    return builder_.emit(Op::kWhere, node(n).dtype, {inside, value, fill});
  }

  ValueId concatenated(NodeId n, MapId map, ValueId predicate) {
    const int axis = static_cast<int>(node(n).attrs[0]);
    const Affine index = maps_[map].axes[axis];
    ValueId result = kNoValue;
    int64_t start = 0;
    for (const GraphOperand& operand : node(n).operands) {
      const int64_t length = node(operand.node).shape[axis];
      if (length == 0) continue;
      const ValueId inside = in_range(index, start, start + length);
      IndexMap inner = maps_[map];
      inner.axes[axis].offset -= start;
      ValueId value = value_of(operand.node, intern(inner), builder_.both(predicate, inside));
      if (failed_) return kNoValue;
      value = builder_.cast(value, node(n).dtype);
      result = result == kNoValue
                   ? value
                   : builder_.emit(Op::kWhere, node(n).dtype, {inside, value, result});
      start += length;
    }
    // Nothing to lay together: no element is ever read.
    return result != kNoValue ? result : builder_.cast(builder_.param(0), node(n).dtype);
  }

  ValueId checked_index(NodeId n, int64_t extent, MapId map, ValueId predicate) {
    const ValueId index = operand_value(n, 1, map, predicate);
    if (failed_) return kNoValue;
    return builder_.emit(Op::kCheckIndex, DType::kInt64, {index, builder_.param(extent), predicate},
                         builder_.error_slot(n));
  }

  ValueId gathered_from_computed(NodeId n, int axis, NodeId source, MapId map, ValueId predicate) {
    const ValueId index = checked_index(n, node(source).shape[axis], map, predicate);
    if (failed_) return kNoValue;
    IndexMap rest = map_through_broadcast(node(source).shape, node(n).shape, maps_[map]);
    rest.axes[axis] = {};
    return value_at(source, axis, index, intern(rest), predicate);
  }

  // The element of `n` at `index` along `axis` and at `map` along the other axes.
  ValueId value_at(NodeId n, int axis, ValueId index, MapId map, ValueId predicate) {
    const Shape& shape = node(n).shape;
    if (axis < 0 || shape[axis] == 1) return value_of(n, map, predicate);
    if (in_memory(n)) return load_at(n, axis, index, map, predicate);
    if (node(n).op == Op::kCoordinate && node(n).attrs[0] == axis) return index;
    if (class_of(node(n).op) == OpClass::kSource) return computed(n, map, predicate);
    if (!is_pointwise(node(n).op)) {
      constraints_->in_memory[n] = true;
      failed_ = true;
      return kNoValue;
    }
    return pointwise(n, [&](int k) {
      const GraphOperand& operand = node(n).operands[k];
      const DType expected = expected_operand_dtype(node(n), k);
      if (operand.is_scalar()) return builder_.scalar(operand.scalar, expected);
      const Shape& from = node(operand.node).shape;
      const MapId inner = intern(map_through_broadcast(from, shape, maps_[map]));
      const ValueId value =
          value_at(operand.node, axis - (shape.rank() - from.rank()), index, inner, predicate);
      return failed_ ? kNoValue : builder_.cast(value, expected);
    });
  }

  ValueId load_at(NodeId n, int axis, ValueId index, MapId map, ValueId predicate) {
    const auto [memory, strides] = stored(n);
    return gather(memory, node(n).dtype, address_of(maps_[map], strides), index, strides[axis],
                  predicate);
  }

  // The element `index` strides after `address`.
  ValueId gather(const MemoryRef& memory, DType dtype, const Affine& address, ValueId index,
                 int64_t stride, ValueId predicate) {
    const ValueId offset = builder_.emit(Op::kMul, DType::kInt64, {index, builder_.param(stride)});
    return builder_.emit(Op::kGather, dtype, {offset, predicate},
                         builder_.access(&memory, dtype, address));
  }

  ValueId gathered(NodeId n, MapId map, ValueId predicate) {
    const int axis = static_cast<int>(node(n).attrs[0]);
    const NodeId operand = node(n).operands[0].node;
    if (is_pointwise(node(operand).op) && !in_memory(operand)) {
      return gathered_from_computed(n, axis, operand, map, predicate);
    }
    NodeId blocking = kNoNode;
    const auto source = locate(graph_, *constraints_, memory_, operand, &blocking);
    if (!source) {
      constraints_->copied_view[blocking] = true;
      failed_ = true;
      return kNoValue;
    }
    const ValueId checked = checked_index(n, source->layout.shape[axis], map, predicate);
    if (failed_) return kNoValue;
    IndexMap rest = map_through_broadcast(source->layout.shape, node(n).shape, maps_[map]);
    rest.axes[axis] = {};
    Affine address = address_of(rest, source->layout.strides);
    address.offset += source->layout.offset;
    return gather(source->memory, node(n).dtype, address, checked, source->layout.strides[axis],
                  predicate);
  }

  const Graph& graph_;
  const Partition& partition_;
  const Group& group_;
  const MemoryMap& memory_;
  Constraints* constraints_;
  const std::vector<Dim> dims_;
  std::vector<int64_t> extents_;
  ProgramBuilder builder_;

  std::vector<IndexMap> maps_;
  absl::flat_hash_map<std::string, MapId> map_ids_;
  absl::flat_hash_map<std::tuple<NodeId, MapId, ValueId>, ValueId> values_;
  bool failed_ = false;
  std::optional<SplitDim> split_;
};

bool is_reduced(const Group& group, int axis) {
  return std::find(group.axes.begin(), group.axes.end(), axis) != group.axes.end();
}

// Outer axes before reduced ones, each in order.
std::vector<Dim> initial_dims(const Group& group) {
  std::vector<Dim> dims;
  for (const bool reduced : {false, true}) {
    for (int k = 0; k < group.space.rank(); ++k) {
      if (is_reduced(group, k) == reduced) dims.push_back({group.space[k], reduced, k});
    }
  }
  return dims;
}

// By the logical shape alone: a reduction's order must not depend on the layout in memory.
Schedule schedule_of(const Group& group) {
  if (group.axes.empty()) return Schedule::kPointwise;
  for (int k = group.space.rank() - 1; k >= 0; --k) {
    if (group.space[k] != 1) return is_reduced(group, k) ? Schedule::kRow : Schedule::kColumn;
  }
  return Schedule::kRow;
}

}  // namespace

std::optional<Located> locate(const Graph& graph, const Constraints& constraints,
                              const MemoryMap& memory, NodeId node, NodeId* blocking) {
  std::vector<NodeId> views;
  while (is_view(graph.nodes[node].op) && !constraints.copied_view[node]) {
    views.push_back(node);
    node = graph.nodes[node].operands[0].node;
  }
  Located located;
  located.layout = contiguous_layout(graph.nodes[node].shape);
  if (memory.input[node] >= 0) {
    located.memory = {MemoryRef::Kind::kInput, memory.input[node]};
    located.layout.strides = graph.nodes[node].strides;
  } else {
    located.memory = {MemoryRef::Kind::kResult, memory.result[node]};
  }
  for (auto view = views.rbegin(); view != views.rend(); ++view) {
    const auto layout = layout_through_view(view_of(graph.nodes[*view]), located.layout);
    if (!layout) {
      *blocking = *view;
      return std::nullopt;
    }
    located.layout = *layout;
  }
  return located;
}

bool lower(const Graph& graph, const Partition& partition, const Group& group,
           const MemoryMap& memory, Constraints* constraints, Step* step) {
  std::vector<Dim> dims = initial_dims(group);
  while (true) {
    GroupLowering lowering(graph, partition, group, memory, constraints, dims, schedule_of(group));
    std::optional<KernelCall> call = lowering.run(&step->bytes_read, &step->bytes_written);
    if (call) {
      step->cost = cost_of_point(call->program) * static_cast<double>(group.space.numel());
      step->kernels.push_back(*std::move(call));
      return true;
    }
    const std::optional<SplitDim> split = lowering.split();
    if (!split) return false;
    Dim inner = dims[split->dim];
    inner.extent = split->inner;
    dims[split->dim].extent /= split->inner;
    dims.insert(dims.begin() + split->dim + 1, inner);
  }
}

}  // namespace sluice::fusion
