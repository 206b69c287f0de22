// Reads that begin a few elements after one another (fusion::Access::leader): a vector of each is
// part of two vectors of the first, of which it is shifted out. Were all read by themselves, nearly
// each vector would be parts of two cache lines.
#include <algorithm>
#include <map>
#include <vector>

#include "kernels/llvm/host.h"
#include "kernels/llvm/kernel_emitter.h"
#include "llvm/Analysis/VectorUtils.h"

namespace sluice::kernels {

namespace {

// By leader.
using Followers = std::map<uint16_t, std::vector<uint16_t>>;

bool computes_much_beside(const fusion::Program& program, const Followers& all) {
  size_t shifts = 0, instrs = 0;
  for (const auto& [leader, followers] : all) shifts += followers.size();
  for (const fusion::Instr& instr : program.body) instrs += is_pointwise(instr.op) ? 1 : 0;
  return instrs >= 2 * shifts;
}

}  // namespace

void KernelEmitter::find_followers() {
  // Other hosts have no instruction that shifts across a whole vector.
  if (!host().masked_vectors) return;
  for (size_t a = 0; a < num_accesses(); ++a) {
    const fusion::Access& access = program_.accesses[a];
    if (access.leader == fusion::kNoAccess) continue;
    followers_[access.leader].push_back(static_cast<uint16_t>(a));
  }
  if (followers_.empty()) return;
  // Zen 4 shifts in the units that compute: a load of its own is faster beside much arithmetic.
  if (!host().masks_slow_streams && computes_much_beside(program_, followers_))
    return followers_.clear();
  are_following_ = ir_.getTrue();
  for (const auto& [leader, followers] : followers_) {
    for (const uint16_t access : followers) {
      llvm::Type* element = builder_.memory_type(program_.accesses[leader].dtype);
      llvm::Value* start = ir_.CreateGEP(element, body_->start_of(leader),
                                         builder_.index(program_.accesses[access].distance));
      are_following_ =
          ir_.CreateAnd(are_following_, ir_.CreateICmpEQ(body_->start_of(access), start));
      for (int d = 0; d < program_.outer_rank - 1; ++d) {
        llvm::Value* same = ir_.CreateICmpEQ(body_->stride(access, d), body_->stride(leader, d));
        are_following_ = ir_.CreateAnd(are_following_, same);
      }
    }
  }
}

llvm::Value* KernelEmitter::emit_shifted_reads(
    llvm::Value* first, llvm::Value* last, llvm::Value* end_of_run,
    const std::function<void(llvm::Value*)>& emit_vector) {
  const int lanes = builder_.lanes();
  if (followers_.empty()) return first;
  const auto part_of = [&](uint16_t leader) {
    const auto size = static_cast<int>(size_of(program_.accesses[leader].dtype));
    return std::min(lanes, host().vector_bytes / size);
  };
  const auto farthest_of = [&](const std::vector<uint16_t>& followers) {
    int farthest = 0;
    for (const uint16_t a : followers) {
      farthest = std::max<int>(farthest, program_.accesses[a].distance);
    }
    return farthest;
  };
  // Elements that are read beyond what the last follower needs, where nothing need be.
  int beyond = 0;
  for (const auto& [leader, followers] : followers_) {
    const int part = part_of(leader), farthest = farthest_of(followers);
    if (farthest > part) return first;
    beyond = std::max(beyond, part - farthest);
  }
  llvm::Value* readable = ir_.CreateSub(end_of_run, builder_.index(beyond));
  llvm::Value* count = ir_.CreateSub(builder_.min(last, readable), first);
  count = ir_.CreateAnd(builder_.max(count, builder_.index(0)), -int64_t{lanes});
  count = ir_.CreateSelect(are_following_, count, builder_.index(0));
  llvm::Value* end = ir_.CreateAdd(first, count);
  body_->set_active(nullptr);
  builder_.loop(first, end, builder_.index(lanes), {}, [&](llvm::Value* i, const Values&) {
    body_->set_lane_start(i);
    for (const auto& [leader, followers] : followers_) {
      read_shifted(leader, followers, part_of(leader));
    }
    emit_vector(i);
    return Values{};
  });
  for (const auto& [leader, followers] : followers_) {
    body_->set_read(leader, nullptr);
    for (const uint16_t access : followers) body_->set_read(access, nullptr);
  }
  return end;
}

void KernelEmitter::read_shifted(uint16_t leader, const std::vector<uint16_t>& followers,
                                 int part) {
  const fusion::Access& access = program_.accesses[leader];
  llvm::Type* element = builder_.memory_type(access.dtype);
  auto* vector = llvm::FixedVectorType::get(element, part);
  const llvm::Align align(size_of(access.dtype));
  llvm::Value* start = body_->row_pointer(leader);
  const int parts = builder_.lanes() / part;
  Values read;
  for (int p = 0; p <= parts; ++p) {
    llvm::Value* from = ir_.CreateGEP(element, start, builder_.index(p * part));
    read.push_back(ir_.CreateAlignedLoad(vector, from, align));
  }
  const auto read_at = [&](int distance) {
    std::vector<int> places(part);
    for (int k = 0; k < part; ++k) places[k] = distance + k;
    Values shifted;
    for (int p = 0; p < parts; ++p) {
      shifted.push_back(distance == 0      ? read[p]
                        : distance == part ? read[p + 1]
                                           : ir_.CreateShuffleVector(read[p], read[p + 1], places));
    }
    return llvm::concatenateVectors(ir_, shifted);
  };
  body_->set_read(leader, read_at(0));
  for (const uint16_t a : followers) body_->set_read(a, read_at(program_.accesses[a].distance));
}

}  // namespace sluice::kernels
