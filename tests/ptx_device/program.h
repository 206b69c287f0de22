// PTX, decoded: what the parser (parser.h) makes of text and the machine (launch.h) runs. The names
// are those of the PTX ISA.
#ifndef SLUICE_TESTS_PTX_DEVICE_PROGRAM_H_
#define SLUICE_TESTS_PTX_DEVICE_PROGRAM_H_

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace sluice::ptx {

inline constexpr int kWarp = 32;

// clang-format off
enum Type : uint8_t {
  kNoType, kPred, kB8, kB16, kB32, kB64, kU8, kU16, kU32, kU64, kS8, kS16, kS32, kS64,
  kF16, kBF16, kF16x2, kBF16x2, kF32, kF64
};

enum Op : uint8_t {
  // Moves and memory. kPack and kUnpack are `mov` of vectors, kSpecial `mov` of a special register.
  kMov, kPack, kUnpack, kSpecial, kLocalAddress, kLd, kSt, kAtom, kRed, kCvta,
  // Arithmetic.
  kAdd, kSub, kMul, kMad, kFma, kDiv, kRem, kNeg, kAbs, kMin, kMax, kCopysign,
  kRcp, kSqrt, kRsqrt, kEx2, kLg2, kSin, kCos, kTanh, kCvt,
  // Predicates and bits.
  kSet, kSetp, kSelp, kTestp, kAnd, kOr, kXor, kNot, kCnot, kShl, kShr, kBfi, kBfe, kBrev, kClz, kPopc,
  kPrmt, kShf, kLop3,
  // Control and exchange.
  kBar, kWarpSync, kShfl, kVote, kActiveMask, kFence, kBra, kBrx, kCall, kRet, kExit, kTrap,
  // Of a whole warp: their last operand names all of it. Then copies that are waited for later.
  kMma, kLdMatrix, kCopyAsync, kWaitCopies, kToTf32
};

enum Space : uint8_t {
  kGeneric, kGlobal, kConst, kShared, kLocal,
  kParamIn,    // an entry's parameters
  kParamFrame  // a called function's arguments and results
};
enum Round : uint8_t { kNoRound, kRN, kRZ, kRM, kRP, kRNI, kRZI, kRMI, kRPI };
enum Part : uint8_t { kNoPart, kLo, kHi, kWide };
enum Compare : uint8_t {
  kNoCompare, kEq, kNe, kLt, kLe, kGt, kGe, kEqu, kNeu, kLtu, kLeu, kGtu, kGeu, kNum, kNan
};
enum Combine : uint8_t { kNoCombine, kCombineAnd, kCombineOr, kCombineXor };  // of setp
enum Mode : uint8_t {
  kNoMode,
  kUp, kDown, kBfly, kIdx,        // shfl
  kAll, kAny, kUni, kBallot,      // vote
  kTo,                            // cvta
  kFinite, kInfinite, kNumber, kNotANumber, kNormal, kSubnormal,                     // testp
  kCas, kExch, kAtomAdd, kAtomMin, kAtomMax, kAtomAnd, kAtomOr, kAtomXor             // atom, red
};
enum Special : uint8_t {
  kTidX, kTidY, kTidZ, kNtidX, kNtidY, kNtidZ, kCtaidX, kCtaidY, kCtaidZ, kNctaidX, kNctaidY,
  kNctaidZ, kLaneId, kWarpId, kLaneMaskLt, kLaneMaskLe, kLaneMaskEq, kLaneMaskGt, kLaneMaskGe
};
// clang-format on

int bytes_of(Type type);

struct Operand {
  enum Kind : uint8_t { kNone, kReg, kImm, kSink } kind = kNone;
  bool negated = false;           // a predicate
  int reg = 0;                    // its number in the frame
  const uint64_t* row = nullptr;  // of an immediate: kWarp equal values
};

// An argument or a result of a call: offsets in the caller's and the callee's frame of parameters.
struct Argument {
  int from, to, bytes;
};

struct Instruction {
  Op op = kMov;
  Type type = kNoType, source_type = kNoType;
  Space space = kGeneric;
  Round round = kNoRound;
  Part part = kNoPart;
  Compare compare = kNoCompare;
  Combine combine = kNoCombine;
  Mode mode = kNoMode;
  Special special = kTidX;
  bool ftz = false, sat = false, approx = false, nan = false, carry_in = false, carry_out = false;
  bool nc = false;          // a load through the cache that is not coherent
  bool strong = false;      // a load or store that blocks may do at once
  bool left = false;        // shf
  bool wraps = false;       // shf
  bool transposed = false;  // ldmatrix
  bool guard_negated = false;
  int guard = -1;  // the register of @p; -1: none
  uint8_t vector = 1;
  int nd = 0, ns = 0;
  Operand d[4], s[11];       // destinations and sources
  Operand base;              // of an address; kNone: the frame's local memory
  int64_t offset = 0;        // likewise
  int target = -1;           // of bra and call: a place in Program::code
  std::vector<int> targets;  // of brx.idx
  int function = -1;         // of call
  std::vector<Argument> arguments, results;
  int line = 0;
  const char* text = nullptr;
};

struct Variable {
  std::string name;
  int64_t offset, bytes;
};

struct Function {
  std::string name;
  bool is_entry = false;
  bool is_defined = false;
  int begin = 0;  // in Program::code
  int registers = 0;
  int param_bytes = 0;  // an entry's parameters; a function's frame of arguments and results
  int local_bytes = 0;
  int max_threads = 0;  // 0: not limited
  std::vector<Variable> formals, returns, shared;
};

struct Program {
  std::vector<Instruction> code;
  std::vector<Function> functions;
  std::map<std::string, int> by_name;
  std::vector<Variable> shared;                              // of the module
  std::vector<std::pair<uint64_t, uint64_t>> global_ranges;  // constants, by host address
  int shared_end = 0;
  int max_registers = 0, max_frame = 0, max_local = 0;

  // What instructions point to.
  std::deque<std::vector<uint8_t>> globals;
  std::deque<std::vector<uint64_t>> rows;
  std::map<uint64_t, const uint64_t*> row_of;
  std::deque<std::string> texts;

  // kWarp times `value`.
  const uint64_t* constant(uint64_t value);
};

}  // namespace sluice::ptx

#endif  // SLUICE_TESTS_PTX_DEVICE_PROGRAM_H_
