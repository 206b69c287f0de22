// Sums over several reduced dims of operands that are consecutive along the last but one, where
// runs along the last are whole leaves: lanes are runs side by side, and nothing is transposed.
#include <algorithm>
#include <cstddef>
#include <vector>

#include "fusion/ir/scan.h"
#include "kernels/llvm/host.h"
#include "kernels/llvm/kernel_emitter.h"

namespace sluice::kernels {
namespace {

using fusion::ValueId;
using ir::LaneScope;

// Vectors of a panel, whose part of a line of memory is long enough for the hardware to foresee.
constexpr int kVectors = 8;
// Elements that a lane takes at a time. Each has a load of its own, which is then foreseen to go
// along a line.
constexpr int kGroup = 8;
// Whose results fit where panels are, and whose lanes fit a small stack.
constexpr size_t kMostReductions = 4;

// Of a vector.
int num_runs() { return std::max(int{kLanes}, host().vector_bytes); }

}  // namespace

bool KernelEmitter::suits_level_runs(const RowPlan::Stage& pass) const {
  return program_.tiled && reads_tiles_only(pass) && !has_scans(program_) &&
         !pass.reductions.empty() && pass.reductions.size() <= kMostReductions &&
         pass.to_cache.empty() && pass.from_cache.empty() &&
         std::all_of(pass.reductions.begin(), pass.reductions.end(), [&](ValueId id) {
           return !is_arg_reduction(program_.body[id].op) && leaf_type_of(id) == type_of(id);
         });
}

llvm::Value* KernelEmitter::are_level_runs(llvm::Value* begin, llvm::Value* last) {
  llvm::Value* length = body_->extent(program_.rank() - 1);
  llvm::Value* side = body_->extent(program_.rank() - 2);
  auto is_multiple = [&](llvm::Value* of, llvm::Value* value) {
    return ir_.CreateICmpEQ(ir_.CreateURem(value, of), builder_.index(0));
  };
  llvm::Value* are = is_multiple(builder_.index(fusion::leaf_size(program_.schedule)), length);
  are = ir_.CreateAnd(are, is_multiple(builder_.index(num_runs()), side));
  are = ir_.CreateAnd(are, is_multiple(length, begin));
  return ir_.CreateAnd(are, is_multiple(length, last));
}

void KernelEmitter::emit_level_runs(const RowPlan::Stage& pass, const Tree& tree,
                                    llvm::Value* begin, llvm::Value* last) {
  const int64_t size = fusion::leaf_size(program_.schedule);
  const int64_t runs_of_vector = num_runs();
  const int64_t panel_width = runs_of_vector * kVectors;
  const std::vector<uint16_t> accesses = tiles_of(pass);
  llvm::Value* zero = builder_.index(0);
  llvm::Value* one = builder_.index(1);
  llvm::Value* length = body_->extent(program_.rank() - 1);
  llvm::Value* side = body_->extent(program_.rank() - 2);
  llvm::Value* leaves = ir_.CreateUDiv(length, builder_.index(size));
  // The results of a panel's leaves, by leaf and run, are where panels of the other kind would be,
  // which are larger.
  llvm::Value* results = panels_.at(accesses[0]);
  auto result_pointer = [&](size_t k, llvm::Value* leaf, llvm::Value* run) {
    constexpr int64_t kWidest = sizeof(int64_t);
    const auto planes = static_cast<int64_t>(k) * panel_width * kWidest;
    llvm::Value* plane =
        ir_.CreateGEP(ir_.getInt8Ty(), results, ir_.CreateMul(leaves, builder_.index(planes)));
    llvm::Value* at = ir_.CreateAdd(ir_.CreateMul(leaf, builder_.index(panel_width)), run);
    return ir_.CreateGEP(builder_.memory_type(type_of(pass.reductions[k])), plane, at);
  };
  llvm::Value* runs = ir_.CreateUDiv(last, length);
  builder_.walk(ir_.CreateUDiv(begin, length), runs, [&](llvm::Value* run) {
    llvm::Value* count =
        builder_.min(ir_.CreateSub(side, ir_.CreateURem(run, side)), builder_.index(panel_width));
    count = builder_.min(count, ir_.CreateSub(runs, run));
    std::vector<llvm::Value*> starts;
    for (const uint16_t access : accesses) {
      starts.push_back(body_->pointer_in_row(access, indices_of_run(run)));
    }
    {
      LaneScope wide(num_runs());
      body_->splat_operands(pass.instrs, pass.stores);
      const Slots slots = make_slots(pass.reductions, kVectors);
      llvm::Value* width = ir_.CreateUDiv(count, builder_.index(runs_of_vector));
      auto sum_group = [&](llvm::Value* first, llvm::Value* is_first, llvm::Value* from,
                           llvm::Value* lane, llvm::Value* column) {
        Values state = flatten(read_slot(pass, slots, column, lane));
        const Values start = flatten(leaf_start(pass.reductions));
        for (size_t k = 0; k < state.size(); ++k) {
          state[k] = ir_.CreateSelect(is_first, start[k], state[k]);
        }
        Accumulators sums = unflatten(pass.reductions, program_, state);
        for (int i = 0; i < kGroup; ++i) {
          llvm::Value* r = ir_.CreateAdd(first, builder_.index(int64_t{i} * kLanes));
          for (size_t a = 0; a < accesses.size(); ++a) {
            llvm::Value* stride = body_->lane_stride(accesses[a]);
            llvm::Value* at = ir_.CreateMul(r, ir_.CreateSub(stride, one));
            at = ir_.CreateAdd(at, ir_.CreateMul(column, builder_.index(runs_of_vector)));
            llvm::Type* element = builder_.memory_type(program_.accesses[accesses[a]].dtype);
            body_->set_tile(accesses[a], ir_.CreateGEP(element, starts[a], at));
          }
          sums = add_element(pass, r, from, sums);
        }
        write_slot(slots, column, lane, sums);
      };
      auto sum_lane = [&](llvm::Value* from, llvm::Value* lane) {
        llvm::Value* begin = ir_.CreateAdd(from, lane);
        llvm::Value* end = ir_.CreateAdd(from, builder_.index(size));
        builder_.loop(begin, end, builder_.index(kGroup * kLanes), {},
                      [&](llvm::Value* first, const Values&) {
                        llvm::Value* is_first = ir_.CreateICmpEQ(first, begin);
                        builder_.loop(zero, width, one, {},
                                      [&](llvm::Value* column, const Values&) {
                                        sum_group(first, is_first, from, lane, column);
                                        return Values{};
                                      });
                        return Values{};
                      });
      };
      builder_.loop(zero, leaves, one, {}, [&](llvm::Value* leaf, const Values&) {
        llvm::Value* from = ir_.CreateMul(leaf, builder_.index(size));
        builder_.loop(zero, builder_.index(kLanes), one, {}, [&](llvm::Value* lane, const Values&) {
          sum_lane(from, lane);
          return Values{};
        });
        builder_.loop(zero, width, one, {}, [&](llvm::Value* column, const Values&) {
          const Accumulators sums = fold_slots(pass, slots, column);
          llvm::Value* first = ir_.CreateMul(column, builder_.index(runs_of_vector));
          for (size_t k = 0; k < sums.size(); ++k) {
            ir_.CreateAlignedStore(builder_.to_memory(sums[k].value),
                                   result_pointer(k, leaf, first), llvm::Align(1));
          }
          return Values{};
        });
        return Values{};
      });
    }
    llvm::Value* before =
        ir_.CreateUDiv(ir_.CreateSub(ir_.CreateMul(run, length), begin), builder_.index(size));
    builder_.loop(zero, count, one, {}, [&](llvm::Value* i, const Values&) {
      llvm::Value* first = ir_.CreateAdd(before, ir_.CreateMul(i, leaves));
      builder_.loop(zero, leaves, one, {}, [&](llvm::Value* leaf, const Values&) {
        Accumulators sums;
        for (size_t k = 0; k < pass.reductions.size(); ++k) {
          const DType dtype = type_of(pass.reductions[k]);
          llvm::Value* stored = ir_.CreateAlignedLoad(builder_.memory_type(dtype),
                                                      result_pointer(k, leaf, i), llvm::Align(1));
          sums.push_back({builder_.from_memory(dtype, stored), nullptr});
        }
        add_to_tree(tree, zero, ir_.CreateAdd(first, leaf), sums);
        return Values{};
      });
      return Values{};
    });
    return ir_.CreateAdd(run, count);
  });
  for (const uint16_t access : accesses) body_->clear_tile(access);
}

}  // namespace sluice::kernels
