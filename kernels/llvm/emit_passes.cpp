// Passes over rows: their reductions, and the values they cache for each other.
#include <algorithm>
#include <cstddef>

#include "fusion/ir/scan.h"
#include "kernels/executable.h"
#include "kernels/llvm/body/halves.h"
#include "kernels/llvm/host.h"
#include "kernels/llvm/kernel_emitter.h"

namespace sluice::kernels {

using fusion::Instr;
using fusion::Op;
using fusion::Program;
using fusion::ValueId;
using ir::LaneScope;
using ir::ReductionState;

void KernelEmitter::allocate_row_cache() {
  const bool stages = (program_.tiled && lanes_reduced()) || copies_runs();
  if (plan_.cached.empty() && !stages) return;
  llvm::Value* lanes = builder_.index(plan_.lanes);
  llvm::Value* vectors = reduced_extent_;
  if (lanes_reduced()) {
    vectors =
        ir_.CreateUDiv(ir_.CreateAdd(reduced_extent_, builder_.index(plan_.lanes - 1)), lanes);
    // Runs begin anywhere: the last one's vector may go on beyond the row's last whole one.
    if (program_.reduced_rank > 1) vectors = ir_.CreateAdd(vectors, builder_.index(1));
  }
  llvm::Value* elements = ir_.CreateMul(vectors, lanes);
  int64_t size = 0;
  for (const ValueId id : plan_.cached) size += size_of(compute_type(program_.body[id].dtype));
  if (has_panels()) {
    cached_columns_ = columns_of_cache(ir_.CreateMul(elements, builder_.index(size)));
    elements = ir_.CreateMul(reduced_extent_, cached_columns_);
  }
  if (batches_rows()) {
    cached_elements_ = elements;
    elements = ir_.CreateMul(elements, builder_.index(kRowsOfBatch));
  }
  llvm::Value* bytes = ir_.CreateMul(elements, builder_.index(size));
  if (stages) bytes = ir_.CreateAdd(bytes, bytes_of_panels());
  llvm::Value* buffer = call_thread_buffer(bytes);
  // The widest first, so that every array is aligned.
  std::vector<ValueId> order = plan_.cached;
  std::stable_sort(order.begin(), order.end(), [this](ValueId a, ValueId b) {
    return size_of(compute_type(program_.body[a].dtype)) >
           size_of(compute_type(program_.body[b].dtype));
  });
  for (const ValueId id : order) {
    caches_[id] = buffer;
    llvm::Type* element = builder_.memory_type(compute_type(program_.body[id].dtype));
    buffer = ir_.CreateGEP(element, buffer, elements);
  }
  if (stages) allocate_panels(buffer);
}

llvm::Value* KernelEmitter::columns_of_cache(llvm::Value* bytes_of_vector) {
  constexpr int64_t kCached = 256 << 10;  // a part of the second-level cache
  llvm::Value* one = builder_.index(1);
  llvm::Value* lanes = builder_.index(plan_.lanes);
  llvm::Value* columns = body_->extent(program_.outer_rank - 1);
  llvm::Value* vectors = builder_.ceil_div(columns, lanes);
  llvm::Value* most = ir_.CreateUDiv(builder_.index(kCached), builder_.max(bytes_of_vector, one));
  return ir_.CreateMul(builder_.max(builder_.min(most, vectors), one), lanes);
}

llvm::Value* KernelEmitter::cache_pointer(ValueId id, llvm::Value* element) {
  if (cached_columns_ != nullptr) {
    element = ir_.CreateMul(element, cached_columns_);
    if (panel_column_ != nullptr) {
      llvm::Value* lanes = builder_.index(builder_.lanes());
      element = ir_.CreateAdd(element, ir_.CreateMul(panel_column_, lanes));
    }
  } else if (!lanes_reduced()) {
    element = ir_.CreateMul(element, builder_.index(plan_.lanes));
  } else if (row_of_batch_ != nullptr) {
    element = ir_.CreateAdd(element, ir_.CreateMul(row_of_batch_, cached_elements_));
  }
  llvm::Type* type = builder_.memory_type(compute_type(program_.body[id].dtype));
  return ir_.CreateGEP(type, caches_.at(id), element);
}

void KernelEmitter::write_cached(ValueId id, llvm::Value* element) {
  const llvm::Align align(size_of(compute_type(program_.body[id].dtype)));
  llvm::Value* stored = builder_.to_memory(body_->value(id));
  llvm::Value* pointer = cache_pointer(id, element);
  // Beyond a row's end there is room; lanes of other runs have their values already.
  if (program_.reduced_rank == 1 || !lanes_reduced() || body_->active() == nullptr)
    ir_.CreateAlignedStore(stored, pointer, align);
  else
    ir_.CreateMaskedStore(stored, pointer, align, body_->active());
}

void KernelEmitter::read_cached(ValueId id, llvm::Value* element) {
  const DType dtype = compute_type(program_.body[id].dtype);
  llvm::Type* type = builder_.with_lanes(builder_.memory_type(dtype));
  llvm::Value* value =
      ir_.CreateAlignedLoad(type, cache_pointer(id, element), llvm::Align(size_of(dtype)));
  body_->set_value(id, builder_.from_memory(dtype, value));
}

KernelEmitter::Accumulators KernelEmitter::emit_pass(const RowPlan::Stage& pass) {
  begin_scans(pass);
  const bool reads_tiles = !tiles_of(pass).empty();
  if (reads_tiles && lanes_reduced()) return emit_staged_rows(pass);
  const auto [first, last] = element_range();
  if (searches_positions(pass)) return emit_searched_row(pass, first, last);
  const bool has_leaves = !pass.reductions.empty() || reads_tiles || scans_columns(pass);
  return has_leaves ? emit_leaves(pass, first, last) : emit_leaf(pass, first, last);
}

void KernelEmitter::emit_element(const RowPlan::Stage& pass, llvm::Value* r) {
  body_->set_reduced(r);
  for (const ValueId id : pass.from_cache) read_cached(id, r);
  for (const ValueId id : pass.instrs) {
    if (fusion::is_scan(program_.body[id].op)) {
      emit_scan(id, r);
      continue;
    }
    const LaneScope scope(plan_.same_in_element[id] ? 1 : builder_.lanes());
    body_->emit(id);
  }
  for (const ValueId id : pass.to_cache) write_cached(id, r);
  for (const fusion::Store& store : pass.stores) body_->emit_store(store);
}

KernelEmitter::Accumulators KernelEmitter::leaf_start(const std::vector<ValueId>& reductions) {
  Accumulators result;
  for (const ValueId id : reductions) {
    result.push_back(ir::emit_identity(combining_op(id), leaf_type_of(id)));
  }
  for (size_t k = 0; k < result.size(); ++k) {
    if (!is_arg_reduction(program_.body[reductions[k]].op)) continue;
    llvm::Type* word = ir_.getInt32Ty();
    result[k].position = lanes_reduced() ? builder_.iota(word)
                                         : llvm::Constant::getNullValue(builder_.with_lanes(word));
  }
  return result;
}

llvm::Value* KernelEmitter::value_of_element(ValueId reduction) {
  llvm::Value* value = body_->value(program_.body[reduction].operands[0]);
  if (is_negated(reduction)) value = ir_.CreateFNeg(value);
  if (is_of_bytes(reduction)) value = builder_.to_memory(value);
  return type_of(reduction) == DType::kFloat16 ? body_->narrowed(value) : value;
}

ReductionState KernelEmitter::leaf_element(ValueId reduction, llvm::Value* r, llvm::Value* first) {
  ReductionState element{value_of_element(reduction), nullptr};
  const DType type = leaf_type_of(reduction);
  if (type != type_of(reduction)) {
    // Of the short element itself.
    const Instr& cast = program_.body[program_.body[reduction].operands[0]];
    element.value = ir_.CreateIntCast(body_->value(cast.operands[0]),
                                      builder_.with_lanes(builder_.scalar_type(type)),
                                      kind_of(type) == DTypeKind::kSigned);
  }
  if (is_arg_reduction(program_.body[reduction].op)) {
    llvm::Type* word = ir_.getInt32Ty();
    element.position =
        builder_.splat(ir_.CreateTrunc(ir_.CreateSub(r, first), word), builder_.lanes());
    if (lanes_reduced()) {
      element.position = ir_.CreateAdd(element.position, builder_.iota(word));
    }
  }
  return element;
}

void KernelEmitter::widen_leaf(llvm::Value* first, Accumulators* leaf,
                               const std::vector<ValueId>& reductions) {
  for (size_t k = 0; k < leaf->size(); ++k) {
    ReductionState& state = (*leaf)[k];
    state.value = widened_sum(reductions[k], state.value, type_of(reductions[k]));
    if (state.position == nullptr) continue;
    llvm::Type* words = builder_.with_lanes(ir_.getInt64Ty());
    state.position = ir_.CreateAdd(ir_.CreateZExt(state.position, words),
                                   builder_.splat(first, builder_.lanes()));
  }
}

DType KernelEmitter::leaf_type_of(ValueId reduction) const {
  const Instr& instr = program_.body[reduction];
  return instr.op == Op::kSum && !is_float(instr.dtype) ? dtype_in_leaf(program_, instr)
                                                        : type_of(reduction);
}

llvm::Value* KernelEmitter::widened_sum(ValueId reduction, llvm::Value* sum, DType dtype) {
  const DType from = leaf_type_of(reduction);
  if (from == type_of(reduction)) return sum;
  return ir_.CreateIntCast(sum, builder_.with_lanes(builder_.scalar_type(dtype)),
                           kind_of(from) == DTypeKind::kSigned);
}

ReductionState KernelEmitter::element_of(ValueId reduction, llvm::Value* r) {
  ReductionState element{value_of_element(reduction), nullptr};
  if (is_arg_reduction(program_.body[reduction].op)) {
    element.position = builder_.splat(r, builder_.lanes());
    if (lanes_reduced()) {
      element.position = ir_.CreateAdd(element.position, builder_.iota(ir_.getInt64Ty()));
    }
  }
  return element;
}

KernelEmitter::Accumulators KernelEmitter::add_element(const RowPlan::Stage& pass, llvm::Value* r,
                                                       llvm::Value* first, Accumulators state) {
  emit_element(pass, r);
  for (size_t k = 0; k < state.size(); ++k) {
    const ValueId id = pass.reductions[k];
    const Op op = combining_op(id);
    const ir::ContractionScope contraction(program_.contracts && op == Op::kSum);
    const ReductionState next =
        ir::emit_combine_next(op, leaf_type_of(id), state[k], leaf_element(id, r, first));
    // Where lanes are rows, those that don't exist have a state of their own that nobody reads.
    llvm::Value* active = lanes_reduced() ? body_->active() : nullptr;
    if (active == nullptr) {
      state[k] = next;
      continue;
    }
    state[k].value = ir_.CreateSelect(active, next.value, state[k].value);
    if (next.position != nullptr) {
      state[k].position = ir_.CreateSelect(active, next.position, state[k].position);
    }
  }
  return state;
}

KernelEmitter::Accumulators KernelEmitter::emit_leaf(const RowPlan::Stage& pass, llvm::Value* first,
                                                     llvm::Value* last) {
  if (program_.lanes_across_rows) return emit_leaf_across_rows(pass, first, last);
  if (!lanes_reduced()) return emit_leaf_of_columns(pass, first, last);
  return fold_leaf(pass, first, emit_lanes_of_leaf(pass, first, last));
}

KernelEmitter::Accumulators KernelEmitter::fold_leaf(const RowPlan::Stage& pass, llvm::Value* leaf,
                                                     Accumulators lanes) {
  {
    LaneScope wide(plan_.lanes);
    // Sums of all lanes are wider than those of one.
    for (size_t k = 0; k < lanes.size(); ++k) {
      lanes[k].value = widened_sum(pass.reductions[k], lanes[k].value, DType::kInt32);
    }
  }
  for (size_t k = 0; k < lanes.size(); ++k) lanes[k] = fold(pass.reductions[k], lanes[k]);
  widen_leaf(leaf, &lanes, pass.reductions);
  return lanes;
}

KernelEmitter::Accumulators KernelEmitter::emit_lanes_of_leaf(const RowPlan::Stage& pass,
                                                              llvm::Value* first,
                                                              llvm::Value* last) {
  const bool follow_one_another = program_.reduced_rank == 1 || reads_tiles_only(pass);
  const std::vector<uint16_t> streams =
      follow_one_another ? streams_of(pass) : std::vector<uint16_t>{};
  llvm::Value* are_far = streams.empty() ? nullptr : are_far_streams(streams);
  const std::vector<StreamAhead> runs =
      follow_one_another ? std::vector<StreamAhead>{} : runs_ahead(pass);
  auto add_elements = [&](llvm::Value* r, const Values& in) {
    return flatten(add_element(pass, r, first, unflatten(pass.reductions, program_, in)));
  };
  auto emit_elements = [&](llvm::Value* r, const Values& in) {
    if (are_far != nullptr) {
      builder_.if_then(are_far, /*likely=*/true, [&] { prefetch_streams(streams, r); });
    }
    prefetch(runs, r);
    return add_elements(r, in);
  };
  LaneScope wide(plan_.lanes);
  body_->splat_operands(pass.instrs, pass.stores);
  if (follow_one_another && program_.one_leaf) prefetch_next_rows(pass, first);
  if (scans_rows(pass)) {
    Values nothing;
    llvm::Value* rest = whole_loop(first, last, &nothing, emit_elements);
    emit_short_row_end(pass, kScannedLanes, rest, last, nothing, add_elements);
    return {};
  }
  const Values start = flatten(leaf_start(pass.reductions));
  if (follow_one_another && has_row_end(pass)) {
    return unflatten(pass.reductions, program_,
                     step_loop(pass, first, last, start, emit_elements, add_elements));
  }
  auto longer = [&] {
    body_->splat_operands(pass.instrs, pass.stores);
    return lane_loop(first, last, start, emit_elements, /*may_repeat=*/true);
  };
  auto along_row = [&](llvm::Value* begin, llvm::Value* end, const Values& in) {
    if (follow_one_another) {
      return lane_loop(begin, end, in, emit_elements, may_repeat(pass) && !host().masked_vectors);
    }
    return turns_runs(pass) ? turned_run_loop(pass, begin, end, in, emit_elements)
                            : run_loop(pass, begin, end, in, emit_elements);
  };
  // The last part has a whole vector, if the row does.
  auto whole_parts = [&](llvm::Value* begin, llvm::Value* end, const Values& in) {
    llvm::Value* vector = ir_.CreateSub(last, builder_.index(builder_.lanes()));
    begin = builder_.max(builder_.min(begin, vector), first);
    return lane_loop(begin, end, in, emit_elements, /*may_repeat=*/true);
  };
  Values lanes;
  if (leaves_early(pass)) {
    lanes = leaving_loop(pass, first, last, start,
                         follow_one_another ? PartLoop(whole_parts) : PartLoop(along_row));
  } else if (follow_one_another && has_short_rows(pass)) {
    lanes = short_row_or(pass, first, last, add_elements, longer);
  } else {
    lanes = along_row(first, last, start);
  }
  body_->set_active(nullptr);
  return unflatten(pass.reductions, program_, lanes);
}

std::vector<uint16_t> KernelEmitter::reads_along_rows(const RowPlan::Stage& pass) const {
  std::vector<uint16_t> reads = loads_along_reduced(pass);
  std::erase_if(
      reads, [&](uint16_t a) { return program_.accesses[a].lanes != fusion::StrideClass::kUnit; });
  return reads;
}

ReductionState KernelEmitter::fold(ValueId reduction, ReductionState state) const {
  // Extremes of floats are operations on bits, which leave the vector registers if they are
  // scalars.
  constexpr int kPartBytes = 16;
  const Op op = program_.body[reduction].op;
  const DType type = type_of(reduction);
  const bool stays_vector = is_float(type) && (op == Op::kMax || op == Op::kMin);
  const int least = stays_vector ? kPartBytes / static_cast<int>(size_of(type)) : 1;
  int width = plan_.lanes;
  for (int half = plan_.lanes / 2; half >= 1; half /= 2) {
    const int lanes = std::max(half, least);
    LaneScope narrow(lanes);
    auto part = [&](llvm::Value* vector, int from) -> llvm::Value* {
      if (vector == nullptr) return nullptr;
      if (lanes == 1) return ir_.CreateExtractElement(vector, from);
      std::vector<int> mask;
      for (int i = from; i < from + lanes; ++i) mask.push_back(i < width ? i : -1);
      return ir_.CreateShuffleVector(vector, mask);
    };
    state = combine(reduction, {part(state.value, 0), part(state.position, 0)},
                    {part(state.value, half), part(state.position, half)});
    width = lanes;
  }
  if (least > 1) state.value = ir_.CreateExtractElement(state.value, uint64_t{0});
  return state;
}

llvm::Value* KernelEmitter::finished(const Instr& instr, const ReductionState& total) {
  if (is_arg_reduction(instr.op)) return total.position;
  llvm::Value* value = total.value;
  if (is_negated(instr)) value = ir_.CreateFNeg(value);
  if (is_of_bytes(instr)) return builder_.from_memory(DType::kBool, value);
  if (value->getType()->getScalarType()->isHalfTy()) return body_->widened(value);
  if (is_zero_if_empty(instr.op, instr.dtype)) {
    llvm::Value* empty = ir_.CreateICmpEQ(reduced_extent_, builder_.index(0));
    value = ir_.CreateSelect(empty, llvm::Constant::getNullValue(value->getType()), value);
  }
  return body_->round(instr.dtype, value);
}

DType KernelEmitter::type_of(ValueId reduction) const {
  const Instr& instr = program_.body[reduction];
  if (is_reduction(instr.op) && is_native_half(program_, instr)) return DType::kFloat16;
  if (is_of_bytes(instr)) return DType::kUInt8;
  return fusion::expression_dtype(program_, instr);
}

KernelEmitter::Accumulators KernelEmitter::identities(
    const std::vector<ValueId>& reductions) const {
  Accumulators result;
  for (const ValueId id : reductions) {
    result.push_back(ir::emit_identity(combining_op(id), type_of(id)));
  }
  return result;
}

ReductionState KernelEmitter::combine(ValueId reduction, const ReductionState& a,
                                      const ReductionState& b) const {
  const Op op = combining_op(reduction);
  const ir::ContractionScope contraction(program_.contracts && op == Op::kSum);
  return ir::emit_combine(op, type_of(reduction), a, b);
}

KernelEmitter::Accumulators KernelEmitter::combine(const std::vector<ValueId>& reductions,
                                                   const Accumulators& a,
                                                   const Accumulators& b) const {
  Accumulators result;
  for (size_t k = 0; k < reductions.size(); ++k) {
    result.push_back(combine(reductions[k], a[k], b[k]));
  }
  return result;
}

ir::Builder::Values KernelEmitter::flatten(const Accumulators& accumulators) {
  Values values;
  for (const ReductionState& state : accumulators) {
    values.push_back(state.value);
    if (state.position != nullptr) values.push_back(state.position);
  }
  return values;
}

KernelEmitter::Accumulators KernelEmitter::unflatten(const std::vector<ValueId>& reductions,
                                                     const Program& program, const Values& values) {
  Accumulators result;
  size_t next = 0;
  for (const ValueId id : reductions) {
    ReductionState state{values[next++], nullptr};
    if (is_arg_reduction(program.body[id].op)) state.position = values[next++];
    result.push_back(state);
  }
  return result;
}

}  // namespace sluice::kernels
