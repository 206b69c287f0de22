// Reductions along rows that lie side by side in memory: lanes run across rows.
#include <cstddef>
#include <functional>

#include "kernels/llvm/kernel_emitter.h"

namespace sluice::kernels {

using fusion::ValueId;

KernelEmitter::Slots KernelEmitter::make_slots(const std::vector<ValueId>& reductions,
                                               int columns) {
  Slots slots{{}, columns};
  auto add_plane = [&](DType dtype) {
    llvm::Type* type = builder_.with_lanes(builder_.memory_type(dtype));
    llvm::Type* array = llvm::ArrayType::get(type, columns * kLanes);
    slots.planes.push_back({dtype, type, builder_.stack(array)});
  };
  for (const ValueId id : reductions) {
    add_plane(type_of(id));
    // Within a leaf.
    if (is_arg_reduction(program_.body[id].op)) add_plane(DType::kInt32);
  }
  return slots;
}

llvm::Value* KernelEmitter::slot_pointer(const Slots& slots, size_t plane, llvm::Value* column,
                                         llvm::Value* lane) {
  llvm::Value* at = ir_.CreateAdd(ir_.CreateMul(lane, builder_.index(slots.columns)), column);
  return ir_.CreateGEP(slots.planes[plane].type, slots.planes[plane].memory, at);
}

void KernelEmitter::write_slot(const Slots& slots, llvm::Value* column, llvm::Value* lane,
                               const Accumulators& state) {
  const Values values = flatten(state);
  for (size_t k = 0; k < slots.planes.size(); ++k) {
    ir_.CreateStore(builder_.to_memory(values[k]), slot_pointer(slots, k, column, lane));
  }
}

KernelEmitter::Accumulators KernelEmitter::read_slot(const RowPlan::Stage& pass, const Slots& slots,
                                                     llvm::Value* column, llvm::Value* lane) {
  Values values;
  for (size_t k = 0; k < slots.planes.size(); ++k) {
    const Slots::Plane& plane = slots.planes[k];
    llvm::Value* stored = ir_.CreateLoad(plane.type, slot_pointer(slots, k, column, lane));
    values.push_back(builder_.from_memory(plane.dtype, stored));
  }
  return unflatten(pass.reductions, program_, values);
}

KernelEmitter::Accumulators KernelEmitter::fold_slots(const RowPlan::Stage& pass,
                                                      const Slots& slots, llvm::Value* column) {
  auto read = [&](llvm::Value* lane) { return read_slot(pass, slots, column, lane); };
  auto combined = [&](const Accumulators& a, const Accumulators& b) {
    return combine(pass.reductions, a, b);
  };
  llvm::Value* zero = builder_.index(0);
  // Two halvings at a time.
  int64_t quarter = kLanes / 4;
  for (; quarter > 1; quarter /= 4) {
    builder_.loop(zero, builder_.index(quarter), builder_.index(1), {},
                  [&](llvm::Value* lane, const Values&) {
                    auto at = [&](int64_t part) {
                      return read(ir_.CreateAdd(lane, builder_.index(part * quarter)));
                    };
                    const Accumulators even = combined(at(0), at(2));
                    write_slot(slots, column, lane, combined(even, combined(at(1), at(3))));
                    return Values{};
                  });
  }
  static_assert(kLanes == 32, "two lanes are left");
  return combined(read(zero), read(builder_.index(1)));
}

KernelEmitter::Accumulators KernelEmitter::emit_leaf_across_rows(const RowPlan::Stage& pass,
                                                                 llvm::Value* first,
                                                                 llvm::Value* last) {
  const Slots slots = make_slots(pass.reductions, 1);
  llvm::Value* column = builder_.index(0);
  llvm::Value* one = builder_.index(1);
  const Accumulators start = leaf_start(pass.reductions);
  builder_.loop(builder_.index(0), builder_.index(kLanes), one, {},
                [&](llvm::Value* lane, const Values&) {
                  write_slot(slots, column, lane, start);
                  return Values{};
                });
  builder_.loop(first, last, one, {}, [&](llvm::Value* r, const Values&) {
    llvm::Value* lane = ir_.CreateAnd(r, kLanes - 1);
    Accumulators state = read_slot(pass, slots, column, lane);
    write_slot(slots, column, lane, add_element(pass, r, first, state));
    return Values{};
  });
  if (pass.reductions.empty()) return {};
  Accumulators result = fold_slots(pass, slots, column);
  widen_leaf(first, &result, pass.reductions);
  return result;
}

bool KernelEmitter::has_panels_across_rows() const {
  return program_.lanes_across_rows && fits_panels() && plan_.passes.size() == 1;
}

// A vector at a time would read a few lines of each page, in the same few sets of the caches. Of as
// many as fit the first-level cache each lane takes its turn, whose elements of a leaf are then
// summed in registers.
void KernelEmitter::emit_panels_across_rows(llvm::Value* first, llvm::Value* last,
                                            llvm::Value* row) {
  constexpr int kVectors = 8;
  const RowPlan::Stage& pass = plan_.passes[0];
  const auto [begin, end] = element_range();
  llvm::Value* zero = builder_.index(0);
  llvm::Value* one = builder_.index(1);
  llvm::Value* size = builder_.index(fusion::leaf_size(program_.schedule));
  llvm::Value* lanes = builder_.index(kLanes);
  llvm::Value* vector = builder_.index(plan_.lanes);
  llvm::Value* elements = ir_.CreateSub(end, begin);
  llvm::Value* leaves = builder_.ceil_div(elements, size);
  const Tree tree = make_tree(pass.reductions, kVectors);
  const Slots slots = make_slots(pass.reductions, kVectors);
  builder_.loop(
      first, last, ir_.CreateMul(vector, builder_.index(kVectors)), {},
      [&](llvm::Value* panel, const Values&) {
        llvm::Value* width = builder_.min(ir_.CreateUDiv(ir_.CreateSub(last, panel), vector),
                                          builder_.index(kVectors));
        auto take_turns = [&](const std::function<void(llvm::Value*, llvm::Value*)>& body) {
          builder_.loop(zero, width, one, {}, [&](llvm::Value* column, const Values&) {
            llvm::Value* i = ir_.CreateAdd(panel, ir_.CreateMul(column, vector));
            body_->set_lane_start(i);
            emit_stage(plan_.before[0]);
            body(column, i);
            return Values{};
          });
        };
        builder_.loop(zero, leaves, one, {}, [&](llvm::Value* leaf, const Values&) {
          llvm::Value* from = ir_.CreateAdd(begin, ir_.CreateMul(leaf, size));
          llvm::Value* to = builder_.min(ir_.CreateAdd(from, size), end);
          builder_.loop(zero, lanes, one, {}, [&](llvm::Value* lane, const Values&) {
            take_turns([&](llvm::Value* column, llvm::Value*) {
              const Values start = flatten(leaf_start(pass.reductions));
              const Values state = builder_.loop(
                  ir_.CreateAdd(from, lane), to, lanes, start,
                  [&](llvm::Value* r, const Values& in) {
                    const Accumulators before = unflatten(pass.reductions, program_, in);
                    return flatten(add_element(pass, r, from, before));
                  });
              write_slot(slots, column, lane, unflatten(pass.reductions, program_, state));
            });
            return Values{};
          });
          builder_.loop(zero, width, one, {}, [&](llvm::Value* column, const Values&) {
            Accumulators result = fold_slots(pass, slots, column);
            widen_leaf(from, &result, pass.reductions);
            add_to_tree(tree, column, leaf, result);
            return Values{};
          });
          return Values{};
        });
        take_turns([&](llvm::Value* column, llvm::Value* i) {
          emit_totals(0, total_of(tree, column, leaves),
                      ir_.CreateAdd(row, ir_.CreateSub(i, first)));
        });
        return Values{};
      });
}

}  // namespace sluice::kernels
