#include "sluice/kernels/llvm/emit_kernel.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "sluice/kernels/kernel.h"
#include "sluice/kernels/llvm/body_emitter.h"
#include "sluice/kernels/llvm/emit_ops.h"
#include "sluice/kernels/llvm/host.h"
#include "sluice/kernels/llvm/row_plan.h"
#include "sluice/kernels/reduction.h"

namespace sluice::kernels {
namespace {

using fusion::Instr;
using fusion::Op;
using fusion::Program;
using fusion::Schedule;
using fusion::ValueId;
using ir::ArgState;
using ir::LaneScope;
using Values = ir::Builder::Values;

enum class Entry { kRows, kBlock, kFinish };

// The state of a reduction: accumulator and, for arg reductions, position (else null).
using Accumulators = std::vector<ArgState>;

// Emits one entry point.
class KernelEmitter {
 public:
  KernelEmitter(const Program& program, const RowPlan& plan, Entry entry, llvm::Module& module);
  void emit();

 private:
  llvm::Function* declare(llvm::Module& module) const;
  llvm::Value* argument(int i) const { return function_->getArg(i); }

  // Calls `body(outer indices, first, last, row)` in a loop for each run of points [first, last)
  // along the last kept dim; `row` is the number of the first, from `begin` of the entry point on.
  using RunBody = std::function<void(const Values&, llvm::Value*, llvm::Value*, llvm::Value*)>;
  void emit_runs(const RunBody& body);
  void emit_row_run(const Values& outer, llvm::Value* first, llvm::Value* last, llvm::Value* row);
  void emit_lane_run(const Values& outer, llvm::Value* first, llvm::Value* last, llvm::Value* row);
  // for (i = first; i < last; i += lanes), with the mask of lanes below `last` active in `body`.
  Values lane_loop(llvm::Value* first, llvm::Value* last, const Values& carried,
                   const ir::Builder::LoopBody& body);

  // Values that a pass keeps lie in the thread's row buffer, one array each, by element of the row
  // (row schedule) or by vector of rows (column schedule).
  void allocate_row_buffer();
  llvm::Value* kept_pointer(ValueId id, llvm::Value* element);
  void keep(ValueId id, llvm::Value* element);
  void restore(ValueId id, llvm::Value* element);

  void emit_step(const RowPlan::Step& step);
  // All passes over the row, or the vector of rows, that the emitter's place is set to.
  void emit_row(llvm::Value* row);
  Accumulators emit_pass(const RowPlan::Step& pass);
  Accumulators emit_block(const RowPlan::Step& pass, llvm::Value* first, llvm::Value* last);
  Accumulators load_partials(llvm::Value* row);
  void store_partials(const Accumulators& partials, llvm::Value* row);
  llvm::Value* partial_pointer(llvm::Value* base, llvm::Value* row, size_t plane, DType dtype);
  llvm::Value* finished(const Instr& instr, const ArgState& total);

  // What a reduction computes in.
  DType type_of(ValueId reduction) const;
  Accumulators identities(const std::vector<ValueId>& reductions) const;
  ArgState combine(ValueId reduction, const ArgState& a, const ArgState& b) const;
  ArgState fold(ValueId reduction, ArgState state) const;
  static Values flatten(const Accumulators& accumulators);
  static Accumulators unflatten(const std::vector<ValueId>& reductions, const Program& program,
                                const Values& values);

  bool lanes_reduced() const { return program_.schedule == Schedule::kRow; }
  // Lanes of a row-level value.
  int row_lanes() const { return lanes_reduced() ? 1 : plan_.lanes; }

  const Program& program_;
  const RowPlan& plan_;
  const Entry entry_;
  ir::Builder builder_;
  llvm::IRBuilder<>& ir_;
  llvm::Function* function_;
  llvm::BasicBlock* args_block_;
  std::optional<BodyEmitter> body_;
  llvm::Value* reduced_extent_ = nullptr;
  llvm::Value* row_begin_ = nullptr;
  llvm::Value* row_end_ = nullptr;
  std::map<ValueId, llvm::Value*> kept_;  // the arrays
};

KernelEmitter::KernelEmitter(const Program& program, const RowPlan& plan, Entry entry,
                             llvm::Module& module)
    : program_(program),
      plan_(plan),
      entry_(entry),
      builder_(module.getContext()),
      ir_(*builder_),
      function_(declare(module)),
      args_block_(llvm::BasicBlock::Create(module.getContext(), "args", function_)) {
  body_.emplace(program, args_block_, argument(1));
  row_begin_ = argument(2);
  row_end_ = argument(3);
}

llvm::Function* KernelEmitter::declare(llvm::Module& module) const {
  llvm::LLVMContext& context = module.getContext();
  llvm::Type* pointer = llvm::PointerType::getUnqual(context);
  llvm::Type* word = llvm::Type::getInt64Ty(context);
  std::vector<llvm::Type*> types = {pointer, pointer, word, word};
  const char* name = kRowsName;
  if (entry_ == Entry::kBlock) {
    types.insert(types.end(), {word, pointer});
    name = kBlockName;
  } else if (entry_ == Entry::kFinish) {
    types.insert(types.end(), {word, pointer, word});
    name = kFinishName;
  }
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), types, /*isVarArg=*/false);
  auto* function = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, name, module);
  function->addFnAttr(llvm::Attribute::NoUnwind);
  function->addFnAttr("target-cpu", host().cpu);
  function->addFnAttr("target-features", host().features);
  function->addFnAttr("prefer-vector-width", std::to_string(8 * host().vector_bytes));
  function->addFnAttr("no-trapping-math", "true");
  return function;
}

void KernelEmitter::emit() {
  auto* start = llvm::BasicBlock::Create(ir_.getContext(), "start", function_);
  ir_.SetInsertPoint(start);
  reduced_extent_ = builder_.index(1);
  for (int d = program_.kept_rank; d < program_.rank(); ++d) {
    reduced_extent_ = ir_.CreateMul(reduced_extent_, body_->extent(d));
  }
  // Nothing may be read, nor any error raised, for no rows.
  builder_.if_then(ir_.CreateICmpSLT(row_begin_, row_end_), /*likely=*/true, [&] {
    for (const ValueId id : plan_.uniform) body_->emit(id);
    allocate_row_buffer();
    emit_runs([&](const Values& outer, llvm::Value* first, llvm::Value* last, llvm::Value* row) {
      if (lanes_reduced())
        emit_row_run(outer, first, last, row);
      else
        emit_lane_run(outer, first, last, row);
    });
  });
  ir_.CreateRetVoid();
  llvm::BranchInst::Create(start, args_block_);
}

void KernelEmitter::emit_runs(const RunBody& body) {
  const int outer_rank = program_.kept_rank - 1;
  if (outer_rank == 0) {
    body({}, row_begin_, row_end_, builder_.index(0));
    return;
  }
  // Carried: the first point's index in the run, then the outer indices.
  llvm::Value* length = body_->extent(outer_rank);
  llvm::Value* rest = ir_.CreateSDiv(row_begin_, length);
  Values start(1 + outer_rank);
  start[0] = ir_.CreateSub(row_begin_, ir_.CreateMul(rest, length));
  for (int d = outer_rank - 1; d > 0; --d) {
    llvm::Value* quotient = ir_.CreateSDiv(rest, body_->extent(d));
    start[1 + d] = ir_.CreateSub(rest, ir_.CreateMul(quotient, body_->extent(d)));
    rest = quotient;
  }
  start[1] = rest;
  // Points are counted so that a run always ends where `position` is a multiple of its length: the
  // loop advances to the next run's start, which may lie past the end.
  llvm::Value* run_start = ir_.CreateSub(row_begin_, start[0]);
  builder_.loop(run_start, row_end_, length, start, [&](llvm::Value* position, const Values& in) {
    llvm::Value* room = ir_.CreateSub(row_end_, position);
    llvm::Value* last = ir_.CreateSelect(ir_.CreateICmpSLT(room, length), room, length);
    const Values outer(in.begin() + 1, in.end());
    body(outer, in[0], last, ir_.CreateSub(ir_.CreateAdd(position, in[0]), row_begin_));
    Values next = in;
    next[0] = builder_.index(0);
    llvm::Value* carry = ir_.getTrue();
    for (int d = outer_rank - 1; d >= 0; --d) {
      llvm::Value* advanced = ir_.CreateAdd(in[1 + d], ir_.CreateZExt(carry, ir_.getInt64Ty()));
      if (d > 0) {
        carry = ir_.CreateICmpEQ(advanced, body_->extent(d));
        advanced = ir_.CreateSelect(carry, builder_.index(0), advanced);
      }
      next[1 + d] = advanced;
    }
    return next;
  });
}

void KernelEmitter::emit_row_run(const Values& outer, llvm::Value* first, llvm::Value* last,
                                 llvm::Value* row) {
  builder_.loop(first, last, builder_.index(1), {}, [&](llvm::Value* i, const Values&) {
    Values kept = outer;
    kept.push_back(i);
    body_->set_outer(kept);
    emit_row(ir_.CreateAdd(row, ir_.CreateSub(i, first)));
    return Values{};
  });
}

void KernelEmitter::emit_lane_run(const Values& outer, llvm::Value* first, llvm::Value* last,
                                  llvm::Value* row) {
  body_->set_outer(outer);
  for (const ValueId id : plan_.invariant) body_->emit(id);
  LaneScope wide(plan_.lanes);
  for (const auto* steps : {&plan_.before, &plan_.passes}) {
    for (const RowPlan::Step& step : *steps) body_->splat_operands(step.instrs, step.stores);
  }
  lane_loop(first, last, {}, [&](llvm::Value* i, const Values&) {
    body_->set_lane_start(i);
    emit_row(ir_.CreateAdd(row, ir_.CreateSub(i, first)));
    return Values{};
  });
  body_->set_active(nullptr);
}

Values KernelEmitter::lane_loop(llvm::Value* first, llvm::Value* last, const Values& carried,
                                const ir::Builder::LoopBody& body) {
  llvm::Value* lanes = builder_.index(builder_.lanes());
  auto masked = [&](llvm::Value* i, const Values& in) {
    llvm::Value* left = ir_.CreateSub(last, i);
    left = ir_.CreateSelect(ir_.CreateICmpSLT(left, lanes), left, lanes);
    llvm::Type* word = ir_.getInt32Ty();
    llvm::Value* count = builder_.splat(ir_.CreateTrunc(left, word), builder_.lanes());
    body_->set_active(ir_.CreateICmpULT(builder_.iota(word), count));
    return body(i, in);
  };
  if (host().masked_vectors) return builder_.loop(first, last, lanes, carried, masked);
  llvm::Value* whole = ir_.CreateAnd(ir_.CreateSub(last, first), -int64_t{builder_.lanes()});
  llvm::Value* tail = ir_.CreateAdd(first, whole);
  body_->set_active(nullptr);
  const Values after = builder_.loop(first, tail, lanes, carried, body);
  return builder_.loop(tail, last, lanes, after, masked);
}

void KernelEmitter::allocate_row_buffer() {
  if (plan_.kept.empty()) return;
  llvm::Value* lanes = builder_.index(plan_.lanes);
  llvm::Value* vectors = reduced_extent_;
  if (lanes_reduced()) {
    vectors =
        ir_.CreateUDiv(ir_.CreateAdd(reduced_extent_, builder_.index(plan_.lanes - 1)), lanes);
  }
  llvm::Value* elements = ir_.CreateMul(vectors, lanes);
  int64_t size = 0;
  for (const ValueId id : plan_.kept) size += size_of(compute_type(program_.body[id].dtype));
  auto* type = llvm::FunctionType::get(ir_.getPtrTy(), {ir_.getInt64Ty()}, /*isVarArg=*/false);
  llvm::Value* buffer =
      ir_.CreateCall(type, builder_.pointer(reinterpret_cast<const void*>(&row_buffer)),
                     {ir_.CreateMul(elements, builder_.index(size))});
  // The widest first, so that every array is aligned.
  std::vector<ValueId> order = plan_.kept;
  std::stable_sort(order.begin(), order.end(), [this](ValueId a, ValueId b) {
    return size_of(compute_type(program_.body[a].dtype)) >
           size_of(compute_type(program_.body[b].dtype));
  });
  for (const ValueId id : order) {
    kept_[id] = buffer;
    llvm::Type* element = builder_.memory_type(compute_type(program_.body[id].dtype));
    buffer = ir_.CreateGEP(element, buffer, elements);
  }
}

llvm::Value* KernelEmitter::kept_pointer(ValueId id, llvm::Value* element) {
  if (!lanes_reduced()) element = ir_.CreateMul(element, builder_.index(plan_.lanes));
  llvm::Type* type = builder_.memory_type(compute_type(program_.body[id].dtype));
  return ir_.CreateGEP(type, kept_.at(id), element);
}

void KernelEmitter::keep(ValueId id, llvm::Value* element) {
  const DType dtype = compute_type(program_.body[id].dtype);
  llvm::Value* value = body_->value(id);
  if (dtype == DType::kBool) {
    value = ir_.CreateZExt(value, builder_.with_lanes(builder_.memory_type(dtype)));
  }
  ir_.CreateAlignedStore(value, kept_pointer(id, element), llvm::Align(size_of(dtype)));
}

void KernelEmitter::restore(ValueId id, llvm::Value* element) {
  const DType dtype = compute_type(program_.body[id].dtype);
  llvm::Type* type = builder_.with_lanes(builder_.memory_type(dtype));
  llvm::Value* value =
      ir_.CreateAlignedLoad(type, kept_pointer(id, element), llvm::Align(size_of(dtype)));
  if (dtype == DType::kBool) value = ir_.CreateICmpNE(value, llvm::Constant::getNullValue(type));
  body_->set_value(id, value);
}

void KernelEmitter::emit_step(const RowPlan::Step& step) {
  for (const ValueId id : step.instrs) body_->emit(id);
  // A block only computes; what is stored once a row is stored by `finish`.
  if (entry_ == Entry::kBlock) return;
  for (const fusion::Store& store : step.stores) body_->emit_store(store);
}

void KernelEmitter::emit_row(llvm::Value* row) {
  emit_step(plan_.before[0]);
  for (size_t p = 0; p < plan_.passes.size(); ++p) {
    const RowPlan::Step& pass = plan_.passes[p];
    Accumulators totals;
    if (entry_ == Entry::kBlock) {
      const int64_t size = block_size(program_.schedule);
      llvm::Value* first = ir_.CreateMul(argument(4), builder_.index(size));
      llvm::Value* end = ir_.CreateAdd(first, builder_.index(size));
      end = ir_.CreateSelect(ir_.CreateICmpSLT(end, reduced_extent_), end, reduced_extent_);
      store_partials(emit_block(pass, first, end), row);
      return;
    }
    totals = entry_ == Entry::kFinish && p == 0 ? load_partials(row) : emit_pass(pass);
    for (size_t k = 0; k < totals.size(); ++k) {
      const ValueId id = pass.reductions[k];
      body_->set_value(id, finished(program_.body[id], totals[k]));
    }
    emit_step(plan_.before[p + 1]);
  }
}

Accumulators KernelEmitter::emit_pass(const RowPlan::Step& pass) {
  if (pass.reductions.empty()) return emit_block(pass, builder_.index(0), reduced_extent_);
  llvm::Value* size = builder_.index(block_size(program_.schedule));
  const Values totals = builder_.loop(
      builder_.index(0), reduced_extent_, size, flatten(identities(pass.reductions)),
      [&](llvm::Value* first, const Values& in) {
        llvm::Value* end = ir_.CreateAdd(first, size);
        end = ir_.CreateSelect(ir_.CreateICmpSLT(end, reduced_extent_), end, reduced_extent_);
        const Accumulators block = emit_block(pass, first, end);
        Accumulators total = unflatten(pass.reductions, program_, in);
        for (size_t k = 0; k < total.size(); ++k) {
          total[k] = combine(pass.reductions[k], total[k], block[k]);
        }
        return flatten(total);
      });
  return unflatten(pass.reductions, program_, totals);
}

Accumulators KernelEmitter::emit_block(const RowPlan::Step& pass, llvm::Value* first,
                                       llvm::Value* last) {
  auto emit_elements = [&](llvm::Value* r, const Values& in) {
    body_->set_reduced(r);
    for (const ValueId id : pass.restored) restore(id, r);
    for (const ValueId id : pass.instrs) body_->emit(id);
    for (const ValueId id : pass.kept) keep(id, r);
    for (const fusion::Store& store : pass.stores) body_->emit_store(store);
    Accumulators state = unflatten(pass.reductions, program_, in);
    for (size_t k = 0; k < state.size(); ++k) {
      const ValueId id = pass.reductions[k];
      ArgState element{body_->value(program_.body[id].operands[0]), nullptr};
      if (is_arg_reduction(program_.body[id].op)) {
        element.position = builder_.splat(r, builder_.lanes());
        if (lanes_reduced()) {
          element.position = ir_.CreateAdd(element.position, builder_.iota(ir_.getInt64Ty()));
        }
      }
      const ArgState next = combine(id, state[k], element);
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
    return flatten(state);
  };
  if (!lanes_reduced()) {
    const Values result = builder_.loop(first, last, builder_.index(1),
                                        flatten(identities(pass.reductions)), emit_elements);
    return unflatten(pass.reductions, program_, result);
  }
  Accumulators result;
  {
    LaneScope wide(plan_.lanes);
    body_->splat_operands(pass.instrs, pass.stores);
    const Values lanes =
        lane_loop(first, last, flatten(identities(pass.reductions)), emit_elements);
    body_->set_active(nullptr);
    result = unflatten(pass.reductions, program_, lanes);
  }
  for (size_t k = 0; k < result.size(); ++k) result[k] = fold(pass.reductions[k], result[k]);
  return result;
}

ArgState KernelEmitter::fold(ValueId reduction, ArgState state) const {
  for (int half = plan_.lanes / 2; half >= 1; half /= 2) {
    LaneScope narrow(half);
    auto part = [&](llvm::Value* vector, int from) -> llvm::Value* {
      if (vector == nullptr) return nullptr;
      if (half == 1) return ir_.CreateExtractElement(vector, from);
      std::vector<int> mask;
      for (int i = 0; i < half; ++i) mask.push_back(from + i);
      return ir_.CreateShuffleVector(vector, mask);
    };
    state = combine(reduction, {part(state.value, 0), part(state.position, 0)},
                    {part(state.value, half), part(state.position, half)});
  }
  return state;
}

llvm::Value* KernelEmitter::partial_pointer(llvm::Value* base, llvm::Value* row, size_t plane,
                                            DType dtype) {
  llvm::Value* rows = ir_.CreateSub(row_end_, row_begin_);
  llvm::Value* start = ir_.CreateMul(rows, builder_.index(8 * plane));
  llvm::Value* first = ir_.CreateGEP(ir_.getInt8Ty(), base, start);
  return ir_.CreateGEP(builder_.memory_type(dtype), first, row);
}

void KernelEmitter::store_partials(const Accumulators& partials, llvm::Value* row) {
  for (size_t j = 0; j < partials.size(); ++j) {
    auto store = [&](llvm::Value* value, size_t plane, DType dtype) {
      llvm::Type* type = builder_.with_lanes(builder_.memory_type(dtype));
      if (dtype == DType::kBool) value = ir_.CreateZExt(value, type);
      llvm::Value* pointer = partial_pointer(argument(5), row, plane, dtype);
      const llvm::Align align(size_of(dtype));
      if (body_->active() == nullptr)
        ir_.CreateAlignedStore(value, pointer, align);
      else
        ir_.CreateMaskedStore(value, pointer, align, body_->active());
    };
    store(partials[j].value, 2 * j, type_of(plan_.reductions[j]));
    if (partials[j].position != nullptr) {
      store(partials[j].position, 2 * j + 1, DType::kInt64);
    }
  }
}

Accumulators KernelEmitter::load_partials(llvm::Value* row) {
  const std::vector<ValueId>& reductions = plan_.reductions;
  const Values totals = builder_.loop(
      builder_.index(0), argument(4), builder_.index(1), flatten(identities(reductions)),
      [&](llvm::Value* block, const Values& in) {
        llvm::Value* base =
            ir_.CreateGEP(ir_.getInt8Ty(), argument(5), ir_.CreateMul(block, argument(6)));
        auto load = [&](size_t plane, DType dtype) {
          llvm::Type* type = builder_.with_lanes(builder_.memory_type(dtype));
          llvm::Value* pointer = partial_pointer(base, row, plane, dtype);
          const llvm::Align align(size_of(dtype));
          llvm::Constant* zero = llvm::Constant::getNullValue(type);
          llvm::Value* value =
              body_->active() == nullptr
                  ? static_cast<llvm::Value*>(ir_.CreateAlignedLoad(type, pointer, align))
                  : ir_.CreateMaskedLoad(type, pointer, align, body_->active(), zero);
          return dtype == DType::kBool ? ir_.CreateICmpNE(value, zero) : value;
        };
        Accumulators total = unflatten(reductions, program_, in);
        for (size_t j = 0; j < total.size(); ++j) {
          ArgState partial{load(2 * j, type_of(reductions[j])), nullptr};
          if (total[j].position != nullptr) partial.position = load(2 * j + 1, DType::kInt64);
          total[j] = combine(reductions[j], total[j], partial);
        }
        return flatten(total);
      });
  return unflatten(reductions, program_, totals);
}

llvm::Value* KernelEmitter::finished(const Instr& instr, const ArgState& total) {
  if (is_arg_reduction(instr.op)) return total.position;
  llvm::Value* value = total.value;
  if (instr.op == Op::kSum && is_float(instr.dtype)) {
    // The sum of nothing is +0, though the identity of a sum is -0.
    llvm::Value* empty = ir_.CreateICmpEQ(reduced_extent_, builder_.index(0));
    value = ir_.CreateSelect(empty, llvm::Constant::getNullValue(value->getType()), value);
  }
  return body_->round(instr.dtype, value);
}

DType KernelEmitter::type_of(ValueId reduction) const {
  return accumulator_type(program_.body[program_.body[reduction].operands[0]].dtype);
}

Accumulators KernelEmitter::identities(const std::vector<ValueId>& reductions) const {
  Accumulators result;
  for (const ValueId id : reductions) {
    const Op op = program_.body[id].op;
    if (is_arg_reduction(op))
      result.push_back(ir::emit_arg_identity(op, type_of(id)));
    else
      result.push_back({ir::emit_identity(op, type_of(id)), nullptr});
  }
  return result;
}

ArgState KernelEmitter::combine(ValueId reduction, const ArgState& a, const ArgState& b) const {
  const Op op = program_.body[reduction].op;
  const DType dtype = type_of(reduction);
  if (is_arg_reduction(op)) return ir::emit_arg_combine(op, dtype, a, b);
  return {ir::emit_combine(op, dtype, a.value, b.value), nullptr};
}

Values KernelEmitter::flatten(const Accumulators& accumulators) {
  Values values;
  for (const ArgState& state : accumulators) {
    values.push_back(state.value);
    if (state.position != nullptr) values.push_back(state.position);
  }
  return values;
}

Accumulators KernelEmitter::unflatten(const std::vector<ValueId>& reductions,
                                      const Program& program, const Values& values) {
  Accumulators result;
  size_t next = 0;
  for (const ValueId id : reductions) {
    ArgState state{values[next++], nullptr};
    if (is_arg_reduction(program.body[id].op)) state.position = values[next++];
    result.push_back(state);
  }
  return result;
}

}  // namespace

void emit_kernel(const Program& program, llvm::Module& module) {
  KernelEmitter(program, RowPlan(program, program.keeps_rows), Entry::kRows, module).emit();
  const RowPlan plan(program, /*keep=*/false);
  if (!plan.splits_rows()) return;
  KernelEmitter(program, plan, Entry::kBlock, module).emit();
  KernelEmitter(program, plan, Entry::kFinish, module).emit();
}

}  // namespace sluice::kernels
