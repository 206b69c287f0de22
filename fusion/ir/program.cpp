#include "fusion/ir/program.h"

#include <algorithm>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "fusion/ir/scan.h"

namespace sluice::fusion {
namespace {

const char* text_of(Program::Runs runs) {
  switch (runs) {
    case Program::Runs::kLong: return "";
    case Program::Runs::kShort: return " short runs";
    case Program::Runs::kShortest: return " shortest runs";
  }
  return "";
}

bool is_element_reduction(const Program& program, const Instr& instr) {
  return is_reduction(instr.op) && program.body[instr.operands[0]].level == Level::kElement;
}

// The operand that is a predicate, or -1.
int predicate_operand(const Instr& instr) {
  switch (instr.op) {
    case Op::kLoad: return instr.num_operands == 1 ? 0 : -1;
    case Op::kGather: return instr.num_operands == 2 ? 1 : -1;
    case Op::kCheckIndex: return instr.num_operands == 3 ? 2 : -1;
    default: return -1;
  }
}

Level level_of(const Access& access) {
  if (access.varies_along_reduced) return Level::kElement;
  return access.varies_along_outer ? Level::kRow : Level::kUniform;
}

// The level an instruction must have: the maximum of its operands' and of its address's.
Level expected_level(const Program& program, const Instr& instr) {
  if (is_reduction(instr.op)) return Level::kRow;
  if (instr.op == Op::kExpand) return Level::kElement;
  Level level = Level::kUniform;
  for (int i = 0; i < instr.num_operands; ++i) {
    level = std::max(level, program.body[instr.operands[i]].level);
  }
  if (has_access(instr.op)) {
    level = std::max(level, level_of(program.accesses[instr.aux]));
  }
  return level;
}

using Words = absl::InlinedVector<uint16_t, 512>;

template <typename... T>
void append_words(Words* words, T... values) {
  (words->push_back(static_cast<uint16_t>(values)), ...);
}

const char* name_of(Level level) {
  constexpr const char* kNames[] = {"uniform", "row", "element"};
  return kNames[static_cast<int>(level)];
}

const char* name_of(StrideClass stride) {
  constexpr const char* kNames[] = {"zero", "unit", "any", "tile"};
  return kNames[static_cast<int>(stride)];
}

const char* name_of(Schedule schedule) {
  constexpr const char* kNames[] = {"pointwise", "row", "column"};
  return kNames[static_cast<int>(schedule)];
}

// Names an instruction in a verifier's message.
std::string describe(const Program& program, size_t i) {
  return absl::StrCat("v", i, " = ", fusion::name_of(program.body[i].op), " ",
                      sluice::name_of(program.body[i].dtype));
}

// Whether an access has a leader that may be one.
bool follows(const Program& program, const Access& access) {
  if (program.schedule != Schedule::kPointwise || access.leader >= program.accesses.size()) {
    return false;
  }
  const Access& leader = program.accesses[access.leader];
  return leader.leader == kNoAccess && leader.dtype == access.dtype &&
         leader.lanes == StrideClass::kUnit && access.lanes == StrideClass::kUnit;
}

absl::Status verify_structure(const Program& program) {
  auto fail = [](auto... parts) {
    return absl::InternalError(absl::StrCat("program: ", parts...));
  };
  if (program.outer_rank < 1) return fail("no outer dim");
  if ((program.schedule == Schedule::kPointwise) != (program.reduced_rank == 0)) {
    return fail("schedule ", name_of(program.schedule), " with ", int{program.reduced_rank},
                " reduced dims");
  }
  if (program.runs != Program::Runs::kLong &&
      (!program.lanes_reduced() || program.reduced_rank < 2))
    return fail("short runs of what");
  if (program.lanes_across_rows && program.schedule != Schedule::kRow)
    return fail("lanes across rows need the row schedule");
  if (program.body.size() >= kNoValue) return fail("too many instructions: ", program.body.size());
  if (program.stores.empty()) return fail("stores nothing");
  for (size_t i = 0; i < program.accesses.size(); ++i) {
    const Access& access = program.accesses[i];
    if (access.buffer != kNoBuffer && access.buffer >= program.num_buffers) {
      return fail("access ", i, " names buffer ", access.buffer);
    }
    if (program.reduced_rank == 0 && access.varies_along_reduced) {
      return fail("access ", i, " varies along dims that are not there");
    }
    const bool varies =
        program.lanes_reduced() ? access.varies_along_reduced : access.varies_along_outer;
    if (access.leader != kNoAccess && !follows(program, access)) {
      return fail("access ", i, " has a leader that is none");
    }
    if (!varies && access.lanes != StrideClass::kZero) {
      return fail("access ", i, " has a lane stride but does not vary");
    }
  }
  return absl::OkStatus();
}

// Tiles are read whole, whatever a predicate says, and only read.
absl::Status verify_interleaved(const Program& program) {
  std::vector<bool> seen(program.accesses.size(), false);
  for (const std::vector<uint16_t>& accesses : program.interleaved) {
    for (const uint16_t access : accesses) {
      if (access == kNoAccess && accesses[0] != kNoAccess) continue;
      if (access >= seen.size() || seen[access] ||
          !(program.accesses[access] == program.accesses[accesses[0]]) ||
          program.accesses[access].lanes != StrideClass::kAny) {
        return absl::InternalError(absl::StrCat("program: access ", access, " is interleaved"));
      }
      seen[access] = true;
    }
  }
  return absl::OkStatus();
}

absl::Status verify_tiles(const Program& program) {
  auto fail = [](auto... parts) {
    return absl::InternalError(absl::StrCat("program: ", parts...));
  };
  auto is_tile = [&](uint16_t access) {
    return program.accesses[access].lanes == StrideClass::kTile;
  };
  const bool tiled =
      std::any_of(program.accesses.begin(), program.accesses.end(),
                  [](const Access& access) { return access.lanes == StrideClass::kTile; });
  if (tiled != program.tiled) return fail("tiled is ", program.tiled);
  if (!tiled) return absl::OkStatus();
  const bool has_sides = program.schedule == Schedule::kPointwise ? program.outer_rank >= 2
                         : program.lanes_reduced()                ? program.reduced_rank >= 2
                                                                  : program.reduced_rank >= 1;
  if (!has_sides || program.lanes_across_rows) return fail("no dims for tiles");
  for (const Instr& instr : program.body) {
    if (!has_access(instr.op) || !is_tile(instr.aux)) continue;
    if (instr.op != Op::kLoad || instr.num_operands > 0) return fail("a tile is read by no load");
  }
  for (const Store& store : program.stores) {
    if (is_tile(store.access)) return fail("a tile is stored to");
  }
  return absl::OkStatus();
}

absl::Status verify_packed(const Program& program) {
  auto fail = [](auto... parts) {
    return absl::InternalError(absl::StrCat("program: ", parts...));
  };
  if (program.packed_rank == 0) return absl::OkStatus();
  if (program.schedule != Schedule::kPointwise || program.tiled) {
    return fail("packed rows need a pointwise program without tiles");
  }
  if (program.packed_rank > kMaxPackedDims || program.packed_row_dim() < 0) {
    return fail("packs ", int{program.packed_rank}, " of ", int{program.outer_rank}, " dims");
  }
  if (program.packed_points() < 2) return fail("packs rows of ", program.packed_points());
  return absl::OkStatus();
}

absl::Status verify_operands(const Program& program, size_t index) {
  const Instr& instr = program.body[index];
  auto fail = [&](auto... parts) {
    return absl::InternalError(absl::StrCat("program: ", describe(program, index), ": ", parts...));
  };
  const int8_t arity = op_info(instr.op).arity;
  if (arity >= 0 && instr.num_operands != static_cast<uint8_t>(arity)) {
    return fail("has ", int{instr.num_operands}, " operands");
  }
  for (int i = 0; i < instr.num_operands; ++i) {
    if (instr.operands[i] >= index) return fail("operand ", i, " is not an earlier value");
    const DType expected = operand_dtype(program, instr, i);
    const DType actual = program.body[instr.operands[i]].dtype;
    if (instr.op != Op::kCast && actual != expected) {
      return fail("operand ", i, " is ", sluice::name_of(actual), ", not ",
                  sluice::name_of(expected));
    }
  }
  if (instr.level != expected_level(program, instr)) {
    return fail("level is ", name_of(instr.level), ", not ",
                name_of(expected_level(program, instr)));
  }
  return absl::OkStatus();
}

absl::Status verify_instr(const Program& program, size_t index) {
  const Instr& instr = program.body[index];
  auto fail = [&](auto... parts) {
    return absl::InternalError(absl::StrCat("program: ", describe(program, index), ": ", parts...));
  };
  const OpInfo& info = op_info(instr.op);
  switch (instr.op) {
    case Op::kLoad:
    case Op::kGather:
    case Op::kCoordinate: {
      if (instr.aux >= program.accesses.size()) return fail("no access ", instr.aux);
      const Access& access = program.accesses[instr.aux];
      if ((access.buffer == kNoBuffer) != (instr.op == Op::kCoordinate)) {
        return fail("access ", instr.aux, " is of the wrong kind");
      }
      const DType expected = instr.op == Op::kCoordinate ? DType::kInt64 : access.dtype;
      if (instr.dtype != expected) return fail("dtype is not its access's");
      const int least = instr.op == Op::kGather ? 1 : 0;
      const int most = instr.op == Op::kCoordinate ? 0 : least + 1;
      if (instr.num_operands < least || instr.num_operands > most) return fail("operand count");
      break;
    }
    case Op::kScalar:
      if (instr.aux >= program.num_scalars) return fail("no scalar ", instr.aux);
      break;
    case Op::kParam:
      if (instr.aux >= program.num_params || instr.dtype != DType::kInt64) {
        return fail("no int64 param ", instr.aux);
      }
      break;
    case Op::kCheckIndex:
      if (instr.aux >= program.num_error_slots || instr.dtype != DType::kInt64) {
        return fail("no error slot ", instr.aux);
      }
      if (instr.num_operands < 2 || instr.num_operands > 3) return fail("operand count");
      break;
    case Op::kCast: break;
    case Op::kExpand:
      if (program.reduced_rank == 0) return fail("no row to expand to");
      if (program.body[instr.operands[0]].level == Level::kElement) {
        return fail("expands a value that varies along the row");
      }
      break;
    default:
      if (is_reduction(instr.op)) {
        if (program.reduced_rank == 0) return fail("reduction in a pointwise program");
        if (program.body[instr.operands[0]].level != Level::kElement) {
          return fail("reduces a value that does not vary along the row");
        }
        if (is_arg_reduction(instr.op) ? instr.dtype != DType::kInt64
                                       : !in_domain(info.domain, instr.dtype)) {
          return fail("no such reduction");
        }
      } else if (is_scan(instr.op)) {
        if (program.reduced_rank != 1) return fail("scans ", int{program.reduced_rank}, " dims");
        if (program.lanes_across_rows || program.tiled) return fail("is out of order");
        if (program.body[instr.operands[0]].level != Level::kElement) {
          return fail("scans a value that does not vary along the row");
        }
        if (instr.dtype == DType::kBool) return fail("no such scan");
      } else if (!is_pointwise(instr.op)) {
        return fail("is not an instruction");
      } else if (info.rule == TypeRule::kFixed) {
        if (instr.dtype != info.result_dtype) return fail("result dtype");
      } else if (info.rule == TypeRule::kPredicate || info.rule == TypeRule::kLogical) {
        if (instr.dtype != DType::kBool) return fail("result is not bool");
      } else if (!in_domain(info.domain, instr.dtype)) {
        return fail("is not defined for this dtype");
      }
  }
  return absl::OkStatus();
}

absl::Status verify_store(const Program& program, const Store& store) {
  auto fail = [](auto... parts) {
    return absl::InternalError(absl::StrCat("program: store: ", parts...));
  };
  if (store.value >= program.body.size()) return fail("no value ", store.value);
  if (store.access >= program.accesses.size()) return fail("no access ", store.access);
  const Access& access = program.accesses[store.access];
  const Instr& value = program.body[store.value];
  if (access.buffer == kNoBuffer) return fail("access ", store.access, " has no buffer");
  if (access.dtype != value.dtype) return fail("dtype of v", store.value, " is not its access's");
  if (access.varies_along_reduced != (program.reduced_rank > 0 && value.level == Level::kElement) &&
      !(access.varies_along_reduced && value.level < Level::kElement)) {
    return fail("v", store.value, " varies along the row but its access does not");
  }
  return absl::OkStatus();
}

}  // namespace

bool has_scans(const Program& program) {
  return std::any_of(program.body.begin(), program.body.end(),
                     [](const Instr& instr) { return is_scan(instr.op); });
}

DType operand_dtype(const Program& program, const Instr& instr, int operand) {
  const OpInfo& info = op_info(instr.op);
  if (operand == predicate_operand(instr)) return DType::kBool;
  switch (instr.op) {
    case Op::kGather:
    case Op::kCheckIndex: return DType::kInt64;
    case Op::kCast: return program.body[instr.operands[0]].dtype;
    default: break;
  }
  if (is_arg_reduction(instr.op)) return program.body[instr.operands[0]].dtype;
  switch (info.rule) {
    case TypeRule::kPredicate: return program.body[instr.operands[0]].dtype;
    case TypeRule::kLogical: return DType::kBool;
    case TypeRule::kSelect: return operand == 0 ? DType::kBool : instr.dtype;
    case TypeRule::kFixed: return info.operand_dtype;
    case TypeRule::kSame:
    case TypeRule::kFloat: break;
  }
  return instr.dtype;
}

DType expression_dtype(const Program& program, const Instr& instr) {
  const int typed = op_info(instr.op).rule == TypeRule::kSelect ? 1 : 0;
  return compute_type(operand_dtype(program, instr, typed));
}

absl::Status verify(const Program& program) {
  if (absl::Status status = verify_structure(program); !status.ok()) return status;
  for (size_t i = 0; i < program.body.size(); ++i) {
    if (absl::Status status = verify_instr(program, i); !status.ok()) return status;
    if (absl::Status status = verify_operands(program, i); !status.ok()) return status;
  }
  for (const Store& store : program.stores) {
    if (absl::Status status = verify_store(program, store); !status.ok()) return status;
  }
  if (absl::Status status = verify_interleaved(program); !status.ok()) return status;
  if (absl::Status status = verify_packed(program); !status.ok()) return status;
  return verify_tiles(program);
}

std::vector<uint8_t> pass_of(const Program& program) {
  std::vector<uint8_t> pass(program.body.size(), 0);
  for (size_t i = 0; i < program.body.size(); ++i) {
    const Instr& instr = program.body[i];
    for (int k = 0; k < instr.num_operands; ++k) {
      pass[i] = std::max(pass[i], pass[instr.operands[k]]);
    }
    if (is_element_reduction(program, instr)) ++pass[i];
  }
  return pass;
}

int num_passes(const Program& program) {
  const std::vector<uint8_t> pass = pass_of(program);
  int last = 0;
  for (const Instr& instr : program.body) {
    if (is_reduction(instr.op)) last = std::max<int>(last, pass[instr.operands[0]]);
  }
  for (const Store& store : program.stores) {
    if (program.accesses[store.access].varies_along_reduced) {
      last = std::max<int>(last, pass[store.value]);
    }
  }
  return last + 1;
}

std::string canonical_key(const Program& program) {
  Words key;
  append_words(&key, program.caches_rows, program.one_leaf, program.runs, program.lanes_across_rows,
               program.nontemporal, program.runs_cut_lines, program.in_place, program.contracts,
               program.schedule, program.outer_rank, program.reduced_rank, program.num_buffers,
               program.num_scalars, program.num_params, program.num_error_slots,
               program.accesses.size(), program.body.size(), program.stores.size(),
               program.packed_rank, program.short_runs, program.packed[0], program.packed[1],
               program.packed[2]);
  for (const Access& access : program.accesses) {
    append_words(&key, access.buffer, access.dtype, access.lanes,
                 access.varies_along_outer * 2 + access.varies_along_reduced, access.leader,
                 access.distance);
    if (program.packed_rank > 0) {
      append_words(&key, access.rows, access.varies_in_row, access.row_stride, access.knows_row);
      for (const int8_t stride : access.in_row) append_words(&key, static_cast<uint8_t>(stride));
    }
  }
  append_words(&key, program.interleaved.size());
  for (const std::vector<uint16_t>& accesses : program.interleaved) {
    append_words(&key, accesses.size());
    for (const uint16_t access : accesses) append_words(&key, access);
  }
  for (const Instr& instr : program.body) {
    append_words(&key, instr.op, instr.dtype, instr.aux, instr.num_operands);
    for (int i = 0; i < instr.num_operands; ++i) append_words(&key, instr.operands[i]);
  }
  for (const Store& store : program.stores) append_words(&key, store.value, store.access);
  return {reinterpret_cast<const char*>(key.data()), key.size() * sizeof(uint16_t)};
}

std::string to_text(const Program& program) {
  std::string text = absl::StrCat(
      "program ", name_of(program.schedule), " outer=", int{program.outer_rank},
      " reduced=", int{program.reduced_rank}, program.caches_rows ? " caches rows" : "",
      program.one_leaf ? " one leaf" : "", text_of(program.runs),
      program.lanes_across_rows ? " lanes across rows" : "",
      program.nontemporal ? " non-temporal" : "", program.runs_cut_lines ? " runs cut lines" : "",
      program.in_place ? " in place" : "", program.contracts ? " contracts" : "",
      program.packed_rank > 0 ? absl::StrCat(" rows of ", program.packed_points()) : "", "\n");
  for (size_t i = 0; i < program.accesses.size(); ++i) {
    const Access& access = program.accesses[i];
    absl::StrAppend(&text, "  a", i, ": ",
                    access.buffer == kNoBuffer ? "index" : absl::StrCat("b", access.buffer), " ",
                    sluice::name_of(access.dtype), " lanes=", name_of(access.lanes),
                    access.varies_along_outer ? " outer" : "",
                    access.varies_along_reduced ? " reduced" : "");
    if (access.leader != kNoAccess) {
      absl::StrAppend(&text, " ", int{access.distance}, " after a", access.leader);
    }
    absl::StrAppend(&text, "\n");
  }
  for (size_t i = 0; i < program.body.size(); ++i) {
    const Instr& instr = program.body[i];
    absl::StrAppend(&text, "  ", describe(program, i));
    for (int k = 0; k < instr.num_operands; ++k) absl::StrAppend(&text, " v", instr.operands[k]);
    const bool has_aux = class_of(instr.op) == OpClass::kProgramOnly && instr.op != Op::kExpand;
    if (has_aux || instr.op == Op::kCoordinate) {
      absl::StrAppend(&text, " #", instr.aux);
    }
    absl::StrAppend(&text, "  ; ", name_of(instr.level), "\n");
  }
  for (const Store& store : program.stores) {
    absl::StrAppend(&text, "  store v", store.value, " -> a", store.access, "\n");
  }
  return text;
}

}  // namespace sluice::fusion
