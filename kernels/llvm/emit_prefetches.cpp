// What is asked for ahead of its use, where the hardware would not foresee it, or where the
// processor is too busy to reach it.
#include <algorithm>
#include <vector>

#include "kernels/llvm/host.h"
#include "kernels/llvm/kernel_emitter.h"

namespace sluice::kernels {
namespace {

using fusion::Instr;

// A page, of which the hardware foresees lines of the one at hand only; or, of rows and runs that
// lie apart, a few lines.
constexpr int64_t kPageAhead = 4096, kBytesAhead = 1024, kLine = 64;
// What of long streams, which the processor reaches soon enough, a cache holds.
constexpr int64_t kCachedOfStreams = 16 << 20;

}  // namespace

std::vector<uint16_t> KernelEmitter::streams_of(const RowPlan::Stage& pass) const {
  constexpr size_t kMaxInstrs = 8, kLeastSize = 4;
  // What has no AVX-512 foresees them itself, and is held up (Zen 3, by a fifth).
  if (!host().masked_vectors || program_.one_leaf || program_.body.size() > kMaxInstrs) return {};
  std::vector<uint16_t> streams = reads_along_rows(pass);
  std::erase_if(streams,
                [&](uint16_t a) { return size_of(program_.accesses[a].dtype) < kLeastSize; });
  return streams;
}

void KernelEmitter::prefetch_next_rows(const RowPlan::Stage& pass, llvm::Value* first) {
  constexpr int64_t kShort = 256;
  if (!host().masks_slow_streams || may_repeat(pass)) return;
  std::vector<uint16_t> streams = reads_along_rows(pass);
  std::erase_if(streams, [&](uint16_t a) { return !program_.accesses[a].varies_along_outer; });
  builder_.if_then(ir_.CreateICmpSLE(reduced_extent_, builder_.index(kShort)), /*likely=*/true,
                   [&] { prefetch_streams(streams, first); });
}

void KernelEmitter::prefetch_streams(const std::vector<uint16_t>& streams, llvm::Value* r) {
  for (const uint16_t access : streams) {
    const int64_t size = static_cast<int64_t>(size_of(program_.accesses[access].dtype));
    llvm::Value* start = body_->pointer_in_row(access, {r});
    for (int64_t at = 0; at < builder_.lanes() * size; at += kLine) {
      builder_.prefetch(ir_.CreateGEP(ir_.getInt8Ty(), start, builder_.index(kPageAhead + at)));
    }
  }
}

std::vector<KernelEmitter::RowsAhead> KernelEmitter::rows_ahead(const RowPlan::Stage& pass,
                                                                int64_t rows) {
  constexpr int64_t kMostOfRow = 256;
  if (lanes_reduced() || !host().masked_vectors || program_.reduced_rank != 1) return {};
  std::vector<RowsAhead> result;
  for (const uint16_t access : reads_along_rows(pass)) {
    const auto size = static_cast<int64_t>(size_of(program_.accesses[access].dtype));
    llvm::Value* stride = body_->stride(access, program_.rank() - 1);
    // Unsigned: nor are rows that are read backwards.
    llvm::Value* are_dense = ir_.CreateICmpULE(stride, builder_.index(kMostOfRow / size));
    result.push_back({access, ir_.CreateAnd(is_far(kCachedOfStreams / size), are_dense),
                      ir_.CreateMul(stride, builder_.index(rows * size))});
  }
  return result;
}

void KernelEmitter::prefetch(const std::vector<RowsAhead>& rows, llvm::Value* r) {
  for (const RowsAhead& of : rows) {
    builder_.if_then(of.are_wanted, /*likely=*/false, [&] {
      llvm::Value* start = ir_.CreateGEP(ir_.getInt8Ty(), body_->pointer_in_row(of.access, {r}),
                                         builder_.index(kPageAhead));
      builder_.loop(builder_.index(0), of.bytes, builder_.index(kLine), {},
                    [&](llvm::Value* at, const Values&) {
                      builder_.prefetch(ir_.CreateGEP(ir_.getInt8Ty(), start, at));
                      return Values{};
                    });
    });
  }
}

void KernelEmitter::prefetch_ahead(llvm::Value* from, llvm::Value* bytes) {
  llvm::Value* before = ir_.CreateUDiv(builder_.index(kBytesAhead), bytes);
  llvm::Value* distance = ir_.CreateMul(ir_.CreateAdd(before, builder_.index(1)), bytes);
  llvm::Value* start = ir_.CreateGEP(ir_.getInt8Ty(), from, distance);
  builder_.loop(builder_.index(0), bytes, builder_.index(kLine), {},
                [&](llvm::Value* at, const Values&) {
                  builder_.prefetch(ir_.CreateGEP(ir_.getInt8Ty(), start, at));
                  return Values{};
                });
}

void KernelEmitter::prefetch_next_runs(uint16_t access, llvm::Value* run, llvm::Value* length) {
  if (!host().masked_vectors || program_.outer_rank == 0) return;
  llvm::Value* stride = body_->stride(access, program_.outer_rank - 1);
  llvm::Value* is_behind = ir_.CreateICmpEQ(stride, length);
  const auto size = static_cast<int64_t>(size_of(program_.accesses[access].dtype));
  llvm::Value* is_wanted = ir_.CreateAnd(is_far(kCachedOfStreams / size), is_behind);
  builder_.if_then(is_wanted, /*likely=*/false,
                   [&] { prefetch_ahead(run, ir_.CreateMul(length, builder_.index(size))); });
}

void KernelEmitter::prefetch_picked_rows(int dim, int64_t rows, llvm::Value* points) {
  // Longer rows are not worth it; shorter ones in all are in a cache.
  constexpr int64_t kMostOfPoint = 8, kCached = 4 << 20;
  if (!host().masked_vectors) return;
  std::vector<uint16_t> accesses;
  for (const Instr& instr : program_.body) {
    if (instr.op != Op::kGather) continue;
    const fusion::Access& access = program_.accesses[instr.aux];
    if (access.varies_along_outer && access.lanes == fusion::StrideClass::kZero) {
      accesses.push_back(instr.aux);
    }
  }
  for (const uint16_t access : accesses) {
    const auto size = static_cast<int64_t>(size_of(program_.accesses[access].dtype));
    llvm::Value* stride = body_->stride(access, dim);
    llvm::Value* all = ir_.CreateMul(stride, body_->extent(dim));
    llvm::Value* most = ir_.CreateMul(points, builder_.index(kMostOfPoint));
    llvm::Value* is_wanted = ir_.CreateAnd(ir_.CreateICmpSGT(all, builder_.index(kCached / size)),
                                           ir_.CreateICmpSLE(stride, most));
    builder_.if_then(is_wanted, /*likely=*/false, [&] {
      prefetch_ahead(body_->row_pointer(access),
                     ir_.CreateMul(stride, builder_.index(rows * size)));
    });
  }
}

}  // namespace sluice::kernels
