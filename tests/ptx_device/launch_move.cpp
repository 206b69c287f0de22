// Everything but control flow and memory, by kind; moves.
#include "tests/ptx_device/launch.h"
#include "tests/ptx_device/values.h"

namespace sluice::ptx {

void Launch::compute(const Instruction& insn, const Group& group) {
  bool is_known = false;
  const auto is_packed = [](Type type) { return type == kF16x2 || type == kBF16x2; };
  if (is_packed(insn.type) || is_packed(insn.source_type)) {
    if (!compute_packed(insn, group)) error(insn, 0, "an instruction that is not known");
    return;
  }
  switch (insn.op) {
    case kFence: return;
    case kMov:
    case kPack:
    case kUnpack:
    case kLocalAddress:
    case kCvta:
    case kActiveMask:
    case kSelp: is_known = move(insn, group); break;
    case kSpecial: is_known = read_special(insn, group); break;
    case kSetp:
    case kTestp: is_known = compare(insn, group); break;
    case kCvt: is_known = convert(insn, group); break;
    case kAnd:
    case kOr:
    case kXor:
    case kNot:
    case kCnot:
    case kShl:
    case kShr:
    case kBfi:
    case kBfe:
    case kBrev:
    case kClz:
    case kPopc:
    case kPrmt:
    case kShf:
    case kLop3: is_known = compute_bits(insn, group); break;
    default:
      is_known = insn.type == kF32 || insn.type == kF64 ? compute_float(insn, group)
                                                        : compute_integer(insn, group);
  }
  if (!is_known) error(insn, 0, "an instruction that is not known");
}

bool Launch::move(const Instruction& insn, const Group& group) {
  uint64_t* const d = destination(insn, group);
  const uint64_t* const a = source(insn, group, 0);
  const uint32_t active = group.active;
  switch (insn.op) {
    case kMov: for_lanes(active, [&](int l) { d[l] = a[l]; }); return true;
    case kPack: {
      const int bits = 8 * bytes_of(insn.type) / insn.ns;
      const uint64_t limit = ~uint64_t{0} >> (64 - bits);
      for_lanes(active, [&](int l) {
        uint64_t v = 0;
        for (int i = 0; i < insn.ns; ++i) v |= (source(insn, group, i)[l] & limit) << (bits * i);
        d[l] = v;
      });
      return true;
    }
    case kUnpack: {
      const int bits = 8 * bytes_of(insn.type) / insn.nd;
      const uint64_t limit = ~uint64_t{0} >> (64 - bits);
      for_lanes(active, [&](int l) {
        const uint64_t v = a[l];  // may be one of the results
        for (int i = 0; i < insn.nd; ++i) destination(insn, group, i)[l] = v >> (bits * i) & limit;
      });
      return true;
    }
    case kLocalAddress: {
      const uint64_t frame = static_cast<uint64_t>(local_bytes_) * group.depth;
      for_lanes(active, [&](int l) { d[l] = frame + insn.offset; });
      return true;
    }
    case kCvta: {
      const uint64_t window = window_of(insn.space);
      for_lanes(active, [&](int l) { d[l] = insn.mode == kTo ? a[l] - window : a[l] + window; });
      return true;
    }
    case kActiveMask: for_lanes(active, [&](int l) { d[l] = active; }); return true;
    case kSelp: {
      const uint64_t* const b = source(insn, group, 1);
      const uint64_t* const c = source(insn, group, 2);
      for_lanes(active,
                [&](int l) { d[l] = ((c[l] & 1) != 0) != insn.s[2].negated ? a[l] : b[l]; });
      return true;
    }
    default: return false;
  }
}

bool Launch::read_special(const Instruction& insn, const Group& group) {
  uint64_t* const d = destination(insn, group);
  for_lanes(group.active, [&](int l) {
    const uint32_t self = 1u << l, below = self - 1;
    switch (insn.special) {
      case kTidX: d[l] = static_cast<uint64_t>(warp_) * kWarp + l; break;
      case kNtidX: d[l] = threads_; break;
      case kCtaidX: d[l] = block_; break;
      case kNctaidX: d[l] = blocks_; break;
      case kTidY:
      case kTidZ:
      case kCtaidY:
      case kCtaidZ: d[l] = 0; break;
      case kNtidY:
      case kNtidZ:
      case kNctaidY:
      case kNctaidZ: d[l] = 1; break;
      case kLaneId: d[l] = l; break;
      case kWarpId: d[l] = warp_; break;
      case kLaneMaskEq: d[l] = self; break;
      case kLaneMaskLt: d[l] = below; break;
      case kLaneMaskLe: d[l] = below | self; break;
      case kLaneMaskGt: d[l] = ~(below | self); break;
      case kLaneMaskGe: d[l] = ~below; break;
    }
  });
  return true;
}

}  // namespace sluice::ptx
