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

// Of each line of memory a panel has so much, if it has one sum: more would not be in the
// second-level cache any more when the beginnings of runs are read again, nor on a small stack.
constexpr int64_t kPanelBytes = 2048;
// Where vectors are short the sums of a panel's runs are to stay in the first-level cache.
constexpr int kVectorsInOrder = 2;
constexpr int64_t kLinesAhead = 16, kCacheLine = 64;
// Vectors of the hardware that a sum of runs fills: two sums of each, and its place, are in
// registers. Runs that are fewer are masked, so many at a time.
constexpr int kVectorsOfSums = 4, kMaskedRuns = 32;
// Bytes are better transposed: to widen vectors of them takes as many shuffles. So are halves
// in short vectors, as it takes several instructions.
constexpr size_t kLeastSize = 2, kLeastSizeInOrder = 4;
// Whose results fit where panels are.
constexpr size_t kMostSums = 4;

size_t widest_sum(const fusion::Program& program, const std::vector<ValueId>& reductions) {
  size_t widest = 0;
  for (const ValueId id : reductions) {
    widest = std::max(widest, size_of(compute_type(program.body[id].dtype)));
  }
  return widest;
}

}  // namespace

class KernelEmitter::SkewedRuns {
 public:
  // Fewer runs than a vector has need masks.
  SkewedRuns(KernelEmitter& emitter, const RowPlan::Stage& pass, const Tree& tree, bool has_masks);
  // Adds the leaves of the elements [begin, last) to the tree.
  void emit(llvm::Value* begin, llvm::Value* last);

 private:
  // The elements of a part of the runs that are summed: of leaves that end in the part, of those
  // that begin, or of both.
  enum class Of { kEnding, kBeginning, kBoth };
  // A vector of runs: its number in the panel, and its first run.
  struct Vector {
    llvm::Value* number;
    llvm::Value* first;
  };
  using PointerOf = std::function<llvm::Value*(size_t k)>;

  llvm::Value* index(int64_t value) { return builder_.index(value); }
  llvm::Value* leaves_before(llvm::Value* run) {
    return builder_.ceil_div(ir_.CreateMul(run, length_), size_);
  }
  llvm::Value* splat(llvm::Value* value) {
    return builder_.splat(ir_.CreateTrunc(value, word_), lanes_of_runs_);
  }
  void for_each_vector(const std::function<void(const Vector&)>& body);
  void for_each_slot(const std::function<void(llvm::Value* lane, const Vector&)>& body);
  // Where what the leaves of vector `slot` carry begins.
  llvm::Value* slot_of(llvm::Value* slot) { return ir_.CreateMul(slot, runs_of_vector_); }
  llvm::Value* carried_pointer(size_t k, llvm::Value* lane, llvm::Value* run);
  llvm::Value* result_pointer(size_t k, llvm::Value* part, llvm::Value* run);
  Accumulators load_sums(const PointerOf& pointer);
  void store_sums(const Accumulators& sums, const PointerOf& pointer);
  PointerOf carried_at(llvm::Value* lane, llvm::Value* run) {
    return [=, this](size_t k) { return carried_pointer(k, lane, run); };
  }
  // What a leaf that ends in this part has had before it.
  PointerOf before_part(Of of, llvm::Value* lane, const Vector& vector);
  void find_places(llvm::Value* run);
  llvm::Value* place_of(const Vector& vector) {
    return ir_.CreateLoad(places_type_, ir_.CreateGEP(places_type_, places_, vector.number));
  }
  // Computes element `r` of a vector's runs.
  void emit_elements(llvm::Value* r, const Vector& vector);
  void prefetch_lines(llvm::Value* r, const Vector& vector);
  // Adds element `r` to the sums from (*state)[begin] on, in the lanes that take it.
  void add(llvm::Value* takes, llvm::Value* r, llvm::Value* from, Values* state, size_t begin);
  // Adds the elements of a lane in the part to what it has. Each element of a whole part has a load
  // of its own, which the hardware then foresees to go along a line of memory.
  void sum_lane(Of of, llvm::Value* from, llvm::Value* to, llvm::Value* lane, const Vector& vector,
                bool is_whole);
  void sum_lanes(Of of, llvm::Value* from, llvm::Value* to);
  // Likewise, element by element of the runs: what is read is in the order of memory, and sums
  // wait in it.
  void sum_in_order(Of of, llvm::Value* from, llvm::Value* to);
  void sum_part(Of of, llvm::Value* part);
  void sum_panel(llvm::Value* run, llvm::Value* count);
  void add_leaf(llvm::Value* number, const std::function<Accumulators()>& sums);

  KernelEmitter& emitter_;
  const RowPlan::Stage& pass_;
  const Tree& tree_;
  const bool has_masks_;
  const bool in_order_;
  ir::Builder& builder_;
  llvm::IRBuilder<>& ir_;
  const std::vector<uint16_t> accesses_;
  const size_t num_sums_;
  const int lanes_of_runs_;
  int num_vectors_;  // of a panel
  int64_t panel_width_;
  int64_t pitch_;     // of what is carried: left of the first run is the last of the panel before
  llvm::Type* word_;  // of a place: as wide as the sums
  llvm::Type* places_type_;
  llvm::Value *zero_, *one_, *size_, *lanes_, *runs_of_vector_, *length_, *side_, *parts_;
  llvm::Value *first_leaf_, *leaves_;  // of the row, or the block
  std::vector<llvm::Value*> carried_;  // by lane and run, what leaves have that go on
  llvm::Value* results_;  // of a panel's leaves, by the part that a leaf ends in and run
  llvm::Value* places_;   // in each run the place of the first leaf that begins, by vector of runs
  // Of a panel.
  std::vector<llvm::Value*> starts_;
  llvm::Value *count_, *width_, *last_vector_;
  Slots ending_, begun_;
};

KernelEmitter::SkewedRuns::SkewedRuns(KernelEmitter& emitter, const RowPlan::Stage& pass,
                                      const Tree& tree, bool has_masks)
    : emitter_(emitter),
      pass_(pass),
      tree_(tree),
      has_masks_(has_masks),
      in_order_(!host().masked_vectors),
      builder_(emitter.builder_),
      ir_(emitter.ir_),
      accesses_(emitter.tiles_of(pass)),
      num_sums_(pass.reductions.size()),
      lanes_of_runs_(emitter.skewed_runs_of_vector(pass, has_masks)) {
  const int64_t bytes = emitter.widest_of(accesses_);
  const auto bytes_of_sums = static_cast<int64_t>(num_sums_) * lanes_of_runs_ * bytes;
  num_vectors_ = kVectorsInOrder;
  if (!in_order_) {
    num_vectors_ =
        has_masks ? 1 : static_cast<int>(std::max<int64_t>(kPanelBytes / bytes_of_sums, 1));
  }
  panel_width_ = int64_t{lanes_of_runs_} * num_vectors_;
  pitch_ = lanes_of_runs_ + panel_width_;
  word_ = ir_.getIntNTy(8 * static_cast<unsigned>(widest_sum(emitter.program_, pass.reductions)));
  places_type_ = llvm::FixedVectorType::get(word_, lanes_of_runs_);
  zero_ = index(0);
  one_ = index(1);
  size_ = index(fusion::leaf_size(emitter.program_.schedule));
  lanes_ = index(kLanes);
  runs_of_vector_ = index(lanes_of_runs_);
  length_ = emitter.body_->extent(emitter.program_.rank() - 1);
  side_ = emitter.body_->extent(emitter.program_.rank() - 2);
  parts_ = builder_.ceil_div(length_, size_);
  for (const ValueId id : pass.reductions) {
    llvm::Type* type = builder_.memory_type(emitter.type_of(id));
    carried_.push_back(builder_.stack(llvm::ArrayType::get(type, pitch_ * kLanes)));
  }
  // Where panels of the other kind would be, which are larger.
  results_ = emitter.panels_.at(accesses_[0]);
  places_ = builder_.stack(llvm::ArrayType::get(places_type_, num_vectors_));
}

llvm::Value* KernelEmitter::SkewedRuns::carried_pointer(size_t k, llvm::Value* lane,
                                                        llvm::Value* run) {
  llvm::Value* at = ir_.CreateAdd(ir_.CreateMul(lane, index(pitch_)), run);
  return ir_.CreateGEP(builder_.memory_type(emitter_.type_of(pass_.reductions[k])), carried_[k],
                       ir_.CreateAdd(at, runs_of_vector_));
}

llvm::Value* KernelEmitter::SkewedRuns::result_pointer(size_t k, llvm::Value* part,
                                                       llvm::Value* run) {
  const int64_t plane = static_cast<int64_t>(k * panel_width_ * sizeof(int64_t));
  llvm::Value* planes = ir_.CreateMul(parts_, index(plane));
  llvm::Value* at = ir_.CreateAdd(ir_.CreateMul(part, index(panel_width_)), run);
  return ir_.CreateGEP(builder_.memory_type(emitter_.type_of(pass_.reductions[k])),
                       ir_.CreateGEP(ir_.getInt8Ty(), results_, planes), at);
}

KernelEmitter::Accumulators KernelEmitter::SkewedRuns::load_sums(const PointerOf& pointer) {
  Accumulators sums;
  for (size_t k = 0; k < num_sums_; ++k) {
    const DType dtype = emitter_.type_of(pass_.reductions[k]);
    llvm::Type* type = builder_.with_lanes(builder_.memory_type(dtype));
    llvm::Value* stored = ir_.CreateAlignedLoad(type, pointer(k), llvm::Align(1));
    sums.push_back({builder_.from_memory(dtype, stored), nullptr});
  }
  return sums;
}

void KernelEmitter::SkewedRuns::store_sums(const Accumulators& sums, const PointerOf& pointer) {
  for (size_t k = 0; k < num_sums_; ++k) {
    ir_.CreateAlignedStore(builder_.to_memory(sums[k].value), pointer(k), llvm::Align(1));
  }
}

void KernelEmitter::SkewedRuns::for_each_vector(const std::function<void(const Vector&)>& body) {
  // Without masks the last vector ends with the panel.
  builder_.loop(zero_, width_, one_, {}, [&](llvm::Value* number, const Values&) {
    llvm::Value* first = slot_of(number);
    body({number, has_masks_ ? first : builder_.min(first, last_vector_)});
    return Values{};
  });
}

void KernelEmitter::SkewedRuns::for_each_slot(
    const std::function<void(llvm::Value* lane, const Vector&)>& body) {
  builder_.loop(zero_, lanes_, one_, {}, [&](llvm::Value* lane, const Values&) {
    for_each_vector([&](const Vector& vector) { body(lane, vector); });
    return Values{};
  });
}

KernelEmitter::SkewedRuns::PointerOf KernelEmitter::SkewedRuns::before_part(Of of,
                                                                            llvm::Value* lane,
                                                                            const Vector& vector) {
  if (of != Of::kEnding) return carried_at(lane, slot_of(vector.number));
  llvm::Value* source = ir_.CreateAnd(ir_.CreateAdd(lane, length_), kLanes - 1);
  return carried_at(source, ir_.CreateSub(vector.first, one_));
}

void KernelEmitter::SkewedRuns::find_places(llvm::Value* run) {
  for_each_vector([&](const Vector& vector) {
    llvm::Value* before = ir_.CreateMul(ir_.CreateAdd(run, vector.first), length_);
    llvm::Value* lane = ir_.CreateMul(builder_.iota(word_), splat(length_));
    llvm::Value* place = ir_.CreateNeg(ir_.CreateAdd(splat(before), lane));
    place = ir_.CreateAnd(place, splat(ir_.CreateSub(size_, one_)));
    ir_.CreateStore(place, ir_.CreateGEP(places_type_, places_, vector.number));
  });
}

void KernelEmitter::SkewedRuns::emit_elements(llvm::Value* r, const Vector& vector) {
  for (size_t a = 0; a < accesses_.size(); ++a) {
    llvm::Value* stride = emitter_.body_->lane_stride(accesses_[a]);
    llvm::Value* at = ir_.CreateMul(r, ir_.CreateSub(stride, one_));
    llvm::Type* element = builder_.memory_type(emitter_.program_.accesses[accesses_[a]].dtype);
    emitter_.body_->set_tile(accesses_[a],
                             ir_.CreateGEP(element, starts_[a], ir_.CreateAdd(at, vector.first)));
  }
  emitter_.emit_element(pass_, r);
}

void KernelEmitter::SkewedRuns::prefetch_lines(llvm::Value* r, const Vector& vector) {
  for (size_t a = 0; a < accesses_.size(); ++a) {
    const DType dtype = emitter_.program_.accesses[accesses_[a]].dtype;
    llvm::Value* ahead = ir_.CreateAdd(r, index(kLinesAhead));
    llvm::Value* at = ir_.CreateMul(ahead, emitter_.body_->lane_stride(accesses_[a]));
    llvm::Value* line =
        ir_.CreateGEP(builder_.memory_type(dtype), starts_[a], ir_.CreateAdd(at, vector.first));
    const int64_t bytes = lanes_of_runs_ * static_cast<int64_t>(size_of(dtype));
    for (int64_t byte = 0; byte < bytes; byte += kCacheLine) {
      builder_.prefetch(ir_.CreateGEP(ir_.getInt8Ty(), line, index(byte)));
    }
  }
}

void KernelEmitter::SkewedRuns::add(llvm::Value* takes, llvm::Value* r, llvm::Value* from,
                                    Values* state, size_t begin) {
  for (size_t k = 0; k < num_sums_; ++k) {
    const ValueId id = pass_.reductions[k];
    llvm::Value*& sum = (*state)[begin + k];
    const ReductionState with =
        ir::emit_combine_next(emitter_.combining_op(id), emitter_.type_of(id), {sum, nullptr},
                              emitter_.leaf_element(id, r, from));
    sum = ir_.CreateSelect(takes, with.value, sum);
  }
}

void KernelEmitter::SkewedRuns::sum_lane(Of of, llvm::Value* from, llvm::Value* to,
                                         llvm::Value* lane, const Vector& vector, bool is_whole) {
  if (has_masks_) emitter_.set_active_below(vector.first, count_);
  llvm::Value* place = place_of(vector);
  Values state;
  if (of != Of::kBeginning) state = emitter_.flatten(load_sums(before_part(of, lane, vector)));
  const size_t begun = state.size();
  if (of != Of::kEnding) {
    const Values start = emitter_.flatten(emitter_.leaf_start(pass_.reductions));
    state.insert(state.end(), start.begin(), start.end());
  }
  auto take = [&](llvm::Value* r, Values next) {
    emit_elements(r, vector);
    llvm::Value* is_before = ir_.CreateICmpSLT(splat(ir_.CreateSub(r, from)), place);
    if (of != Of::kBeginning) add(is_before, r, from, &next, 0);
    if (of != Of::kEnding) add(ir_.CreateNot(is_before), r, from, &next, begun);
    return next;
  };
  llvm::Value* first = ir_.CreateAdd(from, lane);
  if (is_whole) {
    for (int64_t i = 0; i < fusion::leaf_size(emitter_.program_.schedule); i += kLanes) {
      state = take(ir_.CreateAdd(first, index(i)), state);
    }
  } else {
    state = builder_.loop(first, to, lanes_, state, take);
  }
  const auto middle = state.begin() + static_cast<std::ptrdiff_t>(begun);
  auto sums = [&](auto begin, auto end) {
    return emitter_.unflatten(pass_.reductions, emitter_.program_, Values(begin, end));
  };
  if (of != Of::kBeginning) {
    emitter_.write_slot(ending_, vector.number, lane, sums(state.begin(), middle));
  }
  if (of != Of::kEnding) {
    store_sums(sums(middle, state.end()), carried_at(lane, slot_of(vector.number)));
  }
}

void KernelEmitter::SkewedRuns::sum_lanes(Of of, llvm::Value* from, llvm::Value* to) {
  auto sum = [&](bool is_whole) {
    for_each_slot([&](llvm::Value* lane, const Vector& vector) {
      sum_lane(of, from, to, lane, vector, is_whole);
    });
  };
  builder_.if_then_else(
      ir_.CreateICmpEQ(ir_.CreateSub(to, from), size_), [&] { sum(true); }, [&] { sum(false); });
}

void KernelEmitter::SkewedRuns::sum_in_order(Of of, llvm::Value* from, llvm::Value* to) {
  for_each_slot([&](llvm::Value* lane, const Vector& vector) {
    if (of != Of::kBeginning)
      emitter_.write_slot(ending_, vector.number, lane, load_sums(before_part(of, lane, vector)));
    if (of != Of::kEnding)
      emitter_.write_slot(begun_, vector.number, lane, emitter_.leaf_start(pass_.reductions));
  });
  builder_.loop(from, to, one_, {}, [&](llvm::Value* r, const Values&) {
    llvm::Value* lane = ir_.CreateAnd(r, kLanes - 1);
    for_each_vector([&](const Vector& vector) {
      prefetch_lines(r, vector);
      emit_elements(r, vector);
      llvm::Value* is_before = ir_.CreateICmpSLT(splat(ir_.CreateSub(r, from)), place_of(vector));
      auto add_in = [&](const Slots& sums, llvm::Value* takes) {
        Values state = emitter_.flatten(emitter_.read_slot(pass_, sums, vector.number, lane));
        add(takes, r, from, &state, 0);
        emitter_.write_slot(sums, vector.number, lane,
                            emitter_.unflatten(pass_.reductions, emitter_.program_, state));
      };
      if (of != Of::kBeginning) add_in(ending_, is_before);
      if (of != Of::kEnding) add_in(begun_, ir_.CreateNot(is_before));
    });
    return Values{};
  });
  if (of == Of::kEnding) return;
  for_each_slot([&](llvm::Value* lane, const Vector& vector) {
    store_sums(emitter_.read_slot(pass_, begun_, vector.number, lane),
               carried_at(lane, slot_of(vector.number)));
  });
}

void KernelEmitter::SkewedRuns::sum_part(Of of, llvm::Value* part) {
  llvm::Value* from = ir_.CreateMul(part, size_);
  llvm::Value* to = builder_.min(ir_.CreateAdd(from, size_), length_);
  in_order_ ? sum_in_order(of, from, to) : sum_lanes(of, from, to);
  emitter_.body_->set_active(nullptr);
  if (of == Of::kBeginning) return;
  if (of == Of::kBoth) {
    // In a part that is shorter than a leaf some leaves do not end, and go on.
    llvm::Value* elements = ir_.CreateSub(to, from);
    builder_.if_then(ir_.CreateICmpSLT(elements, size_), /*likely=*/false, [&] {
      for_each_slot([&](llvm::Value* lane, const Vector& vector) {
        llvm::Value* ends = ir_.CreateICmpSLT(place_of(vector), splat(elements));
        const PointerOf pointer = carried_at(lane, slot_of(vector.number));
        Accumulators on = load_sums(pointer);
        const Accumulators ended = emitter_.read_slot(pass_, ending_, vector.number, lane);
        for (size_t k = 0; k < num_sums_; ++k) {
          on[k].value = ir_.CreateSelect(ends, on[k].value, ended[k].value);
        }
        store_sums(on, pointer);
      });
    });
  }
  for_each_vector([&](const Vector& vector) {
    store_sums(emitter_.fold_slots(pass_, ending_, vector.number),
               [&](size_t k) { return result_pointer(k, part, vector.first); });
  });
}

void KernelEmitter::SkewedRuns::sum_panel(llvm::Value* run, llvm::Value* count) {
  LaneScope wide(lanes_of_runs_);
  emitter_.body_->splat_operands(pass_.instrs, pass_.stores);
  ending_ = emitter_.make_slots(pass_.reductions, num_vectors_);
  if (in_order_) begun_ = emitter_.make_slots(pass_.reductions, num_vectors_);
  count_ = count;
  width_ = builder_.ceil_div(count, runs_of_vector_);
  last_vector_ = ir_.CreateSub(count, runs_of_vector_);
  find_places(run);
  sum_part(Of::kBeginning, zero_);
  builder_.loop(one_, parts_, one_, {}, [&](llvm::Value* part, const Values&) {
    sum_part(Of::kBoth, part);
    return Values{};
  });
  if (!has_masks_) {
    // What the last vector has carried apart from the one before is now where its runs are.
    llvm::Value* slot = slot_of(ir_.CreateSub(width_, one_));
    builder_.loop(zero_, lanes_, one_, {}, [&](llvm::Value* lane, const Values&) {
      store_sums(load_sums(carried_at(lane, slot)), carried_at(lane, last_vector_));
      return Values{};
    });
  }
  // Again the first part, for the leaves of the runs before.
  sum_part(Of::kEnding, zero_);
}

void KernelEmitter::SkewedRuns::add_leaf(llvm::Value* number,
                                         const std::function<Accumulators()>& sums) {
  llvm::Value* leaf = ir_.CreateSub(number, first_leaf_);
  builder_.if_then(ir_.CreateICmpULT(leaf, leaves_), /*likely=*/true,
                   [&] { emitter_.add_to_tree(tree_, zero_, leaf, sums()); });
}

void KernelEmitter::SkewedRuns::emit(llvm::Value* begin, llvm::Value* last) {
  first_leaf_ = ir_.CreateUDiv(begin, size_);
  leaves_ = builder_.ceil_div(ir_.CreateSub(last, begin), size_);
  llvm::Value* runs = builder_.ceil_div(last, length_);
  // Without masks a panel has a vector's runs at least: it begins, or goes on, beyond those of the
  // block.
  llvm::Value* first_run = ir_.CreateUDiv(begin, length_);
  if (!has_masks_) {
    llvm::Value* ahead = ir_.CreateSub(side_, ir_.CreateURem(first_run, side_));
    llvm::Value* missing = ir_.CreateSub(runs_of_vector_, ahead);
    first_run = ir_.CreateSub(first_run, builder_.max(missing, zero_));
  }
  builder_.walk(first_run, runs, [&](llvm::Value* run) {
    llvm::Value* ahead = ir_.CreateSub(side_, ir_.CreateURem(run, side_));
    llvm::Value* count = builder_.min(ahead, index(panel_width_));
    llvm::Value* needed = ir_.CreateSub(runs, run);
    if (!has_masks_) {
      llvm::Value* rest = ir_.CreateSub(ahead, count);
      llvm::Value* is_short =
          ir_.CreateAnd(ir_.CreateICmpSGT(rest, zero_), ir_.CreateICmpSLT(rest, runs_of_vector_));
      count = ir_.CreateSelect(is_short, ir_.CreateSub(count, runs_of_vector_), count);
      needed = builder_.max(needed, runs_of_vector_);
    }
    count = builder_.min(count, needed);
    needed = builder_.min(count, ir_.CreateSub(runs, run));
    starts_.clear();
    for (const uint16_t access : accesses_) {
      starts_.push_back(emitter_.body_->pointer_in_row(access, emitter_.indices_of_run(run)));
    }
    sum_panel(run, count);
    builder_.loop(zero_, needed, one_, {}, [&](llvm::Value* i, const Values&) {
      llvm::Value* here = ir_.CreateAdd(run, i);
      llvm::Value* before = leaves_before(here);
      llvm::Value* ended = ir_.CreateSub(leaves_before(ir_.CreateAdd(here, one_)), before);
      builder_.loop(zero_, ended, one_, {}, [&](llvm::Value* part, const Values&) {
        add_leaf(ir_.CreateSub(ir_.CreateAdd(before, part), one_),
                 [&] { return load_sums([&](size_t k) { return result_pointer(k, part, i); }); });
        return Values{};
      });
      return Values{};
    });
    builder_.loop(zero_, lanes_, one_, {}, [&](llvm::Value* lane, const Values&) {
      store_sums(load_sums(carried_at(lane, ir_.CreateSub(needed, one_))),
                 carried_at(lane, index(-1)));
      return Values{};
    });
    return ir_.CreateAdd(run, count);
  });
  // The leaf that ends with the row.
  add_leaf(ir_.CreateSub(leaves_before(runs), one_), [&] {
    Accumulators sums;
    for (size_t k = 0; k < num_sums_; ++k) {
      const DType dtype = emitter_.type_of(pass_.reductions[k]);
      llvm::Type* type = builder_.memory_type(dtype);
      llvm::Value* vector = llvm::PoisonValue::get(llvm::FixedVectorType::get(type, kLanes));
      for (int lane = 0; lane < kLanes; ++lane) {
        llvm::Value* pointer = carried_pointer(k, index(lane), index(-1));
        vector = ir_.CreateInsertElement(vector, ir_.CreateLoad(type, pointer), lane);
      }
      LaneScope wide(kLanes);
      sums.push_back({builder_.from_memory(dtype, vector), nullptr});
    }
    for (size_t k = 0; k < num_sums_; ++k) {
      sums[k] = emitter_.fold(pass_.reductions[k], sums[k]);
    }
    return sums;
  });
  for (const uint16_t access : accesses_) emitter_.body_->clear_tile(access);
}

bool KernelEmitter::suits_skewed_runs(const RowPlan::Stage& pass) const {
  if (!suits_level_runs(pass)) return false;
  const std::vector<uint16_t> accesses = tiles_of(pass);
  const size_t least = host().masked_vectors ? kLeastSize : kLeastSizeInOrder;
  return pass.reductions.size() <= kMostSums &&
         std::all_of(accesses.begin(), accesses.end(), [&](uint16_t access) {
           return size_of(program_.accesses[access].dtype) >= least;
         });
}

int KernelEmitter::skewed_runs_of_vector(const RowPlan::Stage& pass, bool has_masks) const {
  if (has_masks) return kMaskedRuns;
  const int lanes = host().vector_bytes / static_cast<int>(widest_sum(program_, pass.reductions));
  return lanes * std::max(1, kVectorsOfSums / static_cast<int>(pass.reductions.size()));
}

void KernelEmitter::emit_skewed_runs(const RowPlan::Stage& pass, const Tree& tree,
                                     llvm::Value* begin, llvm::Value* last,
                                     const std::function<void()>& others) {
  llvm::Value* size = builder_.index(fusion::leaf_size(program_.schedule));
  llvm::Value* length = body_->extent(program_.rank() - 1);
  llvm::Value* side = body_->extent(program_.rank() - 2);
  constexpr int kLongLeaves = 4;
  llvm::Value* are_long =
      ir_.CreateICmpSGE(length, ir_.CreateMul(size, builder_.index(kLongLeaves)));
  const int64_t runs = skewed_runs_of_vector(pass, /*has_masks=*/false);
  auto emit = [&](bool has_masks) { SkewedRuns(*this, pass, tree, has_masks).emit(begin, last); };
  llvm::Value* are_many = ir_.CreateICmpSGE(side, builder_.index(runs));
  if (!host().masked_vectors) {
    // More instructions are needed than a transposition takes, unless its panels leave the caches.
    return builder_.if_then_else(
        ir_.CreateAnd(are_long, are_many), [&] { emit(false); }, others);
  }
  llvm::Value* are_leaves = ir_.CreateICmpSGE(length, size);
  builder_.if_then_else(
      ir_.CreateAnd(are_leaves, are_many), [&] { emit(false); },
      [&] {
        builder_.if_then_else(
            are_long, [&] { emit(true); }, others);
      });
}

}  // namespace sluice::kernels
