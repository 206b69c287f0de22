// Sums over several reduced dims of operands that are consecutive along the last but one, where
// leaves begin anywhere in the runs along the last: lanes are runs side by side, and nothing is
// transposed. A run is walked by parts of as many elements as a leaf has, so that each run ends one
// leaf in each part: at its own offset, which masks tell. What the lanes of a leaf have so far is
// carried from part to part, and from the end of a run to the next one's beginning, which is read
// again for it. Which lane of a leaf is which does not matter as long as they stay in a circle:
// they are folded by halving. Where masks are free a lane's elements of a part are summed in
// registers; where they are vectors there are too few of these, and sums wait in memory.
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

// Of each line of memory a panel has so much: more would not be in the second-level cache any more
// when the beginnings of runs are read again. One sum of halves takes less time with twice as much;
// what several carry, or a wider one, would be too much for a small stack.
constexpr int64_t kPanelBytes = 1024;
constexpr int64_t kPanelBytesOfHalves = 2048;
// Without masks the sums of a panel's runs are to stay in the first-level cache.
constexpr int kUnmaskedVectors = 2;
constexpr int64_t kLinesAhead = 16, kCacheLine = 64;
// Bytes are better transposed: to widen vectors of them takes as many shuffles. So are halves
// without masks, as it takes several instructions.
constexpr size_t kLeastSize = 2, kLeastUnmaskedSize = 4;
// Whose results fit where panels are.
constexpr size_t kMostSums = 4;

size_t widest_of(const fusion::Program& program, const std::vector<uint16_t>& accesses) {
  size_t widest = 0;
  for (const uint16_t a : accesses) widest = std::max(widest, size_of(program.accesses[a].dtype));
  return widest;
}

size_t widest_sum(const fusion::Program& program, const std::vector<ValueId>& reductions) {
  size_t widest = 0;
  for (const ValueId id : reductions) {
    widest = std::max(widest, size_of(compute_type(program.body[id].dtype)));
  }
  return widest;
}

}  // namespace

bool KernelEmitter::suits_skewed_runs(const RowPlan::Stage& pass) const {
  if (!suits_level_runs(pass)) return false;
  const std::vector<uint16_t> accesses = tiles_of(pass);
  const size_t least = host().masked_vectors ? kLeastSize : kLeastUnmaskedSize;
  return pass.reductions.size() <= kMostSums &&
         std::all_of(accesses.begin(), accesses.end(), [&](uint16_t access) {
           return size_of(program_.accesses[access].dtype) >= least;
         });
}

int KernelEmitter::skewed_runs_of_vector(const RowPlan::Stage& pass) const {
  if (host().masked_vectors) return kLanes;
  // Two sums of each run, and its place, are to fit 16 registers.
  constexpr int kVectors = 4;
  const int lanes = host().vector_bytes / static_cast<int>(widest_sum(program_, pass.reductions));
  return lanes * std::max(1, kVectors / static_cast<int>(pass.reductions.size()));
}

llvm::Value* KernelEmitter::are_skewed_runs(const RowPlan::Stage& pass) {
  llvm::Value* size = builder_.index(fusion::leaf_size(program_.schedule));
  llvm::Value* length = body_->extent(program_.rank() - 1);
  // Fewer runs leave lanes empty; but panels of long ones would leave the caches. Halves gain less.
  const int64_t runs = skewed_runs_of_vector(pass);
  const int64_t many = widest_of(program_, tiles_of(pass)) == kLeastSize ? 2 * runs : runs;
  llvm::Value* side = body_->extent(program_.rank() - 2);
  llvm::Value* are_many = ir_.CreateICmpSGE(side, builder_.index(many));
  constexpr int kLongLeaves = 4;
  llvm::Value* are_long =
      ir_.CreateICmpSGE(length, ir_.CreateMul(size, builder_.index(kLongLeaves)));
  // Without masks vectors are whole, and more instructions are needed than a transposition takes,
  // unless its panels leave the caches.
  if (!host().masked_vectors) {
    return ir_.CreateAnd(are_long, ir_.CreateICmpSGE(side, builder_.index(runs)));
  }
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
  const bool has_masks = host().masked_vectors;
  const int lanes_of_runs = skewed_runs_of_vector(pass);
  const auto num_vectors =
      has_masks ? static_cast<int>(panel_bytes / (lanes_of_runs * bytes)) : kUnmaskedVectors;
  const int64_t panel_width = int64_t{lanes_of_runs} * num_vectors;
  // As wide as the sums, where masks are vectors themselves.
  const size_t word_bytes = has_masks ? sizeof(int32_t) : widest_sum(program_, pass.reductions);
  llvm::Type* word = ir_.getIntNTy(8 * static_cast<unsigned>(word_bytes));
  llvm::Value* zero = builder_.index(0);
  llvm::Value* one = builder_.index(1);
  llvm::Value* size = builder_.index(fusion::leaf_size(program_.schedule));
  llvm::Value* lanes = builder_.index(kLanes);
  llvm::Value* runs_of_vector = builder_.index(lanes_of_runs);
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
  const int64_t pitch = lanes_of_runs + panel_width;
  std::vector<llvm::Value*> carried;
  for (const ValueId id : pass.reductions) {
    llvm::Type* type = builder_.memory_type(type_of(id));
    carried.push_back(builder_.stack(llvm::ArrayType::get(type, pitch * kLanes)));
  }
  auto carried_pointer = [&](size_t k, llvm::Value* lane, llvm::Value* run) {
    llvm::Value* at = ir_.CreateAdd(ir_.CreateMul(lane, builder_.index(pitch)), run);
    return ir_.CreateGEP(builder_.memory_type(type_of(pass.reductions[k])), carried[k],
                         ir_.CreateAdd(at, runs_of_vector));
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
  llvm::Type* places_type = llvm::FixedVectorType::get(word, lanes_of_runs);
  llvm::Value* places = builder_.stack(llvm::ArrayType::get(places_type, num_vectors));

  // Without masks a panel has a vector's runs at least: it begins, or goes on, beyond those of the
  // block.
  llvm::Value* first_run = ir_.CreateUDiv(begin, length);
  if (!has_masks) {
    llvm::Value* ahead = ir_.CreateSub(side, ir_.CreateURem(first_run, side));
    llvm::Value* missing = ir_.CreateSub(runs_of_vector, ahead);
    first_run = ir_.CreateSub(first_run, builder_.max(missing, zero));
  }
  builder_.walk(first_run, runs, [&](llvm::Value* run) {
    llvm::Value* ahead = ir_.CreateSub(side, ir_.CreateURem(run, side));
    llvm::Value* count = builder_.min(ahead, builder_.index(panel_width));
    llvm::Value* needed = ir_.CreateSub(runs, run);
    if (!has_masks) {
      llvm::Value* rest = ir_.CreateSub(ahead, count);
      llvm::Value* is_short =
          ir_.CreateAnd(ir_.CreateICmpSGT(rest, zero), ir_.CreateICmpSLT(rest, runs_of_vector));
      count = ir_.CreateSelect(is_short, ir_.CreateSub(count, runs_of_vector), count);
      needed = builder_.max(needed, runs_of_vector);
    }
    count = builder_.min(count, needed);
    needed = builder_.min(count, ir_.CreateSub(runs, run));
    std::vector<llvm::Value*> starts;
    for (const uint16_t access : accesses) {
      starts.push_back(body_->pointer_in_row(access, indices_of_run(run)));
    }
    {
      LaneScope wide(lanes_of_runs);
      body_->splat_operands(pass.instrs, pass.stores);
      const Slots slots = make_slots(pass.reductions, num_vectors);
      const Slots begun_slots = has_masks ? Slots{} : make_slots(pass.reductions, num_vectors);
      llvm::Value* width = ceil_div(count, runs_of_vector);
      auto splat = [&](llvm::Value* value) {
        return builder_.splat(ir_.CreateTrunc(value, word), lanes_of_runs);
      };
      // Without masks the last vector ends with the panel.
      llvm::Value* last_vector = ir_.CreateSub(count, runs_of_vector);
      auto slot_of = [&](llvm::Value* vector) { return ir_.CreateMul(vector, runs_of_vector); };
      auto for_each_vector = [&](const std::function<void(llvm::Value*, llvm::Value*)>& body) {
        builder_.loop(zero, width, one, {}, [&](llvm::Value* vector, const Values&) {
          llvm::Value* first = slot_of(vector);
          body(vector, has_masks ? first : builder_.min(first, last_vector));
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
      auto emit_elements = [&](llvm::Value* r, llvm::Value* first) {
        for (size_t a = 0; a < accesses.size(); ++a) {
          llvm::Value* stride = body_->lane_stride(accesses[a]);
          llvm::Value* at = ir_.CreateMul(r, ir_.CreateSub(stride, one));
          llvm::Type* element = builder_.memory_type(program_.accesses[accesses[a]].dtype);
          body_->set_tile(accesses[a], ir_.CreateGEP(element, starts[a], ir_.CreateAdd(at, first)));
        }
        emit_element(pass, r);
      };
      auto prefetch_lines = [&](llvm::Value* r, llvm::Value* first) {
        for (size_t a = 0; a < accesses.size(); ++a) {
          const DType dtype = program_.accesses[accesses[a]].dtype;
          llvm::Value* ahead = ir_.CreateAdd(r, builder_.index(kLinesAhead));
          llvm::Value* at = ir_.CreateMul(ahead, body_->lane_stride(accesses[a]));
          llvm::Value* line =
              ir_.CreateGEP(builder_.memory_type(dtype), starts[a], ir_.CreateAdd(at, first));
          for (int64_t byte = 0; byte < lanes_of_runs * static_cast<int64_t>(size_of(dtype));
               byte += kCacheLine) {
            builder_.prefetch(ir_.CreateGEP(ir_.getInt8Ty(), line, builder_.index(byte)));
          }
        }
      };
      auto place_of = [&](llvm::Value* vector) {
        return ir_.CreateLoad(places_type, ir_.CreateGEP(places_type, places, vector));
      };
      auto ends_after = [&](llvm::Value* r, llvm::Value* from, llvm::Value* place) {
        return ir_.CreateICmpSLT(splat(ir_.CreateSub(r, from)), place);
      };
      // Adds element `r` to the sums from (*state)[begin] on, in the lanes that take it.
      auto add = [&](llvm::Value* takes, llvm::Value* r, llvm::Value* from, Values* state,
                     size_t begin) {
        for (size_t k = 0; k < count_of_sums; ++k) {
          const ValueId id = pass.reductions[k];
          llvm::Value*& sum = (*state)[begin + k];
          const ReductionState with = ir::emit_combine_next(
              combining_op(id), type_of(id), {sum, nullptr}, leaf_element(id, r, from));
          sum = ir_.CreateSelect(takes, with.value, sum);
        }
      };
      // What a leaf that ends in this part has had before it.
      auto load_ending = [&](Of of, llvm::Value* lane, llvm::Value* vector, llvm::Value* first) {
        llvm::Value* source = lane;
        llvm::Value* at = slot_of(vector);
        if (of == Of::kEnding) {
          source = ir_.CreateAnd(ir_.CreateAdd(lane, length), kLanes - 1);
          at = ir_.CreateSub(first, one);
        }
        return load_sums([&](size_t k) { return carried_pointer(k, source, at); });
      };
      // What goes on behind this part: in one that is shorter than a leaf, some leaves do not end.
      auto select_carried = [&](llvm::Value* from, llvm::Value* to, llvm::Value* place,
                                const Accumulators& ending, Accumulators begun) {
        llvm::Value* ends = ir_.CreateICmpSLT(place, splat(ir_.CreateSub(to, from)));
        for (size_t k = 0; k < count_of_sums; ++k) {
          begun[k].value = ir_.CreateSelect(ends, begun[k].value, ending[k].value);
        }
        return begun;
      };
      auto sum_lane = [&](Of of, llvm::Value* from, llvm::Value* to, llvm::Value* lane,
                          llvm::Value* vector, llvm::Value* first) {
        set_active_below(first, count);
        llvm::Value* place = place_of(vector);
        Values state;
        if (of != Of::kBeginning) state = flatten(load_ending(of, lane, vector, first));
        const size_t begun = state.size();
        if (of != Of::kEnding) {
          const Values start = flatten(leaf_start(pass.reductions));
          state.insert(state.end(), start.begin(), start.end());
        }
        state = builder_.loop(ir_.CreateAdd(from, lane), to, lanes, state,
                              [&](llvm::Value* r, const Values& in) {
                                emit_elements(r, first);
                                llvm::Value* is_before = ends_after(r, from, place);
                                Values next = in;
                                if (of != Of::kBeginning) add(is_before, r, from, &next, 0);
                                if (of != Of::kEnding)
                                  add(ir_.CreateNot(is_before), r, from, &next, begun);
                                return next;
                              });
        const auto middle = state.begin() + static_cast<std::ptrdiff_t>(begun);
        Accumulators ended, on;
        if (of != Of::kBeginning) {
          ended = unflatten(pass.reductions, program_, Values(state.begin(), middle));
          write_slot(slots, vector, lane, ended);
        }
        if (of == Of::kEnding) return;
        on = unflatten(pass.reductions, program_, Values(middle, state.end()));
        if (of == Of::kBoth) on = select_carried(from, to, place, ended, on);
        store_sums(on, [&](size_t k) { return carried_pointer(k, lane, slot_of(vector)); });
      };
      auto for_each_slot =
          [&](const std::function<void(llvm::Value*, llvm::Value*, llvm::Value*)>& body) {
            builder_.loop(zero, lanes, one, {}, [&](llvm::Value* lane, const Values&) {
              for_each_vector(
                  [&](llvm::Value* vector, llvm::Value* first) { body(lane, vector, first); });
              return Values{};
            });
          };
      auto sum_lanes = [&](Of of, llvm::Value* from, llvm::Value* to) {
        for_each_slot([&](llvm::Value* lane, llvm::Value* vector, llvm::Value* first) {
          sum_lane(of, from, to, lane, vector, first);
        });
      };
      // Likewise, element by element of the runs: what is read is in the order of memory, and sums
      // wait in it.
      auto sum_in_order = [&](Of of, llvm::Value* from, llvm::Value* to) {
        for_each_slot([&](llvm::Value* lane, llvm::Value* vector, llvm::Value* first) {
          if (of != Of::kBeginning)
            write_slot(slots, vector, lane, load_ending(of, lane, vector, first));
          if (of != Of::kEnding) write_slot(begun_slots, vector, lane, leaf_start(pass.reductions));
        });
        builder_.loop(from, to, one, {}, [&](llvm::Value* r, const Values&) {
          llvm::Value* lane = ir_.CreateAnd(r, kLanes - 1);
          for_each_vector([&](llvm::Value* vector, llvm::Value* first) {
            prefetch_lines(r, first);
            emit_elements(r, first);
            llvm::Value* is_before = ends_after(r, from, place_of(vector));
            auto add_in = [&](const Slots& sums, llvm::Value* takes) {
              Values state = flatten(read_slot(pass, sums, vector, lane));
              add(takes, r, from, &state, 0);
              write_slot(sums, vector, lane, unflatten(pass.reductions, program_, state));
            };
            if (of != Of::kBeginning) add_in(slots, is_before);
            if (of != Of::kEnding) add_in(begun_slots, ir_.CreateNot(is_before));
          });
          return Values{};
        });
        if (of == Of::kEnding) return;
        for_each_slot([&](llvm::Value* lane, llvm::Value* vector, llvm::Value*) {
          Accumulators on = read_slot(pass, begun_slots, vector, lane);
          if (of == Of::kBoth) {
            const Accumulators ended = read_slot(pass, slots, vector, lane);
            on = select_carried(from, to, place_of(vector), ended, on);
          }
          store_sums(on, [&](size_t k) { return carried_pointer(k, lane, slot_of(vector)); });
        });
      };
      auto sum_part = [&](Of of, llvm::Value* part) {
        llvm::Value* from = ir_.CreateMul(part, size);
        llvm::Value* to = builder_.min(ir_.CreateAdd(from, size), length);
        has_masks ? sum_lanes(of, from, to) : sum_in_order(of, from, to);
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
      if (!has_masks) {
        // What the last vector has carried apart from the one before is now where its runs are.
        llvm::Value* slot = slot_of(ir_.CreateSub(width, one));
        builder_.loop(zero, lanes, one, {}, [&](llvm::Value* lane, const Values&) {
          const Accumulators sums =
              load_sums([&](size_t k) { return carried_pointer(k, lane, slot); });
          store_sums(sums, [&](size_t k) { return carried_pointer(k, lane, last_vector); });
          return Values{};
        });
      }
      // Again the first part, for the leaves of the runs before.
      sum_part(Of::kEnding, zero);
    }
    builder_.loop(zero, needed, one, {}, [&](llvm::Value* i, const Values&) {
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
          load_sums([&](size_t k) { return carried_pointer(k, lane, ir_.CreateSub(needed, one)); });
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
