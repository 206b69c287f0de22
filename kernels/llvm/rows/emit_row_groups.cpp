// Many short rows: those of a group are folded together. One by one each would take a step for each
// halving of its lanes; side by side the halves of two rows fill a vector.
#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "fusion/ir/scan.h"
#include "kernels/llvm/host.h"
#include "kernels/llvm/kernel_emitter.h"

namespace sluice::kernels {

using fusion::ValueId;
using ir::LaneScope;

int KernelEmitter::rows_of_group() const {
  if (!lanes_reduced() || !program_.one_leaf || plan_.passes.size() != 1) return 1;
  const RowPlan::Stage& pass = plan_.passes[0];
  const RowPlan::Stage& before = plan_.before[0];
  const bool is_simple = pass.reductions.size() == 1 && pass.stores.empty() &&
                         before.instrs.empty() && before.stores.empty() && plan_.cached.empty() &&
                         !has_scans(program_) && tiles_of(pass).empty();
  if (!is_simple || plan_.lanes != kLanes) return 1;
  const ValueId id = pass.reductions[0];
  const fusion::Op op = combining_op(id);
  if (op != fusion::Op::kMax && op != fusion::Op::kMin) return 1;
  const DType type = type_of(id);
  const bool is_wide = type == DType::kFloat64 && host().masked_vectors;
  if (type == DType::kFloat32 || type == DType::kFloat16 || is_wide) {
    return std::min<int>(host().vector_bytes / static_cast<int>(size_of(type)), kLanes);
  }
  // Of other sums and extremes a step is an instruction or two, and shuffles are what it costs. But
  // short elements under masks that are not free would be taken one by one.
  constexpr int kShort = 2;
  const bool is_short = static_cast<int>(size_of(type)) <= kShort && type != DType::kBool;
  return is_short && !host().masked_vectors ? kLanes / 2 : 1;
}

void KernelEmitter::emit_row_groups(llvm::Value* first, llvm::Value* last, llvm::Value* row) {
  const int rows = rows_of_group();
  const RowPlan::Stage& pass = plan_.passes[0];
  const ValueId id = pass.reductions[0];
  const auto [begin, end] = element_range();
  llvm::Value* zero = builder_.index(0);
  llvm::Value* one = builder_.index(1);
  llvm::Type* type = builder_.memory_type(type_of(id));
  llvm::Type* vector = llvm::FixedVectorType::get(type, rows);
  llvm::Value* memory = builder_.stack(llvm::ArrayType::get(vector, rows));
  // As many lanes as there are rows; of fewer, each several times.
  auto narrowed = [&](llvm::Value* lanes, int count = kLanes) {
    if (count < rows) {
      std::vector<int> repeated;
      for (int i = 0; i < rows; ++i) repeated.push_back(i % count);
      return ir_.CreateShuffleVector(lanes, repeated);
    }
    for (int width = count / 2; width >= rows; width /= 2) {
      LaneScope narrow(width);
      std::vector<int> low, high;
      for (int i = 0; i < width; ++i) {
        low.push_back(i);
        high.push_back(width + i);
      }
      lanes = combine(id, {ir_.CreateShuffleVector(lanes, low), nullptr},
                      {ir_.CreateShuffleVector(lanes, high), nullptr})
                  .value;
    }
    return lanes;
  };
  // Of a row of so many elements, or up to twice as many: its first and its last.
  auto emit_ends = [&](int lanes) {
    LaneScope scope(lanes);
    body_->splat_operands(pass.instrs, pass.stores);
    auto vector_at = [&](llvm::Value* r) {
      emit_element(pass, r);
      return leaf_element(id, r, begin);
    };
    const ReductionState head = vector_at(begin);
    const ReductionState tail = vector_at(ir_.CreateSub(end, builder_.index(lanes)));
    return combine(id, head, tail).value;
  };
  auto emit_group = [&](llvm::Value* group, const Values&) {
    auto for_each_row = [&](const std::function<llvm::Value*()>& lanes_of_row) {
      builder_.loop(zero, builder_.index(rows), one, {}, [&](llvm::Value* r, const Values&) {
        body_->set_row(ir_.CreateAdd(group, r));
        llvm::Value* lanes = lanes_of_row();
        LaneScope wide(rows);
        ir_.CreateStore(builder_.to_memory(lanes), ir_.CreateGEP(vector, memory, r));
        return Values{};
      });
    };
    auto emit_rows = [&] {
      for_each_row([&] { return narrowed(emit_lanes_of_leaf(pass, begin, end)[0].value); });
    };
    if (program_.reduced_rank == 1) {
      llvm::Value* count = ir_.CreateSub(end, begin);
      constexpr int kFewest = 4;
      const int most = host().masked_vectors ? kLanes : kLanes / 2;
      std::function<void(int)> emit_from = [&](int lanes) {
        if (lanes > most) return emit_rows();
        llvm::Value* fits = ir_.CreateAnd(ir_.CreateICmpSGE(count, builder_.index(lanes)),
                                          ir_.CreateICmpSLE(count, builder_.index(2 * lanes)));
        builder_.if_then_else(
            fits, [&] { for_each_row([&] { return narrowed(emit_ends(lanes), lanes); }); },
            [&] { emit_from(2 * lanes); });
      };
      emit_from(kFewest);
    } else {
      emit_rows();
    }
    {
      LaneScope wide(rows);
      std::vector<llvm::Value*> vectors;
      // By vector: whose parts it has.
      std::vector<std::vector<int>> owners;
      for (int r = 0; r < rows; ++r) {
        llvm::Value* pointer = ir_.CreateGEP(vector, memory, builder_.index(r));
        vectors.push_back(builder_.from_memory(type_of(id), ir_.CreateLoad(vector, pointer)));
        owners.push_back({r});
      }
      for (int half = rows / 2; half >= 1; half /= 2) {
        std::vector<int> low, high;
        for (int at = 0; at < rows; at += 2 * half) {
          for (const int from : {at, rows + at}) {
            for (int i = from; i < from + half; ++i) {
              low.push_back(i);
              high.push_back(i + half);
            }
          }
        }
        const size_t count = vectors.size() / 2;
        for (size_t v = 0; v < count; ++v) {
          llvm::Value* a = vectors[v];
          llvm::Value* b = vectors[v + count];
          vectors[v] = combine(id, {ir_.CreateShuffleVector(a, b, low), nullptr},
                               {ir_.CreateShuffleVector(a, b, high), nullptr})
                           .value;
          std::vector<int> both;
          for (size_t k = 0; k < owners[v].size(); ++k) {
            both.push_back(owners[v][k]);
            both.push_back(owners[v + count][k]);
          }
          owners[v] = std::move(both);
        }
        vectors.resize(count);
      }
      std::vector<int> order(rows);
      for (int lane = 0; lane < rows; ++lane) order[owners[0][lane]] = lane;
      llvm::Value* totals = ir_.CreateShuffleVector(vectors[0], order);
      ir_.CreateStore(builder_.to_memory(totals), memory);
    }
    builder_.loop(zero, builder_.index(rows), one, {}, [&](llvm::Value* r, const Values&) {
      llvm::Value* i = ir_.CreateAdd(group, r);
      body_->set_row(i);
      llvm::Value* stored = ir_.CreateLoad(type, ir_.CreateGEP(type, memory, r));
      emit_after_pass(0, Accumulators{{builder_.from_memory(type_of(id), stored), nullptr}});
      return Values{};
    });
    return Values{};
  };
  llvm::Value* step = builder_.index(rows);
  llvm::Value* whole = ir_.CreateMul(ir_.CreateSDiv(ir_.CreateSub(last, first), step), step);
  llvm::Value* rest = ir_.CreateAdd(first, whole);
  builder_.loop(first, rest, step, {}, emit_group);
  builder_.loop(rest, last, one, {}, [&](llvm::Value* i, const Values&) {
    body_->set_row(i);
    emit_row(ir_.CreateAdd(row, ir_.CreateSub(i, first)));
    return Values{};
  });
}

}  // namespace sluice::kernels
