// Reductions of operands that are consecutive along a reduced dim, but not along the lanes, or only
// in short runs: blocks are transposed in registers, or copied, to where they are. The order of
// additions stays what it is.
#include <algorithm>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "fusion/ir/any_order.h"
#include "kernels/llvm/host.h"
#include "kernels/llvm/ir/interleave.h"
#include "kernels/llvm/kernel_emitter.h"

namespace sluice::kernels {
namespace {

using fusion::StrideClass;
using fusion::ValueId;
using ir::LaneScope;

// Elements that are staged at a time, about: a part of the first-level cache. But of each line of
// memory so many, though the panel be larger: a line is in a page of its own, mostly.
constexpr int64_t kPanelElements = 4096;
constexpr int64_t kMinRuns = 64;
// Copies are better read back from the first-level cache.
constexpr int64_t kCopiedElements = 4096;
// Runs of so few elements are put together by shuffles of their own, which are fewer.
constexpr int kMostInterleaved = 4;

}  // namespace

std::vector<uint16_t> KernelEmitter::tiles_of(const RowPlan::Stage& pass) const {
  std::vector<uint16_t> accesses;
  const bool copies = copies_runs(pass);
  for (const ValueId id : pass.instrs) {
    const Instr& instr = program_.body[id];
    if (!fusion::has_access(instr.op)) continue;
    const fusion::Access& access = program_.accesses[instr.aux];
    if (access.lanes == StrideClass::kTile || (copies && access.varies_along_reduced)) {
      accesses.push_back(instr.aux);
    }
  }
  std::sort(accesses.begin(), accesses.end());
  accesses.erase(std::unique(accesses.begin(), accesses.end()), accesses.end());
  return accesses;
}

bool KernelEmitter::copies_runs(const RowPlan::Stage& pass) const {
  using Runs = fusion::Program::Runs;
  if (program_.runs == Runs::kLong || !pass.stores.empty()) return false;
  // Masks that Zen 5 reads under cost more than copies, unless runs take turns (turns_runs()).
  if (host().masked_vectors && (!host().masks_slow_streams || program_.runs != Runs::kShortest ||
                                fusion::takes_any_order(program_))) {
    return false;
  }
  return std::all_of(pass.instrs.begin(), pass.instrs.end(), [&](ValueId id) {
    const Instr& instr = program_.body[id];
    if (!fusion::has_access(instr.op)) return true;
    const fusion::Access& access = program_.accesses[instr.aux];
    // One by one, elements that are not consecutive may be copied as well.
    const bool may_be_copied =
        access.lanes == StrideClass::kUnit ||
        (access.lanes == StrideClass::kAny && program_.runs == Runs::kShortest);
    const bool is_run = may_be_copied && instr.op == Op::kLoad && instr.num_operands == 0;
    return is_run || access.lanes == StrideClass::kTile || !access.varies_along_reduced;
  });
}

bool KernelEmitter::copies_runs() const {
  return std::any_of(plan_.passes.begin(), plan_.passes.end(),
                     [&](const RowPlan::Stage& pass) { return copies_runs(pass); });
}

bool KernelEmitter::reads_tiles_only(const RowPlan::Stage& pass) const {
  if (copies_runs(pass)) return true;
  return program_.tiled && pass.stores.empty() &&
         std::all_of(pass.instrs.begin(), pass.instrs.end(), [&](ValueId id) {
           const Instr& instr = program_.body[id];
           if (!fusion::has_access(instr.op)) return true;
           const fusion::Access& access = program_.accesses[instr.aux];
           return access.lanes == StrideClass::kTile || !access.varies_along_reduced;
         });
}

llvm::Value* KernelEmitter::runs_of_panel() {
  const int64_t most = program_.tiled ? kPanelElements : kCopiedElements;
  llvm::Value* length = body_->extent(program_.rank() - 1);
  llvm::Value* runs = ir_.CreateUDiv(builder_.index(most), length);
  return builder_.max(ir_.CreateAnd(runs, -kMinRuns), builder_.index(kMinRuns));
}

llvm::Value* KernelEmitter::elements_of_panel() {
  llvm::Value* runs = ir_.CreateMul(runs_of_panel(), body_->extent(program_.rank() - 1));
  constexpr int64_t kOverhang = 16;  // of the last run, in a block of fewer columns than a vector
  return ir_.CreateAdd(runs, builder_.index(fusion::leaf_size(program_.schedule) + kOverhang));
}

std::vector<uint16_t> KernelEmitter::staged() const {
  std::vector<uint16_t> accesses;
  for (const RowPlan::Stage& pass : plan_.passes) {
    const std::vector<uint16_t> tiles = tiles_of(pass);
    accesses.insert(accesses.end(), tiles.begin(), tiles.end());
  }
  std::sort(accesses.begin(), accesses.end());
  accesses.erase(std::unique(accesses.begin(), accesses.end()), accesses.end());
  return accesses;
}

llvm::Value* KernelEmitter::bytes_of_panels() {
  int64_t size = 0;
  for (const uint16_t access : staged()) {
    size += static_cast<int64_t>(size_of(program_.accesses[access].dtype));
  }
  return ir_.CreateMul(elements_of_panel(), builder_.index(size));
}

void KernelEmitter::allocate_panels(llvm::Value* buffer) {
  llvm::Value* elements = elements_of_panel();
  for (const uint16_t access : staged()) {
    panels_[access] = buffer;
    buffer = ir_.CreateGEP(builder_.memory_type(program_.accesses[access].dtype), buffer, elements);
  }
}

KernelEmitter::Values KernelEmitter::indices_of_run(llvm::Value* run) {
  Values indices(program_.reduced_rank, builder_.index(0));
  for (int d = program_.reduced_rank - 2; d >= 0; --d) {
    llvm::Value* extent = body_->extent(program_.outer_rank + d);
    indices[d] = d > 0 ? ir_.CreateURem(run, extent) : run;
    run = ir_.CreateUDiv(run, extent);
  }
  return indices;
}

llvm::Value* KernelEmitter::is_far(int64_t cached) {
  llvm::Value* points = reduced_extent_;
  for (int d = 0; d < program_.outer_rank; ++d) points = ir_.CreateMul(points, body_->extent(d));
  return ir_.CreateICmpSGT(points, builder_.index(cached));
}

void KernelEmitter::transpose_runs(uint16_t access, llvm::Value* run, llvm::Value* count,
                                   llvm::Value* to) {
  // The hardware does not foresee strides of pages. With AVX-512 loads of other sizes than 4
  // overlap well enough.
  constexpr int kLanesAhead = 16;
  std::optional<Ahead> ahead;
  if (size_of(program_.accesses[access].dtype) >= 4) {
    ahead = Ahead{is_far(), kLanesAhead};
  }
  llvm::Value* length = body_->extent(program_.rank() - 1);
  llvm::Value* from = body_->pointer_in_row(access, indices_of_run(run));
  const std::function<void(int)> move_runs_of = [&](int elements) {
    if (elements > kMostInterleaved) {
      transpose_block(access, {from, to, /*height=*/count, /*width=*/length, /*pitch=*/length,
                               /*has_room=*/false, ahead});
      return;
    }
    builder_.if_then_else(
        ir_.CreateICmpEQ(length, builder_.index(elements)),
        [&] { interleave_runs(access, elements, from, count, to); },
        [&] { move_runs_of(elements + 1); });
  };
  move_runs_of(2);
}

void KernelEmitter::interleave_runs(uint16_t access, int elements, llvm::Value* from,
                                    llvm::Value* count, llvm::Value* to) {
  const DType dtype = program_.accesses[access].dtype;
  llvm::Type* element = builder_.memory_type(dtype);
  const llvm::Align align(size_of(dtype));
  llvm::Value* stride = body_->lane_stride(access);
  auto move = [&](int lanes, llvm::Value* begin, llvm::Value* end) {
    LaneScope scope(lanes);
    llvm::Type* type = builder_.with_lanes(element);
    builder_.loop(begin, end, builder_.index(lanes), {}, [&](llvm::Value* run, const Values&) {
      std::vector<llvm::Value*> vectors;
      for (int i = 0; i < elements; ++i) {
        llvm::Value* at = ir_.CreateAdd(run, ir_.CreateMul(stride, builder_.index(i)));
        vectors.push_back(ir_.CreateAlignedLoad(type, ir_.CreateGEP(element, from, at), align));
      }
      if (lanes > 1) vectors = ir::interleave(ir_, std::move(vectors));
      for (int i = 0; i < elements; ++i) {
        llvm::Value* at =
            ir_.CreateAdd(ir_.CreateMul(run, builder_.index(elements)), builder_.index(i * lanes));
        ir_.CreateAlignedStore(vectors[i], ir_.CreateGEP(element, to, at), align);
      }
      return Values{};
    });
  };
  const int lanes = std::clamp(host().vector_bytes / static_cast<int>(size_of(dtype)), 2, 16);
  llvm::Value* whole = ir_.CreateAnd(count, -int64_t{lanes});
  move(lanes, builder_.index(0), whole);
  move(1, whole, count);
}

void KernelEmitter::copy_runs(uint16_t access, llvm::Value* run, llvm::Value* count,
                              llvm::Value* to) {
  const DType dtype = program_.accesses[access].dtype;
  const int size = static_cast<int>(size_of(dtype));
  llvm::Type* element = builder_.memory_type(dtype);
  llvm::Value* zero = builder_.index(0);
  llvm::Value* one = builder_.index(1);
  llvm::Value* length = body_->extent(program_.rank() - 1);
  llvm::Value* side = body_->extent(program_.rank() - 2);
  llvm::Value* stride = body_->stride(access, program_.rank() - 2);
  llvm::Value* step = body_->stride(access, program_.rank() - 1);
  const StreamAhead ahead = run_ahead(access, program_.rank() - 1);
  auto copy = [&] {
    llvm::Type* type = builder_.with_lanes(element);
    llvm::Value* lanes = builder_.index(builder_.lanes());
    // The last vector may hold elements that are copied already.
    llvm::Value* last = ir_.CreateSub(length, lanes);
    builder_.walk(zero, count, [&](llvm::Value* done) {
      const Values indices = indices_of_run(ir_.CreateAdd(run, done));
      llvm::Value* here = ir_.CreateSub(side, indices[program_.reduced_rank - 2]);
      here = builder_.min(ir_.CreateSub(count, done), here);
      llvm::Value* source = body_->pointer_in_row(access, indices);
      llvm::Value* target = ir_.CreateGEP(element, to, ir_.CreateMul(done, length));
      builder_.loop(zero, here, one, {}, [&](llvm::Value* j, const Values&) {
        llvm::Value* from = ir_.CreateGEP(element, source, ir_.CreateMul(j, stride));
        llvm::Value* place = ir_.CreateGEP(element, target, ir_.CreateMul(j, length));
        prefetch_next_runs(access, from, length);
        prefetch_run(ahead, from);
        auto move = [&](llvm::Value* at) {
          llvm::Value* offset = builder_.lanes() > 1 ? at : ir_.CreateMul(at, step);
          llvm::Value* moved =
              ir_.CreateAlignedLoad(type, ir_.CreateGEP(element, from, offset), llvm::Align(size));
          ir_.CreateAlignedStore(moved, ir_.CreateGEP(element, place, at), llvm::Align(size));
        };
        builder_.loop(zero, last, lanes, {}, [&](llvm::Value* at, const Values&) {
          move(at);
          return Values{};
        });
        move(last);
        return Values{};
      });
      return ir_.CreateAdd(done, here);
    });
  };
  const int most = std::clamp(host().vector_bytes / size, 2, 16);
  auto in_lanes = [&](int lanes) {
    LaneScope scope(lanes);
    copy();
  };
  if (program_.accesses[access].lanes != StrideClass::kUnit) return in_lanes(1);
  auto is_at_least = [&](int lanes) { return ir_.CreateICmpSGE(length, builder_.index(lanes)); };
  builder_.if_then_else(
      is_at_least(most), [&] { in_lanes(most); },
      [&] {
        builder_.if_then_else(
            is_at_least(most / 2), [&] { in_lanes(most / 2); }, [&] { in_lanes(1); });
      });
}

void KernelEmitter::stage_panel(uint16_t access, llvm::Value* run, llvm::Value* count) {
  llvm::Type* element = builder_.memory_type(program_.accesses[access].dtype);
  llvm::Value* leaf = builder_.index(fusion::leaf_size(program_.schedule));
  llvm::Value* start = ir_.CreateGEP(element, panels_.at(access), leaf);
  if (program_.accesses[access].lanes == StrideClass::kTile)
    transpose_runs(access, run, count, start);
  else
    copy_runs(access, run, count, start);
  llvm::Value* before = ir_.CreateMul(run, body_->extent(program_.rank() - 1));
  body_->set_tile(access, ir_.CreateGEP(element, start, ir_.CreateNeg(before)));
}

KernelEmitter::Accumulators KernelEmitter::emit_staged_rows(const RowPlan::Stage& pass) {
  const std::vector<uint16_t> accesses = tiles_of(pass);
  const int64_t size = fusion::leaf_size(program_.schedule);
  llvm::Value* zero = builder_.index(0);
  llvm::Value* leaf_size = builder_.index(size);
  llvm::Value* length = body_->extent(program_.rank() - 1);
  llvm::Value* side = body_->extent(program_.rank() - 2);
  const auto [begin, last] = element_range();
  llvm::Value* first_run = ir_.CreateUDiv(begin, length);
  llvm::Value* runs = builder_.ceil_div(last, length);
  llvm::Value* most = runs_of_panel();
  const Tree tree = make_tree(pass.reductions, 1);
  auto stage_panels = [&] {
    builder_.walk(first_run, runs, [&](llvm::Value* run) {
      llvm::Value* count = builder_.min(most, ir_.CreateSub(runs, run));
      if (program_.tiled) {
        count = builder_.min(count, ir_.CreateSub(side, ir_.CreateURem(run, side)));
      }
      llvm::Value* next = ir_.CreateAdd(run, count);
      for (const uint16_t access : accesses) stage_panel(access, run, count);
      // Leaves that are complete now.
      llvm::Value* first = builder_.max(begin, ir_.CreateAnd(ir_.CreateMul(run, length), -size));
      llvm::Value* end = ir_.CreateAnd(ir_.CreateMul(next, length), -size);
      end = ir_.CreateSelect(ir_.CreateICmpEQ(next, runs), last, end);
      builder_.loop(first, end, leaf_size, {}, [&](llvm::Value* r, const Values&) {
        const Accumulators leaf =
            emit_leaf(pass, r, builder_.min(ir_.CreateAdd(r, leaf_size), last));
        add_to_tree(tree, zero, ir_.CreateUDiv(ir_.CreateSub(r, begin), leaf_size), leaf);
        return Values{};
      });
      // The rest is what comes before the next panel.
      constexpr int kLanesOfCopy = 16;
      LaneScope wide(kLanesOfCopy);
      for (const uint16_t access : accesses) {
        llvm::Type* element = builder_.memory_type(program_.accesses[access].dtype);
        llvm::Type* vector = builder_.with_lanes(element);
        const llvm::Align align(size_of(program_.accesses[access].dtype));
        llvm::Value* panel = panels_.at(access);
        llvm::Value* from = ir_.CreateGEP(element, panel, ir_.CreateMul(count, length));
        builder_.loop(zero, leaf_size, builder_.index(kLanesOfCopy), {},
                      [&](llvm::Value* i, const Values&) {
                        llvm::Value* moved =
                            ir_.CreateAlignedLoad(vector, ir_.CreateGEP(element, from, i), align);
                        ir_.CreateAlignedStore(moved, ir_.CreateGEP(element, panel, i), align);
                        return Values{};
                      });
      }
      return next;
    });
  };
  auto emit_unlevel = [&] {
    if (!suits_skewed_runs(pass)) return stage_panels();
    emit_skewed_runs(pass, tree, begin, last, stage_panels);
  };
  if (suits_level_runs(pass)) {
    builder_.if_then_else(
        are_level_runs(begin, last), [&] { emit_level_runs(pass, tree, begin, last); },
        emit_unlevel);
  } else {
    emit_unlevel();
  }
  for (const uint16_t access : accesses) {
    if (program_.accesses[access].lanes != StrideClass::kTile) body_->clear_tile(access);
  }
  if (pass.reductions.empty()) return {};
  llvm::Value* elements = ir_.CreateAdd(ir_.CreateSub(last, begin), builder_.index(size - 1));
  return total_of(tree, zero, ir_.CreateUDiv(elements, leaf_size));
}

void KernelEmitter::stage_columns(const RowPlan::Stage& pass, llvm::Value* first,
                                  llvm::Value* last) {
  llvm::Value* lanes = builder_.index(plan_.lanes);
  llvm::Value* width = lanes;
  if (llvm::Value* count = body_->active_count()) {
    width = ir_.CreateZExt(count, ir_.getInt64Ty());
  }
  body_->set_reduced(first);
  // Of short columns the hardware does not foresee the next ones.
  constexpr int64_t kShortColumn = 256;
  llvm::Value* length = body_->extent(program_.rank() - 1);
  llvm::Value* is_short = ir_.CreateICmpSLE(length, builder_.index(kShortColumn));
  const Ahead ahead{ir_.CreateAnd(is_short, is_far()), plan_.lanes};
  for (const uint16_t access : tiles_of(pass)) {
    llvm::Type* element = builder_.memory_type(program_.accesses[access].dtype);
    llvm::Value*& memory = panels_[access];
    if (memory == nullptr) {
      // A block's vectors may be wider than the program's.
      constexpr int64_t kWidestBlock = 16;
      const int64_t count = fusion::leaf_size(program_.schedule) * plan_.lanes + kWidestBlock;
      memory = builder_.stack(llvm::ArrayType::get(element, count));
    }
    transpose_block(access, {body_->pointer_in_row(access, body_->reduced()), memory,
                             ir_.CreateSub(last, first), width, /*pitch=*/lanes,
                             /*has_room=*/true, ahead});
    body_->set_tile(access,
                    ir_.CreateGEP(element, memory, ir_.CreateNeg(ir_.CreateMul(first, lanes))));
  }
}

}  // namespace sluice::kernels
