// The names of types, special registers and opcodes.
#include <set>

#include "tests/ptx_device/parser_state.h"

namespace sluice::ptx {
namespace {

template <typename T>
using Names = std::map<std::string, T>;

// The value of a name; `none` if it is not among them.
template <typename T>
T lookup(const Names<T>& names, const std::string& name, T none) {
  const auto it = names.find(name);
  return it == names.end() ? none : it->second;
}

// clang-format off
const Names<Op>& ops() {
  static const auto* const names = new Names<Op>{
      {"mov", kMov}, {"ld", kLd}, {"ldu", kLd}, {"st", kSt}, {"atom", kAtom}, {"red", kRed}, {"cvta", kCvta},
      {"add", kAdd}, {"addc", kAdd}, {"sub", kSub}, {"subc", kSub}, {"mul", kMul}, {"mad", kMad}, {"madc", kMad},
      {"fma", kFma}, {"div", kDiv}, {"rem", kRem}, {"neg", kNeg}, {"abs", kAbs}, {"min", kMin}, {"max", kMax},
      {"copysign", kCopysign}, {"rcp", kRcp}, {"sqrt", kSqrt}, {"rsqrt", kRsqrt}, {"ex2", kEx2}, {"lg2", kLg2},
      {"sin", kSin}, {"cos", kCos}, {"tanh", kTanh}, {"cvt", kCvt},
      {"set", kSet}, {"setp", kSetp}, {"selp", kSelp}, {"testp", kTestp}, {"and", kAnd}, {"or", kOr}, {"xor", kXor}, {"not", kNot},
      {"cnot", kCnot}, {"shl", kShl}, {"shr", kShr}, {"bfi", kBfi}, {"bfe", kBfe}, {"brev", kBrev}, {"clz", kClz},
      {"popc", kPopc}, {"prmt", kPrmt}, {"shf", kShf}, {"lop3", kLop3},
      {"bar", kBar}, {"barrier", kBar}, {"shfl", kShfl}, {"vote", kVote}, {"activemask", kActiveMask},
      {"fence", kFence}, {"membar", kFence}, {"bra", kBra}, {"brx", kBrx}, {"call", kCall}, {"ret", kRet},
      {"exit", kExit}, {"trap", kTrap}};
  return *names;
}

const Names<Round>& rounds() {
  static const auto* const names = new Names<Round>{
      {"rn", kRN}, {"rz", kRZ}, {"rm", kRM}, {"rp", kRP}, {"rni", kRNI}, {"rzi", kRZI}, {"rmi", kRMI}, {"rpi", kRPI}};
  return *names;
}

const Names<Space>& spaces() {
  static const auto* const names = new Names<Space>{
      {"global", kGlobal}, {"const", kConst}, {"shared", kShared}, {"shared::cta", kShared}, {"local", kLocal},
      {"param", kParamIn}, {"param::entry", kParamIn}, {"param::func", kParamIn}};
  return *names;
}

const Names<Compare>& comparisons() {
  static const auto* const names = new Names<Compare>{
      {"eq", kEq}, {"ne", kNe}, {"lt", kLt}, {"le", kLe}, {"gt", kGt}, {"ge", kGe}, {"lo", kLt}, {"ls", kLe},
      {"hi", kGt}, {"hs", kGe}, {"equ", kEqu}, {"neu", kNeu}, {"ltu", kLtu}, {"leu", kLeu}, {"gtu", kGtu},
      {"geu", kGeu}, {"num", kNum}, {"nan", kNan}};
  return *names;
}

const Names<Combine>& combinations() {
  static const auto* const names =
      new Names<Combine>{{"and", kCombineAnd}, {"or", kCombineOr}, {"xor", kCombineXor}};
  return *names;
}

const Names<Part>& parts() {
  static const auto* const names = new Names<Part>{{"lo", kLo}, {"hi", kHi}, {"wide", kWide}};
  return *names;
}

const Names<Mode>& modes(Op op) {
  static const auto* const none = new Names<Mode>;
  static const auto* const shuffles = new Names<Mode>{{"up", kUp}, {"down", kDown}, {"bfly", kBfly}, {"idx", kIdx}};
  static const auto* const votes = new Names<Mode>{{"all", kAll}, {"any", kAny}, {"uni", kUni}, {"ballot", kBallot}};
  static const auto* const tests = new Names<Mode>{
      {"finite", kFinite}, {"infinite", kInfinite}, {"number", kNumber}, {"notanumber", kNotANumber},
      {"normal", kNormal}, {"subnormal", kSubnormal}};
  static const auto* const atomics = new Names<Mode>{
      {"cas", kCas}, {"exch", kExch}, {"add", kAtomAdd}, {"min", kAtomMin}, {"max", kAtomMax}, {"and", kAtomAnd},
      {"or", kAtomOr}, {"xor", kAtomXor}};
  static const auto* const conversions = new Names<Mode>{{"to", kTo}};
  switch (op) {
    case kShfl: return *shuffles;
    case kVote: return *votes;
    case kTestp: return *tests;
    case kAtom: case kRed: return *atomics;
    case kCvta: return *conversions;
    default: return *none;
  }
}

// What makes no difference on a machine that runs one instruction after another.
bool is_without_effect(const std::string& modifier) {
  static const auto* const names = new std::set<std::string>{
      "sync", "aligned", "uni", "gpu", "cta", "sys", "volatile", "acquire", "release", "acq_rel", "sc",
      "gl", "weak", "cg", "ca", "cs", "lu", "cv", "wb", "wt", "idx", "ordered"};
  return names->count(modifier) > 0;
}

const Names<bool Instruction::*>& flags() {
  static const auto* const names = new Names<bool Instruction::*>{
      {"ftz", &Instruction::ftz}, {"sat", &Instruction::sat}, {"approx", &Instruction::approx},
      {"full", &Instruction::approx}, {"NaN", &Instruction::nan}, {"nc", &Instruction::nc},
      {"cc", &Instruction::carry_out}, {"relaxed", &Instruction::strong}};
  return *names;
}
// clang-format on

// One part of an opcode after its name. False if it is not known.
bool decode_modifier(const std::string& p, int* num_types, Instruction* insn) {
  if (const Type type = type_of(p); type != kNoType) {
    if (*num_types == 2) return false;
    (*num_types == 0 ? insn->type : insn->source_type) = type;
    ++*num_types;
    return true;
  }
  if ((insn->op == kSetp || insn->op == kSet) && insn->compare == kNoCompare &&
      comparisons().count(p) > 0) {
    insn->compare = comparisons().at(p);
  } else if (insn->op == kSetp && combinations().count(p) > 0) {
    insn->combine = combinations().at(p);
  } else if ((insn->op == kMul || insn->op == kMad) && parts().count(p) > 0) {
    insn->part = parts().at(p);
  } else if (insn->mode == kNoMode && modes(insn->op).count(p) > 0) {
    insn->mode = modes(insn->op).at(p);
  } else if (insn->op == kShf && (p == "l" || p == "r")) {
    insn->left = p == "l";
  } else if (insn->op == kShf && (p == "wrap" || p == "clamp")) {
    insn->wraps = p == "wrap";
  } else if (rounds().count(p) > 0) {
    insn->round = rounds().at(p);
  } else if (spaces().count(p) > 0) {
    insn->space = spaces().at(p);
  } else if (flags().count(p) > 0) {
    insn->*flags().at(p) = true;
  } else if (p == "v2" || p == "v4") {
    insn->vector = static_cast<uint8_t>(p[1] - '0');
  } else {
    return is_without_effect(p);
  }
  return true;
}

}  // namespace

// clang-format off
Type type_of(const std::string& name) {
  static const auto* const names = new Names<Type>{
      {"pred", kPred}, {"b8", kB8}, {"b16", kB16}, {"b32", kB32}, {"b64", kB64}, {"u8", kU8}, {"u16", kU16},
      {"u32", kU32}, {"u64", kU64}, {"s8", kS8}, {"s16", kS16}, {"s32", kS32}, {"s64", kS64}, {"f16", kF16},
      {"bf16", kBF16}, {"f16x2", kF16x2}, {"bf16x2", kBF16x2}, {"f32", kF32}, {"f64", kF64}};
  return lookup(*names, name, kNoType);
}

int special_of(const std::string& name) {
  static const auto* const names = new Names<int>{
      {"%tid.x", kTidX}, {"%tid.y", kTidY}, {"%tid.z", kTidZ}, {"%ntid.x", kNtidX}, {"%ntid.y", kNtidY},
      {"%ntid.z", kNtidZ}, {"%ctaid.x", kCtaidX}, {"%ctaid.y", kCtaidY}, {"%ctaid.z", kCtaidZ},
      {"%nctaid.x", kNctaidX}, {"%nctaid.y", kNctaidY}, {"%nctaid.z", kNctaidZ}, {"%laneid", kLaneId},
      {"%warpid", kWarpId}, {"%lanemask_lt", kLaneMaskLt}, {"%lanemask_le", kLaneMaskLe},
      {"%lanemask_eq", kLaneMaskEq}, {"%lanemask_gt", kLaneMaskGt}, {"%lanemask_ge", kLaneMaskGe}};
  return lookup(*names, name, -1);
}
// clang-format on

namespace {

// Instructions that are known as a whole.
bool decode_tensor_opcode(const std::string& opcode, Instruction* insn) {
  struct Known {
    Op op;
    Type type;
    Space space;
    bool transposed;
  };
  static const auto* const names = new Names<Known>{
      {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", {kMma, kF16, kGeneric, false}},
      {"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", {kMma, kBF16, kGeneric, false}},
      {"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", {kMma, kF32, kGeneric, false}},
      {"ldmatrix.sync.aligned.m8n8.x4.shared.b16", {kLdMatrix, kB32, kShared, false}},
      {"ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16", {kLdMatrix, kB32, kShared, true}},
      {"cp.async.cg.shared.global", {kCopyAsync, kB32, kShared, false}},
      {"cp.async.ca.shared.global", {kCopyAsync, kB32, kShared, false}},
      {"cp.async.wait_all", {kWaitCopies, kNoType, kGeneric, false}},
      {"cvt.rna.tf32.f32", {kToTf32, kB32, kGeneric, false}}};
  const auto found = names->find(opcode);
  if (found == names->end()) return false;
  insn->op = found->second.op;
  insn->type = found->second.type;
  insn->space = found->second.space;
  insn->transposed = found->second.transposed;
  return true;
}

}  // namespace

void decode_opcode(const std::string& opcode, Instruction* insn) {
  if (decode_tensor_opcode(opcode, insn)) return;
  const std::vector<std::string> words = split(opcode, '.');
  const auto op = ops().find(words[0]);
  if (op == ops().end()) fail("instruction " + opcode);
  insn->op = op->second;
  insn->carry_in = words[0] == "addc" || words[0] == "subc" || words[0] == "madc";
  size_t next = 1;
  if (insn->op == kBar) {
    if (words.size() > 1 && words[1] == "warp") {
      insn->op = kWarpSync;
      ++next;
    }
    if (words.back() != "sync" && words.back() != "aligned") fail("instruction " + opcode);
  }
  int num_types = 0;
  for (; next < words.size(); ++next) {
    if (!decode_modifier(words[next], &num_types, insn)) fail("." + words[next] + " of " + opcode);
  }
}

}  // namespace sluice::ptx
