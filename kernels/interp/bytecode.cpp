#include "kernels/interp/bytecode.h"

#include <algorithm>
#include <array>

#include "kernels/interp/pairs.h"
#include "kernels/reduction.h"
#include "runtime/integers.h"

namespace sluice::kernels::interp {
namespace {

using fusion::Instr;
using fusion::Level;
using fusion::Op;
using fusion::Program;
using fusion::Schedule;
using fusion::Store;
using fusion::TypeRule;
using fusion::ValueId;

constexpr Register kNoRegister = 0xffffffff;
constexpr int64_t kMaxTile = 2048;
constexpr int64_t kMinTile = 64;
constexpr int64_t kLevel1Bytes = 24 << 10;   // tiles are halved from kMaxTile until they fit here,
constexpr int64_t kGoodTile = 1024;          // but not below this size,
constexpr int64_t kLevel2Bytes = 256 << 10;  // unless they don't even fit here
constexpr int64_t kAlignment = 64;

int index_of(DType dtype) { return static_cast<int>(dtype); }

// Hands out registers by the size of their elements and takes them back.
class RegisterFile {
 public:
  Register allocate(DType type) {
    const uint8_t size = static_cast<uint8_t>(size_of(compute_type(type)));
    std::vector<Register>& pool = free_[size];
    if (pool.empty()) {
      sizes_.push_back(size);
      return static_cast<Register>(sizes_.size() - 1);
    }
    const Register result = pool.back();
    pool.pop_back();
    return result;
  }
  void release(Register reg) { free_[sizes_[reg]].push_back(reg); }
  const std::vector<uint8_t>& sizes() const { return sizes_; }

 private:
  std::vector<uint8_t> sizes_;
  std::array<std::vector<Register>, 9> free_;
};

class Translator {
 public:
  explicit Translator(const Program& program)
      : program_(program),
        table_(loops()),
        pass_(fusion::pass_of(program)),
        home_(program.body.size(), kNoRegister),
        row_needed_(program.body.size(), false),
        last_use_(program.body.size(), 0),
        reduction_index_(program.body.size(), 0) {}

  Bytecode run() {
    code_.has_reduced = program_.reduced_rank > 0;
    code_.column = program_.schedule == Schedule::kColumn;
    code_.outer_rank = program_.outer_rank;
    code_.reduced_rank = program_.reduced_rank;
    code_.num_passes = code_.has_reduced ? fusion::num_passes(program_) : 0;
    code_.accesses = program_.accesses;
    code_.passes.resize(code_.num_passes + 1);
    code_.nontemporal = program_.nontemporal;
    for (const Store& store : program_.stores) {
      code_.stored_buffers.push_back(program_.accesses[store.access].buffer);
    }
    find_needed();
    emit_uniform();
    for (int p = 0; p <= code_.num_passes; ++p) {
      emit_row_steps(p);
      if (p < code_.num_passes) emit_element_steps(p);
    }
    for (const Store& store : program_.stores) {
      if (!is_element(store)) code_.row_stores.push_back(store_step(store, home_[store.value]));
    }
    lay_out();
    for (Pass& pass : code_.passes) {
      pair_steps(&pass.row_steps);
      pair_steps(&pass.element_steps);
    }
    return std::move(code_);
  }

 private:
  const Instr& instr(ValueId value) const { return program_.body[value]; }
  bool is_element(const Store& store) const {
    return program_.accesses[store.access].varies_along_reduced;
  }
  bool is_root(const Instr& instr) const { return instr.op == Op::kCheckIndex; }
  int row_pass(size_t value) const { return std::min<int>(pass_[value], code_.num_passes); }

  // Time runs in units of half passes: the row steps of pass p are at 2p, its element steps at
  // 2p + 1, the stores of row level at the end.
  int end_of_time() const { return 2 * code_.num_passes + 1; }
  void use(ValueId value, int time) {
    row_needed_[value] = true;
    last_use_[value] = std::max(last_use_[value], time);
  }

  // Finds which element-level values each pass needs, and when each other value is last used.
  void find_needed() {
    const size_t count = program_.body.size();
    needed_.assign(code_.num_passes, std::vector<bool>(count, false));
    for (const Store& store : program_.stores) {
      if (is_element(store)) {
        need(store.value, pass_[store.value]);
      } else {
        use(store.value, end_of_time());
      }
    }
    for (size_t i = 0; i < count; ++i) {
      if (!is_root(instr(i))) continue;
      if (instr(i).level == Level::kElement) {
        if (pass_[i] < code_.num_passes) need(i, pass_[i]);
      } else {
        use(i, 2 * row_pass(i));
      }
    }
    // Operands come before their users, so one walk backwards settles everything.
    for (size_t i = count; i-- > 0;) {
      const Instr& user = instr(i);
      if (fusion::is_reduction(user.op)) {
        if (row_needed_[i]) need(user.operands[0], pass_[user.operands[0]]);
        continue;
      }
      for (int k = 0; k < user.num_operands; ++k) {
        if (user.level == Level::kElement) {
          for (int p = 0; p < code_.num_passes; ++p) {
            if (needed_[p][i]) need(user.operands[k], p);
          }
        } else if (row_needed_[i]) {
          use(user.operands[k], 2 * row_pass(i));
        }
      }
    }
  }
  void need(ValueId value, int pass) {
    if (instr(value).level == Level::kElement) {
      needed_[pass][value] = true;
    } else {
      use(value, 2 * pass + 1);
    }
  }

  void emit_uniform() {
    for (size_t i = 0; i < program_.body.size(); ++i) {
      if (instr(i).level != Level::kUniform || !row_needed_[i]) continue;
      home_[i] = num_uniform_++;
      emit(&code_.uniform_steps, i, home_[i], inputs_of(i, home_), /*element=*/false);
    }
  }

  void emit_row_steps(int pass) {
    const int time = 2 * pass;
    std::vector<Step>& steps = code_.passes[pass].row_steps;
    for (size_t i = 0; i < program_.body.size(); ++i) {
      if (instr(i).level != Level::kRow || !row_needed_[i] || row_pass(i) != pass) continue;
      if (fusion::is_reduction(instr(i).op)) continue;  // came with the element steps before
      const Inputs inputs = inputs_of(i, home_);
      uint8_t dying = 0;
      auto release_operands = [&] {
        for (int k = 0; k < instr(i).num_operands; ++k) {
          const ValueId operand = instr(i).operands[k];
          if (last_row_user(operand, time) != i) continue;
          dying |= 1 << k;
          release_home(operand);
        }
      };
      if (works_in_place(i)) release_operands();
      home_[i] = allocate(instr(i).dtype);
      release_operands();
      emit(&steps, i, home_[i], inputs, /*element=*/false);
      steps.back().dying = dying;
    }
    release_dead(time);
  }

  // The last row step at `time` that uses a value, if the value dies at that time; else none.
  size_t last_row_user(ValueId value, int time) {
    if (last_use_[value] != time) return program_.body.size();
    if (users_time_ != time) {
      users_time_ = time;
      users_.assign(program_.body.size(), program_.body.size());
      for (size_t i = 0; i < program_.body.size(); ++i) {
        if (instr(i).level != Level::kRow || !row_needed_[i] || 2 * row_pass(i) != time) continue;
        if (fusion::is_reduction(instr(i).op)) continue;
        for (int k = 0; k < instr(i).num_operands; ++k) users_[instr(i).operands[k]] = i;
      }
    }
    return users_[value];
  }

  void release_home(ValueId value) {
    if (instr(value).level != Level::kRow || home_[value] == kNoRegister) return;
    release(home_[value]);
    home_[value] = kNoRegister;
  }
  void release_dead(int time) {
    for (size_t i = 0; i < program_.body.size(); ++i) {
      if (last_use_[i] <= time) release_home(i);
    }
  }

  void emit_element_steps(int pass) {
    Pass& out = code_.passes[pass];
    const std::vector<bool>& needed = needed_[pass];
    const size_t count = program_.body.size();
    for (size_t i = 0; i < count; ++i) {
      if (fusion::is_reduction(instr(i).op) && row_needed_[i] &&
          pass_[instr(i).operands[0]] == pass) {
        add_reduction(i, &out);
      }
    }
    // When each value is last used: position in the body, or `count` for a store.
    std::vector<size_t> last(count, 0);
    for (size_t i = 0; i < count; ++i) {
      if (!needed[i] && !reduces_in(i, pass)) continue;
      for (int k = 0; k < instr(i).num_operands; ++k) last[instr(i).operands[k]] = i;
    }
    for (const Store& store : program_.stores) {
      if (is_element(store) && pass_[store.value] == pass) last[store.value] = count;
    }
    std::vector<Register> place = home_;
    std::vector<Register> held;  // until the pass ends
    for (size_t i = 0; i < count; ++i) {
      if (instr(i).level != Level::kRow || last[i] == 0 || home_[i] == kNoRegister) continue;
      place[i] = allocate(instr(i).dtype);
      held.push_back(place[i]);
      Step expand(StepKind::kExpand, 1, instr(i).dtype);
      expand.out = place[i];
      expand.in[0] = home_[i];
      out.expansions.push_back(expand);
    }
    for (size_t i = 0; i < count; ++i) {
      const bool reduces = reduces_in(i, pass);
      if (!needed[i] && !reduces) continue;
      const Inputs inputs = inputs_of(i, place);
      uint8_t dying = 0;
      auto release_operands = [&] {
        for (int k = 0; k < instr(i).num_operands; ++k) {
          const ValueId operand = instr(i).operands[k];
          if (instr(operand).level != Level::kElement || last[operand] != i) continue;
          last[operand] = 0;  // an operand may occur twice
          dying |= 1 << k;
          release(place[operand]);
        }
      };
      if (reduces) {
        Step step(StepKind::kReduce, 1, instr(i).dtype);
        step.in[0] = inputs[0];
        step.aux = reduction_index_[i];
        out.element_steps.push_back(step);
        release_operands();
        continue;
      }
      if (works_in_place(i)) release_operands();
      place[i] = allocate(instr(i).dtype);
      release_operands();
      emit(&out.element_steps, i, place[i], inputs, /*element=*/true);
      out.element_steps.back().dying = dying;
      if (last[i] == 0) release(place[i]);
    }
    for (const Store& store : program_.stores) {
      if (!is_element(store) || pass_[store.value] != pass) continue;
      out.element_steps.push_back(store_step(store, place[store.value]));
    }
    for (size_t i = 0; i < count; ++i) {
      if (needed[i] && last[i] == count) release(place[i]);
    }
    for (Register reg : held) release(reg);
    for (uint16_t j : out.reductions) {
      const Reduction& reduction = code_.reductions[j];
      if (reduction.is_arg()) release(reduction.values);
      if (!reduction.is_arg() && code_.column) release(reduction.block);
    }
    release_dead(2 * pass + 1);
  }

  bool reduces_in(size_t i, int pass) const {
    return fusion::is_reduction(instr(i).op) && row_needed_[i] &&
           pass_[instr(i).operands[0]] == pass;
  }

  void add_reduction(size_t i, Pass* pass) {
    const Instr& value = instr(i);
    const DType type = accumulator_type(fusion::operand_dtype(program_, value, 0));
    Reduction reduction;
    reduction.op = value.op;
    reduction.type = type;
    reduction.result = home_[i] = allocate(value.dtype);
    if (fusion::is_arg_reduction(value.op)) {
      reduction.values = allocate(type);
      reduction.arg = &table_.arg[value.op == Op::kArgMin][index_of(type)];
    } else {
      if (code_.column) reduction.block = allocate(type);
      reduction.loops = &table_.reduce[kernels::interp::reduction_index(value.op)][index_of(type)];
      reduction.round = table_.round[index_of(value.dtype)];
      reduction.zero_if_empty = value.op == Op::kSum && is_float(type);
    }
    reduction_index_[i] = static_cast<uint16_t>(code_.reductions.size());
    pass->reductions.push_back(reduction_index_[i]);
    code_.reductions.push_back(reduction);
  }

  // Registers of tiles are numbered from 0 here; lay_out() puts the uniform ones before them.
  static constexpr Register kTileBit = 0x80000000;
  Register allocate(DType type) { return file_.allocate(type) | kTileBit; }
  void release(Register reg) {
    if (reg & kTileBit) file_.release(reg & ~kTileBit);
  }

  uint16_t bind(uint16_t access, bool element) {
    for (size_t b = 0; b < code_.bindings.size(); ++b) {
      if (code_.bindings[b].access == access && code_.bindings[b].element == element) return b;
    }
    code_.bindings.push_back({access, element});
    return static_cast<uint16_t>(code_.bindings.size() - 1);
  }

  Step store_step(const Store& store, Register value) {
    Step step(StepKind::kStore, 1, instr(store.value).dtype);
    step.in[0] = value;
    step.aux = bind(store.access, is_element(store));
    return step;
  }

  using Inputs = std::array<Register, 3>;
  // `places[v]` is the register of value v.
  Inputs inputs_of(size_t i, const std::vector<Register>& places) const {
    Inputs inputs = {0, 0, 0};
    for (int k = 0; k < instr(i).num_operands; ++k) inputs[k] = places[instr(i).operands[k]];
    return inputs;
  }
  // True if the result may take the register of an operand that dies: loops read an element before
  // they write it.
  bool works_in_place(size_t i) const {
    return instr(i).op == Op::kCast || fusion::is_pointwise(instr(i).op);
  }

  void emit(std::vector<Step>* steps, size_t i, Register out, const Inputs& inputs, bool element) {
    const Instr& value = instr(i);
    Step step(StepKind::kMap, value.num_operands, value.dtype);
    step.out = out;
    std::copy(inputs.begin(), inputs.end(), step.in);
    step.op = value.op;
    step.aux = value.aux;
    switch (value.op) {
      case Op::kLoad: step.kind = StepKind::kLoad; break;
      case Op::kGather: step.kind = StepKind::kGather; break;
      case Op::kCoordinate: step.kind = StepKind::kCoordinate; break;
      case Op::kScalar: step.kind = StepKind::kScalar; break;
      case Op::kParam: step.kind = StepKind::kParam; break;
      case Op::kCheckIndex: step.kind = StepKind::kCheckIndex; break;
      case Op::kCast: {
        const DType from = compute_type(fusion::operand_dtype(program_, value, 0));
        const DType to = compute_type(value.dtype);
        step.loops = &table_.cast[index_of(from)][index_of(to)];
        step.round = table_.round[index_of(value.dtype)];
        break;
      }
      default: set_map(value, &step);
    }
    if (step.kind <= StepKind::kCoordinate && step.kind >= StepKind::kLoad) {
      step.aux = bind(value.aux, element);
    }
    steps->push_back(step);
  }

  void set_map(const Instr& value, Step* step) {
    // `where` is instantiated for the type it selects from.
    const int typed = fusion::op_info(value.op).rule == TypeRule::kSelect ? 1 : 0;
    const DType type = compute_type(fusion::operand_dtype(program_, value, typed));
    if (const auto external = math::external_of(value.op, type)) {
      step->kind = StepKind::kExternal;
      step->external = *external;
    } else {
      step->loops = &table_.map[static_cast<int>(value.op)][index_of(type)];
    }
    step->round = table_.round[index_of(value.dtype)];
  }

  void lay_out() {
    const std::vector<uint8_t>& sizes = file_.sizes();
    int64_t bytes = 0;
    for (uint8_t size : sizes) bytes += size;
    int64_t tile = kMaxTile;
    while (tile > kGoodTile && tile * bytes > kLevel1Bytes) tile /= 2;
    while (tile > kMinTile && tile * bytes > kLevel2Bytes) tile /= 2;
    code_.tile = tile;
    code_.num_uniform = num_uniform_;

    int64_t offset = 0;
    auto take = [&offset](int64_t size) {
      const int64_t start = offset;
      offset += round_up(size, kAlignment);
      return start;
    };
    const int64_t uniform = take(8 * num_uniform_);
    for (Register i = 0; i < num_uniform_; ++i) {
      code_.registers.push_back(static_cast<uint32_t>(uniform + 8 * i));
    }
    for (uint8_t size : sizes) code_.registers.push_back(static_cast<uint32_t>(take(tile * size)));
    for (Reduction& reduction : code_.reductions) {
      reduction.lanes = static_cast<uint32_t>(take(kLanes * 8));
    }
    code_.temporaries = take(kNumTemporaries * tile * 8);
    code_.scratch_bytes = offset;

    auto renumber = [this](Register* reg) {
      if (*reg & kTileBit) *reg = static_cast<Register>((*reg & ~kTileBit) + num_uniform_);
    };
    auto renumber_steps = [&renumber](std::vector<Step>* steps) {
      for (Step& step : *steps) {
        renumber(&step.out);
        for (Register& reg : step.in) renumber(&reg);
      }
    };
    for (Pass& pass : code_.passes) {
      renumber_steps(&pass.row_steps);
      renumber_steps(&pass.expansions);
      renumber_steps(&pass.element_steps);
    }
    renumber_steps(&code_.row_stores);
    for (Reduction& reduction : code_.reductions) {
      renumber(&reduction.result);
      renumber(&reduction.values);
      renumber(&reduction.block);
    }
  }

  const Program& program_;
  const LoopTable& table_;
  const std::vector<uint8_t> pass_;
  std::vector<Register> home_;             // of values of uniform and row level, while they live
  std::vector<bool> row_needed_;           // values of uniform and row level
  std::vector<int> last_use_;              // of those, in units of half passes
  std::vector<std::vector<bool>> needed_;  // by pass: values of element level
  std::vector<size_t> users_;
  int users_time_ = -1;
  std::vector<uint16_t> reduction_index_;
  RegisterFile file_;
  Register num_uniform_ = 0;
  Bytecode code_;
};

}  // namespace

Bytecode translate(const Program& program) { return Translator(program).run(); }

}  // namespace sluice::kernels::interp
