// Scans: what lanes along a row, or rows side by side, carry from one element to the next, in the
// order of kernels/scan.h.
#include <algorithm>
#include <map>
#include <vector>

#include "fusion/ir/scan.h"
#include "kernels/llvm/kernel_emitter.h"
#include "kernels/scan.h"

namespace sluice::kernels {

using fusion::ValueId;
using ir::LaneScope;

bool KernelEmitter::scans_columns(const RowPlan::Stage& pass) const {
  return !lanes_reduced() && std::any_of(pass.instrs.begin(), pass.instrs.end(), [&](ValueId id) {
    return fusion::is_scan(program_.body[id].op);
  });
}

void KernelEmitter::begin_scans(const RowPlan::Stage& pass) {
  scans_.clear();
  for (const ValueId id : pass.instrs) {
    const fusion::Op op = program_.body[id].op;
    if (!fusion::is_scan(op)) continue;
    const DType dtype = type_of(id);
    llvm::Type* type = builder_.with_lanes(builder_.memory_type(dtype));
    scans_[id] = {type, builder_.stack(llvm::ArrayType::get(type, kNumScanSlots))};
    llvm::Value* identity = ir::emit_identity(fusion::reduction_like(op), dtype).value;
    for (const ScanSlot slot : {kBefore, kLeaf, kNothing}) {
      write_scan(id, builder_.index(slot), identity);
    }
  }
}

llvm::Value* KernelEmitter::scan_slot(ValueId id, llvm::Value* slot) {
  const ScanState& scan = scans_.at(id);
  return ir_.CreateGEP(scan.type, scan.memory, slot);
}

llvm::Value* KernelEmitter::read_scan(ValueId id, llvm::Value* slot) {
  return ir_.CreateLoad(scans_.at(id).type, scan_slot(id, slot));
}

void KernelEmitter::write_scan(ValueId id, llvm::Value* slot, llvm::Value* value) {
  ir_.CreateStore(value, scan_slot(id, slot));
}

llvm::Value* KernelEmitter::combine_scanned(ValueId id, llvm::Value* a, llvm::Value* b) {
  llvm::Value* operands[] = {a, b};
  return ir::emit_pointwise(fusion::op_of_scan(program_.body[id].op), type_of(id), operands);
}

// Steps of kernels/scan.h: log2 of the lanes.
llvm::Value* KernelEmitter::join_lanes(ValueId id, llvm::Value* lanes) {
  const int count = builder_.lanes();
  for (int group = 1; group < count; group *= 2) {
    std::vector<int> last_of_group_before;
    std::vector<llvm::Constant*> joins;
    for (int lane = 0; lane < count; ++lane) {
      const bool is_joined = (lane & group) != 0;
      last_of_group_before.push_back(is_joined ? (lane & -(2 * group)) + group - 1 : lane);
      joins.push_back(ir_.getInt1(is_joined));
    }
    llvm::Value* before = ir_.CreateShuffleVector(lanes, last_of_group_before);
    lanes = ir_.CreateSelect(llvm::ConstantVector::get(joins), combine_scanned(id, before, lanes),
                             lanes);
  }
  // Likewise parts of a step. A lane is joined to the one before it by its lowest clear bit.
  std::map<int, llvm::Value*>& last_lanes = scans_.at(id).last_lanes;
  if (lane_of_step_ == 0) last_lanes.clear();
  const int last = lane_of_step_ + count - 1;
  for (int group = count; group < plan_.lanes; group *= 2) {
    if ((last & (group - 1)) == group - 1) {
      last_lanes[last] = ir_.CreateExtractElement(lanes, static_cast<uint64_t>(count - 1));
    }
    if ((lane_of_step_ & group) == 0) continue;
    llvm::Value* before = last_lanes.at((lane_of_step_ & -(2 * group)) + group - 1);
    lanes = combine_scanned(id, builder_.splat(before, count), lanes);
  }
  return lanes;
}

void KernelEmitter::end_leaf_of_scan(ValueId id, llvm::Value* number, llvm::Value* leaf) {
  auto slot = [&](int64_t first, llvm::Value* level) {
    return ir_.CreateAdd(builder_.index(first), level);
  };
  llvm::Value* one = builder_.index(1);
  llvm::Value* level =
      ir_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, ir_.CreateNot(number), ir_.getFalse());
  const Values subtree =
      builder_.loop(builder_.index(0), level, one, {leaf}, [&](llvm::Value* k, const Values& in) {
        return Values{combine_scanned(id, read_scan(id, slot(kSubtrees, k)), in[0])};
      });
  write_scan(id, slot(kSubtrees, level), subtree[0]);
  // As level_before().
  llvm::Value* larger =
      ir_.CreateShl(ir_.CreateLShr(ir_.CreateLShr(ir_.CreateAdd(number, one), level), one),
                    ir_.CreateAdd(level, one));
  llvm::Value* level_before =
      builder_.min(ir_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, larger, ir_.getFalse()),
                   builder_.index(kTreeLevels));
  llvm::Value* before = combine_scanned(id, read_scan(id, slot(kUpto, level_before)), subtree[0]);
  write_scan(id, slot(kUpto, level), before);
  write_scan(id, builder_.index(kBefore), before);
  write_scan(id, builder_.index(kLeaf), read_scan(id, builder_.index(kNothing)));
}

bool KernelEmitter::scans_rows(const RowPlan::Stage& pass) const {
  return lanes_reduced() && program_.reduced_rank == 1 && pass.reductions.empty() &&
         weight_of(pass.instrs) <= kLightWeight &&
         std::any_of(pass.instrs.begin(), pass.instrs.end(),
                     [&](ValueId id) { return fusion::is_scan(program_.body[id].op); });
}

void KernelEmitter::emit_scan(ValueId id, llvm::Value* r) {
  const fusion::Instr& instr = program_.body[id];
  llvm::Value* element = body_->value(instr.operands[0]);
  llvm::Value* result = nullptr;
  if (!lanes_reduced()) {
    ScanState& scan = scans_.at(id);
    scan.leaf = combine_scanned(id, scan.leaf, element);
    result = combine_scanned(id, scan.before, scan.leaf);
  } else {
    element = join_lanes(id, element);
    const int lanes = builder_.lanes();
    llvm::Value*& earlier = scans_.at(id).earlier;
    if (lane_of_step_ == 0) {
      LaneScope scalar(1);
      llvm::Value* leaf_slot = builder_.index(kLeaf);
      const int64_t size = fusion::leaf_size(program_.schedule);
      if (!program_.one_leaf) {
        llvm::Value* zero = builder_.index(0);
        llvm::Value* in_leaf = ir_.CreateAnd(r, builder_.index(size - 1));
        llvm::Value* begins =
            ir_.CreateAnd(ir_.CreateICmpEQ(in_leaf, zero), ir_.CreateICmpNE(r, zero));
        builder_.if_then(begins, /*likely=*/false, [&] {
          llvm::Value* leaves = ir_.CreateUDiv(r, builder_.index(size));
          end_leaf_of_scan(id, ir_.CreateSub(leaves, builder_.index(1)), read_scan(id, leaf_slot));
        });
      }
      llvm::Value* vectors = read_scan(id, leaf_slot);
      earlier = combine_scanned(id, read_scan(id, builder_.index(kBefore)), vectors);
      // Behind a part of a step nothing follows.
      if (lanes == plan_.lanes) {
        llvm::Value* last = ir_.CreateExtractElement(element, static_cast<uint64_t>(lanes - 1));
        write_scan(id, leaf_slot, combine_scanned(id, vectors, last));
      }
    }
    result = combine_scanned(id, builder_.splat(earlier, lanes), element);
  }
  body_->set_value(id, body_->round(instr.dtype, result));
}

}  // namespace sluice::kernels
