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

namespace {

// Lanes are moved as vectors. Where that is known, nothing is asked.
constexpr const char* kMovesVectors = "N > 1 && (decltype(lanes)::aligned || p.call.aligned)";

bool contains(const std::vector<ValueId>& values, ValueId id) {
  return std::find(values.begin(), values.end(), id) != values.end();
}

}  // namespace

BodyEmitter::BodyEmitter(const fusion::Program& program, int lanes, const Addresses& addresses,
                         Functions* functions, Writer* writer)
    : program_(program),
      lanes_(lanes),
      addresses_(addresses),
      functions_(*functions),
      writer_(*writer),
      is_lane_(program.body.size(), false),
      in_array_(program.body.size()),
      kept_as_(program.body.size()) {}

std::string BodyEmitter::accumulator(ValueId reduction) { return absl::StrCat("acc", reduction); }

std::string BodyEmitter::combiner(ValueId reduction) {
  const Instr& instr = this->instr(reduction);
  return functions_.reduction(instr.op, fusion::expression_dtype(program_, instr));
}

std::string BodyEmitter::kept_reduction(const Plan::Pass& pass, ValueId reduction, int turns) {
  const std::string combines = combiner(reduction);
  if (!is_paired(pass) || !takes_pairs(reduction)) {
    return absl::StrCat("sl_kept_reduction<", combines, ", ", turns, ">");
  }
  const DType dtype = instr(instr(reduction).operands[0]).dtype;
  return absl::StrCat("sl_kept_extreme<", combines, ", ", pair_type(dtype), ", ", turns, ">");
}

bool BodyEmitter::moves_vectors(uint16_t access) const {
  return lanes_ > 1 && program_.accesses[access].lanes == StrideClass::kUnit;
}

void BodyEmitter::emit_outer(const std::vector<ValueId>& ids) {
  for (const ValueId id : ids) define(id);
}

bool BodyEmitter::divides_by_outer(const Instr& instr) const {
  return instr.op == Op::kDiv && compute_type(instr.dtype) == DType::kFloat32 &&
         instr.level == fusion::Level::kElement &&
         this->instr(instr.operands[1]).level != fusion::Level::kElement;
}

bool BodyEmitter::is_packed(const Instr& instr) const {
  return is_half(instr.dtype) && (instr.op == Op::kAdd || instr.op == Op::kSub ||
                                  instr.op == Op::kMul || instr.op == Op::kSquare);
}

bool BodyEmitter::is_paired(const Plan::Pass& pass) const {
  if (lanes_ == 1) return false;
  auto has_half = [&](ValueId id) { return is_half(instr(id).dtype); };
  return std::any_of(pass.lanes.begin(), pass.lanes.end(), has_half) ||
         std::any_of(pass.stores.begin(), pass.stores.end(),
                     [&](const Store& store) { return has_half(store.value); });
}

void BodyEmitter::emit_shared(const Plan::Pass& pass) {
  auto declare = [&](const char* prefix, ValueId id, auto... declaration) {
    const std::string name = absl::StrCat(prefix, id);
    if (std::find(shared_.begin(), shared_.end(), name) != shared_.end()) return;
    shared_.push_back(name);
    writer_.line(declaration...);
  };
  auto declare_pair = [&](ValueId id) {
    if (contains(pass.lanes, id) || !is_half(instr(id).dtype)) return;
    declare("p", id, "const ", pair_type(instr(id).dtype), " p", id, " = sl_pack_",
            sluice::name_of(instr(id).dtype), "(v", id, ", v", id, ");");
  };
  for (const ValueId id : pass.lanes) {
    const Instr& instr = this->instr(id);
    if (program_.schedule != Schedule::kPointwise && divides_by_outer(instr)) {
      const ValueId by = instr.operands[1];
      const char* const type = instr.dtype == DType::kFloat16    ? "sl_half_divisor"
                               : instr.dtype == DType::kBFloat16 ? "sl_bfloat_divisor"
                                                                 : "sl_divisor";
      declare("by", by, "const ", type, " by", by, "(v", by, ");");
    }
    if (lanes_ == 1 || !is_packed(instr)) continue;
    for (int k = 0; k < instr.num_operands; ++k) declare_pair(instr.operands[k]);
  }
  if (lanes_ == 1) return;
  for (const Store& store : pass.stores) declare_pair(store.value);
}

std::vector<ValueId> BodyEmitter::loads_of(const std::vector<ValueId>& values) const {
  std::vector<ValueId> loads;
  std::copy_if(values.begin(), values.end(), std::back_inserter(loads), [&](ValueId id) {
    return instr(id).op == Op::kLoad && instr(id).num_operands == 0 &&
           (lanes_ == 1 || moves_vectors(instr(id).aux));
  });
  return loads;
}

bool BodyEmitter::takes_pairs(ValueId reduction) const {
  const Op op = instr(reduction).op;
  const Instr& operand = instr(instr(reduction).operands[0]);
  return (op == Op::kMax || op == Op::kMin) && is_half(operand.dtype) &&
         operand.level == fusion::Level::kElement;
}

std::string BodyEmitter::array(DType dtype, const std::string& name, const char* count) const {
  if (lanes_ > 1 && is_half(dtype)) {
    return absl::StrCat("sl_halves<", pair_type(dtype), ", ", count, "> ", name, ";");
  }
  return absl::StrCat(register_type(dtype), " ", name, "[", count, "];");
}

void BodyEmitter::begin_lanes(const Plan::Pass& pass, const std::vector<ValueId>& values) {
  if (lanes_ > 1) writer_.line("constexpr int N = decltype(lanes)::count;");
  addresses_.write_walked(&writer_);
  in_lanes_ = true;
  for (const ValueId id : pass.lanes) is_lane_[id] = true;
  for (const ValueId id : values) is_lane_[id] = true;
}

void BodyEmitter::end_lanes() {
  in_lanes_ = false;
  is_lane_.assign(is_lane_.size(), false);
  in_array_.assign(in_array_.size(), "");
  kept_as_.assign(kept_as_.size(), "");
}

void BodyEmitter::emit_points(const Plan::Pass& pass) {
  begin_lanes(pass, pass.lanes);
  std::vector<ValueId> loads;
  if (lanes_ > 1) loads = loads_of(pass.lanes);
  for (const ValueId id : loads) {
    in_array_[id] = absl::StrCat("v", id);
    writer_.line(array(instr(id).dtype, in_array_[id], "N"));
  }
  emit_loads(loads, "v");
  emit_lanes(pass, pass.lanes);
  end_lanes();
  if (lanes_ > 1) emit_stores(pass.stores);
}

void BodyEmitter::emit_members(const Plan::Pass& pass) {
  for (const ValueId id : loads_of(pass.lanes)) {
    writer_.line(array(instr(id).dtype, absl::StrCat("v", id), "N"));
  }
}

void BodyEmitter::emit_load(const Plan::Pass& pass) {
  begin_lanes(pass, pass.lanes);
  emit_loads(loads_of(pass.lanes), "loads.v");
  end_lanes();
}

void BodyEmitter::emit_pass(const Plan::Pass& pass) {
  begin_lanes(pass, pass.lanes);
  for (const ValueId id : loads_of(pass.lanes)) in_array_[id] = absl::StrCat("loads.v", id);
  emit_lanes(pass, pass.lanes);
  end_lanes();
  if (lanes_ > 1) emit_stores(pass.stores);
}

void BodyEmitter::emit_arrays(const Plan::Kept& kept, int groups) {
  for (const ValueId id : kept.values) {
    const DType dtype = instr(id).dtype;
    const std::string count = absl::StrCat(lanes_);
    if (is_half(dtype)) {
      writer_.line("sl_halves<", pair_type(dtype), ", ", count, "> kept", id, "[", groups, "];");
    } else {
      writer_.line(register_type(dtype), " kept", id, "[", groups, "][", count, "];");
    }
  }
}

std::vector<ValueId> BodyEmitter::kept_loads(const Plan::Kept& kept, size_t number) const {
  std::vector<ValueId> loads = loads_of(kept.lanes[number]);
  std::erase_if(loads, [&](ValueId id) { return !contains(kept.values, id); });
  return loads;
}

void BodyEmitter::emit_kept_loads(const std::vector<ValueId>& loads, bool aligned) {
  addresses_.write_walked(&writer_);
  for (const ValueId id : loads) {
    writer_.line(aligned ? "sl_load_vector" : "sl_load_each", "(kept", id, "[k], ",
                 addresses_.walked(instr(id).aux, ""), ");");
  }
}

void BodyEmitter::emit_kept_pass(const Plan::Pass& pass, const Plan::Kept& kept, size_t number) {
  const std::vector<ValueId>& values = kept.lanes[number];
  writer_.line("const sl_lanes<", lanes_, "> lanes;");
  begin_lanes(pass, values);
  const std::vector<ValueId> early = kept_loads(kept, number);
  for (const ValueId id : kept.values) {
    const bool is_here = !contains(values, id) || contains(early, id);
    (is_here ? in_array_ : kept_as_)[id] = absl::StrCat("kept", id, "[k]");
  }
  std::vector<ValueId> loads = loads_of(values);
  std::erase_if(loads, [&](ValueId id) { return contains(early, id); });
  for (const ValueId id : loads) {
    in_array_[id] = absl::StrCat("v", id);
    writer_.line(array(instr(id).dtype, in_array_[id], "N"));
  }
  emit_loads(loads, "v");
  takes_groups_ = true;
  pairs_ = is_paired(pass);
  for (size_t k = 0; k < pass.stores.size(); ++k) {
    writer_.line(array(instr(pass.stores[k].value).dtype, absl::StrCat("w", k), "N"));
  }
  emit_lane(pass, values);
  pairs_ = takes_groups_ = false;
  end_lanes();
  emit_stores(pass.stores);
}

void BodyEmitter::emit_loads(const std::vector<ValueId>& loads, const char* prefix) {
  if (loads.empty()) return;
  auto emit_each = [&](const char* function) {
    for (const ValueId id : loads) {
      writer_.line(function, "(", prefix, id, ", ", addresses_.walked(instr(id).aux, ""), ");");
    }
  };
  if (lanes_ == 1) {
    emit_each("sl_load_each");
    return;
  }
  writer_.open("if (", kMovesVectors, ")");
  emit_each("sl_load_vector");
  writer_.reopen("else");
  emit_each("sl_load_each");
  writer_.close();
}

void BodyEmitter::emit_lanes(const Plan::Pass& pass, const std::vector<ValueId>& values) {
  if (lanes_ > 1) {
    for (size_t k = 0; k < pass.stores.size(); ++k) {
      writer_.line(array(instr(pass.stores[k].value).dtype, absl::StrCat("w", k), "N"));
    }
  }
  if (!is_paired(pass)) {
    emit_lane(pass, values);
    return;
  }
  writer_.open("if constexpr (N > 1)");
  pairs_ = true;
  emit_lane(pass, values);
  pairs_ = false;
  writer_.reopen("else");
  emit_lane(pass, values);
  writer_.close();
}

void BodyEmitter::emit_lane(const Plan::Pass& pass, const std::vector<ValueId>& values) {
  if (lanes_ > 1) {
    writer_.line("SL_UNROLL");
    writer_.open("for (int l = 0; l < N; ", pairs_ ? "l += 2" : "++l", ")");
  }
  // What is done for each lane at hand, in their order.
  auto each = [&](auto f) {
    for (half_ = 0; half_ < (pairs_ ? 2 : 1); ++half_) f();
    half_ = 0;
  };
  const char* const one = pairs_ ? ".pair[l / 2]" : ".lane[l]";
  for (const ValueId id : values) {
    if (!in_array_[id].empty()) continue;
    define(id);
    if (kept_as_[id].empty()) continue;
    if (is_half(instr(id).dtype))
      writer_.line(kept_as_[id], one, " = v", id, ";");
    else
      each([&] { writer_.line(kept_as_[id], "[", lane(), "] = ", use(id), ";"); });
  }
  const bool by_twos = pairs_ && takes_groups_;
  if (by_twos) {
    for (const ValueId id : pass.reductions) {
      if (!takes_pairs(id)) continue;
      writer_.line(accumulator(id), ".take(k, ", use_pair(instr(id).operands[0]), ");");
    }
  }
  each([&] {
    for (const ValueId id : pass.reductions) {
      if (by_twos && takes_pairs(id)) continue;
      const std::string element = use(instr(id).operands[0]);
      const std::string position =
          absl::StrCat(addresses_.walked(), lanes_ > 1 ? absl::StrCat(" + ", lane()) : "");
      writer_.line(accumulator(id), takes_groups_ ? ".take(k, " : ".take(",
                   fusion::is_arg_reduction(instr(id).op)
                       ? absl::StrCat("{", element, ", sl_i64(", position, ")}")
                       : element,
                   ");");
    }
  });
  for (size_t k = 0; k < pass.stores.size(); ++k) {
    const Store& store = pass.stores[k];
    if (lanes_ == 1)
      writer_.line("sl_store(", address(store.access), ", ", use(store.value), ");");
    else if (is_half(instr(store.value).dtype))
      writer_.line("w", k, one, " = ", pairs_ ? use_pair(store.value) : use(store.value), ";");
    else
      each([&] { writer_.line("w", k, "[", lane(), "] = ", use(store.value), ";"); });
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
    writer_.open("if (", kMovesVectors, ")");
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
  const Instr& instr = this->instr(id);
  if (!pairs_) {
    writer_.line("const ", register_type(instr.dtype), " v", id, " = ", value(instr), ";");
    return;
  }
  std::string texts[2];
  if (is_packed(instr)) {
    const char* const function = instr.op == Op::kAdd   ? "sl_add2("
                                 : instr.op == Op::kSub ? "sl_sub2("
                                                        : "sl_mul2(";
    const ValueId second = instr.operands[instr.num_operands - 1];
    writer_.line("const ", pair_type(instr.dtype), " v", id, " = ", function,
                 use_pair(instr.operands[0]), ", ", use_pair(second), ");");
    return;
  }
  rounds_ = !is_half(instr.dtype);  // packing rounds
  for (half_ = 0; half_ < 2; ++half_) texts[half_] = value(instr);
  half_ = 0;
  rounds_ = true;
  if (is_half(instr.dtype)) {
    writer_.line("const ", pair_type(instr.dtype), " v", id, " = sl_pack_",
                 sluice::name_of(instr.dtype), "(", texts[0], ", ", texts[1], ");");
    return;
  }
  for (int half = 0; half < 2; ++half) {
    writer_.line("const ", register_type(instr.dtype), " v", id, "_", half, " = ", texts[half],
                 ";");
  }
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
  if (program_.schedule != Schedule::kPointwise && divides_by_outer(instr)) {
    return rounded(instr.dtype,
                   absl::StrCat("sl_quotient(", operands[0], ", by", instr.operands[1], ")"));
  }
  const DType type = fusion::expression_dtype(program_, instr);
  return rounded(instr.dtype, instr.op == Op::kCast
                                  ? functions_.cast(type, compute_type(instr.dtype), operands[0])
                                  : functions_.pointwise(instr.op, type, operands));
}

std::string BodyEmitter::rounded(DType dtype, std::string text) const {
  if (!is_half(dtype) || !rounds_) return text;
  return absl::StrCat("sl_round_", sluice::name_of(dtype), "(", text, ")");
}

std::string BodyEmitter::lane() const {
  if (lanes_ == 1) return "0";
  return half_ == 0 ? "l" : "l + 1";
}

std::string BodyEmitter::use(ValueId id) const {
  const bool half = is_half(instr(id).dtype);
  if (!is_lane_[id]) return absl::StrCat("v", id);
  if (pairs_ && half) return absl::StrCat(half_ == 0 ? "sl_low(" : "sl_high(", use_pair(id), ")");
  if (!in_array_[id].empty()) {
    return absl::StrCat(in_array_[id], half && lanes_ > 1 ? ".lane[" : "[", lane(), "]");
  }
  return pairs_ ? absl::StrCat("v", id, "_", half_) : absl::StrCat("v", id);
}

std::string BodyEmitter::use_pair(ValueId id) const {
  if (!is_lane_[id]) return absl::StrCat("p", id);
  return in_array_[id].empty() ? absl::StrCat("v", id)
                               : absl::StrCat(in_array_[id], ".pair[l / 2]");
}

std::string BodyEmitter::address(uint16_t access) const {
  if (!in_lanes_) return addresses_.outer(access);
  return addresses_.walked(access, lanes_ > 1 ? lane() : "");
}

std::string BodyEmitter::guarded(const std::string& predicate) const {
  const bool waits = program_.schedule == Schedule::kColumn || program_.lanes_across_rows;
  if (in_lanes_ || !waits) return predicate;
  return predicate.empty() ? "team.active()" : absl::StrCat("team.active() && ", predicate);
}

}  // namespace sluice::kernels::cuda
