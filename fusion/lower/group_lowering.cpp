#include "fusion/lower/group_lowering.h"

#include <algorithm>
#include <utility>

#include "fusion/ir/cost.h"
#include "fusion/lower/loops/short_runs.h"
#include "runtime/layout.h"

namespace sluice::fusion {

GroupLowering::GroupLowering(const Graph& graph, const Partition& partition, const Group& group,
                             const MemoryMap& memory, Constraints* constraints,
                             const std::vector<Dim>& dims, Schedule schedule)
    : graph_(graph),
      partition_(partition),
      group_(group),
      memory_(memory),
      constraints_(constraints),
      outer_dims_(
          std::count_if(dims.begin(), dims.end(), [](const Dim& dim) { return !dim.reduced; })),
      maps_(group, dims),
      builder_(dims, schedule) {}

std::optional<KernelCall> GroupLowering::run(int64_t* bytes_read, int64_t* bytes_written) {
  for (NodeId member : group_.members) {
    if (!partition_.stored[member] || node(member).shape.numel() == 0) continue;
    const MemoryRef result{MemoryRef::Kind::kResult, memory_.result[member]};
    const absl::Span<const int> without = axes_without(member);
    for (const std::vector<int64_t>& place : places(without)) {
      const ValueId value = output_value(member, without, place);
      if (failed_) return std::nullopt;
      builder_.store(value, result, output_address(member, without, place));
    }
  }
  if (!memory_.strides.empty()) builder_.sort_dims_as_stored();
  if (constraints_->unrolls_rows) builder_.unroll_planes();
  KernelCall call = std::move(builder_).finish(bytes_read, bytes_written);
  call.nodes = group_.members;
  return call;
}

Affine GroupLowering::output_address(NodeId member, absl::Span<const int> without,
                                     absl::Span<const int64_t> place) const {
  const auto kept = memory_.strides.find(member);
  if (kept == memory_.strides.end()) return maps_.output_address(without, place);
  return address_of(maps_.output_map(node(member).shape, without, place), kept->second);
}

std::optional<KernelCall> GroupLowering::run_part(const ConcatPart& part, int64_t* bytes_read,
                                                  int64_t* bytes_written) {
  const GraphNode& concat = node(part.concat);
  const ValueId value = value_of(concat.operands[part.operand].node, MapTable::kIdentity, kNoValue);
  if (failed_) return std::nullopt;
  const Strides strides = locate_value(graph_, memory_, part.concat).layout.strides;
  Affine address = address_of(maps_[MapTable::kIdentity], strides);
  address.offset = part.start * strides[concat.attrs[0]];
  const MemoryRef result{MemoryRef::Kind::kResult, memory_.result[part.concat]};
  builder_.store(builder_.cast(value, concat.dtype), result, address);
  if (!memory_.strides.empty()) builder_.sort_dims_as_stored();
  KernelCall call = std::move(builder_).finish(bytes_read, bytes_written);
  for (const Computed& computed : values_) {
    if (!in_memory(computed.node)) call.nodes.push_back(computed.node);
  }
  call.nodes.push_back(part.concat);
  std::sort(call.nodes.begin(), call.nodes.end());
  call.nodes.erase(std::unique(call.nodes.begin(), call.nodes.end()), call.nodes.end());
  return call;
}

bool GroupLowering::mend_short_runs(const KernelCall& call) {
  if (!constraints_->unrolls_rows) return false;
  for (const ValueId value : values_that_break_runs(call)) {
    for (const Computed& computed : values_) {
      const NodeId n = computed.node;
      if (computed.value != value || !is_pointwise(node(n).op) || in_memory(n)) continue;
      if (node(n).shape.numel() != group_.space.numel()) continue;
      constraints_->breaks_runs[n] = true;
      return true;
    }
  }
  return false;
}

absl::Span<const int> GroupLowering::axes_without(NodeId n) const {
  if (is_view(node(n).op) || node(n).shape.numel() == group_.space.numel()) return {};
  if (is_unrolled(n)) return group_.unrolled;
  return group_.axes.empty() ? group_.unrolled : group_.axes;
}

bool GroupLowering::in_memory(NodeId n) const {
  if (memory_.input[n] >= 0) return true;
  if (!partition_.stored[n]) return false;
  return !std::binary_search(group_.members.begin(), group_.members.end(), n);
}

Located GroupLowering::source(NodeId n) {
  const Located located = locate_value(graph_, memory_, n);
  ProgramBuilder::Block block = node(n).block;
  if (block.elements < 0) block.elements = node(n).shape.numel();
  builder_.set_block(located.memory, block);
  return located;
}

ValueId GroupLowering::fail_until_stored(NodeId n) {
  constraints_->in_memory[n] = true;
  failed_ = true;
  return kNoValue;
}

ValueId GroupLowering::fail_until_copied(NodeId view) {
  constraints_->copied_view[view] = true;
  failed_ = true;
  return kNoValue;
}

MapId GroupLowering::through_view(NodeId n, NodeId operand, MapId map) {
  const MapResult result =
      map_through_view(view_of(node(n)), node(operand).shape, maps_[map], maps_.extents());
  if (const IndexMap* found = std::get_if<IndexMap>(&result)) return maps_.intern(*found, map);
  const SplitDim* split = std::get_if<SplitDim>(&result);
  if (split != nullptr && maps_.extents().size() < kMaxDims && !cuts_scans(*split)) {
    split_ = *split;
    failed_ = true;
  } else {
    fail_until_copied(n);
  }
  return MapTable::kIdentity;
}

ValueId GroupLowering::output_value(NodeId n, absl::Span<const int> without,
                                    absl::Span<const int64_t> place) {
  // A copied reshape walks its operand's space.
  if (node(n).op == Op::kReshape) {
    return value_of(node(n).operands[0].node, maps_.intern(maps_.space_at(place)), kNoValue);
  }
  const bool is_whole = place.empty() && node(n).shape == group_.space;
  const MapId map = is_whole ? MapTable::kIdentity
                             : maps_.intern(maps_.output_map(node(n).shape, without, place));
  return is_reduction(node(n).op) ? reduced(n, map, kNoValue) : computed(n, map, kNoValue);
}

ValueId GroupLowering::value_of(NodeId n, MapId map, ValueId predicate) {
  while (is_view(node(n).op) && !constraints_->copied_view[n]) {
    const NodeId operand = node(n).operands[0].node;
    map = through_view(n, operand, map);
    if (failed_) return kNoValue;
    n = operand;
  }
  WordHash hash;
  hash.add(n).add(map).add(predicate);
  const auto [number, is_new] = value_numbers_.find_or_add(hash.value(), [&](uint32_t known) {
    const Computed& other = values_[known];
    return other.node == n && other.map == map && other.predicate == predicate;
  });
  if (!is_new) return values_[number].value;
  values_.push_back({n, map, predicate, kNoValue});
  const int weight = builder_.weight();
  const ValueId value = in_memory(n)               ? load(n, map, predicate)
                        : is_reduction(node(n).op) ? reduced(n, map, predicate)
                                                   : computed(n, map, predicate);
  if (failed_) return kNoValue;
  values_[number].value = value;
  // The first value that has a good part of the weight, from the bottom up, makes a kernel.
  if (builder_.weight() > kMaxProgramWeight && builder_.weight() - weight > kMaxProgramWeight / 8 &&
      !in_memory(n) && !partition_.stored[n]) {
    constraints_->over_budget[n] = true;
    return fail_until_stored(n);
  }
  return value;
}

ValueId GroupLowering::operand_value(NodeId n, int k, MapId map, ValueId predicate) {
  const GraphOperand& operand = node(n).operands[k];
  const DType expected = expected_operand_dtype(node(n), k);
  if (operand.is_scalar()) return builder_.scalar(operand.scalar, expected);
  const Shape& shape = node(operand.node).shape;
  if (!is_reduction(node(n).op) && shape != node(n).shape) {
    map = maps_.intern(map_through_broadcast(shape, node(n).shape, maps_[map]), map);
  }
  const ValueId value = value_of(operand.node, map, predicate);
  return failed_ ? kNoValue : builder_.cast(value, expected);
}

ValueId GroupLowering::load(NodeId n, MapId map, ValueId predicate) {
  const Located from = source(n);
  const Affine address = address_of(maps_[map], from.layout.strides);
  return element_at(from.memory, node(n).dtype, address, kNoValue, map, predicate);
}

// A reduction over dims gives one element a row, so it can be read at the map of a row only.
ValueId GroupLowering::reduced(NodeId n, MapId map, ValueId predicate) {
  if (is_unrolled(n)) return unrolled(n, map, predicate);
  const std::vector<std::vector<int64_t>> rows = places(group_.axes);
  const auto row = std::find_if(rows.begin(), rows.end(), [&](const std::vector<int64_t>& place) {
    return maps_.intern(maps_.output_map(node(n).shape, group_.axes, place)) == map;
  });
  if (row == rows.end()) return fail_until_stored(n);
  // Empty rows have no elements: the ops that would compute one must not run even once.
  const ValueId operand = group_.space.numel() == 0
                              ? builder_.cast(builder_.param(0), expected_operand_dtype(node(n), 0))
                              : operand_value(n, 0, maps_.intern(maps_.space_at(*row)), kNoValue);
  if (failed_) return kNoValue;
  return builder_.emit(node(n).op, node(n).dtype, {builder_.along_row(operand)});
}

ValueId GroupLowering::computed(NodeId n, MapId map, ValueId predicate) {
  switch (class_of(node(n).op)) {
    case OpClass::kSource:
      if (node(n).op == Op::kFull) {
        return builder_.scalar(node(n).operands[0].scalar, node(n).dtype);
      }
      return index_value(maps_[map].axes[node(n).attrs[0]], map);
    case OpClass::kPad: return padded(n, map, predicate);
    case OpClass::kConcat: return concatenated(n, map, predicate);
    case OpClass::kRoll: return rolled(n, map, predicate);
    case OpClass::kLibrary: return scanned(n, map);
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

ValueId GroupLowering::pointwise(NodeId n, absl::FunctionRef<ValueId(int)> operand) {
  ValueId operands[3] = {kNoValue, kNoValue, kNoValue};
  for (size_t k = 0; k < node(n).operands.size(); ++k) {
    operands[k] = operand(static_cast<int>(k));
    if (failed_) return kNoValue;
  }
  if (node(n).op == Op::kCast) return builder_.cast(operands[0], node(n).dtype);
  return builder_.emit(node(n).op, node(n).dtype, {operands[0], operands[1], operands[2]});
}

}  // namespace sluice::fusion
