// The interpreter's form of a Program: lists of instructions over registers.
//
// A batch of rows is run as
//     row code of pass 0, element code of pass 0, row code of pass 1, ..., row code of pass P
// and then the stores of row level. Row code works on tiles of one element for each row of the
// batch, element code on tiles of the batch's elements. An element-level value that several passes
// need is computed in each of them. A pointwise program has row code only.
#ifndef SLUICE_KERNELS_INTERP_BYTECODE_H_
#define SLUICE_KERNELS_INTERP_BYTECODE_H_

#include <cstdint>
#include <vector>

#include "fusion/ir/program.h"
#include "kernels/interp/loops/loops.h"

namespace sluice::kernels::interp {

using Register = uint32_t;

enum class Opcode : uint8_t {
  kMap,         // out = loops(in...), rounded
  kLoad,        // in: [predicate]; aux: binding
  kGather,      // in: index [predicate]; aux: binding
  kCoordinate,  // aux: binding
  kScalar,      // aux: scalar
  kParam,       // aux: param
  kCheckIndex,  // in: index, extent, [predicate]; aux: error slot
  kExpand,      // out = the row-level value in[0], made one element for each of the tile's elements
  kReduce,      // takes in[0] to reduction aux
  kScan,        // out = what scan aux is up to each element of in[0]
  kStore,       // in[0]; aux: binding
};

struct Instruction {
  Instruction(Opcode opcode, int num_operands, DType dtype)
      : opcode(opcode), num_operands(static_cast<uint8_t>(num_operands)), dtype(dtype) {}

  Opcode opcode;
  uint8_t num_operands;
  DType dtype;        // of the result; of a store's value
  fusion::Op op{};    // kMap
  uint8_t dying = 0;  // bit k: this is the last reader of in[k]; conservative, may be unset
  Register out = 0;
  Register in[3] = {0, 0, 0};
  uint16_t aux = 0;
  const MapLoops* loops = nullptr;  // kMap
  MapFn round = nullptr;
};

// An access as the instructions of one level address it: by position in the row-major order of some
// dims.
struct Binding {
  uint16_t access = 0;
  bool element = false;  // by element of the batch; else by row
};

struct Reduction {
  fusion::Op op = fusion::Op::kSum;
  DType type = DType::kFloat32;  // of the accumulator
  Register result = 0;           // one element a row: the accumulators, or the positions
  Register values = 0;           // arg reductions: the best values
  Register leaf = 0;             // column schedule, not arg: the accumulators of one leaf
  uint32_t lanes = 0;            // row schedule, not arg: byte offset of the lanes in the scratch
  const ReduceLoops* loops = nullptr;
  const ArgLoops* arg = nullptr;
  MapFn round = nullptr;
  bool zero_if_empty = false;  // is_zero_if_empty()

  bool is_arg() const { return arg != nullptr; }
};

// One for each pass that computes it.
struct Scan {
  DType type = DType::kFloat32;  // of the accumulator
  const ScanLoops* loops = nullptr;
  MapFn round = nullptr;
};

struct Pass {
  std::vector<Instruction> row_code;
  std::vector<Instruction> expansions;  // of row-level values that the element code uses
  std::vector<Instruction> element_code;
  std::vector<uint16_t> reductions;
  std::vector<uint16_t> scans;
};

struct Bytecode {
  bool has_reduced = false;
  bool column = false;
  int outer_rank = 1;
  int reduced_rank = 0;
  int num_passes = 0;
  std::vector<Instruction> uniform_code;
  std::vector<Pass> passes;  // num_passes + 1; the last has row code only
  std::vector<Instruction> row_stores;
  std::vector<Reduction> reductions;  // in body order
  std::vector<Scan> scans;
  std::vector<Binding> bindings;
  std::vector<fusion::Access> accesses;
  std::vector<uint16_t> stored_buffers;
  bool nontemporal = false;  // fusion::Program::nontemporal

  // Registers: byte offsets in the scratch. Registers in [0, num_uniform) hold one element each.
  std::vector<uint32_t> registers;
  Register num_uniform = 0;
  int64_t tile = 0;         // elements in every other register; a power of two, >= kLanes
  int64_t temporaries = 0;  // offset of kNumTemporaries tiles of 8-byte elements
  int64_t scratch_bytes = 0;
};

// Of every register and temporary, and of the memory they lie in, in bytes.
inline constexpr int64_t kRegisterAlignment = 64;

inline constexpr int kNumTemporaries = 4;

Bytecode translate(const fusion::Program& program);

}  // namespace sluice::kernels::interp

#endif  // SLUICE_KERNELS_INTERP_BYTECODE_H_
