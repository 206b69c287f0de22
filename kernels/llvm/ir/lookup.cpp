// Tables of sixteen doubles, looked up by lane.
#include <bit>
#include <span>
#include <vector>

#include "kernels/llvm/ir/avx512_lanes.h"
#include "kernels/llvm/ir/builder.h"
#include "kernels/llvm/ir/value.h"
#include "llvm/Analysis/VectorUtils.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/IntrinsicsX86.h"

namespace sluice::kernels::ir::raw {
namespace {

#if defined(__x86_64__)
// An entry of lookup() by a permutation of two registers; null if there is none.
llvm::Value* permuted(llvm::Constant* table, llvm::Value* index) {
  const Avx512Lanes by(DType::kFloat64);
  if (by.bytes != 64) return nullptr;
  Builder& ir = Builder::current();
  const auto half = [&](uint64_t first) {
    std::vector<llvm::Constant*> entries;
    for (uint64_t i = first; i < first + 8; ++i) {
      entries.push_back(table->getAggregateElement(static_cast<unsigned>(i)));
    }
    return llvm::ConstantVector::get(entries);
  };
  return by.each({index}, [&](const std::vector<llvm::Value*>& in) {
    return ir->CreateIntrinsic(llvm::Intrinsic::x86_avx512_vpermi2var_pd_512, {},
                               {half(0), in[0], half(8)});
  });
}
#else
llvm::Value* permuted(llvm::Constant*, llvm::Value*) { return nullptr; }
#endif

// What the tables have at one index lies side by side; each pair in 16 aligned bytes.
llvm::GlobalVariable* in_memory(std::span<const math::Sixteen<double>> tables, size_t row_length) {
  Builder& ir = Builder::current();
  std::vector<double> rows(tables[0].size() * row_length);
  for (size_t k = 0; k < tables.size(); ++k) {
    for (size_t i = 0; i < tables[k].size(); ++i) rows[i * row_length + k] = tables[k][i];
  }
  llvm::Constant* entries = llvm::ConstantDataArray::get(ir->getContext(), rows);
  llvm::Module& module = *ir->GetInsertBlock()->getModule();
  for (llvm::GlobalVariable& known : module.globals()) {
    if (known.hasInitializer() && known.getInitializer() == entries) return &known;
  }
  auto* made = new llvm::GlobalVariable(module, entries->getType(), /*isConstant=*/true,
                                        llvm::GlobalValue::PrivateLinkage, entries);
  made->setAlignment(llvm::Align(64));
  return made;
}

// By loads of pairs, of each lane, that are then transposed: gathers take three times as long.
std::vector<llvm::Value*> loaded(std::span<const math::Sixteen<double>> tables,
                                 llvm::Value* index) {
  Builder& ir = Builder::current();
  const int lanes = ir.lanes();
  const size_t row_length = std::bit_ceil(tables.size());
  llvm::GlobalVariable* rows = in_memory(tables, row_length);
  llvm::Value* places =
      ir->CreateShl(ir->CreateAnd(index, constant(DType::kInt64, tables[0].size() - 1)),
                    constant(DType::kInt64, static_cast<uint64_t>(std::countr_zero(row_length))));
  std::vector<llvm::Value*> starts;
  for (int lane = 0; lane < lanes; ++lane) {
    llvm::Value* place = lanes == 1 ? places : ir->CreateExtractElement(places, lane);
    starts.push_back(ir->CreateGEP(ir->getDoubleTy(), rows, place));
  }
  std::vector<llvm::Value*> entries;
  if (lanes == 1) {
    for (size_t k = 0; k < tables.size(); ++k) {
      llvm::Value* entry = ir->CreateConstGEP1_64(ir->getDoubleTy(), starts[0], k);
      entries.push_back(ir->CreateLoad(ir->getDoubleTy(), entry));
    }
    return entries;
  }
  llvm::Type* pair = llvm::FixedVectorType::get(ir->getDoubleTy(), 2);
  for (size_t k = 0; k < tables.size(); k += 2) {
    std::vector<llvm::Value*> of_lanes[2];  // even ones, odd ones
    for (int lane = 0; lane < lanes; ++lane) {
      llvm::Value* from = ir->CreateConstGEP1_64(ir->getDoubleTy(), starts[lane], k);
      of_lanes[lane % 2].push_back(ir->CreateLoad(pair, from));
    }
    llvm::Value* even = llvm::concatenateVectors(*ir, of_lanes[0]);
    llvm::Value* odd = llvm::concatenateVectors(*ir, of_lanes[1]);
    for (int part = 0; part < 2 && k + part < tables.size(); ++part) {
      std::vector<int> places_of_part;
      for (int lane = 0; lane < lanes; lane += 2) {
        places_of_part.push_back(lane + part);
        places_of_part.push_back(lane + part + lanes);
      }
      entries.push_back(ir->CreateShuffleVector(even, odd, places_of_part));
    }
  }
  return entries;
}

}  // namespace

std::vector<llvm::Value*> lookup(std::span<const math::Sixteen<double>> tables,
                                 llvm::Value* index) {
  std::vector<llvm::Value*> entries;
  for (const math::Sixteen<double>& table : tables) {
    llvm::Constant* constants =
        llvm::ConstantDataArray::get(Builder::current()->getContext(), table);
    llvm::Value* entry = permuted(constants, index);
    if (entry == nullptr) return loaded(tables, index);
    entries.push_back(entry);
  }
  return entries;
}

}  // namespace sluice::kernels::ir::raw
