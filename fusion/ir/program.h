// The loop program: the interface between fusion and kernels.
//
// A Program is one fused kernel. It has
//   - an iteration space: outer dims, each point of which gives one row, and inside them reduced
//     dims, over which reductions run (none in a pointwise kernel);
//   - accesses: how a buffer is addressed from a point of that space, always
//       offset + sum over dims d of index[d] * stride[d]     (in elements);
//   - a body of scalar SSA instructions, each executed for every point at its level;
//   - stores.
//
// Extents, strides, offsets, scalar operands and pointers are *arguments* of the kernel
// (KernelArgs in kernels/executable.h), never part of the Program: one compiled kernel serves all
// sizes and all constants. The Program, and so the kernel key, holds instructions, dtypes, ranks
// and the class of each access's stride along the lane dim.
//
// Levels. An instruction that depends on nothing but scalars is uniform; one that does not vary
// along the reduced dims is of row level; the rest are of element level. A reduction takes an
// element-level value to row level. A row-level value used by an element-level instruction is
// thereby broadcast along the row; kExpand does nothing else, for reductions of such values. An
// element-level instruction that depends on a reduction's result belongs to a later pass over the
// row (see pass_of): softmax is one Program of three passes.
#ifndef SLUICE_FUSION_IR_PROGRAM_H_
#define SLUICE_FUSION_IR_PROGRAM_H_

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <sluice/dtype.h>
#include "absl/status/status.h"
#include "fusion/ir/op.h"

namespace sluice::fusion {

using ValueId = uint16_t;
inline constexpr ValueId kNoValue = 0xffff;
inline constexpr uint16_t kNoBuffer = 0xffff;
inline constexpr uint16_t kNoAccess = 0xffff;

// Which values vary where; ordered: an instruction's level is the maximum of its operands'.
enum class Level : uint8_t { kUniform, kRow, kElement };

inline constexpr int64_t kNontemporalAlignment = 64;  // bytes
inline constexpr int kMaxPackedDims = 3;
inline constexpr int64_t kMaxPackedExtent = std::numeric_limits<uint8_t>::max();
inline constexpr int64_t kMaxPackedStride = 64;  // elements

// Which dim the vector lanes run along, and with it the order of a reduction (kernels/reduction.h).
enum class Schedule : uint8_t {
  kPointwise,  // no reduced dims; lanes along the last outer dim
  kRow,        // lanes along the last reduced dim (but see Program::lanes_across_rows)
  kColumn,     // lanes along the last outer dim
};

// The elements of a row that a reduction combines one after another before it pairs results: a leaf
// of the tree of kernels/reduction.h.
constexpr int64_t leaf_size(Schedule schedule) { return schedule == Schedule::kRow ? 512 : 16; }

// The class of an access's stride along the lane dim.
enum class StrideClass : uint8_t {
  kZero,  // the same element for every lane
  kUnit,  // consecutive elements
  kAny,   // the stride is read from the arguments (it may be any value, 0 and 1 included)
  kTile,  // likewise, and elements are consecutive along the dim before the lane dim (column
          // schedule: along the last reduced dim): read by tiles
};

struct Access {
  uint16_t buffer = kNoBuffer;  // kNoBuffer: the address itself is the value (Op::kCoordinate)
  DType dtype = DType::kFloat32;
  StrideClass lanes = StrideClass::kAny;
  bool varies_along_outer = true;    // false: all strides along outer dims are 0
  bool varies_along_reduced = true;  // false: all strides along reduced dims are 0
  // Packed programs: the class of the stride along the rows, whether any stride inside a row is not
  // 0, and the stride along the rows if elements are consecutive inside a row or its strides are
  // known, and it is at most kMaxPackedStride forwards or backwards (else 0).
  StrideClass rows = StrideClass::kZero;
  bool varies_in_row = false;
  int8_t row_stride = 0;
  // Pointwise: this reads so many elements after what access `leader` does, which has none itself.
  // So it was where the program was made; elsewhere the buffers may lie in another way.
  uint16_t leader = kNoAccess;
  uint8_t distance = 0;
  // The strides along the dims of a row, if all are short.
  bool knows_row = false;
  std::array<int8_t, kMaxPackedDims> in_row = {};

  bool operator==(const Access&) const = default;
};

// One SSA instruction; its ValueId is its position in Program::body. Operands come before it.
//
// op           operands              aux       result
// kLoad        [predicate]           access    the element; 0 where the predicate is false (and
//                                              memory is then not touched)
// kGather      index [predicate]     access    likewise, at the access's address + index elements
// kCoordinate  -                     access    int64 address of an access with no buffer
// kScalar      -                     scalar    a scalar argument, stored in `dtype`
// kParam       -                     param     an int64 index argument (an extent, a stride)
// kCheckIndex  index extent [predicate] slot   index + (index < 0 ? extent : 0), int64; if that is
//                                              outside [0, extent) and the predicate holds, error
//                                              slot `aux` is raised and the result is 0
// kCast        value                 -         C++ conversion with the rules of kernels/math/cast.h
// kExpand      value                 -         a uniform or row-level value at each element of
//                                              the row, which makes it one of element level
// reductions   value                 -         the reduced value; arg reductions: the position
//                                              along the row
// pointwise    by arity              -         see fusion/ir/ops.def
//
// `dtype` is the result's. Half dtypes compute in float32 and are rounded to `dtype` after every
// instruction, so that a fused program rounds where op-by-op execution would.
struct Instr {
  Op op = Op::kLoad;
  DType dtype = DType::kFloat32;
  Level level = Level::kElement;
  uint8_t num_operands = 0;
  ValueId operands[3] = {kNoValue, kNoValue, kNoValue};
  uint16_t aux = 0;

  bool operator==(const Instr&) const = default;
};

// Whether `aux` is an access: whose memory is read, or whose address is the value.
inline bool has_access(Op op) {
  return op == Op::kLoad || op == Op::kGather || op == Op::kCoordinate;
}

// Writes `value` as it is: the access has its dtype. A store of row level happens once a row; its
// access does not vary along the reduced dims. Every float store writes NaN as the canonical quiet
// NaN, so that bits don't depend on which operand a NaN came from.
struct Store {
  ValueId value = kNoValue;
  uint16_t access = 0;

  bool operator==(const Store&) const = default;
};

struct Program {
  Schedule schedule = Schedule::kPointwise;
  uint8_t outer_rank = 1;    // >= 1; dims [0, outer_rank) of the arguments, outermost first
  uint8_t reduced_rank = 0;  // dims [outer_rank, outer_rank + reduced_rank)
  uint16_t num_buffers = 0;
  uint16_t num_scalars = 0;
  uint16_t num_params = 0;
  uint16_t num_error_slots = 0;
  // Rows are short enough to cache: expensive values that several passes need are best kept from
  // one pass to the next. No bit depends on it.
  bool caches_rows = false;
  // Row schedule only: operands are consecutive along the last outer dim, not along the rows, so
  // lanes run across rows. The order of reductions stays the row schedule's.
  bool lanes_across_rows = false;
  bool one_leaf = false;  // rows have at most leaf_size() elements
  bool tiled = false;     // some access is kTile
  // Row schedule: runs along the last of several reduced dims are short and cut vectors, so that
  // what is read is best copied to where runs follow one another. The shortest cut every vector, of
  // rows long enough to copy even where masks are free.
  enum class Runs : uint8_t { kLong, kShort, kShortest };
  Runs runs = Runs::kLong;
  // Accesses that walk consecutive elements together: of n of them the k-th is k elements after the
  // first, and their stride along the lane dim is n. Either all are read at every point, without
  // predicates, or all are stored. No access is in two lists. Of those that are read any but the
  // first may be kNoAccess: elements that nobody needs.
  std::vector<std::vector<uint16_t>> interleaved;
  // Element-level stores are best non-temporal: the outputs are large, and each whole vector of
  // them lies at a multiple of kNontemporalAlignment.
  bool nontemporal = false;
  // Pointwise: of one such output the runs along the lane dim begin anywhere, so that whole vectors
  // begin at the first such multiple in each.
  bool runs_cut_lines = false;
  // An element-level store may go where a load of the same point reads: no point is to be computed
  // twice in the last pass. Said of programs with reductions alone.
  bool in_place = false;
  // Pointwise: the extents of the last dims, if these are so short that vectors hold several rows
  // of them; else 0. They are part of the program since the code is laid out by them.
  std::array<uint8_t, kMaxPackedDims> packed = {};
  uint8_t packed_rank = 0;
  // So few rows follow one another that what is done at both ends of a run of them takes long.
  bool short_runs = false;
  // Products and sums may be computed as one fused operation.
  bool contracts = false;
  std::vector<Access> accesses;
  std::vector<Instr> body;
  std::vector<Store> stores;

  int rank() const { return outer_rank + reduced_rank; }
  bool lanes_reduced() const { return schedule == Schedule::kRow && !lanes_across_rows; }
  // The points of a packed row.
  int packed_points() const {
    int points = 1;
    for (int d = 0; d < packed_rank; ++d) points *= packed[d];
    return points;
  }
  // The dim of the packed rows.
  int packed_row_dim() const { return outer_rank - packed_rank - 1; }
  // The dim that lanes run along.
  int lane_dim() const { return lanes_reduced() ? rank() - 1 : outer_rank - 1; }

  bool operator==(const Program&) const = default;
};

// Checks every rule stated above; kernels may rely on what it accepts.
absl::Status verify(const Program& program);

// The dtype that an instruction's operand has.
DType operand_dtype(const Program& program, const Instr& instr, int operand);
// The compute type that the expression of a pointwise instruction or of a reduction is instantiated
// for: its operands', and for kSelect ops that of the values selected from. Of a cast the source's.
DType expression_dtype(const Program& program, const Instr& instr);

// By value, the first pass over the row in which it may be computed (element level) or used (row
// level); 0 is the first. A reduction of an operand of pass p has pass p + 1, every other value the
// maximum of its operands' passes. A row-level value of pass p can be stored before pass p begins,
// or after the last pass. All 0 for a pointwise program.
std::vector<uint8_t> pass_of(const Program& program);

// The number of passes over the row: one more than the greatest pass of an element-level value that
// a reduction or a store needs. 1 for a pointwise program.
int num_passes(const Program& program);

// The canonical form as bytes: equal programs and only those give equal keys.
std::string canonical_key(const Program& program);

// One line an instruction, for people.
std::string to_text(const Program& program);

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_IR_PROGRAM_H_
