// Pointwise kernels with transposed operands. Such an operand is transposed in registers, a tile at
// a time, into a buffer in which it is consecutive along the lanes. Of short programs a tile is
// what the registers hold, and goes nowhere else.
#include <algorithm>
#include <functional>
#include <utility>

#include "kernels/executable.h"
#include "kernels/llvm/host.h"
#include "kernels/llvm/ir/interleave.h"
#include "kernels/llvm/kernel_emitter.h"

namespace sluice::kernels {
namespace {

using fusion::ValueId;
using ir::LaneScope;

constexpr int kFewestLines = 4;  // that are copied without masks

// Lines of a tile that is written down its columns must not be a power of two apart: they would
// share a few sets of the first-level cache.
int64_t pitch_of(DType dtype) {
  constexpr int64_t kLine = 64;
  return kTileWidth + kLine / static_cast<int64_t>(size_of(dtype));
}

}  // namespace

void KernelEmitter::emit_tiles() {
  const int rank = program_.outer_rank;
  const int turned = lines_of_turned_tile();
  llvm::Value* turns = turns_tiles(turned);
  auto [height, width] = size_of_tiles();
  height = ir_.CreateSelect(turns, builder_.index(turned), height);
  llvm::Value* columns = body_->extent(rank - 1);
  llvm::Value* lines = body_->extent(rank - 2);  // of a plane
  llvm::Value* first_line = ir_.CreateSDiv(row_begin_, columns);
  llvm::Value* last_line = ir_.CreateSDiv(row_end_, columns);
  const std::map<uint16_t, llvm::Value*> staged = allocate_tiles();
  llvm::Value* zero = builder_.index(0);
  llvm::Value* one = builder_.index(1);
  llvm::Value* first_plane = ir_.CreateSDiv(first_line, lines);
  llvm::Value* last_plane =
      ir_.CreateAdd(ir_.CreateSDiv(ir_.CreateSub(last_line, one), lines), one);
  Tile tile;
  tile.corner.resize(rank);
  auto at_column = [&](llvm::Value* column, const Values&) {
    tile.corner[rank - 1] = column;
    tile.width = builder_.min(ir_.CreateSub(columns, column), width);
    for (const auto& [access, memory] : staged) {
      llvm::Value* pitch = builder_.index(pitch_of(program_.accesses[access].dtype));
      transpose_block(access, {body_->pointer_at(access, tile.corner), memory, tile.height,
                               tile.width, pitch, /*has_room=*/true});
    }
    emit_tile_rows(staged, tile);
    return Values{};
  };
  builder_.loop(first_plane, last_plane, one, {}, [&](llvm::Value* plane, const Values&) {
    llvm::Value* rest = plane;
    for (int d = rank - 3; d >= 0; --d) {
      llvm::Value* quotient = ir_.CreateSDiv(rest, body_->extent(d));
      tile.corner[d] = ir_.CreateSub(rest, ir_.CreateMul(quotient, body_->extent(d)));
      rest = quotient;
    }
    llvm::Value* before = ir_.CreateMul(plane, lines);
    llvm::Value* first = builder_.max(ir_.CreateSub(first_line, before), zero);
    llvm::Value* last = builder_.min(ir_.CreateSub(last_line, before), lines);
    builder_.loop(first, last, height, {}, [&](llvm::Value* line, const Values&) {
      tile.corner[rank - 2] = line;
      tile.height = builder_.min(ir_.CreateSub(last, line), height);
      llvm::Value* rest = zero;
      if (turned > 0) {
        llvm::Value* is_turned = ir_.CreateAnd(turns, ir_.CreateICmpEQ(tile.height, height));
        llvm::Value* whole = ir_.CreateAnd(columns, builder_.index(-turned));
        rest = ir_.CreateSelect(is_turned, whole, zero);
        builder_.loop(zero, rest, builder_.index(turned), {},
                      [&](llvm::Value* column, const Values&) {
                        tile.corner[rank - 1] = column;
                        emit_turned_tile(tile.corner, turned);
                        return Values{};
                      });
      }
      builder_.loop(rest, columns, width, {}, at_column);
      return Values{};
    });
    return Values{};
  });
}

std::vector<uint16_t> KernelEmitter::tiled() const {
  std::vector<uint16_t> accesses;
  for (size_t a = 0; a < program_.accesses.size(); ++a) {
    if (program_.accesses[a].lanes != fusion::StrideClass::kTile) continue;
    accesses.push_back(static_cast<uint16_t>(a));
  }
  return accesses;
}

int KernelEmitter::lines_of_turned_tile() const {
  constexpr size_t kMostInstrs = 6;
  constexpr int kLeastSize = 4;
  const std::vector<ValueId>& instrs = plan_.before[0].instrs;
  if (!host().masked_vectors || program_.nontemporal || !plan_.ranges.values.empty()) return 0;
  if (instrs.size() > kMostInstrs || weight_of(instrs) > kLightWeight) return 0;
  int size = 0;
  for (const uint16_t access : tiled()) {
    const auto of_access = static_cast<int>(size_of(program_.accesses[access].dtype));
    if (of_access < kLeastSize || (size > 0 && of_access != size)) return 0;
    size = of_access;
  }
  return host().vector_bytes / size;
}

llvm::Value* KernelEmitter::turns_tiles(int lines) {
  // More lines than that at one place of their pages share a few sets of the first-level cache.
  constexpr int kMostOfSet = 8;
  llvm::Value* turns = ir_.getInt1(lines > 0);
  if (lines <= kMostOfSet) return turns;
  for (const uint16_t access : tiled()) {
    turns = ir_.CreateAnd(turns, leaves_page(access, body_->lane_stride(access)));
  }
  return turns;
}

void KernelEmitter::emit_turned_tile(const Values& corner, int lines) {
  LaneScope narrow(lines);
  body_->set_active(nullptr);
  std::map<uint16_t, std::vector<llvm::Value*>> turned;
  for (const uint16_t access : tiled()) {
    const DType dtype = program_.accesses[access].dtype;
    llvm::Type* element = builder_.memory_type(dtype);
    llvm::Value* from = body_->pointer_at(access, corner);
    llvm::Value* stride = body_->lane_stride(access);
    std::vector<llvm::Value*> columns;
    for (int j = 0; j < lines; ++j) {
      columns.push_back(ir_.CreateGEP(element, from, ir_.CreateMul(stride, builder_.index(j))));
    }
    turned[access] = ir::load_transposed(ir_, element, lines, columns, llvm::Align(size_of(dtype)));
  }
  Values outer(corner.begin(), corner.end() - 1);
  for (int i = 0; i < lines; ++i) {
    body_->set_outer(outer);
    for (const ValueId id : plan_.invariant) body_->emit(id);
    body_->splat_operands(plan_.before[0].instrs, plan_.before[0].stores);
    body_->set_lane_start(corner.back());
    for (const auto& [access, vectors] : turned) body_->set_read(access, vectors[i]);
    emit_stage(plan_.before[0]);
    outer.back() = ir_.CreateAdd(outer.back(), builder_.index(1));
  }
  for (const auto& [access, vectors] : turned) body_->set_read(access, nullptr);
}

std::pair<llvm::Value*, llvm::Value*> KernelEmitter::size_of_tiles() {
  // Small tiles stay in the first-level cache. From farther away long runs are read better.
  constexpr int64_t kWidth = 128, kBytes = 256, kLowest = 32;
  int64_t height = kTileHeight / 2;
  for (const uint16_t access : tiled()) {
    const int64_t lines = kBytes / static_cast<int64_t>(size_of(program_.accesses[access].dtype));
    height = std::min(height, std::max(lines, kLowest));
  }
  llvm::Value* far = is_far();
  return {ir_.CreateSelect(far, builder_.index(kTileHeight), builder_.index(height)),
          ir_.CreateSelect(far, builder_.index(kTileWidth), builder_.index(kWidth))};
}

std::map<uint16_t, llvm::Value*> KernelEmitter::allocate_tiles() {
  std::map<uint16_t, int64_t> offsets;
  int64_t bytes = 0;
  for (const uint16_t access : tiled()) {
    offsets[access] = bytes;
    const DType dtype = program_.accesses[access].dtype;
    bytes += kTileHeight * pitch_of(dtype) * static_cast<int64_t>(size_of(dtype));
  }
  llvm::Value* memory = call_thread_buffer(builder_.index(bytes));
  std::map<uint16_t, llvm::Value*> tiles;
  for (const auto& [access, offset] : offsets) {
    tiles[access] = ir_.CreateGEP(ir_.getInt8Ty(), memory, builder_.index(offset));
  }
  return tiles;
}

void KernelEmitter::transpose_block(uint16_t access, const Block& block) {
  const DType dtype = program_.accesses[access].dtype;
  llvm::Type* element = builder_.memory_type(dtype);
  const int size = static_cast<int>(size_of(dtype));
  const int n = std::clamp(host().vector_bytes / size, 2, 16);
  LaneScope wide(n);
  llvm::Type* vector = builder_.with_lanes(element);
  llvm::Type* word = ir_.getInt32Ty();
  llvm::Value* zero = builder_.index(0);
  llvm::Value* step = builder_.index(n);
  llvm::Value* stride = body_->lane_stride(access);
  llvm::Value* last_column = ir_.CreateSub(block.width, builder_.index(1));
  builder_.loop(zero, block.width, step, {}, [&](llvm::Value* column, const Values&) {
    // Of fewer columns each row ends where the next one is stored after it.
    if (!block.has_room) {
      column = builder_.max(builder_.min(column, ir_.CreateSub(block.width, step)), zero);
    }
    // Past the last column the last is read again; those lanes are inactive.
    std::vector<llvm::Value*> starts;
    for (int j = 0; j < n; ++j) {
      llvm::Value* at = builder_.min(ir_.CreateAdd(column, builder_.index(j)), last_column);
      starts.push_back(ir_.CreateGEP(element, block.from, ir_.CreateMul(at, stride)));
    }
    llvm::Value* ahead = nullptr;
    if (block.ahead) {
      // Lines of this block, or, if it goes on elsewhere, its first ones behind where they end.
      llvm::Value* lines = builder_.index(block.ahead->lines);
      ahead = ir_.CreateMul(lines, stride);
      if (!block.has_room) {
        llvm::Value* next = ir_.CreateSub(block.height, ir_.CreateMul(column, stride));
        llvm::Value* is_inside = ir_.CreateICmpSLT(ir_.CreateAdd(column, lines), block.width);
        ahead = ir_.CreateSelect(is_inside, ahead, next);
      }
    }
    const llvm::Align align(size);
    // Of short elements each vector is put together from parts of as many lines as it has, so that
    // elements change places inside of parts only: other shuffles of them are slow. So are those of
    // wider ones across the parts of a vector of 32 bytes, where there is none of two vectors by
    // any indices: loads of parts save half of the shuffles. With it wide ones are better loaded as
    // whole lines, which may leave the cache between two loads.
    constexpr int kShortBytes = 2;
    const bool in_parts = size <= kShortBytes || !host().masked_vectors;
    const int part = in_parts ? std::min(ir::kShuffledBytes / size, n) : n;
    // `count` elements of each line.
    auto load_whole = [&](llvm::Value* line, int count) {
      const int of_part = std::min(part, count);
      std::vector<llvm::Value*> transposed;
      for (int at = 0; at < count; at += of_part) {
        llvm::Value* place = ir_.CreateAdd(line, builder_.index(at));
        std::vector<llvm::Value*> lines;
        for (llvm::Value* start : starts) lines.push_back(ir_.CreateGEP(element, start, place));
        const std::vector<llvm::Value*> vectors =
            ir::load_transposed(ir_, element, of_part, lines, align);
        transposed.insert(transposed.end(), vectors.begin(), vectors.end());
      }
      return transposed;
    };
    auto load_masked = [&](llvm::Value* line, llvm::Value* mask) {
      llvm::Constant* zeros = llvm::Constant::getNullValue(vector);
      std::vector<llvm::Value*> vectors;
      for (llvm::Value* start : starts) {
        llvm::Value* from = ir_.CreateGEP(element, start, line);
        vectors.push_back(ir_.CreateMaskedLoad(vector, from, align, mask, zeros));
      }
      return ir::transpose(ir_, std::move(vectors));
    };
    auto store = [&](llvm::Value* line, const std::vector<llvm::Value*>& vectors) {
      for (size_t k = 0; k < vectors.size(); ++k) {
        llvm::Value* row = ir_.CreateAdd(line, builder_.index(static_cast<int64_t>(k)));
        llvm::Value* at = ir_.CreateAdd(ir_.CreateMul(row, block.pitch), column);
        ir_.CreateAlignedStore(vectors[k], ir_.CreateGEP(element, block.to, at), align);
      }
    };
    auto fetch_ahead = [&](llvm::Value* line) {
      if (!block.ahead) return;
      builder_.if_then(block.ahead->wanted, /*likely=*/true, [&] {
        for (llvm::Value* start : starts) {
          builder_.prefetch(ir_.CreateGEP(element, start, ir_.CreateAdd(line, ahead)));
        }
      });
    };
    auto copy_masked = [&](llvm::Value* first) {
      builder_.loop(first, block.height, step, {}, [&](llvm::Value* line, const Values&) {
        fetch_ahead(line);
        llvm::Value* left = ir_.CreateTrunc(ir_.CreateSub(block.height, line), word);
        store(line,
              load_masked(line, ir_.CreateICmpULT(builder_.iota(word), builder_.splat(left, n))));
        return Values{};
      });
    };
    llvm::Value* whole = ir_.CreateAnd(block.height, -int64_t{n});
    builder_.loop(zero, whole, step, {}, [&](llvm::Value* line, const Values&) {
      fetch_ahead(line);
      store(line, load_whole(line, n));
      return Values{};
    });
    // Masks of short elements are branches where the processor has none. There so many, or half as
    // many, end with the last one, of which some are then copied twice.
    std::function<void(llvm::Value*, int)> copy_rest = [&](llvm::Value* first, int count) {
      if (size > kShortBytes || host().masked_vectors || count < kFewestLines) {
        return copy_masked(first);
      }
      llvm::Value* last = ir_.CreateSub(block.height, builder_.index(count));
      builder_.if_then_else(
          ir_.CreateICmpSGE(last, zero),
          [&] {
            builder_.loop(first, block.height, builder_.index(count), {},
                          [&](llvm::Value* line, const Values&) {
                            line = builder_.min(line, last);
                            store(line, load_whole(line, count));
                            return Values{};
                          });
          },
          [&] { copy_rest(first, count / 2); });
    };
    copy_rest(whole, n);
    return Values{};
  });
}

void KernelEmitter::emit_tile_rows(const std::map<uint16_t, llvm::Value*>& staged,
                                   const Tile& tile) {
  llvm::Value* column = tile.corner.back();
  auto at_line = [&](llvm::Value* line, const Values&) {
    for (const auto& [access, memory] : staged) {
      const DType dtype = program_.accesses[access].dtype;
      llvm::Value* row = ir_.CreateMul(line, builder_.index(pitch_of(dtype)));
      llvm::Type* element = builder_.memory_type(dtype);
      body_->set_tile(access, ir_.CreateGEP(element, memory, ir_.CreateSub(row, column)));
    }
    Values outer(tile.corner.begin(), tile.corner.end() - 1);
    outer.back() = ir_.CreateAdd(outer.back(), line);
    emit_lane_run(outer, column, ir_.CreateAdd(column, tile.width), builder_.index(0));
    return Values{};
  };
  builder_.loop(builder_.index(0), tile.height, builder_.index(1), {}, at_line);
}

}  // namespace sluice::kernels
