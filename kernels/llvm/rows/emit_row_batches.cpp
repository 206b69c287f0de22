// Short rows that several passes take: a batch of them takes each pass one after the other. All
// passes over one row are a chain of operations that is longer than the processor looks ahead, so
// that the next row would wait for it. What is costly between passes, such as the logarithm of a
// row's sum, is computed for the whole batch at once, in lanes.
#include <algorithm>
#include <map>
#include <vector>

#include "fusion/ir/cost.h"
#include "fusion/ir/scan.h"
#include "kernels/llvm/kernel_emitter.h"

namespace sluice::kernels {

using fusion::Instr;
using fusion::Op;
using fusion::ValueId;
using ir::LaneScope;

bool KernelEmitter::batches_rows() const {
  if (!lanes_reduced() || !program_.one_leaf || program_.tiled || program_.reduced_rank != 1 ||
      entry_ != Entry::kRows || has_scans(program_) || plan_.reductions.empty()) {
    return false;
  }
  // An index of the row that is out of range would be found once a pass.
  for (const RowPlan::Stage& stage : plan_.before) {
    for (const ValueId id : stage.instrs) {
      if (program_.body[id].op == Op::kCheckIndex) return false;
    }
  }
  return plan_.passes.size() > 1 || !find_shared().back().empty();
}

std::vector<std::vector<ValueId>> KernelEmitter::find_shared() const {
  // By value: computed from nothing but results of passes; and that it is costly, or that something
  // costly needs it.
  std::vector<bool> is_known(program_.body.size(), false), is_candidate = is_known;
  std::vector<bool> is_wanted = is_known;
  for (const ValueId id : plan_.reductions) is_known[id] = true;
  for (const ValueId id : plan_.uniform) is_known[id] = true;
  for (const RowPlan::Stage& stage : plan_.before) {
    for (const ValueId id : stage.instrs) {
      const Instr& instr = program_.body[id];
      const bool is_computed = instr.num_operands > 0 && !fusion::has_access(instr.op);
      is_candidate[id] =
          is_computed && std::all_of(instr.operands, instr.operands + instr.num_operands,
                                     [&](ValueId operand) { return is_known[operand]; });
      is_known[id] = is_candidate[id];
      is_wanted[id] = is_candidate[id] && fusion::is_costly(instr.op);
    }
  }
  for (size_t i = is_wanted.size(); i-- > 0;) {
    const Instr& instr = program_.body[i];
    for (int k = 0; is_wanted[i] && k < instr.num_operands; ++k) {
      const ValueId operand = instr.operands[k];
      is_wanted[operand] = is_wanted[operand] || is_candidate[operand];
    }
  }
  std::vector<std::vector<ValueId>> shared;
  for (const RowPlan::Stage& stage : plan_.before) {
    shared.emplace_back();
    for (const ValueId id : stage.instrs) {
      if (is_wanted[id]) shared.back().push_back(id);
    }
  }
  return shared;
}

void KernelEmitter::emit_row_batches(llvm::Value* first, llvm::Value* last) {
  const std::vector<std::vector<ValueId>> shared = find_shared();
  const size_t passes = plan_.passes.size();
  // By value: of each row of the batch.
  std::map<ValueId, llvm::Value*> memory;
  auto dtype_of = [&](ValueId id) { return compute_type(program_.body[id].dtype); };
  auto place_of = [&](ValueId id, llvm::Value* r) {
    llvm::Type* type = builder_.memory_type(dtype_of(id));
    llvm::Value*& rows = memory[id];
    if (rows == nullptr) rows = builder_.stack(llvm::ArrayType::get(type, kRowsOfBatch));
    return ir_.CreateGEP(type, rows, r);
  };
  auto write = [&](ValueId id, llvm::Value* r) {
    ir_.CreateAlignedStore(builder_.to_memory(body_->value(id)), place_of(id, r),
                           llvm::Align(size_of(dtype_of(id))));
  };
  auto read = [&](ValueId id, llvm::Value* r) {
    llvm::Type* type = builder_.with_lanes(builder_.memory_type(dtype_of(id)));
    const llvm::Align align(size_of(dtype_of(id)));
    llvm::Value* stored = ir_.CreateAlignedLoad(type, place_of(id, r), align);
    body_->set_value(id, builder_.from_memory(dtype_of(id), stored));
  };
  llvm::Value* zero = builder_.index(0);
  llvm::Value* one = builder_.index(1);
  auto emit_rows = [&](llvm::Value* batch, llvm::Value* rows, size_t p) {
    builder_.loop(zero, rows, one, {}, [&](llvm::Value* r, const Values&) {
      body_->set_row(ir_.CreateAdd(batch, r));
      row_of_batch_ = r;
      for (size_t known = 0; known <= p; ++known) {
        if (known > 0) {
          for (const ValueId id : plan_.passes[known - 1].reductions) read(id, r);
        }
        for (const ValueId id : shared[known]) read(id, r);
        for (const ValueId id : plan_.before[known].instrs) {
          const auto& of_batch = shared[known];
          if (std::find(of_batch.begin(), of_batch.end(), id) == of_batch.end()) body_->emit(id);
        }
      }
      for (const fusion::Store& store : plan_.before[p].stores) body_->emit_store(store);
      if (p == passes) return Values{};
      const RowPlan::Stage& pass = plan_.passes[p];
      const Accumulators totals = emit_pass(pass);
      for (size_t k = 0; k < totals.size(); ++k) {
        const ValueId id = pass.reductions[k];
        body_->set_value(id, finished(program_.body[id], totals[k]));
        write(id, r);
      }
      // Nothing is left to wait for.
      if (p + 1 == passes && shared[passes].empty()) emit_stage(plan_.before[passes]);
      return Values{};
    });
  };
  llvm::Value* most = builder_.index(kRowsOfBatch);
  builder_.loop(first, last, most, {}, [&](llvm::Value* batch, const Values&) {
    llvm::Value* rows = builder_.min(ir_.CreateSub(last, batch), most);
    for (size_t p = 0; p < passes; ++p) {
      emit_rows(batch, rows, p);
      if (shared[p + 1].empty()) continue;
      LaneScope lanes(kRowsOfBatch);
      for (size_t known = 0; known <= p; ++known) {
        for (const ValueId id : plan_.passes[known].reductions) read(id, zero);
        for (const ValueId id : shared[known]) read(id, zero);
      }
      for (const ValueId id : shared[p + 1]) body_->emit(id);
      for (const ValueId id : shared[p + 1]) write(id, zero);
    }
    if (!shared[passes].empty()) emit_rows(batch, rows, passes);
    return Values{};
  });
  row_of_batch_ = nullptr;
}

}  // namespace sluice::kernels
