// Arguments, addresses and memory of a BodyEmitter.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <tuple>
#include <vector>

#include "kernels/executable.h"
#include "kernels/llvm/body/body_emitter.h"
#include "kernels/llvm/host.h"
#include "kernels/llvm/ir/ops.h"

namespace sluice::kernels {

using fusion::Access;
using fusion::Level;
using fusion::StrideClass;
using ir::LaneScope;

llvm::Value* BodyEmitter::argument(size_t field, size_t index, llvm::Type* type) {
  llvm::IRBuilder<> at_args(args_block_);
  constexpr size_t kArray = ~size_t{0};
  llvm::Value*& array = arguments_[{field, kArray}];
  if (array == nullptr) {
    array = at_args.CreateLoad(ir_.getPtrTy(),
                               at_args.CreateConstGEP1_64(ir_.getInt8Ty(), args_, field));
  }
  llvm::Value*& value = arguments_[{field, index}];
  if (value == nullptr) {
    llvm::Value* slot = at_args.CreateConstGEP1_64(ir_.getInt64Ty(), array, index);
    value = at_args.CreateLoad(type, slot);
  }
  return value;
}

llvm::Value* BodyEmitter::extent(int dim) {
  return argument(offsetof(KernelArgs, extents), dim, ir_.getInt64Ty());
}

llvm::Value* BodyEmitter::stride(uint16_t access, int dim) {
  const auto group = interleaved_of_.find(access);
  if (group != interleaved_of_.end() && dim == program_.lane_dim()) {
    return builder_.index(static_cast<int64_t>(interleaved_[group->second].accesses->size()));
  }
  const size_t index = size_t{access} * (program_.rank() + 1) + dim;
  return argument(offsetof(KernelArgs, accesses), index, ir_.getInt64Ty());
}

llvm::Value* BodyEmitter::offset(uint16_t access) { return stride(access, program_.rank()); }

llvm::Value* BodyEmitter::buffer(uint16_t access) {
  return argument(offsetof(KernelArgs, buffers), program_.accesses[access].buffer, ir_.getPtrTy());
}

llvm::Value* BodyEmitter::lane_strides(uint16_t access) {
  if (builder_.lanes() == 1) return builder_.index(0);
  llvm::Value*& offsets = lane_strides_[{access, builder_.lanes()}];
  if (offsets == nullptr) {
    llvm::Value* step = stride(access, program_.lane_dim());
    llvm::IRBuilder<> at_args(args_block_);
    offsets = at_args.CreateMul(builder_.iota(ir_.getInt64Ty()),
                                at_args.CreateVectorSplat(builder_.lanes(), step));
  }
  return offsets;
}

void BodyEmitter::set_outer(const std::vector<llvm::Value*>& outer) {
  for (size_t a = 0; a < program_.accesses.size(); ++a) {
    const Access& access = program_.accesses[a];
    if (!access.varies_along_outer) continue;
    if (access.lanes == StrideClass::kTile && program_.reduced_rank == 0) continue;
    bases_[a] = access.buffer == fusion::kNoBuffer ? element_at(a, outer) : pointer_at(a, outer);
    outer_bases_[a] = bases_[a];
  }
}

void BodyEmitter::set_row(llvm::Value* index) {
  for (size_t a = 0; a < program_.accesses.size(); ++a) {
    const Access& access = program_.accesses[a];
    if (!access.varies_along_outer) continue;
    llvm::Value* distance = ir_.CreateMul(index, stride(a, program_.outer_rank - 1));
    bases_[a] = access.buffer == fusion::kNoBuffer
                    ? ir_.CreateAdd(outer_bases_[a], distance)
                    : ir_.CreateGEP(builder_.memory_type(access.dtype), outer_bases_[a], distance);
  }
}

llvm::Value* BodyEmitter::element_at(uint16_t access, const std::vector<llvm::Value*>& indices) {
  llvm::Value* element = offset(access);
  for (size_t d = 0; d < indices.size(); ++d) {
    element = ir_.CreateAdd(element, ir_.CreateMul(indices[d], stride(access, d)));
  }
  return element;
}

llvm::Value* BodyEmitter::pointer_at(uint16_t access, const std::vector<llvm::Value*>& indices) {
  return ir_.CreateGEP(builder_.memory_type(program_.accesses[access].dtype), buffer(access),
                       element_at(access, indices));
}

llvm::Value* BodyEmitter::pointer_in_row(uint16_t access,
                                         const std::vector<llvm::Value*>& reduced) {
  llvm::Value* element = builder_.index(0);
  if (!program_.lanes_reduced()) element = ir_.CreateMul(lane_start_, lane_stride(access));
  for (size_t d = 0; d < reduced.size(); ++d) {
    llvm::Value* step = stride(access, program_.outer_rank + static_cast<int>(d));
    element = ir_.CreateAdd(element, ir_.CreateMul(reduced[d], step));
  }
  return ir_.CreateGEP(builder_.memory_type(program_.accesses[access].dtype), base(access),
                       element);
}

void BodyEmitter::set_reduced(llvm::Value* index) {
  reduced_index_ = index;
  reduced_.assign(program_.reduced_rank, index);
  if (program_.lanes_reduced()) return;
  // Faster than a division of integers; for indices below 2^52 the rounded quotient of doubles is
  // never carried to the next integer. They become doubles by their bits: the instruction that
  // converts waits for whatever was in its register before, such as what the row has summed so far.
  auto to_double = [&](llvm::Value* integer) {
    constexpr double kTwoTo52 = 0x1p52;
    llvm::Value* bits = ir_.CreateOr(integer, std::bit_cast<int64_t>(kTwoTo52));
    llvm::Type* type = ir_.getDoubleTy();
    return ir_.CreateFSub(ir_.CreateBitCast(bits, type), llvm::ConstantFP::get(type, kTwoTo52));
  };
  for (int d = program_.reduced_rank - 1; d > 0; --d) {
    llvm::Value* count = extent(program_.outer_rank + d);
    llvm::Value* quotient =
        ir_.CreateFPToSI(ir_.CreateFDiv(to_double(index), to_double(count)), index->getType());
    reduced_[d] = ir_.CreateSub(index, ir_.CreateMul(quotient, count));
    index = quotient;
  }
  reduced_[0] = index;
}

void BodyEmitter::set_run(const std::vector<llvm::Value*>& indices, llvm::Value* start) {
  run_offsets_.assign(program_.accesses.size(), nullptr);
  for (size_t a = 0; a < program_.accesses.size(); ++a) {
    if (!program_.accesses[a].varies_along_reduced) continue;
    llvm::Value* offset = ir_.CreateNeg(ir_.CreateMul(start, stride(a, program_.rank() - 1)));
    for (size_t d = 0; d < indices.size(); ++d) {
      llvm::Value* step = stride(a, program_.outer_rank + static_cast<int>(d));
      offset = ir_.CreateAdd(offset, ir_.CreateMul(indices[d], step));
    }
    run_offsets_[a] = offset;
  }
}

llvm::Value* BodyEmitter::base(uint16_t access) {
  if (program_.accesses[access].varies_along_outer) return bases_[access];
  if (bases_[access] == nullptr) {
    llvm::Value* element = offset(access);
    if (program_.accesses[access].buffer == fusion::kNoBuffer) return element;
    llvm::Value* start = buffer(access);
    llvm::IRBuilder<> at_args(args_block_);
    bases_[access] =
        at_args.CreateGEP(builder_.memory_type(program_.accesses[access].dtype), start, element);
  }
  return bases_[access];
}

BodyEmitter::Address BodyEmitter::address(uint16_t access, Level level) {
  const Access& info = program_.accesses[access];
  const bool along_row = level == Level::kElement && info.varies_along_reduced;
  Address result;
  const auto tile = tiles_.find(access);
  if (tile != tiles_.end()) {
    result.lanes = StrideClass::kUnit;
    result.base = tile->second;
    result.scalar = lane_start_;
    if (program_.lanes_reduced()) result.scalar = reduced_index_;
    if (program_.schedule == fusion::Schedule::kColumn) {
      result.scalar = ir_.CreateMul(reduced_index_, builder_.index(builder_.lanes()));
    }
    return result;
  }
  if (packed_.plan != nullptr) return packed_address(access);
  result.base = base(access);
  auto advance = [&](llvm::Value* elements) {
    result.scalar = result.scalar == nullptr ? elements : ir_.CreateAdd(result.scalar, elements);
  };
  auto along_lanes = [&](llvm::Value* start) {
    result.lanes = info.lanes;
    if (info.lanes == StrideClass::kUnit) advance(start);
    if (info.lanes == StrideClass::kAny) {
      advance(ir_.CreateMul(start, stride(access, program_.lane_dim())));
      result.offsets = lane_strides(access);
      result.step = stride(access, program_.lane_dim());
    }
  };
  if (!program_.lanes_reduced()) {
    if (info.varies_along_outer && info.lanes != StrideClass::kZero) along_lanes(lane_start_);
    if (along_row) {
      for (int d = 0; d < program_.reduced_rank; ++d) {
        advance(ir_.CreateMul(reduced_[d], stride(access, program_.outer_rank + d)));
      }
    }
  } else if (along_row) {
    if (program_.reduced_rank > 1) advance(run_offsets_[access]);
    along_lanes(reduced_[0]);
  }
  return result;
}

llvm::Value* BodyEmitter::row_pointer(uint16_t access) {
  LaneScope scalar(1);
  return scalar_pointer(address(access, Level::kRow), program_.accesses[access].dtype);
}

llvm::Value* BodyEmitter::element_pointer(uint16_t access) {
  LaneScope scalar(1);
  return scalar_pointer(address(access, Level::kElement), program_.accesses[access].dtype);
}

llvm::Value* BodyEmitter::scalar_pointer(const Address& address, DType dtype) {
  if (address.scalar == nullptr) return address.base;
  return ir_.CreateGEP(builder_.memory_type(dtype), address.base, address.scalar);
}

llvm::Value* BodyEmitter::lane_indices(const Address& address) {
  switch (address.lanes) {
    case StrideClass::kZero: break;
    case StrideClass::kUnit: return builder_.iota(ir_.getInt64Ty());
    case StrideClass::kAny:
    case StrideClass::kTile: return address.offsets;
  }
  return llvm::ConstantInt::get(builder_.with_lanes(ir_.getInt64Ty()), 0);
}

llvm::Value* BodyEmitter::lane_pointers(const Address& address, DType dtype) {
  return ir_.CreateGEP(builder_.memory_type(dtype), scalar_pointer(address, dtype),
                       lane_indices(address));
}

llvm::Value* BodyEmitter::load(const Address& address, DType dtype, llvm::Value* predicate) {
  llvm::Type* type = builder_.memory_type(dtype);
  if (address.lanes == StrideClass::kZero) {
    llvm::Value* pointer = scalar_pointer(address, dtype);
    const int lanes = builder_.lanes();
    if (predicate != nullptr) {
      llvm::Value* wanted = builder_.any(builder_.both(predicate, lanes == 1 ? nullptr : active_));
      pointer = ir_.CreateSelect(wanted, pointer, zeros_);
    }
    llvm::Value* element;
    {
      LaneScope scalar(1);
      element = decode(dtype, ir_.CreateLoad(type, pointer));
    }
    element = builder_.splat(element, lanes);
    if (predicate == nullptr || lanes == 1) return element;
    return ir_.CreateSelect(predicate, element, llvm::Constant::getNullValue(element->getType()));
  }
  llvm::Value* mask = builder_.both(predicate, active_);
  if (address.lanes == StrideClass::kAny || builder_.lanes() == 1) {
    if (predicate == nullptr && address.step != nullptr && builder_.lanes() > 1 &&
        flips_ != Flips::kNone) {
      return decode(dtype, load_flipped(address, dtype));
    }
    return decode(dtype, load_lanes(lane_pointers(address, dtype), dtype, mask));
  }
  llvm::Type* vector = builder_.with_lanes(type);
  llvm::Value* pointer = scalar_pointer(address, dtype);
  const llvm::Align align(size_of(dtype));
  if (mask == nullptr) return decode(dtype, ir_.CreateAlignedLoad(vector, pointer, align));
  // A masked load of unmapped memory does not fault, but takes a slow path of hundreds of cycles.
  if (predicate != nullptr) {
    const auto known = packed_.masks.find({predicate, active_});
    llvm::Value* any = nullptr;
    if (known != packed_.masks.end()) {
      std::tie(mask, any) = known->second;
    } else {
      any = builder_.any(mask);
    }
    pointer = ir_.CreateSelect(any, pointer, zeros_);
  }
  return decode(dtype, load_masked(vector, pointer, dtype, mask));
}

llvm::Value* BodyEmitter::load_masked(llvm::Type* vector, llvm::Value* pointer, DType dtype,
                                      llvm::Value* mask) {
  const llvm::Align align(size_of(dtype));
  llvm::Value* zero = llvm::Constant::getNullValue(vector);
  if (host().masked_vectors || size_of(dtype) >= 4) {
    return ir_.CreateMaskedLoad(vector, pointer, align, mask, zero);
  }
  // Without masks lanes of short elements would be read one by one. What lies in the page of a lane
  // that is wanted can be read; past the last rows of a run there may be none.
  constexpr int64_t kPage = 4096;
  pointer = ir_.CreateSelect(builder_.any(mask), pointer, zeros_);
  const int64_t bytes = int64_t{builder_.lanes()} * static_cast<int64_t>(size_of(dtype));
  llvm::Value* address = ir_.CreatePtrToInt(pointer, ir_.getInt64Ty());
  llvm::Value* in_page = ir_.CreateAnd(address, kPage - 1);
  return builder_.choose(
      ir_.CreateICmpULE(in_page, builder_.index(kPage - bytes)),
      [&]() -> llvm::Value* {
        return ir_.CreateSelect(mask, ir_.CreateAlignedLoad(vector, pointer, align), zero);
      },
      [&] {
        llvm::Value* lanes = builder_.iota(ir_.getInt64Ty());
        llvm::Value* pointers = ir_.CreateGEP(builder_.memory_type(dtype), pointer, lanes);
        return ir_.CreateSelect(mask, load_lanes(pointers, dtype, mask, /*mostly_same=*/true),
                                zero);
      });
}

llvm::Value* BodyEmitter::load_flipped(const Address& address, DType dtype) {
  const int lanes = builder_.lanes();
  llvm::Type* type = builder_.memory_type(dtype);
  auto reversed = [&]() -> llvm::Value* {
    llvm::Value* last = scalar_pointer(address, dtype);
    llvm::Value* from = ir_.CreateGEP(type, last, builder_.index(1 - lanes));
    llvm::Type* vector = builder_.with_lanes(type);
    const llvm::Align align(size_of(dtype));
    if (active_ == nullptr)
      return ir_.CreateVectorReverse(ir_.CreateAlignedLoad(vector, from, align));
    llvm::Value* mask = active_count_ == nullptr
                            ? ir_.CreateVectorReverse(active_)
                            : builder_.last_lanes(ir_.CreateZExt(active_count_, ir_.getInt64Ty()));
    return ir_.CreateVectorReverse(load_masked(vector, from, dtype, mask));
  };
  if (flips_ == Flips::kAll) return reversed();
  llvm::Value* is_flipped = ir_.CreateICmpEQ(address.step, builder_.index(-1));
  return builder_.choose(is_flipped, reversed,
                         [&] { return load_lanes(lane_pointers(address, dtype), dtype, active_); });
}

llvm::Value* BodyEmitter::load_lanes(llvm::Value* pointers, DType dtype, llvm::Value* mask,
                                     bool mostly_same) {
  llvm::Type* type = builder_.memory_type(dtype);
  llvm::Type* vector = builder_.with_lanes(type);
  const llvm::Align align(size_of(dtype));
  const int lanes = builder_.lanes();
  if (lanes == 1) {
    if (mask != nullptr) pointers = ir_.CreateSelect(mask, pointers, zeros_);
    return ir_.CreateAlignedLoad(type, pointers, align);
  }
  llvm::Constant* zero = llvm::Constant::getNullValue(vector);
  if (size_of(dtype) >= 4 && host().masked_vectors) {
    llvm::Value* all = llvm::Constant::getAllOnesValue(builder_.with_lanes(ir_.getInt1Ty()));
    return ir_.CreateMaskedGather(vector, pointers, align, mask == nullptr ? all : mask, zero);
  }
  if (!mostly_same && host().masked_vectors) {
    return gather_narrow(pointers, dtype, mask);
  }
  if (mask != nullptr) {
    pointers = ir_.CreateSelect(mask, pointers, builder_.splat(zeros_, lanes));
  }
  if (mostly_same && size_of(dtype) < 4) {
    // Rarely run: small before fast.
    llvm::AllocaInst* from = builder_.stack(pointers->getType());
    llvm::AllocaInst* to = builder_.stack(vector);
    ir_.CreateStore(pointers, from);
    builder_.loop(builder_.index(0), builder_.index(lanes), builder_.index(1), {},
                  [&](llvm::Value* lane, const ir::Builder::Values&) {
                    llvm::Type* pointer_type = ir_.getPtrTy();
                    llvm::Value* pointer =
                        ir_.CreateLoad(pointer_type, ir_.CreateGEP(pointer_type, from, lane));
                    ir_.CreateStore(ir_.CreateAlignedLoad(type, pointer, align),
                                    ir_.CreateGEP(type, to, lane));
                    return ir::Builder::Values{};
                  });
    return ir_.CreateLoad(vector, to);
  }
  llvm::Value* result = zero;
  for (int lane = 0; lane < lanes; ++lane) {
    llvm::Value* pointer = ir_.CreateExtractElement(pointers, lane);
    result = ir_.CreateInsertElement(result, ir_.CreateAlignedLoad(type, pointer, align), lane);
  }
  return result;
}

// The aligned words that the elements are in, which lie in the same pages, shifted.
llvm::Value* BodyEmitter::gather_narrow(llvm::Value* pointers, DType dtype, llvm::Value* mask) {
  constexpr int kWordBytes = 4, kBitsOfByte = 8;
  const int lanes = builder_.lanes();
  llvm::Type* words = builder_.with_lanes(ir_.getInt32Ty());
  llvm::Value* bytes = ir_.CreatePtrToInt(pointers, builder_.with_lanes(ir_.getInt64Ty()));
  llvm::Value* aligned = ir_.CreateAnd(bytes, builder_.splat(builder_.index(-kWordBytes), lanes));
  llvm::Value* in_word = ir_.CreateAnd(ir_.CreateTrunc(bytes, words),
                                       builder_.splat(ir_.getInt32(kWordBytes - 1), lanes));
  if (mask == nullptr) mask = llvm::Constant::getAllOnesValue(builder_.with_lanes(ir_.getInt1Ty()));
  llvm::Value* gathered =
      ir_.CreateMaskedGather(words, ir_.CreateIntToPtr(aligned, pointers->getType()),
                             llvm::Align(kWordBytes), mask, llvm::Constant::getNullValue(words));
  llvm::Value* distance = ir_.CreateMul(in_word, builder_.splat(ir_.getInt32(kBitsOfByte), lanes));
  return ir_.CreateTrunc(ir_.CreateLShr(gathered, distance),
                         builder_.with_lanes(builder_.memory_type(dtype)));
}

// By halves: the bits of their number say which.
void BodyEmitter::store_first(llvm::Value* lanes, llvm::Value* pointer, DType dtype) {
  const llvm::Align align(size_of(dtype));
  auto is_set = [&](int bit) {
    return ir_.CreateICmpNE(ir_.CreateAnd(active_count_, ir_.getInt32(bit)), ir_.getInt32(0));
  };
  builder_.if_then(is_set(builder_.lanes()), /*likely=*/false,
                   [&] { ir_.CreateAlignedStore(lanes, pointer, align); });
  for (int half = builder_.lanes() / 2; half >= 1; half /= 2) {
    std::vector<int> low(half), high(half);
    std::iota(low.begin(), low.end(), 0);
    std::iota(high.begin(), high.end(), half);
    llvm::Value* is_stored = is_set(half);
    llvm::Value* rest = builder_.choose(
        is_stored,
        [&] {
          ir_.CreateAlignedStore(ir_.CreateShuffleVector(lanes, low), pointer, align);
          return ir_.CreateShuffleVector(lanes, high);
        },
        [&] { return ir_.CreateShuffleVector(lanes, low); });
    llvm::Value* next = ir_.CreateGEP(builder_.memory_type(dtype), pointer, builder_.index(half));
    pointer = ir_.CreateSelect(is_stored, next, pointer);
    lanes = rest;
  }
}

void BodyEmitter::store_lanes(llvm::Value* value, llvm::Value* pointers, DType dtype,
                              llvm::Value* mask) {
  const llvm::Align align(size_of(dtype));
  const int lanes = builder_.lanes();
  if (size_of(dtype) >= 4 && host().masked_vectors) {
    ir_.CreateMaskedScatter(value, pointers, align, mask);
    return;
  }
  if (mask != nullptr) {
    pointers = ir_.CreateSelect(mask, pointers, builder_.splat(sink_, lanes));
  }
  for (int lane = 0; lane < lanes; ++lane) {
    ir_.CreateAlignedStore(ir_.CreateExtractElement(value, lane),
                           ir_.CreateExtractElement(pointers, lane), align);
  }
}

llvm::Value* BodyEmitter::decode(DType dtype, llvm::Value* stored) {
  if (moves_halves_ && is_half(dtype)) return stored;
  llvm::Type* floats = builder_.with_lanes(ir_.getFloatTy());
  switch (dtype) {
    case DType::kBool:
      return ir_.CreateICmpNE(stored, llvm::Constant::getNullValue(stored->getType()));
    case DType::kFloat16: {
      llvm::Value* half = ir_.CreateBitCast(stored, builder_.with_lanes(ir_.getHalfTy()));
      return ir_.CreateFPExt(half, floats);
    }
    case DType::kBFloat16: {
      llvm::Value* wide = ir_.CreateZExt(stored, builder_.with_lanes(ir_.getInt32Ty()));
      return ir_.CreateBitCast(ir_.CreateShl(wide, 16), floats);
    }
    default: return stored;
  }
}

// Of the bits of halves: NaN becomes the canonical one.
llvm::Value* BodyEmitter::canonical_half(DType dtype, llvm::Value* bits) {
  const bool is_bfloat = dtype == DType::kBFloat16;
  llvm::Type* type = bits->getType();
  llvm::Value* magnitude = ir_.CreateAnd(bits, llvm::ConstantInt::get(type, 0x7fff));
  llvm::Value* infinity = llvm::ConstantInt::get(type, is_bfloat ? 0x7f80 : 0x7c00);
  llvm::Value* nan = llvm::ConstantInt::get(type, is_bfloat ? 0x7fc0 : 0x7e00);
  return ir_.CreateSelect(ir_.CreateICmpUGT(magnitude, infinity), nan, bits);
}

llvm::Value* BodyEmitter::encode(DType dtype, llvm::Value* value) {
  if (dtype == DType::kBool) {
    return ir_.CreateZExt(value, builder_.with_lanes(ir_.getInt8Ty()));
  }
  if (!is_float(dtype)) return value;
  if (moves_halves_ && is_half(dtype)) return canonical_half(dtype, value);
  llvm::Type* halves = builder_.with_lanes(ir_.getInt16Ty());
  if (dtype == DType::kFloat16) {
    // Most values have just been rounded.
    return canonical_half(dtype, ir_.CreateBitCast(narrowed(value), halves));
  }
  if (dtype == DType::kBFloat16) {
    // All lower bits are zero, of a NaN as well.
    llvm::Value* bits = ir_.CreateBitCast(value, builder_.with_lanes(ir_.getInt32Ty()));
    return canonical_half(dtype, ir_.CreateTrunc(ir_.CreateLShr(bits, 16), halves));
  }
  return ir::emit_canonical_nan(dtype, value);
}

}  // namespace sluice::kernels
