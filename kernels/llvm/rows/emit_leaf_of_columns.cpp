// Leaves of columns, lanes across them. Operands that are consecutive down the columns are staged
// (emit_staged.cpp), or, where vectors are short, a leaf of as many columns as a vector has lanes
// is transposed in registers, and nothing of it is written.
#include <algorithm>
#include <map>
#include <vector>

#include "fusion/ir/scan.h"
#include "kernels/llvm/host.h"
#include "kernels/llvm/ir/interleave.h"
#include "kernels/llvm/kernel_emitter.h"
#include "llvm/Analysis/VectorUtils.h"

namespace sluice::kernels {
namespace {

using fusion::ValueId;
using ir::LaneScope;

// Of a pass that is emitted for each element of a leaf.
constexpr size_t kMostInstrs = 4;

}  // namespace

KernelEmitter::Accumulators KernelEmitter::emit_leaf_of_columns(const RowPlan::Stage& pass,
                                                                llvm::Value* first,
                                                                llvm::Value* last) {
  Values start = flatten(leaf_start(pass.reductions));
  const auto reduced = static_cast<std::ptrdiff_t>(start.size());
  for (auto& [id, scan] : scans_) {
    scan.before = read_scan(id, builder_.index(kBefore));
    start.push_back(read_scan(id, builder_.index(kNothing)));
  }
  const int64_t size = fusion::leaf_size(program_.schedule);
  llvm::Value* is_whole = ir_.CreateICmpEQ(ir_.CreateSub(last, first), builder_.index(size));
  auto emit_elements = [&] {
    if (program_.tiled) stage_columns(pass, first, last);
    auto add = [&](llvm::Value* r, const Values& in) {
      size_t next = reduced;
      for (auto& [id, scan] : scans_) scan.leaf = in[next++];
      const Values state(in.begin(), in.begin() + reduced);
      Values out =
          flatten(add_element(pass, r, first, unflatten(pass.reductions, program_, state)));
      for (auto& [id, scan] : scans_) out.push_back(scan.leaf);
      return out;
    };
    auto add_all = [&] { return builder_.loop(first, last, builder_.index(1), start, add); };
    if (!has_streams_of_rows(pass)) return add_all();
    return builder_.choose(
        is_whole,
        [&] {
          Values state = start;
          for (int64_t i = 0; i < size; ++i) {
            state = add(ir_.CreateAdd(first, builder_.index(i)), state);
          }
          return state;
        },
        add_all);
  };
  Values end;
  if (turns_leaves(pass) && body_->active() == nullptr) {
    end = builder_.choose(
        ir_.CreateAnd(is_whole, keeps_lines(pass)),
        [&] { return emit_turned_leaf(pass, first, start); }, emit_elements);
  } else {
    end = emit_elements();
  }
  llvm::Value* number = ir_.CreateUDiv(first, builder_.index(size));
  size_t next = reduced;
  for (auto& [id, scan] : scans_) {
    if (!program_.one_leaf) end_leaf_of_scan(id, number, end[next++]);
  }
  end.resize(reduced);
  Accumulators result = unflatten(pass.reductions, program_, end);
  widen_leaf(first, &result, pass.reductions);
  return result;
}

bool KernelEmitter::has_streams_of_rows(const RowPlan::Stage& pass) const {
  return host().masked_vectors && !program_.tiled && pass.instrs.size() <= kMostInstrs &&
         !has_scans(program_);
}

bool KernelEmitter::turns_leaves(const RowPlan::Stage& pass) const {
  if (!program_.tiled || program_.schedule != fusion::Schedule::kColumn) {
    return false;
  }
  if (program_.reduced_rank != 1 || has_scans(program_)) return false;
  if (pass.instrs.size() > kMostInstrs || weight_of(pass.instrs) > kLightWeight) return false;
  const bool is_plain = !pass.reductions.empty() && pass.stores.empty() && pass.to_cache.empty() &&
                        pass.from_cache.empty();
  const std::vector<uint16_t> accesses = tiles_of(pass);
  return is_plain && !accesses.empty() &&
         std::all_of(accesses.begin(), accesses.end(), [&](uint16_t access) {
           const auto size = static_cast<int>(size_of(program_.accesses[access].dtype));
           return size == static_cast<int>(size_of(program_.accesses[accesses[0]].dtype)) &&
                  size >= 4 && host().vector_bytes / size <= plan_.lanes;
         });
}

// A turned leaf reads each line of memory by parts. As many as a long vector has columns do not
// stay in the first-level cache if they are whole pages apart, and then come from afar again.
llvm::Value* KernelEmitter::keeps_lines(const RowPlan::Stage& pass) {
  if (!host().masked_vectors) return ir_.getTrue();
  llvm::Value* are_apart = ir_.getTrue();
  for (const uint16_t access : tiles_of(pass)) {
    are_apart = ir_.CreateAnd(are_apart, leaves_page(access, body_->lane_stride(access)));
  }
  return ir_.CreateOr(are_apart, ir_.CreateNot(is_far()));
}

ir::Builder::Values KernelEmitter::emit_turned_leaf(const RowPlan::Stage& pass, llvm::Value* first,
                                                    const Values& start) {
  const std::vector<uint16_t> accesses = tiles_of(pass);
  const auto size = static_cast<int64_t>(size_of(program_.accesses[accesses[0]].dtype));
  const auto part = static_cast<int>(ir::kShuffledBytes / size);
  const int lanes = host().vector_bytes / static_cast<int>(size);
  auto lanes_of = [&](llvm::Value* vector, int from) {
    std::vector<int> places;
    for (int i = from; i < from + lanes; ++i) places.push_back(i);
    return ir_.CreateShuffleVector(vector, places);
  };
  // What varies along the columns only has as many lanes as the program.
  std::map<ValueId, llvm::Value*> of_columns;
  for (const ValueId id : pass.instrs) {
    const Instr& instr = program_.body[id];
    for (int k = 0; k < instr.num_operands; ++k) {
      const ValueId operand = instr.operands[k];
      if (program_.body[operand].level != fusion::Level::kRow) continue;
      LaneScope as_it_is(1);
      llvm::Value* value = body_->value(operand);
      if (value->getType()->isVectorTy()) of_columns[operand] = value;
    }
  }
  // The elements [at, at + part) of the leaf, each a vector.
  auto load_turned = [&](uint16_t access, llvm::Value* column, int at) {
    llvm::Type* element = builder_.memory_type(program_.accesses[access].dtype);
    llvm::Value* stride = body_->lane_stride(access);
    std::vector<llvm::Value*> lines;
    for (int lane = 0; lane < lanes; lane += part) {
      llvm::Value* group = ir_.CreateMul(stride, builder_.index(lane));
      group = ir_.CreateGEP(element, column, group);
      for (int p = 0; p < part; ++p) {
        llvm::Value* from = ir_.CreateGEP(element, group, ir_.CreateMul(stride, builder_.index(p)));
        lines.push_back(ir_.CreateGEP(element, from, builder_.index(at)));
      }
    }
    return ir::load_transposed(ir_, element, part, lines, llvm::Align(size));
  };
  llvm::Value* lane_start = body_->lane_start();
  std::vector<Values> results;  // by vector
  for (int from = 0; from < plan_.lanes; from += lanes) {
    LaneScope narrow(lanes);
    body_->set_lane_start(ir_.CreateAdd(lane_start, builder_.index(from)));
    body_->set_reduced(first);
    for (const auto& [id, value] : of_columns) body_->set_value(id, lanes_of(value, from));
    std::vector<llvm::Value*> columns;
    for (const uint16_t access : accesses) {
      columns.push_back(body_->pointer_in_row(access, body_->reduced()));
    }
    Values state;
    for (llvm::Value* value : start) state.push_back(lanes_of(value, from));
    for (int at = 0; at < fusion::leaf_size(program_.schedule); at += part) {
      std::vector<std::vector<llvm::Value*>> turned;
      for (size_t a = 0; a < accesses.size(); ++a) {
        turned.push_back(load_turned(accesses[a], columns[a], at));
      }
      for (int i = 0; i < part; ++i) {
        for (size_t a = 0; a < accesses.size(); ++a) body_->set_read(accesses[a], turned[a][i]);
        const Accumulators before = unflatten(pass.reductions, program_, state);
        llvm::Value* r = ir_.CreateAdd(first, builder_.index(at + i));
        state = flatten(add_element(pass, r, first, before));
      }
    }
    results.push_back(std::move(state));
  }
  for (const uint16_t access : accesses) body_->set_read(access, nullptr);
  for (const auto& [id, value] : of_columns) body_->set_value(id, value);
  body_->set_lane_start(lane_start);
  Values result;
  for (size_t k = 0; k < start.size(); ++k) {
    std::vector<llvm::Value*> vectors;
    for (const Values& of_vector : results) vectors.push_back(of_vector[k]);
    result.push_back(llvm::concatenateVectors(ir_, vectors));
  }
  return result;
}

}  // namespace sluice::kernels
