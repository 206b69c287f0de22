#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/gpu/emit/plan.h"
#include "kernels/gpu/generic/generic.h"
#include "kernels/gpu/generic/generic_code.h"
#include "kernels/reduction.h"
#include "runtime/integers.h"

namespace sluice::kernels::cuda {
namespace {

using fusion::Instr;
using fusion::Op;
using fusion::Program;
using fusion::Schedule;
using fusion::Store;
using fusion::ValueId;
using generic::Instruction;
using generic::kNoSlot;

struct Action {
  enum Kind : uint8_t {
    kDefine,  // `value`
    kTake,    // by the reduction `value`, of number `aux` in its pass
    kResult,  // likewise
    kStore,   // of `value` by access `aux`
  };
  Kind kind = kDefine;
  ValueId value = fusion::kNoValue;
  size_t aux = 0;
  bool is_unused = false;            // defined for its effect
  std::vector<ValueId> last_uses{};  // operands that nobody needs afterwards
};

struct Section {
  std::vector<Action> actions;
  const Plan::Pass* pass = nullptr;  // whose elements it is for, if any
  std::vector<ValueId> last_uses;    // of a pass: of values from outside, which it needs to its end
};

class Encoder {
 public:
  explicit Encoder(const Program& program)
      : program_(program),
        plan_(program),
        live_(program.body.size(), false),
        slot_of_(program.body.size(), kNoSlot) {}

  std::optional<std::vector<uint64_t>> run();

 private:
  const Instr& instr(ValueId value) const { return program_.body[value]; }

  void make_sections();
  // What each point or element goes through.
  Section points(std::vector<ValueId> values, const Plan::Pass& pass) const;

  // From the last section to the first: drops what nobody needs and finds last uses.
  void find_last_uses(Section* section);
  // False: nobody needs it.
  bool find_last_uses(Action* action);
  void use(ValueId value, std::vector<ValueId>* last_uses);

  void encode(const Section& section);
  void encode_pass(const Section& section);
  void encode(const Action& action);
  void encode_value(ValueId value);
  void append(Instruction instruction, size_t aux = 0);
  void append_rounding(DType dtype, uint8_t slot);
  uint16_t narrowed(size_t number);

  uint8_t allocate(ValueId value);
  void release(ValueId value) { used_slots_ &= ~(uint64_t{1} << slot_of_[value]); }
  void release(const std::vector<ValueId>& values) {
    for (const ValueId value : values) release(value);
  }

  // Where pack_call() puts them.
  size_t access_word(size_t access) const {
    const size_t size = program_.rank() + 1;
    return num_words(program_) - (program_.accesses.size() - access) * size;
  }
  size_t param_word(size_t param) const { return access_word(0) - program_.num_params + param; }
  size_t scalar_word(size_t scalar) const { return param_word(0) - program_.num_scalars + scalar; }

  const Program& program_;
  const Plan plan_;
  std::vector<Section> sections_;
  std::vector<bool> live_;
  std::vector<uint8_t> slot_of_;
  uint64_t used_slots_ = 0;  // a bit for each
  bool fits_ = true;
  std::vector<uint64_t> code_;
};

// ---- Sections.

void define(const std::vector<ValueId>& values, Section* section) {
  for (const ValueId value : values) section->actions.push_back({Action::kDefine, value});
}

// Stores come after all loads, since what is loaded may lie where they write, but then as soon as
// they can: that frees slots.
Section Encoder::points(std::vector<ValueId> values, const Plan::Pass& pass) const {
  std::sort(values.begin(), values.end());
  const auto reads = [&](ValueId value) {
    return instr(value).op == Op::kLoad || instr(value).op == Op::kGather;
  };
  const auto last_read = std::find_if(values.rbegin(), values.rend(), reads);
  const ValueId stores_from = last_read == values.rend() ? 0 : *last_read;
  Section section;
  auto store = pass.stores.begin();
  for (const ValueId value : values) {
    section.actions.push_back({Action::kDefine, value});
    for (size_t k = 0; k < pass.reductions.size(); ++k) {
      if (instr(pass.reductions[k]).operands[0] != value) continue;
      section.actions.push_back({Action::kTake, pass.reductions[k], k});
    }
    for (; value >= stores_from && store != pass.stores.end() && store->value <= value; ++store) {
      section.actions.push_back({Action::kStore, store->value, store->access});
    }
  }
  for (; store != pass.stores.end(); ++store) {
    section.actions.push_back({Action::kStore, store->value, store->access});
  }
  return section;
}

void Encoder::make_sections() {
  if (program_.schedule == Schedule::kPointwise) {
    const Plan::Pass& pass = plan_.passes[0];
    std::vector<ValueId> values = plan_.uniform;
    values.insert(values.end(), pass.row.begin(), pass.row.end());
    values.insert(values.end(), pass.lanes.begin(), pass.lanes.end());
    sections_.push_back(points(std::move(values), pass));
    return;
  }
  define(plan_.uniform, &sections_.emplace_back());
  for (const Plan::Pass& pass : plan_.passes) {
    define(pass.row, &sections_.back());
    sections_.push_back(points(pass.lanes, pass));
    sections_.back().pass = &pass;
    Section results;
    for (size_t k = 0; k < pass.reductions.size(); ++k) {
      results.actions.push_back({Action::kResult, pass.reductions[k], k});
    }
    sections_.push_back(std::move(results));
    fits_ = fits_ && pass.reductions.size() <= generic::kMaxReductions;
  }
  define(plan_.after, &sections_.back());
  Section& last = sections_.emplace_back();
  for (const Store& store : plan_.row_stores) {
    last.actions.push_back({Action::kStore, store.value, store.access});
  }
}

// ---- Last uses.

void Encoder::use(ValueId value, std::vector<ValueId>* last_uses) {
  if (live_[value]) return;
  live_[value] = true;
  last_uses->push_back(value);
}

bool Encoder::find_last_uses(Action* action) {
  const Instr& instruction = instr(action->value);
  switch (action->kind) {
    case Action::kStore: use(action->value, &action->last_uses); return true;
    case Action::kTake: use(instruction.operands[0], &action->last_uses); return true;
    case Action::kResult: {
      const bool is_needed = live_[action->value];
      live_[action->value] = false;
      return is_needed;
    }
    case Action::kDefine: break;
  }
  action->is_unused = !live_[action->value];
  if (action->is_unused && instruction.op != Op::kCheckIndex) return false;
  live_[action->value] = false;
  for (int k = 0; k < instruction.num_operands; ++k) {
    use(instruction.operands[k], &action->last_uses);
  }
  return true;
}

void Encoder::find_last_uses(Section* section) {
  if (section->pass != nullptr) {
    std::vector<bool> is_inner(program_.body.size(), false);
    for (const ValueId value : section->pass->lanes) is_inner[value] = true;
    const auto use_outer = [&](ValueId value) {
      if (!is_inner[value]) use(value, &section->last_uses);
    };
    for (const Action& action : section->actions) {
      if (action.kind == Action::kStore) use_outer(action.value);
      if (action.kind != Action::kDefine) continue;
      std::for_each_n(instr(action.value).operands, instr(action.value).num_operands, use_outer);
    }
  }
  std::vector<Action> kept;
  for (size_t i = section->actions.size(); i-- > 0;) {
    if (find_last_uses(&section->actions[i])) kept.push_back(std::move(section->actions[i]));
  }
  std::reverse(kept.begin(), kept.end());
  section->actions = std::move(kept);
}

// ---- Code.

uint8_t Encoder::allocate(ValueId value) {
  static_assert(generic::kSlots < 64);
  const int slot = std::countr_one(used_slots_);
  fits_ = fits_ && slot < generic::kSlots;
  if (fits_) used_slots_ |= uint64_t{1} << slot;
  return slot_of_[value] = fits_ ? static_cast<uint8_t>(slot) : 0;
}

uint16_t Encoder::narrowed(size_t number) {
  fits_ = fits_ && number <= std::numeric_limits<uint16_t>::max();
  return static_cast<uint16_t>(number);
}

void Encoder::append(Instruction instruction, size_t aux) {
  instruction.aux = narrowed(aux);
  code_.push_back(instruction.word());
}

void Encoder::append_rounding(DType dtype, uint8_t slot) {
  if (!is_half(dtype)) return;
  append({dtype == kFloat16 ? generic::kRoundFloat16 : generic::kRoundBFloat16, slot, slot});
}

void Encoder::encode_value(ValueId value) {
  const Instr& from = instr(value);
  const auto operand = [&](int k) {
    return k < from.num_operands ? slot_of_[from.operands[k]] : kNoSlot;
  };
  const uint8_t a = operand(0), b = operand(1), c = operand(2);
  const uint8_t to = allocate(value);
  switch (from.op) {
    case Op::kParam: return append({generic::kParam, to}, param_word(from.aux));
    case Op::kScalar:
      return append({generic::code_of_scalar(from.dtype), to}, scalar_word(from.aux));
    case Op::kCoordinate: return append({generic::kCoordinate, to}, access_word(from.aux));
    case Op::kLoad:
      return append({generic::code_of_load(from.dtype), to, kNoSlot, a}, access_word(from.aux));
    case Op::kGather:
      return append({generic::code_of_load(from.dtype), to, a, b}, access_word(from.aux));
    case Op::kCheckIndex: return append({generic::kCheckIndex, to, a, b, c}, from.aux);
    default: break;
  }
  const DType type = fusion::expression_dtype(program_, from);
  // A slot has one element: expanding is copying.
  const bool is_cast = from.op == Op::kCast || from.op == Op::kExpand;
  const uint16_t code = is_cast ? generic::code_of_cast(type, compute_type(from.dtype))
                                : generic::code_of(from.op, type);
  append({code, to, a, b, c});
  append_rounding(from.dtype, to);
}

void Encoder::encode(const Action& action) {
  const Instr& from = instr(action.value);
  const auto reduction = [&] {
    return generic::code_of(from.op, fusion::expression_dtype(program_, from));
  };
  switch (action.kind) {
    case Action::kDefine:
      // Operands are read before the result is written: it may take the slot of one.
      release(action.last_uses);
      encode_value(action.value);
      if (action.is_unused) release(action.value);
      return;
    case Action::kTake:
      append({generic::kTake, static_cast<uint8_t>(action.aux), slot_of_[from.operands[0]]},
             reduction());
      break;
    case Action::kResult: {
      const uint8_t to = allocate(action.value);
      append({reduction(), to, static_cast<uint8_t>(action.aux)});
      append_rounding(from.dtype, to);
      break;
    }
    case Action::kStore:
      append({generic::code_of_store(from.dtype), 0, slot_of_[action.value]},
             access_word(action.aux));
      break;
  }
  release(action.last_uses);
}

void Encoder::encode(const Section& section) {
  for (const Action& action : section.actions) encode(action);
  append({generic::kEnd});
  release(section.last_uses);
}

void Encoder::encode_pass(const Section& section) {
  const size_t head = code_.size();
  code_.emplace_back();
  for (const ValueId reduction : section.pass->reductions) {
    const auto& all = plan_.reductions;
    code_.push_back(std::find(all.begin(), all.end(), reduction) - all.begin());
  }
  const size_t begin = code_.size();
  encode(section);
  code_[head] = generic::PassWord{static_cast<uint16_t>(section.pass->reductions.size()),
                                  narrowed(code_.size() - begin)}
                    .word();
}

std::optional<std::vector<uint64_t>> Encoder::run() {
  make_sections();
  for (size_t s = sections_.size(); s-- > 0;) find_last_uses(&sections_[s]);
  code_.emplace_back();
  for (const Section& section : sections_) {
    if (section.pass != nullptr)
      encode_pass(section);
    else
      encode(section);
  }
  generic::Head head;
  head.schedule = static_cast<uint8_t>(program_.schedule);
  head.outer_rank = program_.outer_rank;
  head.reduced_rank = program_.reduced_rank;
  head.passes = narrowed(plan_.passes.size());
  head.has_row_stores = !plan_.row_stores.empty();
  head.length = narrowed(code_.size());
  code_[0] = head.word();
  if (!fits_ || program_.rank() > generic::kMaxRank) return std::nullopt;
  return std::move(code_);
}

}  // namespace

std::optional<std::vector<uint64_t>> encode_generic(const Program& program) {
  return Encoder(program).run();
}

Geometry generic_geometry_of(const Program& program, const int64_t* extents, int multiprocessors) {
  Geometry geometry = geometry_of(program, extents, multiprocessors, /*takes_turns=*/false);
  if (program.schedule != Schedule::kPointwise) return geometry;
  // A thread for each point.
  geometry.rows = 1;
  for (int d = 0; d < program.rank(); ++d) geometry.rows *= extents[d];
  geometry.team[0] = geometry.team[1] = geometry.length;
  geometry.blocks[0] = geometry.blocks[1] = ceil_div(geometry.rows, kThreads);
  return geometry;
}

std::vector<uint64_t> pack_generic(const Program& program, absl::Span<const uint64_t> code,
                                   const Geometry& geometry, const KernelArgs& args, int stage,
                                   void* partials) {
  std::vector<uint64_t> words(code.begin(), code.end());
  words.resize(code.size() + num_words(program));
  pack_call(program, geometry, args, stage, partials, words.data() + code.size());
  return words;
}

}  // namespace sluice::kernels::cuda
