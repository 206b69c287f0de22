// Loads, stores and atomics, and the checks of what they access.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "tests/ptx_device/launch.h"
#include "tests/ptx_device/values.h"

namespace sluice::ptx {
namespace {

// Where spaces lie among generic addresses.
constexpr uint64_t kWindowBytes = uint64_t{1} << 48;

std::string hex(uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

uint64_t load(Type type, const uint8_t* at) {
  uint64_t v = 0;
  std::memcpy(&v, at, bytes_of(type));
  switch (type) {
    case kS8: return put(get<int8_t>(v));
    case kS16: return put(get<int16_t>(v));
    case kS32: return put(get<int32_t>(v));
    default: return v;
  }
}

bool contains(const MemoryMap::Range& range, uint64_t address, int bytes) {
  return address >= range.begin && address + bytes <= range.end;
}

}  // namespace

uint64_t window_of(Space space) {
  switch (space) {
    case kShared: return uint64_t{1} << 56;
    case kLocal: return uint64_t{2} << 56;
    case kParamIn: return uint64_t{3} << 56;
    default: return 0;
  }
}

void Launch::memory(const Instruction& insn, const Group& group) {
  if (insn.space == kParamFrame) return frame_memory(insn, group);
  const int size = bytes_of(insn.type);
  const bool is_own_frame = insn.base.kind == Operand::kNone;
  const uint64_t* const base = is_own_frame ? nullptr : values(insn.base, group.regs);
  for_lanes(group.active, [&](int l) {
    const uint64_t begin = is_own_frame ? uint64_t(local_bytes_) * group.depth : base[l];
    const Place where = place(insn, begin + insn.offset, l, group.depth);
    if (insn.op == kAtom || insn.op == kRed) {
      watch(insn, where, 0, 0, group.warp, l);
      atomic(insn, group, where.memory, l);
      return;
    }
    for (int i = 0; i < insn.vector; ++i) {
      uint8_t* const at = where.memory + size * i;
      if (insn.op == kLd) {
        watch(insn, where, size * i, 0, group.warp, l);
        destination(insn, group, i)[l] = load(insn.type, at);
      } else {
        const uint64_t value = source(insn, group, i)[l];
        watch(insn, where, size * i, size == 8 ? value : value & ((uint64_t{1} << 8 * size) - 1),
              group.warp, l);
        std::memcpy(at, &value, size);
      }
    }
  });
}

// Arguments and results of calls.
void Launch::frame_memory(const Instruction& insn, const Group& group) {
  const int size = bytes_of(insn.type);
  const uint64_t* const base = values(insn.base, group.regs);
  std::vector<uint8_t>& params = group.warp.params[group.depth];
  for_lanes(group.active, [&](int l) {
    uint8_t* const at = params.data() + frame_bytes() * l + base[l] + insn.offset;
    for (int i = 0; i < insn.vector; ++i) {
      if (insn.op == kLd) {
        destination(insn, group, i)[l] = load(insn.type, at + size * i);
      } else {
        std::memcpy(at + size * i, &source(insn, group, i)[l], size);
      }
    }
  });
}

Launch::Place Launch::place(const Instruction& insn, uint64_t address, int lane, int depth) {
  const int bytes = bytes_of(insn.type) * insn.vector;
  const bool writes = insn.op != kLd;
  if (address % bytes != 0) error(insn, lane, "a misaligned access: " + hex(address));
  Space space = insn.space;
  if (space == kGeneric) space = kGlobal;
  for (const Space s : {kShared, kLocal, kParamIn}) {
    if (insn.space != kGeneric && insn.space != s) continue;
    if (address - window_of(s) >= kWindowBytes) continue;
    address -= window_of(s);
    space = s;
    break;
  }
  switch (space) {
    case kShared:
      address &= 0xffffffffu;
      for (const auto& [begin, end] : shared_ranges_) {
        if (address >= static_cast<uint64_t>(begin) &&
            address + bytes <= static_cast<uint64_t>(end)) {
          return {shared_.data() + address, space, address};
        }
      }
      error(insn, lane, "an access outside of shared variables: " + hex(address));
    case kLocal:
      if (address + bytes > static_cast<uint64_t>(local_bytes_) * (depth + 1)) {
        error(insn, lane, "an access outside of local memory: " + hex(address));
      }
      return {local_.data() + size_t(local_bytes_) * kMaxDepth * (warp_ * kWarp + lane) + address,
              space, address};
    case kParamIn:
      if (writes) error(insn, lane, "a parameter is written");
      if (address + bytes > static_cast<uint64_t>(entry_.param_bytes)) {
        error(insn, lane, "an access outside of parameters: " + hex(address));
      }
      return {const_cast<uint8_t*>(params_) + address, space, address};
    default: check_global(insn, address, bytes, lane);
  }
  return {reinterpret_cast<uint8_t*>(address), kGlobal, address};
}

void Launch::check_global(const Instruction& insn, uint64_t address, int bytes, int lane) {
  const bool writes = insn.op != kLd;
  const MemoryMap::Range* range = last_range_;
  if (range == nullptr || !contains(*range, address, bytes)) {
    range = map_.before(address);
    if (range == nullptr || !contains(*range, address, bytes)) {
      for (const auto& [begin, end] : program_.global_ranges) {
        if (address >= begin && address + bytes <= end && !writes) return;
      }
      error(insn, lane,
            "an access outside of memory: " + hex(address) + ", " + std::to_string(bytes) +
                " bytes" +
                (range == nullptr ? std::string()
                                  : ", after " + hex(range->begin) + " to " + hex(range->end)));
    }
    last_range_ = range;
  }
  if (writes && !range->writable) error(insn, lane, "a write to memory that is only read");
}

void Launch::watch(const Instruction& insn, const Place& place, int offset, uint64_t value,
                   const Warp& warp, int lane) {
  if (place.space != kShared && place.space != kGlobal) return;
  const RaceWatch::Access me{races_.number_of(block_, warp_ * kWarp + lane), epoch_, warp.epoch,
                             insn.line};
  const int size = bytes_of(insn.type);
  std::string wrong;
  const bool is_right = place.space == kShared
                            ? races_.shared(insn, me, place.address + offset, size, value, &wrong)
                            : races_.global(insn, me, place.address + offset, size, value, &wrong);
  if (!is_right) error(insn, lane, wrong);
}

void Launch::atomic(const Instruction& insn, const Group& group, uint8_t* at, int lane) {
  const uint64_t before = load(insn.type, at);
  const uint64_t b = source(insn, group, 0)[lane];
  const auto narrow = [&](uint64_t v) { return bytes_of(insn.type) == 4 ? v & 0xffffffffu : v; };
  uint64_t after = before;
  switch (insn.mode) {
    case kCas:
      if (narrow(before) == narrow(b)) after = source(insn, group, 1)[lane];
      break;
    case kExch: after = b; break;
    case kAtomAdd:
      if (!by_float(insn.type,
                    [&]<typename T>() { after = put(canonical(T(get<T>(before) + get<T>(b)))); })) {
        after = before + b;
      }
      break;
    case kAtomAnd: after = before & b; break;
    case kAtomOr: after = before | b; break;
    case kAtomXor: after = before ^ b; break;
    case kAtomMin:
      by_integer(insn.type,
                 [&]<typename T>() { after = put(std::min(get<T>(before), get<T>(b))); });
      break;
    case kAtomMax:
      by_integer(insn.type,
                 [&]<typename T>() { after = put(std::max(get<T>(before), get<T>(b))); });
      break;
    default: error(insn, lane, "an atomic that is not known");
  }
  std::memcpy(at, &after, bytes_of(insn.type));
  if (insn.op == kAtom) destination(insn, group)[lane] = before;
}

}  // namespace sluice::ptx
