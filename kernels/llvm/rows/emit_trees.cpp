// How results of leaves and of blocks are combined: the tree of kernels/reduction.h.
#include <algorithm>

#include "fusion/ir/any_order.h"
#include "fusion/ir/scan.h"
#include "kernels/llvm/kernel_emitter.h"

namespace sluice::kernels {

using fusion::ValueId;

bool KernelEmitter::is_in_any_order(const RowPlan::Stage& pass) const {
  return std::all_of(pass.reductions.begin(), pass.reductions.end(), [&](ValueId id) {
    return fusion::takes_any_order(program_.body[id]) && leaf_type_of(id) == type_of(id);
  });
}

KernelEmitter::Accumulators KernelEmitter::emit_leaves(const RowPlan::Stage& pass,
                                                       llvm::Value* first, llvm::Value* last) {
  // Where the order is free one leaf may take all, unless its sums are narrow.
  const bool may_be_long = !program_.lanes_across_rows && (lanes_reduced() || !program_.tiled);
  const bool is_free = may_be_long && is_in_any_order(pass) && !has_scans(program_);
  if (program_.one_leaf || is_free) return emit_leaf(pass, first, last);
  const int64_t size = fusion::leaf_size(program_.schedule);
  llvm::Value* elements = ir_.CreateAdd(ir_.CreateSub(last, first), builder_.index(size - 1));
  llvm::Value* count = ir_.CreateUDiv(elements, builder_.index(size));
  auto add_leaf = [&](llvm::Value* leaf) {
    llvm::Value* begin = ir_.CreateAdd(first, ir_.CreateMul(leaf, builder_.index(size)));
    return emit_leaf(pass, begin, builder_.min(ir_.CreateAdd(begin, builder_.index(size)), last));
  };
  if (!goes_by_runs(pass)) return emit_tree(pass.reductions, count, add_leaf);
  const Tree tree = make_tree(pass.reductions, 1);
  llvm::Value* zero = builder_.index(0);
  builder_.if_then_else(
      are_long_runs(),
      [&] { emit_runs_in_turn(pass, tree, 1, [&](const auto& body) { body(zero, nullptr); }); },
      [&] { add_leaves_to_tree(tree, count, add_leaf); });
  return total_of(tree, zero, count);
}

KernelEmitter::Tree KernelEmitter::make_tree(const std::vector<ValueId>& reductions, int width,
                                             int height) {
  Tree tree{reductions, {}};
  auto add_level = [&](DType dtype) {
    llvm::Type* type = builder_.with_lanes(builder_.memory_type(dtype));
    llvm::Type* array = llvm::ArrayType::get(type, width * height);
    tree.levels.push_back({dtype, type, builder_.stack(array), width});
  };
  for (const ValueId id : reductions) {
    add_level(type_of(id));
    if (is_arg_reduction(program_.body[id].op)) add_level(DType::kInt64);
  }
  return tree;
}

llvm::Value* KernelEmitter::level_pointer(const Tree::Level& level, llvm::Value* column,
                                          llvm::Value* k) {
  llvm::Value* first = ir_.CreateMul(k, builder_.index(level.width));
  return ir_.CreateGEP(level.type, level.memory, ir_.CreateAdd(first, column));
}

ir::Builder::Values KernelEmitter::combine_level(const Tree& tree, llvm::Value* column,
                                                 llvm::Value* k, const Values& later) {
  Values values;
  for (const Tree::Level& level : tree.levels) {
    llvm::Value* stored = ir_.CreateLoad(level.type, level_pointer(level, column, k));
    values.push_back(builder_.from_memory(level.dtype, stored));
  }
  return flatten(combine(tree.reductions, unflatten(tree.reductions, program_, values),
                         unflatten(tree.reductions, program_, later)));
}

void KernelEmitter::add_to_tree(const Tree& tree, llvm::Value* column, llvm::Value* i,
                                const Accumulators& subtree, int level) {
  llvm::Value* first = builder_.index(level);
  llvm::Value* ones =
      ir_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, ir_.CreateNot(i), ir_.getFalse());
  llvm::Value* end = ir_.CreateAdd(ones, first);
  const Values result = builder_.loop(
      first, end, builder_.index(1), flatten(subtree),
      [&](llvm::Value* k, const Values& in) { return combine_level(tree, column, k, in); });
  for (size_t j = 0; j < tree.levels.size(); ++j) {
    ir_.CreateStore(builder_.to_memory(result[j]), level_pointer(tree.levels[j], column, end));
  }
}

void KernelEmitter::write_total(const Tree& tree, llvm::Value* column, const Accumulators& total) {
  const Values values = flatten(total);
  for (size_t j = 0; j < tree.levels.size(); ++j) {
    llvm::Value* memory = level_pointer(tree.levels[j], column, builder_.index(0));
    ir_.CreateStore(builder_.to_memory(values[j]), memory);
  }
}

KernelEmitter::Accumulators KernelEmitter::read_total(const Tree& tree, llvm::Value* column) {
  Values values;
  for (const Tree::Level& level : tree.levels) {
    llvm::Value* stored =
        ir_.CreateLoad(level.type, level_pointer(level, column, builder_.index(0)));
    values.push_back(builder_.from_memory(level.dtype, stored));
  }
  return unflatten(tree.reductions, program_, values);
}

KernelEmitter::Accumulators KernelEmitter::total_of(const Tree& tree, llvm::Value* column,
                                                    llvm::Value* count) {
  // The identity changes nothing.
  Values start = flatten(identities(tree.reductions));
  start.push_back(count);
  llvm::Value* one = builder_.index(1);
  Values total = builder_.loop(
      builder_.index(0), ir_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, count), one, start,
      [&](llvm::Value*, const Values& in) {
        llvm::Value* bits = in.back();
        llvm::Value* k = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, bits, ir_.getFalse());
        Values next = combine_level(tree, column, k, Values(in.begin(), in.end() - 1));
        next.push_back(ir_.CreateAnd(bits, ir_.CreateSub(bits, one)));
        return next;
      });
  total.pop_back();
  return unflatten(tree.reductions, program_, total);
}

KernelEmitter::Accumulators KernelEmitter::emit_tree(
    const std::vector<ValueId>& reductions, llvm::Value* count,
    const std::function<Accumulators(llvm::Value*)>& leaf) {
  const Tree tree = make_tree(reductions, 1);
  add_leaves_to_tree(tree, count, leaf);
  return total_of(tree, builder_.index(0), count);
}

void KernelEmitter::add_leaves_to_tree(const Tree& tree, llvm::Value* count,
                                       const std::function<Accumulators(llvm::Value*)>& leaf) {
  llvm::Value* column = builder_.index(0);
  builder_.loop(builder_.index(0), count, builder_.index(1), {},
                [&](llvm::Value* i, const Values&) {
                  add_to_tree(tree, column, i, leaf(i));
                  return Values{};
                });
}

llvm::Value* KernelEmitter::partial_pointer(llvm::Value* base, llvm::Value* row, size_t plane,
                                            DType dtype) {
  llvm::Value* rows = ir_.CreateSub(row_end_, row_begin_);
  llvm::Value* start = ir_.CreateMul(rows, builder_.index(8 * plane));
  llvm::Value* first = ir_.CreateGEP(ir_.getInt8Ty(), base, start);
  return ir_.CreateGEP(builder_.memory_type(dtype), first, row);
}

void KernelEmitter::store_partials(const Accumulators& partials, llvm::Value* row) {
  for (size_t j = 0; j < partials.size(); ++j) {
    auto store = [&](llvm::Value* value, size_t plane, DType dtype) {
      value = builder_.to_memory(value);
      llvm::Value* pointer = partial_pointer(argument(6), row, plane, dtype);
      const llvm::Align align(size_of(dtype));
      if (body_->active() == nullptr)
        ir_.CreateAlignedStore(value, pointer, align);
      else
        ir_.CreateMaskedStore(value, pointer, align, body_->active());
    };
    store(partials[j].value, 2 * j, type_of(plan_.reductions[j]));
    if (partials[j].position != nullptr) {
      store(partials[j].position, 2 * j + 1, DType::kInt64);
    }
  }
}

KernelEmitter::Accumulators KernelEmitter::load_partials(llvm::Value* row) {
  const std::vector<ValueId>& reductions = plan_.reductions;
  return emit_tree(reductions, argument(4), [&](llvm::Value* block) {
    llvm::Value* base =
        ir_.CreateGEP(ir_.getInt8Ty(), argument(5), ir_.CreateMul(block, argument(6)));
    auto load = [&](size_t plane, DType dtype) {
      llvm::Type* type = builder_.with_lanes(builder_.memory_type(dtype));
      llvm::Value* pointer = partial_pointer(base, row, plane, dtype);
      const llvm::Align align(size_of(dtype));
      llvm::Constant* zero = llvm::Constant::getNullValue(type);
      llvm::Value* value =
          body_->active() == nullptr
              ? static_cast<llvm::Value*>(ir_.CreateAlignedLoad(type, pointer, align))
              : ir_.CreateMaskedLoad(type, pointer, align, body_->active(), zero);
      return builder_.from_memory(dtype, value);
    };
    Accumulators partials;
    for (size_t j = 0; j < reductions.size(); ++j) {
      partials.push_back({load(2 * j, type_of(reductions[j])), nullptr});
      if (is_arg_reduction(program_.body[reductions[j]].op)) {
        partials[j].position = load(2 * j + 1, DType::kInt64);
      }
    }
    return partials;
  });
}

}  // namespace sluice::kernels
