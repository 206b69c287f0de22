// The bytecode of the generic kernels (generic.h): what encode_generic() writes and the text of
// generic_source() reads.
//
// A program is a row of 64-bit words:
//
//   head                           see Head
//   section                        once a thread; of a pointwise program this is all
//   for each pass over the row:
//     pass                         see PassWord
//     number[reductions]           of each, among the program's
//     section                      for each element
//     section                      once a row, after the pass: results, and what follows from them
//   section                        row-level stores
//
// A section is a row of instructions that ends with kEnd. Values live in the thread's slots.
#ifndef SLUICE_KERNELS_GPU_GENERIC_GENERIC_CODE_H_
#define SLUICE_KERNELS_GPU_GENERIC_GENERIC_CODE_H_

#include <cstdint>

#include <sluice/dtype.h>
#include "fusion/ir/op.h"

namespace sluice::kernels::cuda::generic {

// What a thread has room for. With all else it stays below 1 KiB, the stack that a device has ready
// for each of its threads.
inline constexpr int kSlots = 32;
inline constexpr int kMaxReductions = 8;  // of one pass
inline constexpr int kMaxRank = 16;

inline constexpr uint8_t kNoSlot = 255;

// Dtypes are compute types where nothing else is said. `to` is the slot of the result; a word is
// counted from the call's first.
enum Code : uint16_t {
  kEnd,
  kParam,          // aux: word
  kCoordinate,     // aux: word of the access
  kCheckIndex,     // a: index, b: extent, c: predicate or kNoSlot, aux: error slot
  kTake,           // a: element, to: reduction of the pass, aux: its code_of()
  kRoundFloat16,   // a
  kRoundBFloat16,  // a
  // Plus any dtype:
  kScalar,                       // aux: word
  kLoad = kScalar + kNumDTypes,  // a: index or kNoSlot, b: predicate or kNoSlot, aux: word
  kStore = kLoad + kNumDTypes,   // a: value, aux: word
  kNumCommon = kStore + kNumDTypes,
};

// Codes of one type are in one group, the high byte; group 0 has those above.
constexpr int kGroupShift = 8;
constexpr int kFirstCast = (1 << kGroupShift) - kNumDTypes;
static_assert(kNumCommon <= 1 << kGroupShift && fusion::kNumOps <= kFirstCast);

constexpr uint16_t code_of_scalar(DType dtype) {
  return static_cast<uint16_t>(kScalar + static_cast<int>(dtype));
}
constexpr uint16_t code_of_load(DType dtype) {
  return static_cast<uint16_t>(kLoad + static_cast<int>(dtype));
}
constexpr uint16_t code_of_store(DType dtype) {
  return static_cast<uint16_t>(kStore + static_cast<int>(dtype));
}

constexpr uint16_t group_of(DType dtype) { return static_cast<uint16_t>(dtype) + 1; }
constexpr uint16_t code_of_cast(DType from, DType to) {
  return static_cast<uint16_t>(group_of(from) << kGroupShift | (kFirstCast + static_cast<int>(to)));
}
// A pointwise op, instantiated for a type as in expression.h; or the result of a reduction (a: its
// number in the pass) and, in kTake and in partial results, the reduction itself.
constexpr uint16_t code_of(fusion::Op op, DType dtype) {
  return static_cast<uint16_t>(group_of(dtype) << kGroupShift | static_cast<int>(op));
}

struct Instruction {
  uint16_t code = kEnd;
  uint8_t to = 0;
  uint8_t a = kNoSlot, b = kNoSlot, c = kNoSlot;
  uint16_t aux = 0;

  constexpr uint64_t word() const {
    return code | uint64_t{to} << 16 | uint64_t{a} << 24 | uint64_t{b} << 32 | uint64_t{c} << 40 |
           uint64_t{aux} << 48;
  }
};

struct Head {
  uint8_t schedule = 0;  // as in fusion::Schedule
  uint8_t outer_rank = 0, reduced_rank = 0;
  uint16_t passes = 0;
  bool has_row_stores = false;
  uint16_t length = 0;  // of the whole bytecode; the call's words follow it

  constexpr uint64_t word() const {
    return schedule | uint64_t{outer_rank} << 8 | uint64_t{reduced_rank} << 16 |
           uint64_t{has_row_stores} << 24 | uint64_t{passes} << 32 | uint64_t{length} << 48;
  }
};

struct PassWord {
  uint16_t reductions = 0;
  uint16_t length = 0;  // of the section for each element

  constexpr uint64_t word() const { return reductions | uint64_t{length} << 16; }
};

}  // namespace sluice::kernels::cuda::generic

#endif  // SLUICE_KERNELS_GPU_GENERIC_GENERIC_CODE_H_
