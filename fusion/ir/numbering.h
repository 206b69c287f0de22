// Numbers for things that may come again, so that each is kept once.
#ifndef SLUICE_FUSION_IR_NUMBERING_H_
#define SLUICE_FUSION_IR_NUMBERING_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "fusion/ir/program.h"

namespace sluice::fusion {

// A hash of some words: a rotation, an exclusive or and a product each, as planning hashes much
// that is short.
class WordHash {
 public:
  WordHash& add(uint64_t word) {
    state_ = (std::rotl(state_, 23) ^ word) * 0x9e3779b97f4a7c15;
    return *this;
  }
  // The upper bits, which depend on all words.
  uint32_t value() const { return static_cast<uint32_t>(state_ >> 32); }

 private:
  uint64_t state_ = 0;
};

inline uint32_t hash_of(const Instr& instr) {
  const auto [a, b, c] = instr.operands;
  WordHash hash;
  hash.add(static_cast<uint64_t>(instr.op) << 32 | static_cast<uint64_t>(instr.dtype) << 16 |
           instr.aux);
  hash.add(uint64_t{a} << 32 | uint64_t{b} << 16 | c);
  return hash.value();
}

// A hash table of the numbers 0, 1, 2 and so on. What has a number is kept by whoever asks for it.
class Numbering {
 public:
  // The number of what has this hash and for which is_same(number) is true; if there is none, the
  // next number, and true.
  template <typename IsSame>
  std::pair<uint32_t, bool> find_or_add(uint32_t hash, IsSame is_same) {
    size_t s = hash & mask();
    for (; slots_[s].number != kFree; s = (s + 1) & mask()) {
      if (slots_[s].hash == hash && is_same(slots_[s].number)) return {slots_[s].number, false};
    }
    slots_[s] = {hash, count_};
    if (2 * ++count_ > slots_.size()) grow();
    return {count_ - 1, true};
  }

 private:
  static constexpr uint32_t kFree = 0xffffffff;
  static constexpr size_t kFewSlots = 32;
  struct Slot {
    uint32_t hash = 0;
    uint32_t number = kFree;
  };
  using Slots = absl::InlinedVector<Slot, kFewSlots>;

  size_t mask() const { return slots_.size() - 1; }

  void grow() {
    Slots old(2 * slots_.size());
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.number == kFree) continue;
      size_t s = slot.hash & mask();
      while (slots_[s].number != kFree) s = (s + 1) & mask();
      slots_[s] = slot;
    }
  }

  Slots slots_ = Slots(kFewSlots);  // as many as a power of 2
  uint32_t count_ = 0;
};

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_IR_NUMBERING_H_
