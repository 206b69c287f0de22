// Branches, calls, barriers and exchange between the threads of a warp.
#include <cstring>
#include <limits>

#include "tests/ptx_device/launch.h"
#include "tests/ptx_device/values.h"

namespace sluice::ptx {
namespace {

// What a shuffle gets from a thread that takes no part.
constexpr uint32_t kUndefined = 0xbadbeef5u;

void move_all(Warp* warp, uint32_t mask, int pc) {
  for_lanes(mask, [&](int l) { warp->pc[l] = pc; });
}

}  // namespace

bool Launch::control(const Instruction& insn, const Group& group, uint32_t mask, int next,
                     int* pc) {
  if (insn.op == kBra) return branch(insn, group, mask, next, pc);
  if (insn.op == kTrap) error(insn, __builtin_ctz(group.active), "a trap");
  if (insn.op == kWarpSync || insn.op == kShfl || insn.op == kVote || insn.op == kMma ||
      insn.op == kLdMatrix) {
    return synchronize(insn, group, mask, *pc);
  }
  // The group ends here.
  move_all(&group.warp, mask & ~group.active, *pc + 1);
  switch (insn.op) {
    case kBrx: branch_by_table(insn, group); break;
    case kCall: call(insn, group, *pc); break;
    case kBar:
      if (source(insn, group, 0)[__builtin_ctz(group.active)] != 0) {
        error(insn, 0, "another barrier than 0");
      }
      move_all(&group.warp, group.active, *pc);
      group.warp.at_barrier |= group.active;
      break;
    default: leave(insn, group);
  }
  return false;
}

bool Launch::branch(const Instruction& insn, const Group& group, uint32_t mask, int next, int* pc) {
  if (group.active != mask) {
    move_all(&group.warp, group.active, insn.target);
    move_all(&group.warp, mask & ~group.active, *pc + 1);
    return false;
  }
  // Backwards or past others: it has to be found anew who is first.
  const bool are_others = next != std::numeric_limits<int>::max();
  if (are_others && (insn.target <= *pc || insn.target > next)) {
    move_all(&group.warp, mask, insn.target);
    return false;
  }
  *pc = insn.target - 1;
  return true;
}

void Launch::branch_by_table(const Instruction& insn, const Group& group) {
  for_lanes(group.active, [&](int l) {
    const uint64_t i = source(insn, group, 0)[l] & 0xffffffffu;
    if (i >= insn.targets.size()) {
      error(insn, l, "a branch past its table: " + std::to_string(i));
    }
    group.warp.pc[l] = insn.targets[i];
  });
}

void Launch::call(const Instruction& insn, const Group& group, int pc) {
  Warp& warp = group.warp;
  const int depth = group.depth + 1;
  if (depth >= kMaxDepth) error(insn, 0, "calls that are too deep");
  frame(warp, depth);
  for_lanes(group.active, [&](int l) {
    for (const Argument& argument : insn.arguments) {
      std::memcpy(warp.params[depth].data() + frame_bytes() * l + argument.to,
                  warp.params[depth - 1].data() + frame_bytes() * l + argument.from,
                  argument.bytes);
    }
    warp.caller[depth][l] = pc;
    warp.depth[l] = static_cast<uint8_t>(depth);
    warp.pc[l] = insn.target;
  });
}

void Launch::leave(const Instruction& insn, const Group& group) {
  Warp& warp = group.warp;
  const int depth = group.depth;
  if (depth == 0 || insn.op == kExit) {
    for_lanes(group.active, [&](int l) {
      if (!copies_[warp_ * kWarp + l].empty()) error(insn, l, "a copy that is not waited for");
    });
    warp.alive &= ~group.active;
    return;
  }
  for_lanes(group.active, [&](int l) {
    const int caller = warp.caller[depth][l];
    for (const Argument& result : program_.code[caller].results) {
      std::memcpy(warp.params[depth - 1].data() + frame_bytes() * l + result.to,
                  warp.params[depth].data() + frame_bytes() * l + result.from, result.bytes);
    }
    warp.depth[l] = static_cast<uint8_t>(depth - 1);
    warp.pc[l] = caller + 1;
  });
}

// bar.warp.sync, shuffles and votes, whose last operand names the threads that take part. They wait
// for one another, but not for threads that have ended.
bool Launch::synchronize(const Instruction& insn, const Group& group, uint32_t mask, int pc) {
  Warp& warp = group.warp;
  const uint32_t active = group.active;
  uint32_t together = active;
  for_lanes(warp.blocked, [&](int k) {
    if (warp.pc[k] == pc && warp.depth[k] == group.depth) together |= 1u << k;
  });
  const uint64_t* const masks = source(insn, group, insn.ns - 1);
  const int first = __builtin_ctz(active);
  const auto named = static_cast<uint32_t>(masks[first]);
  for_lanes(active, [&](int l) {
    if (static_cast<uint32_t>(masks[l]) != named) error(insn, l, "threads of a warp name others");
    if ((named >> l & 1) == 0) error(insn, l, "a thread that is not in its mask");
  });
  move_all(&warp, mask & ~active, pc + 1);
  if ((named & warp.alive & ~together) != 0) {
    move_all(&warp, active, pc);
    warp.blocked |= active;
    return false;
  }
  warp.blocked &= ~together;
  const Group all{warp, group.regs, together, group.depth};
  if (insn.op == kWarpSync) ++warp.epoch;
  if (insn.op == kShfl) shuffle(insn, all);
  if (insn.op == kVote) vote(insn, all, named);
  if (insn.op == kMma || insn.op == kLdMatrix) {
    if (together != 0xffffffffu) error(insn, first, "threads of the warp have ended");
    insn.op == kMma ? multiply_matrices(insn, all) : load_matrices(insn, all);
  }
  if (together == mask) return true;
  move_all(&warp, together, pc + 1);
  return false;
}

void Launch::vote(const Instruction& insn, const Group& group, uint32_t named) {
  uint32_t votes = 0;
  for_lanes(group.active, [&](int l) {
    const bool value = ((source(insn, group, 0)[l] & 1) != 0) != insn.s[0].negated;
    votes |= static_cast<uint32_t>(value) << l;
  });
  const uint32_t all = named & group.active;
  uint64_t result = 0;
  switch (insn.mode) {
    case kBallot: result = votes; break;
    case kAll: result = votes == all; break;
    case kAny: result = votes != 0; break;
    default: result = votes == all || votes == 0;
  }
  uint64_t* const d = destination(insn, group);
  for_lanes(group.active, [&](int l) { d[l] = result; });
}

void Launch::shuffle(const Instruction& insn, const Group& group) {
  uint32_t results[kWarp];
  bool is_inside[kWarp];
  const uint64_t* const a = source(insn, group, 0);
  const uint64_t* const b = source(insn, group, 1);
  const uint64_t* const c = source(insn, group, 2);
  for_lanes(group.active, [&](int l) {
    const int clamp = static_cast<int>(c[l] & 31), segment = static_cast<int>(c[l] >> 8 & 31);
    const int by = static_cast<int>(b[l] & 31);
    const int first = l & segment, last = first | (clamp & ~segment);
    int from = l;
    switch (insn.mode) {
      case kUp: from = l - by; break;
      case kDown: from = l + by; break;
      case kBfly: from = l ^ by; break;
      default: from = first | (by & ~segment);
    }
    is_inside[l] = insn.mode == kUp ? from >= last : from <= last;
    if (!is_inside[l]) from = l;
    results[l] = (group.active >> from & 1) != 0 ? static_cast<uint32_t>(a[from]) : kUndefined;
  });
  uint64_t* const d = destination(insn, group);
  for_lanes(group.active, [&](int l) { d[l] = results[l]; });
  if (insn.nd < 2 || insn.d[1].kind != Operand::kReg) return;
  uint64_t* const p = destination(insn, group, 1);
  for_lanes(group.active, [&](int l) { p[l] = is_inside[l] ? 1 : 0; });
}

}  // namespace sluice::ptx
