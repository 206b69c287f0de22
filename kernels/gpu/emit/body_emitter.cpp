#include "kernels/gpu/emit/body_emitter.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "kernels/gpu/emit/types.h"
#include "kernels/reduction.h"

namespace sluice::kernels::cuda {

using fusion::Instr;
using fusion::Op;
using fusion::Schedule;
using fusion::Store;
using fusion::StrideClass;
using fusion::ValueId;

BodyEmitter::BodyEmitter(const fusion::Program& program, int lanes, const Addresses& addresses,
                         Functions* functions, Writer* writer)
    : program_(program),
      lanes_(lanes),
      addresses_(addresses),
      functions_(*functions),
      writer_(*writer),
      is_array_(program.body.size(), false) {}

std::string BodyEmitter::accumulator(ValueId reduction) { return absl::StrCat("acc", reduction); }

std::string BodyEmitter::combiner(ValueId reduction) {
  const Instr& instr = this->instr(reduction);
  return functions_.reduction(instr.op, fusion::expression_dtype(program_, instr));
}

bool BodyEmitter::moves_vectors(uint16_t access) const {
  return lanes_ > 1 && program_.accesses[access].lanes == StrideClass::kUnit;
}

void BodyEmitter::emit_outer(const std::vector<ValueId>& ids) {
  for (const ValueId id : ids) define(id);
}

void BodyEmitter::emit_pass(const Plan::Pass& pass) {
  if (lanes_ > 1) writer_.line("constexpr int N = decltype(lanes)::count;");
  addresses_.write_walked(&writer_);
  in_lanes_ = true;
  std::vector<ValueId> loads;
  std::copy_if(pass.lanes.begin(), pass.lanes.end(), std::back_inserter(loads), [&](ValueId id) {
    return instr(id).op == Op::kLoad && instr(id).num_operands == 0 && moves_vectors(instr(id).aux);
  });
  emit_loads(loads);
  for (const ValueId id : loads) is_array_[id] = true;
  emit_lane(pass);
  for (const ValueId id : loads) is_array_[id] = false;
  in_lanes_ = false;
  if (lanes_ > 1) emit_stores(pass.stores);
}

void BodyEmitter::emit_loads(const std::vector<ValueId>& loads) {
  if (loads.empty()) return;
  for (const ValueId id : loads) {
    writer_.line(register_type(instr(id).dtype), " v", id, "[N];");
  }
  auto emit_each = [&](const char* function) {
    for (const ValueId id : loads) {
      writer_.line(function, "(v", id, ", ", addresses_.walked(instr(id).aux, ""), ");");
    }
  };
  writer_.open("if (N > 1 && p.call.aligned)");
  emit_each("sl_load_vector");
  writer_.reopen("else");
  emit_each("sl_load_each");
  writer_.close();
}

void BodyEmitter::emit_lane(const Plan::Pass& pass) {
  if (lanes_ > 1) {
    for (size_t k = 0; k < pass.stores.size(); ++k) {
      writer_.line(register_type(instr(pass.stores[k].value).dtype), " w", k, "[N];");
    }
    writer_.line("SL_UNROLL");
    writer_.open("for (int l = 0; l < N; ++l)");
  }
  for (const ValueId id : pass.lanes) {
    if (!is_array_[id]) define(id);
  }
  for (const ValueId id : pass.reductions) {
    const std::string element = use(instr(id).operands[0]);
    const std::string position = absl::StrCat(addresses_.walked(), lanes_ > 1 ? " + l" : "");
    writer_.line(accumulator(id), ".take(",
                 fusion::is_arg_reduction(instr(id).op)
                     ? absl::StrCat("{", element, ", sl_i64(", position, ")}")
                     : element,
                 ");");
  }
  for (size_t k = 0; k < pass.stores.size(); ++k) {
    const Store& store = pass.stores[k];
    if (lanes_ > 1)
      writer_.line("w", k, "[l] = ", use(store.value), ";");
    else
      writer_.line("sl_store(", address(store.access), ", ", use(store.value), ");");
  }
  if (lanes_ > 1) writer_.close();
}

void BodyEmitter::emit_stores(const std::vector<Store>& stores) {
  auto emit = [&](size_t k, const char* function, const std::string& stride) {
    writer_.line(function, "(", addresses_.walked(stores[k].access, ""), ", ", stride, "w", k,
                 ");");
  };
  auto emit_each = [&](bool of_vectors) {
    for (size_t k = 0; k < stores.size(); ++k) {
      if (moves_vectors(stores[k].access) != of_vectors) continue;
      emit(k, "sl_store_each", absl::StrCat(addresses_.lane_stride(stores[k].access), ", "));
    }
  };
  const bool any_vectors = std::any_of(stores.begin(), stores.end(), [&](const Store& store) {
    return moves_vectors(store.access);
  });
  if (any_vectors) {
    writer_.open("if (N > 1 && p.call.aligned)");
    for (size_t k = 0; k < stores.size(); ++k) {
      if (moves_vectors(stores[k].access)) emit(k, "sl_store_vector", "");
    }
    writer_.reopen("else");
    emit_each(true);
    writer_.close();
  }
  emit_each(false);
}

void BodyEmitter::emit_result(ValueId reduction) {
  const Instr& instr = this->instr(reduction);
  std::string text = absl::StrCat(accumulator(reduction), ".total");
  if (fusion::is_arg_reduction(instr.op)) text += ".position";
  if (is_zero_if_empty(instr.op, instr.dtype)) {
    text = absl::StrCat("team.length == 0 ? 0 : ", text);
  }
  writer_.line("const ", register_type(instr.dtype), " v", reduction, " = ",
               rounded(instr.dtype, text), ";");
}

void BodyEmitter::emit_row_store(const Store& store) {
  writer_.line("sl_store(", address(store.access), ", ", use(store.value), ");");
}

void BodyEmitter::define(ValueId id) {
  writer_.line("const ", register_type(instr(id).dtype), " v", id, " = ", value(instr(id)), ";");
}

std::string BodyEmitter::value(const Instr& instr) {
  switch (instr.op) {
    case Op::kScalar:
      return absl::StrCat("sl_scalar<", memory_type(instr.dtype), ">(p.scalar[", instr.aux, "])");
    case Op::kParam: return absl::StrCat("p.param[", instr.aux, "]");
    case Op::kLoad:
    case Op::kGather: return load(instr);
    case Op::kCoordinate: return address(instr.aux);
    case Op::kCheckIndex: return check_index(instr);
    case Op::kExpand: return use(instr.operands[0]);
    default: return computed(instr);
  }
}

std::string BodyEmitter::load(const Instr& instr) {
  std::string from = address(instr.aux);
  const int predicate = instr.op == Op::kGather ? 1 : 0;
  if (instr.op == Op::kGather) absl::StrAppend(&from, " + ", use(instr.operands[0]));
  const std::string guard =
      guarded(instr.num_operands > predicate ? use(instr.operands[predicate]) : "");
  if (guard.empty()) return absl::StrCat("sl_load(", from, ")");
  return absl::StrCat("sl_load_if(", guard, ", ", from, ")");
}

std::string BodyEmitter::check_index(const Instr& instr) {
  const std::string guard = guarded(instr.num_operands > 2 ? use(instr.operands[2]) : "");
  return absl::StrCat("sl_check_index(p.call.errors + ", instr.aux, ", ", use(instr.operands[0]),
                      ", ", use(instr.operands[1]), ", ", guard.empty() ? "true" : guard, ")");
}

std::string BodyEmitter::computed(const Instr& instr) {
  std::vector<std::string> operands;
  for (int k = 0; k < instr.num_operands; ++k) operands.push_back(use(instr.operands[k]));
  const DType type = fusion::expression_dtype(program_, instr);
  return rounded(instr.dtype, instr.op == Op::kCast
                                  ? functions_.cast(type, compute_type(instr.dtype), operands[0])
                                  : functions_.pointwise(instr.op, type, operands));
}

std::string BodyEmitter::rounded(DType dtype, std::string text) const {
  if (!is_half(dtype)) return text;
  return absl::StrCat("sl_round_", sluice::name_of(dtype), "(", text, ")");
}

std::string BodyEmitter::use(ValueId id) const {
  return absl::StrCat("v", id, is_array_[id] ? "[l]" : "");
}

std::string BodyEmitter::address(uint16_t access) const {
  if (!in_lanes_) return addresses_.outer(access);
  return addresses_.walked(access, lanes_ > 1 ? "l" : "");
}

std::string BodyEmitter::guarded(const std::string& predicate) const {
  if (in_lanes_ || program_.schedule != Schedule::kColumn) return predicate;
  return predicate.empty() ? "team.active()" : absl::StrCat("team.active() && ", predicate);
}

}  // namespace sluice::kernels::cuda
