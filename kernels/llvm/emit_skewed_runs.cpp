// Sums over several reduced dims of operands that are consecutive along the last but one, where
// leaves begin anywhere in the runs along the last: lanes are runs side by side, and nothing is
// transposed. A run is walked by parts of as many elements as a leaf has, so that each run ends one
// leaf in each part: at its own offset, which masks tell. What the lanes of a leaf have so far is
// carried from part to part, and from the end of a run to the next one's beginning, which is read
// again for it. Which lane of a leaf is which does not matter as long as they stay in a circle:
// they are folded by halving.
#include <algorithm>
#include <cstddef>
#include <functional>
#include <vector>

#include "kernels/llvm/host.h"
#include "kernels/llvm/kernel_emitter.h"

namespace sluice::kernels {
namespace {

using fusion::ValueId;
using ir::LaneScope;

constexpr int kRuns = kLanes;
// Of each line of memory a panel has so much: more would not be in the second-level cache any more
// when the beginnings of runs are read again. One sum of halves takes less time with twice as much;
// what several carry, or a wider one, would be too much for a small stack.
constexpr int64_t kPanelBytes = 1024;
constexpr int64_t kPanelBytesOfHalves = 2048;
// Bytes are better transposed: to widen vectors of them takes as many shuffles.
constexpr size_t kLeastSize = 2;
// Whose results fit where panels are.
constexpr size_t kMostReductions = 4;

size_t widest_of(const fusion::Program& program, const std::vector<uint16_t>& accesses) {
  size_t widest = 0;
  for (const uint16_t a : accesses) widest = std::max(widest, size_of(program.accesses[a].dtype));
  return widest;
}

}  // namespace

bool KernelEmitter::suits_skewed_runs(const RowPlan::Stage& pass) const {
  if (!host().masked_vectors || !suits_level_runs(pass)) return false;
  const std::vector<uint16_t> accesses = tiles_of(pass);
  return pass.reductions.size() <= kMostReductions &&
         std::all_of(accesses.begin(), accesses.end(), [&](uint16_t access) {
           return size_of(program_.accesses[access].dtype) >= kLeastSize;
         });
}

llvm::Value* KernelEmitter::are_skewed_runs(const RowPlan::Stage& pass) {
  llvm::Value* size = builder_.index(fusion::leaf_size(program_.schedule));
  llvm::Value* length = body_->extent(program_.rank() - 1);
  // Fewer runs leave lanes empty; but panels of long ones would leave the caches. Halves gain less.
  const int64_t many = widest_of(program_, tiles_of(pass)) == kLeastSize ? 2 * kRuns : kRuns;
  llvm::Value* are_many =
      ir_.CreateICmpSGE(body_->extent(program_.rank() - 2), builder_.index(many));
  constexpr int kLongLeaves = 4;
  llvm::Value* are_long =
      ir_.CreateICmpSGE(length, ir_.CreateMul(size, builder_.index(kLongLeaves)));
  return ir_.CreateAnd(ir_.CreateICmpSGE(length, size), ir_.CreateOr(are_many, are_long));
}

void KernelEmitter::emit_skewed_runs(const RowPlan::Stage& pass, const Tree& tree,
                                     llvm::Value* begin, llvm::Value* last) {
  const std::vector<uint16_t> accesses = tiles_of(pass);
  const size_t count_of_sums = pass.reductions.size();
  const auto bytes = static_cast<int64_t>(widest_of(program_, accesses));
  const bool is_narrow =
      count_of_sums == 1 && size_of(type_of(pass.reductions[0])) <= sizeof(float);
  const int64_t panel_bytes = bytes == kLeastSize && is_narrow ? kPanelBytesOfHalves : kPanelBytes;
  const auto num_vectors = static_cast<int>(panel_bytes / (kRuns * bytes));
  const int64_t panel_width = int64_t{kRuns} * num_vectors;
  llvm::Type* word = ir_.getInt32Ty();
  llvm::Value* zero = builder_.index(0);
  llvm::Value* one = builder_.index(1);
  llvm::Value* size = builder_.index(fusion::leaf_size(program_.schedule));
  llvm::Value* lanes = builder_.index(kLanes);
  llvm::Value* length = body_->extent(program_.rank() - 1);
  llvm::Value* side = body_->extent(program_.rank() - 2);
  auto ceil_div = [&](llvm::Value* a, llvm::Value* b) {
    return ir_.CreateUDiv(ir_.CreateAdd(a, ir_.CreateSub(b, one)), b);
  };
  llvm::Value* runs = ceil_div(last, length);
  llvm::Value* parts = ceil_div(length, size);
  // Of the row, or the block.
  llvm::Value* first_leaf = ir_.CreateUDiv(begin, size);
  llvm::Value* leaves = ceil_div(ir_.CreateSub(last, begin), size);
  auto leaves_before = [&](llvm::Value* run) { return ceil_div(ir_.CreateMul(run, length), size); };
  // By lane and run what leaves have that go on; left of the first run is the last of the panel
  // before.
  constexpr int64_t kRoom = kRuns;
  const int64_t pitch = kRoom + panel_width;
  std::vector<llvm::Value*> carried;
  for (const ValueId id : pass.reductions) {
    llvm::Type* type = builder_.memory_type(type_of(id));
    carried.push_back(builder_.stack(llvm::ArrayType::get(type, pitch * kLanes)));
  }
  auto carried_pointer = [&](size_t k, llvm::Value* lane, llvm::Value* run) {
    llvm::Value* at = ir_.CreateAdd(ir_.CreateMul(lane, builder_.index(pitch)), run);
    return ir_.CreateGEP(builder_.memory_type(type_of(pass.reductions[k])), carried[k],
                         ir_.CreateAdd(at, builder_.index(kRoom)));
  };
  auto load_sums = [&](const std::function<llvm::Value*(size_t)>& pointer) {
    Accumulators sums;
    for (size_t k = 0; k < count_of_sums; ++k) {
      const DType dtype = type_of(pass.reductions[k]);
      llvm::Type* type = builder_.with_lanes(builder_.memory_type(dtype));
      llvm::Value* stored = ir_.CreateAlignedLoad(type, pointer(k), llvm::Align(1));
      sums.push_back({builder_.from_memory(dtype, stored), nullptr});
    }
    return sums;
  };
  auto store_sums = [&](const Accumulators& sums,
                        const std::function<llvm::Value*(size_t)>& pointer) {
    for (size_t k = 0; k < count_of_sums; ++k) {
      ir_.CreateAlignedStore(builder_.to_memory(sums[k].value), pointer(k), llvm::Align(1));
    }
  };
  // The results of a panel's leaves, by the part that a leaf ends in and run, are where panels of
  // the other kind would be, which are larger.
  llvm::Value* results = panels_.at(accesses[0]);
  auto result_pointer = [&](size_t k, llvm::Value* part, llvm::Value* run) {
    const int64_t plane = static_cast<int64_t>(k * panel_width * sizeof(int64_t));
    llvm::Value* planes = ir_.CreateMul(parts, builder_.index(plane));
    llvm::Value* at = ir_.CreateAdd(ir_.CreateMul(part, builder_.index(panel_width)), run);
    return ir_.CreateGEP(builder_.memory_type(type_of(pass.reductions[k])),
                         ir_.CreateGEP(ir_.getInt8Ty(), results, planes), at);
  };
  auto add_leaf = [&](llvm::Value* number, const std::function<Accumulators()>& sums) {
    llvm::Value* leaf = ir_.CreateSub(number, first_leaf);
    builder_.if_then(ir_.CreateICmpULT(leaf, leaves), /*likely=*/true,
                     [&] { add_to_tree(tree, zero, leaf, sums()); });
  };
  // In each run the place of the first leaf that begins there, by vector of runs.
  llvm::Type* places_type = llvm::FixedVectorType::get(word, kRuns);
  llvm::Value* places = builder_.stack(llvm::ArrayType::get(places_type, num_vectors));

  builder_.walk(ir_.CreateUDiv(begin, length), runs, [&](llvm::Value* run) {
    llvm::Value* count =
        builder_.min(ir_.CreateSub(side, ir_.CreateURem(run, side)), builder_.index(panel_width));
    count = builder_.min(count, ir_.CreateSub(runs, run));
    std::vector<llvm::Value*> starts;
    for (const uint16_t access : accesses) {
      starts.push_back(body_->pointer_in_row(access, indices_of_run(run)));
    }
    {
      LaneScope wide(kRuns);
      body_->splat_operands(pass.instrs, pass.stores);
      const Slots slots = make_slots(pass.reductions, num_vectors);
      llvm::Value* width = ceil_div(count, builder_.index(kRuns));
      auto splat = [&](llvm::Value* value) {
        return builder_.splat(ir_.CreateTrunc(value, word), kRuns);
      };
      auto for_each_vector = [&](const std::function<void(llvm::Value*, llvm::Value*)>& body) {
        builder_.loop(zero, width, one, {}, [&](llvm::Value* vector, const Values&) {
          body(vector, ir_.CreateMul(vector, builder_.index(kRuns)));
          return Values{};
        });
      };
      for_each_vector([&](llvm::Value* vector, llvm::Value* first) {
        llvm::Value* before = ir_.CreateMul(ir_.CreateAdd(run, first), length);
        llvm::Value* lane = ir_.CreateMul(builder_.iota(word), splat(length));
        llvm::Value* place = ir_.CreateNeg(ir_.CreateAdd(splat(before), lane));
        place = ir_.CreateAnd(place, splat(ir_.CreateSub(size, one)));
        ir_.CreateStore(place, ir_.CreateGEP(places_type, places, vector));
      });
      // The elements [from, to) of the runs: of leaves that end in this part, of those that begin,
      // or of both.
      enum class Of { kEnding, kBeginning, kBoth };
      auto sum_lane = [&](Of of, llvm::Value* from, llvm::Value* to, llvm::Value* lane,
                          llvm::Value* vector, llvm::Value* first) {
        set_active_below(first, count);
        llvm::Value* place =
            ir_.CreateLoad(places_type, ir_.CreateGEP(places_type, places, vector));
        Values state = flatten(leaf_start(pass.reductions));
        const size_t begun = of == Of::kBoth ? count_of_sums : 0;
        if (of != Of::kBeginning) {
          llvm::Value* source = lane;
          llvm::Value* at = first;
          if (of == Of::kEnding) {
            source = ir_.CreateAnd(ir_.CreateAdd(lane, length), kLanes - 1);
            at = ir_.CreateSub(first, one);
          }
          const Values ending =
              flatten(load_sums([&](size_t k) { return carried_pointer(k, source, at); }));
          if (of == Of::kEnding) state.clear();
          state.insert(state.begin(), ending.begin(), ending.end());
        }
        state = builder_.loop(
            ir_.CreateAdd(from, lane), to, lanes, state, [&](llvm::Value* r, const Values& in) {
              for (size_t a = 0; a < accesses.size(); ++a) {
                llvm::Value* stride = body_->lane_stride(accesses[a]);
                llvm::Value* at = ir_.CreateMul(r, ir_.CreateSub(stride, one));
                llvm::Type* element = builder_.memory_type(program_.accesses[accesses[a]].dtype);
                body_->set_tile(accesses[a],
                                ir_.CreateGEP(element, starts[a], ir_.CreateAdd(at, first)));
              }
              emit_element(pass, r);
              llvm::Value* distance = splat(ir_.CreateSub(r, from));
              Values next = in;
              auto add = [&](llvm::Value* takes, size_t sums) {
                for (size_t k = 0; k < count_of_sums; ++k) {
                  const ValueId id = pass.reductions[k];
                  llvm::Value*& sum = next[sums + k];
                  const ReductionState with = ir::emit_combine_next(
                      program_.body[id].op, type_of(id), {sum, nullptr}, leaf_element(id, r, from));
                  sum = ir_.CreateSelect(takes, with.value, sum);
                }
              };
              if (of != Of::kBeginning) add(ir_.CreateICmpSLT(distance, place), 0);
              if (of != Of::kEnding) add(ir_.CreateICmpSGE(distance, place), begun);
              return next;
            });
        const auto middle = state.begin() + static_cast<std::ptrdiff_t>(begun);
        if (of != Of::kBeginning) {
          const Values ended(state.begin(), of == Of::kBoth ? middle : state.end());
          write_slot(slots, vector, lane, unflatten(pass.reductions, program_, ended));
        }
        if (of == Of::kEnding) return;
        Values on(middle, state.end());
        if (of == Of::kBoth) {
          // In a part that is shorter than a leaf, some leaves do not end.
          llvm::Value* ends = ir_.CreateICmpSLT(place, splat(ir_.CreateSub(to, from)));
          for (size_t k = 0; k < count_of_sums; ++k) {
            on[k] = ir_.CreateSelect(ends, on[k], state[k]);
          }
        }
        store_sums(unflatten(pass.reductions, program_, on),
                   [&](size_t k) { return carried_pointer(k, lane, first); });
      };
      auto sum_part = [&](Of of, llvm::Value* part) {
        llvm::Value* from = ir_.CreateMul(part, size);
        llvm::Value* to = builder_.min(ir_.CreateAdd(from, size), length);
        builder_.loop(zero, lanes, one, {}, [&](llvm::Value* lane, const Values&) {
          for_each_vector([&](llvm::Value* vector, llvm::Value* first) {
            sum_lane(of, from, to, lane, vector, first);
          });
          return Values{};
        });
        body_->set_active(nullptr);
        if (of == Of::kBeginning) return;
        for_each_vector([&](llvm::Value* vector, llvm::Value* first) {
          store_sums(fold_slots(pass, slots, vector),
                     [&](size_t k) { return result_pointer(k, part, first); });
        });
      };
      sum_part(Of::kBeginning, zero);
      builder_.loop(one, parts, one, {}, [&](llvm::Value* part, const Values&) {
        sum_part(Of::kBoth, part);
        return Values{};
      });
      // Again the first part, for the leaves of the runs before.
      sum_part(Of::kEnding, zero);
    }
    builder_.loop(zero, count, one, {}, [&](llvm::Value* i, const Values&) {
      llvm::Value* here = ir_.CreateAdd(run, i);
      llvm::Value* before = leaves_before(here);
      llvm::Value* ended = ir_.CreateSub(leaves_before(ir_.CreateAdd(here, one)), before);
      builder_.loop(zero, ended, one, {}, [&](llvm::Value* part, const Values&) {
        llvm::Value* number = ir_.CreateSub(ir_.CreateAdd(before, part), one);
        add_leaf(number,
                 [&] { return load_sums([&](size_t k) { return result_pointer(k, part, i); }); });
        return Values{};
      });
      return Values{};
    });
    builder_.loop(zero, lanes, one, {}, [&](llvm::Value* lane, const Values&) {
      const Accumulators sums =
          load_sums([&](size_t k) { return carried_pointer(k, lane, ir_.CreateSub(count, one)); });
      store_sums(sums, [&](size_t k) { return carried_pointer(k, lane, builder_.index(-1)); });
      return Values{};
    });
    return ir_.CreateAdd(run, count);
  });
  // The leaf that ends with the row.
  add_leaf(ir_.CreateSub(leaves_before(runs), one), [&] {
    Accumulators sums;
    for (size_t k = 0; k < count_of_sums; ++k) {
      const DType dtype = type_of(pass.reductions[k]);
      llvm::Type* type = builder_.memory_type(dtype);
      llvm::Value* vector = llvm::PoisonValue::get(llvm::FixedVectorType::get(type, kLanes));
      for (int lane = 0; lane < kLanes; ++lane) {
        llvm::Value* pointer = carried_pointer(k, builder_.index(lane), builder_.index(-1));
        vector = ir_.CreateInsertElement(vector, ir_.CreateLoad(type, pointer), lane);
      }
      LaneScope wide(kLanes);
      sums.push_back({builder_.from_memory(dtype, vector), nullptr});
    }
    for (size_t k = 0; k < count_of_sums; ++k) sums[k] = fold(pass.reductions[k], sums[k]);
    return sums;
  });
  for (const uint16_t access : accesses) body_->clear_tile(access);
}

}  // namespace sluice::kernels
