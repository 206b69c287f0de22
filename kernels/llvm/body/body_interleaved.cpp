// Accesses of a BodyEmitter that walk consecutive elements together: whole vectors of them are
// moved, and shuffled in registers.
#include <algorithm>

#include "absl/numeric/bits.h"
#include "kernels/llvm/body/body_emitter.h"
#include "kernels/llvm/host.h"
#include "kernels/llvm/ir/interleave.h"

namespace sluice::kernels {

namespace {

// Whether rows of so many elements are better transposed part by part than loaded as whole vectors
// and taken apart, which costs more with the length, and less where any lanes of two vectors are
// one shuffle.
bool is_transposed(size_t length, DType dtype) {
  constexpr size_t kLongest = 16;  // that is taken apart there
  if (host().masked_vectors) return length > kLongest;
  const size_t size = size_of(dtype);
  return length > (size == 8 ? 3 : size == 2 ? 7 : 5);
}

}  // namespace

BodyEmitter::Interleaved* BodyEmitter::interleaved(uint16_t access) {
  const auto it = interleaved_of_.find(access);
  // Vectors under a mask are slow where the host does not mask them in hardware.
  const bool is_counted = active_ == nullptr || active_count_ != nullptr;
  if (it == interleaved_of_.end() || builder_.lanes() == 1 || !is_counted) return nullptr;
  // What is read from a tile is consecutive there.
  if (tiles_.contains(access)) return nullptr;
  Interleaved* const group = &interleaved_[it->second];
  return active_ != nullptr && !host().masked_vectors ? nullptr : group;
}

int BodyEmitter::unread(const Interleaved& group) {
  const std::vector<uint16_t>& accesses = *group.accesses;
  return static_cast<int>(
      std::count(accesses.begin(), accesses.end(), uint16_t{fusion::kNoAccess}));
}

llvm::Value* BodyEmitter::mask_of_part(int part, const Interleaved& group) {
  const int parts = static_cast<int>(group.accesses->size());
  const int lanes = builder_.lanes();
  // Elements after the last that is needed may lie outside the operand.
  const bool is_whole = unread(group) == 0 || part < parts - 1;
  if (active_ == nullptr && (is_whole || !host().masked_vectors)) return nullptr;
  llvm::Type* word = ir_.getInt32Ty();
  llvm::Value* count = active_ == nullptr ? ir_.getInt32(lanes) : active_count_;
  llvm::Value* end = ir_.CreateMul(count, ir_.getInt32(parts));
  llvm::Value* left = ir_.CreateSub(end, ir_.getInt32(part * lanes + unread(group)));
  return ir_.CreateICmpSLT(builder_.iota(word), builder_.splat(left, lanes));
}

std::vector<llvm::Value*> BodyEmitter::load_vectors(const Interleaved& group, llvm::Value* start,
                                                    DType dtype) {
  llvm::Type* type = builder_.memory_type(dtype);
  llvm::Type* vector = builder_.with_lanes(type);
  const llvm::Align align(size_of(dtype));
  const int lanes = builder_.lanes();
  const int parts = static_cast<int>(group.accesses->size());
  std::vector<llvm::Value*> vectors;
  for (int part = 0; part < parts; ++part) {
    llvm::Value* mask = mask_of_part(part, group);
    // Without a mask the last vector ends with the last element that is needed.
    const int early = mask == nullptr && part == parts - 1 ? unread(group) : 0;
    llvm::Value* from = ir_.CreateGEP(type, start, builder_.index(part * lanes - early));
    if (mask != nullptr) {
      vectors.push_back(
          ir_.CreateMaskedLoad(vector, from, align, mask, llvm::Constant::getNullValue(vector)));
      continue;
    }
    llvm::Value* loaded = ir_.CreateAlignedLoad(vector, from, align);
    if (early > 0) {
      std::vector<int> places(lanes);
      for (int i = 0; i < lanes; ++i) places[i] = std::min(i + early, lanes - 1);
      loaded = ir_.CreateShuffleVector(loaded, places);
    }
    vectors.push_back(loaded);
  }
  return ir::deinterleave(ir_, std::move(vectors));
}

std::vector<llvm::Value*> BodyEmitter::load_transposed(const Interleaved& group, llvm::Value* start,
                                                       DType dtype) {
  const int lanes = builder_.lanes();
  const int length = static_cast<int>(group.accesses->size());
  const int most = std::min(lanes, ir::kShuffledBytes / static_cast<int>(size_of(dtype)));
  const int part = std::min(most, static_cast<int>(absl::bit_floor(unsigned(length))));
  llvm::Type* type = builder_.memory_type(dtype);
  std::vector<llvm::Value*> rows;
  for (int lane = 0; lane < lanes; ++lane) {
    llvm::Value* row = builder_.index(lane);
    if (active_ != nullptr) {  // Lanes that don't exist have the last row again.
      llvm::Value* count = ir_.CreateSExt(active_count_, row->getType());
      row = builder_.min(row, ir_.CreateSub(count, builder_.index(1)));
    }
    rows.push_back(ir_.CreateGEP(type, start, ir_.CreateMul(row, builder_.index(length))));
  }
  std::vector<llvm::Value*> columns(length);
  for (int column = 0; column < length; column += part) {
    // The last part of a row ends where the row does.
    const int first = std::min(column, length - part);
    std::vector<llvm::Value*> lines;
    for (llvm::Value* row : rows) lines.push_back(ir_.CreateGEP(type, row, builder_.index(first)));
    const std::vector<llvm::Value*> transposed =
        ir::load_transposed(ir_, type, part, lines, llvm::Align(size_of(dtype)));
    std::copy(transposed.begin(), transposed.end(), columns.begin() + first);
  }
  return columns;
}

llvm::Value* BodyEmitter::load_interleaved(Interleaved* group, const fusion::Instr& instr) {
  const std::vector<uint16_t>& accesses = *group->accesses;
  const auto place = std::find(accesses.begin(), accesses.end(), instr.aux) - accesses.begin();
  const Interleaved::Point point{ir_.GetInsertBlock(), lane_start_,
                                 reduced_.empty() ? nullptr : reduced_[0], active_};
  if (group->vectors.empty() || group->point != point) {
    group->point = point;
    llvm::Value* start = scalar_pointer(address(accesses[0], instr.level), instr.dtype);
    group->vectors = unread(*group) == 0 && is_transposed(accesses.size(), instr.dtype)
                         ? load_transposed(*group, start, instr.dtype)
                         : load_vectors(*group, start, instr.dtype);
  }
  return decode(instr.dtype, group->vectors[place]);
}

void BodyEmitter::store_interleaved(Interleaved* group, const fusion::Store& store,
                                    llvm::Value* encoded) {
  const std::vector<uint16_t>& accesses = *group->accesses;
  const int parts = static_cast<int>(accesses.size());
  group->vectors.resize(parts);
  const auto place = std::find(accesses.begin(), accesses.end(), store.access) - accesses.begin();
  group->vectors[place] = encoded;
  if (std::count(group->vectors.begin(), group->vectors.end(), nullptr) > 0) return;
  const fusion::Access& access = program_.accesses[accesses[0]];
  const fusion::Level level =
      access.varies_along_reduced ? fusion::Level::kElement : fusion::Level::kRow;
  llvm::Type* type = builder_.memory_type(access.dtype);
  const llvm::Align align(size_of(access.dtype));
  llvm::Value* start = scalar_pointer(address(accesses[0], level), access.dtype);
  const std::vector<llvm::Value*> vectors = ir::interleave(ir_, std::move(group->vectors));
  group->vectors.clear();
  for (int part = 0; part < parts; ++part) {
    llvm::Value* to = ir_.CreateGEP(type, start, builder_.index(part * builder_.lanes()));
    if (llvm::Value* mask = mask_of_part(part, *group)) {
      ir_.CreateMaskedStore(vectors[part], to, align, mask);
    } else {
      ir_.CreateAlignedStore(vectors[part], to, align);
    }
  }
}

}  // namespace sluice::kernels
