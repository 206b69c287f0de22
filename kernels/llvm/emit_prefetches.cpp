// What is asked for ahead of its use, where the hardware would not foresee it, or where the
// processor is too busy to reach it.
#include <algorithm>
#include <vector>

#include "kernels/llvm/host.h"
#include "kernels/llvm/kernel_emitter.h"

namespace sluice::kernels {
namespace {

using fusion::Instr;
using fusion::StrideClass;
using fusion::ValueId;

// A page, of which the hardware foresees lines of the one at hand only; or, of rows and runs that
// lie apart, a few lines.
constexpr int64_t kPageAhead = 4096, kBytesAhead = 1024, kLine = 64;
// Of longer runs the next lines are asked for, not the next runs.
constexpr int64_t kLongRun = 4 * kPageAhead;
// Bytes of an element.
constexpr int64_t kLeastSize = 4;
// Zen 5's third-level cache.
constexpr int64_t kCachedFar = 32 << 20;

}  // namespace

std::vector<uint16_t> KernelEmitter::streams_of(const RowPlan::Stage& pass) const {
  constexpr size_t kMaxInstrs = 8;
  // What has no AVX-512 foresees them itself, and is held up (Zen 3, by a fifth).
  if (!host().masked_vectors || program_.one_leaf || program_.body.size() > kMaxInstrs) return {};
  std::vector<uint16_t> streams = reads_along_rows(pass);
  std::erase_if(streams, [&](uint16_t a) {
    return static_cast<int64_t>(size_of(program_.accesses[a].dtype)) < kLeastSize;
  });
  // Of several Zen 5 foresees enough.
  if (host().masks_slow_streams && streams.size() > 1) streams.clear();
  return streams;
}

llvm::Value* KernelEmitter::are_far_streams(const std::vector<uint16_t>& streams) {
  // What its third-level cache has a part of, it is held up by.
  if (!host().masks_slow_streams) return is_far();
  return is_far(kCachedFar / widest_of(streams));
}

void KernelEmitter::prefetch_next_rows(const RowPlan::Stage& pass, llvm::Value* first) {
  if (!host().masks_slow_streams || may_repeat(pass)) return;
  // Of longer ones it foresees what whole vectors read, and is held up.
  const int64_t short_row = builder_.lanes() + builder_.lanes() / 2;
  std::vector<uint16_t> streams = reads_along_rows(pass);
  std::erase_if(streams, [&](uint16_t a) { return !program_.accesses[a].varies_along_outer; });
  builder_.if_then(ir_.CreateICmpSLE(reduced_extent_, builder_.index(short_row)), /*likely=*/true,
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

int64_t KernelEmitter::widest_of(const std::vector<uint16_t>& accesses) const {
  size_t widest = 1;
  for (const uint16_t a : accesses) widest = std::max(widest, size_of(program_.accesses[a].dtype));
  return static_cast<int64_t>(widest);
}

std::vector<uint16_t> KernelEmitter::loads_along_reduced(const RowPlan::Stage& pass) const {
  std::vector<uint16_t> loads;
  for (const ValueId id : pass.instrs) {
    const Instr& instr = program_.body[id];
    if (instr.op != Op::kLoad) continue;
    const fusion::Access& access = program_.accesses[instr.aux];
    const bool has_lanes = access.lanes == StrideClass::kUnit || access.lanes == StrideClass::kAny;
    if (has_lanes && access.varies_along_reduced) loads.push_back(instr.aux);
  }
  return loads;
}

KernelEmitter::StreamAhead KernelEmitter::stream_ahead(uint16_t access, llvm::Value* step,
                                                       llvm::Value* lane_step) {
  // Elements that lie further apart are in lines of their own.
  constexpr int64_t kMostLaneStep = 4;
  const auto size = static_cast<int64_t>(size_of(program_.accesses[access].dtype));
  llvm::Value* backwards = ir_.CreateICmpSLT(step, builder_.index(0));
  StreamAhead stream;
  stream.access = access;
  llvm::Value* is_close =
      ir_.CreateICmpSLE(builder_.magnitude(lane_step), builder_.index(kMostLaneStep));
  stream.are_wanted = ir_.CreateAnd(is_far(kCachedOfStreams / size), is_close);
  if (!host().masked_vectors) stream.are_wanted = ir_.getFalse();  // not known to gain
  stream.direction = ir_.CreateSelect(backwards, builder_.index(-1), builder_.index(1));
  stream.distance = ir_.CreateMul(stream.direction, builder_.index(kPageAhead));
  stream.bytes = ir_.CreateMul(builder_.magnitude(step), builder_.index(size));
  return stream;
}

std::vector<KernelEmitter::StreamAhead> KernelEmitter::rows_ahead(const RowPlan::Stage& pass,
                                                                  int64_t rows) {
  constexpr int64_t kMostOfRow = 256;
  // Zen 4 foresees rows that are read in order, and is held up.
  if (lanes_reduced() || !host().masks_slow_streams) return {};
  std::vector<StreamAhead> streams;
  for (const uint16_t access : loads_along_reduced(pass)) {
    const int dim = program_.rank() - 1;
    StreamAhead stream =
        stream_ahead(access, body_->stride(access, dim), body_->lane_stride(access));
    llvm::Value* are_close = ir_.CreateICmpSLE(stream.bytes, builder_.index(kMostOfRow));
    stream.are_wanted = ir_.CreateAnd(stream.are_wanted, are_close);
    if (program_.reduced_rank > 1) {
      llvm::Value* run = ir_.CreateMul(stream.bytes, body_->extent(dim));
      llvm::Value* is_long = ir_.CreateICmpSGE(run, builder_.index(kLongRun));
      stream.are_wanted = ir_.CreateAnd(stream.are_wanted, is_long);
    }
    stream.bytes = ir_.CreateMul(stream.bytes, builder_.index(rows));
    streams.push_back(stream);
  }
  return streams;
}

std::vector<KernelEmitter::StreamAhead> KernelEmitter::runs_ahead(const RowPlan::Stage& pass,
                                                                  bool by_turns) {
  // Of runs that rows read in turn, one behind another, those are foreseen.
  constexpr int64_t kLongTurn = 32 << 10;
  if (!host().masked_vectors || program_.one_leaf || program_.reduced_rank == 1) return {};
  std::vector<StreamAhead> streams;
  for (const uint16_t access : loads_along_reduced(pass)) {
    StreamAhead stream = run_ahead(access, program_.rank() - 1);
    stream.are_wanted =
        ir_.CreateAnd(stream.are_wanted, ir_.CreateNot(are_next_rows(access, stream.bytes)));
    if (host().masks_slow_streams) {
      // It is held up by those of long runs that the cache has a part of.
      llvm::Value* is_short = ir_.CreateICmpSLT(stream.bytes, builder_.index(kPageAhead));
      llvm::Value* are_far = is_far(kCachedFar / widest_of({access}));
      stream.are_wanted = ir_.CreateAnd(stream.are_wanted, ir_.CreateOr(is_short, are_far));
    }
    if (by_turns) {
      llvm::Value* are_long = ir_.CreateICmpSGE(stream.bytes, builder_.index(kLongTurn));
      llvm::Value* are_foreseen = ir_.CreateAnd(next_row_follows(access, stream.bytes), are_long);
      stream.are_wanted = ir_.CreateAnd(stream.are_wanted, ir_.CreateNot(are_foreseen));
    }
    stream.bytes = bytes_of_vector(stream, program_.rank() - 1);
    streams.push_back(stream);
  }
  return streams;
}

std::vector<KernelEmitter::StreamAhead> KernelEmitter::lanes_ahead() {
  constexpr int64_t kLeastOfRun = 256;
  if (!host().masked_vectors || program_.outer_rank < 2) return {};
  std::vector<StreamAhead> streams;
  for (const Instr& instr : program_.body) {
    if (instr.op != Op::kLoad || instr.num_operands > 0) continue;
    const fusion::Access& access = program_.accesses[instr.aux];
    if (access.lanes != StrideClass::kUnit && access.lanes != StrideClass::kAny) continue;
    StreamAhead stream = run_ahead(instr.aux, program_.outer_rank - 1);
    llvm::Value* is_run =
        ir_.CreateAnd(ir_.CreateICmpSGE(stream.bytes, builder_.index(kLeastOfRun)),
                      ir_.CreateICmpSLT(stream.bytes, builder_.index(kLongRun)));
    stream.are_wanted = ir_.CreateAnd(stream.are_wanted, is_run);
    stream.bytes = bytes_of_vector(stream, program_.outer_rank - 1);
    streams.push_back(stream);
  }
  // Several keep the memory busy as it is.
  if (streams.size() > 1) streams.clear();
  return streams;
}

llvm::Value* KernelEmitter::bytes_of_vector(const StreamAhead& run, int dim) {
  llvm::Value* elements = builder_.max(body_->extent(dim), builder_.index(1));
  return ir_.CreateMul(ir_.CreateUDiv(run.bytes, elements), builder_.index(plan_.lanes));
}

KernelEmitter::StreamAhead KernelEmitter::run_ahead(uint16_t access, int dim) {
  constexpr int64_t kGap = 128;
  const auto size = static_cast<int64_t>(size_of(program_.accesses[access].dtype));
  llvm::Value* step = body_->stride(access, dim);
  StreamAhead stream = stream_ahead(access, step, step);
  stream.bytes = ir_.CreateMul(stream.bytes, body_->extent(dim));
  llvm::Value* next = ir_.CreateMul(body_->stride(access, dim - 1), builder_.index(size));
  // The hardware foresees runs that lie close, of short elements, which take longer by the byte.
  llvm::Value* gap = ir_.CreateSub(next, stream.bytes);
  llvm::Value* most = builder_.index(size < kLeastSize ? kGap : 1);
  llvm::Value* is_close =
      ir_.CreateAnd(ir_.CreateICmpSGT(step, builder_.index(0)), ir_.CreateICmpULT(gap, most));
  stream.are_wanted = ir_.CreateAnd(stream.are_wanted, ir_.CreateNot(is_close));
  llvm::Value* runs =
      builder_.ceil_div(builder_.index(kPageAhead), builder_.max(stream.bytes, builder_.index(1)));
  llvm::Value* is_long = ir_.CreateICmpSGE(stream.bytes, builder_.index(kLongRun));
  stream.distance = ir_.CreateSelect(is_long, stream.distance, ir_.CreateMul(runs, next));
  return stream;
}

void KernelEmitter::prefetch(const std::vector<StreamAhead>& streams, llvm::Value* r) {
  for (const StreamAhead& stream : streams) {
    builder_.if_then(stream.are_wanted, /*likely=*/false, [&] {
      body_->set_reduced(r);
      prefetch_lines(stream, body_->element_pointer(stream.access));
    });
  }
}

void KernelEmitter::prefetch_lanes(const std::vector<ValueId>& instrs) {
  for (const StreamAhead& stream : lanes_ahead_) {
    const bool is_read = std::any_of(instrs.begin(), instrs.end(), [&](ValueId id) {
      const Instr& instr = program_.body[id];
      return instr.op == Op::kLoad && instr.aux == stream.access;
    });
    if (is_read) prefetch_run(stream, body_->row_pointer(stream.access));
  }
}

void KernelEmitter::prefetch_run(const StreamAhead& stream, llvm::Value* run) {
  builder_.if_then(stream.are_wanted, /*likely=*/false, [&] { prefetch_lines(stream, run); });
}

void KernelEmitter::prefetch_lines(const StreamAhead& stream, llvm::Value* from) {
  llvm::Value* step = ir_.CreateMul(stream.direction, builder_.index(kLine));
  builder_.loop(builder_.index(0), stream.bytes, builder_.index(kLine), {stream.distance},
                [&](llvm::Value*, const Values& in) {
                  builder_.prefetch(ir_.CreateGEP(ir_.getInt8Ty(), from, in[0]));
                  return Values{ir_.CreateAdd(in[0], step)};
                });
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

llvm::Value* KernelEmitter::next_row_follows(uint16_t access, llvm::Value* bytes) {
  if (program_.outer_rank == 0) return ir_.getFalse();
  const auto size = static_cast<int64_t>(size_of(program_.accesses[access].dtype));
  llvm::Value* apart =
      ir_.CreateMul(body_->stride(access, program_.outer_rank - 1), builder_.index(size));
  return ir_.CreateICmpEQ(apart, bytes);
}

llvm::Value* KernelEmitter::are_next_rows(uint16_t access, llvm::Value* bytes) {
  constexpr int64_t kShortRun = 1024;
  return ir_.CreateAnd(next_row_follows(access, bytes),
                       ir_.CreateICmpSLE(bytes, builder_.index(kShortRun)));
}

void KernelEmitter::prefetch_next_runs(uint16_t access, llvm::Value* run, llvm::Value* length) {
  if (!host().masked_vectors) return;
  const auto size = static_cast<int64_t>(size_of(program_.accesses[access].dtype));
  llvm::Value* bytes = ir_.CreateMul(length, builder_.index(size));
  llvm::Value* is_wanted =
      ir_.CreateAnd(is_far(kCachedOfStreams / size), are_next_rows(access, bytes));
  builder_.if_then(is_wanted, /*likely=*/false, [&] { prefetch_ahead(run, bytes); });
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
