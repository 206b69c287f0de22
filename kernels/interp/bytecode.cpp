#include "kernels/interp/bytecode.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "fusion/ir/pass_plan.h"
#include "fusion/ir/scan.h"
#include "kernels/interp/pairs.h"
#include "kernels/interp/registers.h"
#include "kernels/reduction.h"

namespace sluice::kernels::interp {
namespace {

using fusion::Instr;
using fusion::Level;
using fusion::Op;
using fusion::PassPlan;
using fusion::Program;
using fusion::Schedule;
using fusion::Store;
using fusion::ValueId;

int index_of(DType dtype) { return static_cast<int>(dtype); }

// True if the result may take the register of an operand that dies: loops read an element before
// they write it.
bool works_in_place(Op op) { return op == Op::kCast || fusion::is_pointwise(op); }

class Translator {
 public:
  explicit Translator(const Program& program)
      : program_(program),
        plan_(program),
        table_(loops()),
        home_(program.body.size(), kNoRegister),
        last_use_(program.body.size(), 0),
        reduction_index_(program.body.size(), 0) {}

  Bytecode run();

 private:
  using Inputs = std::array<Register, 3>;

  const Instr& instr(ValueId value) const { return program_.body[value]; }
  bool is_element(ValueId value) const { return instr(value).level == Level::kElement; }

  // Time runs in units of half passes: the row code of pass p is at 2p, its element code at 2p + 1,
  // the stores of row level at the end.
  int end_of_time() const { return 2 * code_.num_passes + 1; }
  void find_last_uses();
  void use(ValueId value, int time);
  void use_operands(ValueId user, int time);

  void translate_uniform();
  void translate_row(int pass);
  // For each value the last instruction that the row code of `pass` reads it in, or kNoValue.
  std::vector<ValueId> last_row_readers(int pass) const;
  void release_home(ValueId value);
  // Releases the homes of values that nothing uses after `time`.
  void release_dead(int time);

  void translate_pass(int pass);
  // When each value is last read in the pass: the reader, or kNoValue for a store; 0: never.
  std::vector<ValueId> last_readers(const PassPlan::Pass& pass) const;
  void translate_element(ValueId value, std::vector<ValueId>* last_reader, Pass* pass);
  // Gives the row-level values that are read in the pass a register with an element for each of the
  // tile's, which are the result.
  std::vector<Register> add_expansions(const std::vector<ValueId>& last_reader, Pass* pass);
  void add_reduction(ValueId value, Pass* pass);
  uint16_t add_scan(ValueId value, Pass* pass);

  void append(std::vector<Instruction>* code, ValueId value, Register out, const Inputs& inputs,
              uint8_t dying, bool element);
  void set_map(const Instr& value, Instruction* instruction) const;
  Instruction store_of(const Store& store, Register value, bool element);
  // `places[v]` is the register of value v.
  Inputs inputs_of(ValueId value, const std::vector<Register>& places) const;
  uint16_t bind(uint16_t access, bool element);

  const Program& program_;
  const PassPlan plan_;
  const LoopTable& table_;
  std::vector<Register> home_;   // of values of uniform and row level, while they live
  std::vector<int> last_use_;    // of values of row level, in units of half passes
  std::vector<Register> place_;  // of all values that the element code of the current pass reads
  std::vector<uint16_t> reduction_index_;
  RegisterFile registers_;
  Bytecode code_;
};

Bytecode Translator::run() {
  code_.has_reduced = program_.reduced_rank > 0;
  code_.column = program_.schedule == Schedule::kColumn;
  code_.outer_rank = program_.outer_rank;
  code_.reduced_rank = program_.reduced_rank;
  code_.num_passes = static_cast<int>(plan_.passes.size());
  code_.accesses = program_.accesses;
  code_.passes.resize(code_.num_passes + 1);
  code_.nontemporal = program_.nontemporal;
  for (const Store& store : program_.stores) {
    code_.stored_buffers.push_back(program_.accesses[store.access].buffer);
  }
  find_last_uses();
  translate_uniform();
  for (int p = 0; p <= code_.num_passes; ++p) {
    translate_row(p);
    if (p < code_.num_passes) translate_pass(p);
  }
  for (const Store& store : plan_.row_stores) {
    code_.row_stores.push_back(store_of(store, home_[store.value], /*element=*/false));
  }
  registers_.lay_out(&code_);
  for (Pass& pass : code_.passes) {
    pair_instructions(&pass.row_code);
    pair_instructions(&pass.element_code);
  }
  return std::move(code_);
}

// ---- Lifetimes of values of row level.

void Translator::use(ValueId value, int time) {
  if (!is_element(value)) last_use_[value] = std::max(last_use_[value], time);
}

void Translator::use_operands(ValueId user, int time) {
  for (int k = 0; k < instr(user).num_operands; ++k) use(instr(user).operands[k], time);
}

void Translator::find_last_uses() {
  for (size_t p = 0; p < plan_.rows.size(); ++p) {
    for (const ValueId value : plan_.rows[p]) use_operands(value, static_cast<int>(2 * p));
  }
  for (size_t p = 0; p < plan_.passes.size(); ++p) {
    const int time = static_cast<int>(2 * p + 1);
    for (const ValueId value : plan_.passes[p].values) use_operands(value, time);
    for (const Store& store : plan_.passes[p].stores) use(store.value, time);
  }
  for (const Store& store : plan_.row_stores) use(store.value, end_of_time());
}

void Translator::release_home(ValueId value) {
  if (instr(value).level != Level::kRow || home_[value] == kNoRegister) return;
  registers_.release(home_[value]);
  home_[value] = kNoRegister;
}

void Translator::release_dead(int time) {
  for (size_t i = 0; i < program_.body.size(); ++i) {
    if (last_use_[i] <= time) release_home(static_cast<ValueId>(i));
  }
}

// ---- Uniform and row level.

void Translator::translate_uniform() {
  for (const ValueId value : plan_.uniform) {
    home_[value] = registers_.allocate_uniform();
    append(&code_.uniform_code, value, home_[value], inputs_of(value, home_), 0,
           /*element=*/false);
  }
}

std::vector<ValueId> Translator::last_row_readers(int pass) const {
  std::vector<ValueId> last(program_.body.size(), fusion::kNoValue);
  for (const ValueId value : plan_.rows[pass]) {
    for (int k = 0; k < instr(value).num_operands; ++k) last[instr(value).operands[k]] = value;
  }
  return last;
}

void Translator::translate_row(int pass) {
  const int time = 2 * pass;
  const std::vector<ValueId> last_reader = last_row_readers(pass);
  std::vector<Instruction>& code = code_.passes[pass].row_code;
  code.reserve(plan_.rows[pass].size());
  for (const ValueId value : plan_.rows[pass]) {
    const Inputs inputs = inputs_of(value, home_);
    uint8_t dying = 0;
    auto release_operands = [&] {
      for (int k = 0; k < instr(value).num_operands; ++k) {
        const ValueId operand = instr(value).operands[k];
        if (last_use_[operand] != time || last_reader[operand] != value) continue;
        dying |= 1 << k;
        release_home(operand);
      }
    };
    if (works_in_place(instr(value).op)) release_operands();
    home_[value] = registers_.allocate(instr(value).dtype);
    release_operands();
    append(&code, value, home_[value], inputs, dying, /*element=*/false);
  }
  release_dead(time);
}

// ---- Element level.

std::vector<ValueId> Translator::last_readers(const PassPlan::Pass& pass) const {
  std::vector<ValueId> last(program_.body.size(), 0);
  auto read = [&](const std::vector<ValueId>& values) {
    for (const ValueId value : values) {
      for (int k = 0; k < instr(value).num_operands; ++k) {
        ValueId& reader = last[instr(value).operands[k]];
        reader = std::max(reader, value);
      }
    }
  };
  read(pass.values);
  read(pass.reductions);
  for (const Store& store : pass.stores) last[store.value] = fusion::kNoValue;
  return last;
}

std::vector<Register> Translator::add_expansions(const std::vector<ValueId>& last_reader,
                                                 Pass* pass) {
  std::vector<Register> added;
  for (size_t i = 0; i < program_.body.size(); ++i) {
    const Instr& value = program_.body[i];
    if (value.level != Level::kRow || last_reader[i] == 0 || home_[i] == kNoRegister) continue;
    place_[i] = registers_.allocate(value.dtype);
    added.push_back(place_[i]);
    Instruction expand(Opcode::kExpand, 1, value.dtype);
    expand.out = place_[i];
    expand.in[0] = home_[i];
    pass->expansions.push_back(expand);
  }
  return added;
}

void Translator::translate_element(ValueId value, std::vector<ValueId>* last_reader, Pass* pass) {
  std::vector<Instruction>* const code = &pass->element_code;
  const Instr& from = instr(value);
  // The operand has been expanded for the whole pass.
  if (from.op == Op::kExpand) {
    place_[value] = place_[from.operands[0]];
    return;
  }
  const Inputs inputs = inputs_of(value, place_);
  uint8_t dying = 0;
  auto release_operands = [&] {
    for (int k = 0; k < from.num_operands; ++k) {
      const ValueId operand = from.operands[k];
      if (!is_element(operand) || instr(operand).op == Op::kExpand) continue;
      if ((*last_reader)[operand] != value) continue;
      (*last_reader)[operand] = 0;  // an operand may occur twice
      dying |= 1 << k;
      registers_.release(place_[operand]);
    }
  };
  if (fusion::is_reduction(from.op)) {
    Instruction& reduce = code->emplace_back(Opcode::kReduce, 1, from.dtype);
    reduce.in[0] = inputs[0];
    reduce.aux = reduction_index_[value];
    release_operands();
    return;
  }
  if (works_in_place(from.op)) release_operands();
  place_[value] = registers_.allocate(from.dtype);
  release_operands();
  append(code, value, place_[value], inputs, dying, /*element=*/true);
  if (fusion::is_scan(from.op)) code->back().aux = add_scan(value, pass);
  if ((*last_reader)[value] == 0) registers_.release(place_[value]);
}

void Translator::translate_pass(int pass) {
  const PassPlan::Pass& from = plan_.passes[pass];
  Pass& to = code_.passes[pass];
  for (const ValueId value : from.reductions) add_reduction(value, &to);
  std::vector<ValueId> last_reader = last_readers(from);
  place_ = home_;
  const std::vector<Register> expanded = add_expansions(last_reader, &to);
  std::vector<ValueId> order;
  std::merge(from.values.begin(), from.values.end(), from.reductions.begin(), from.reductions.end(),
             std::back_inserter(order));
  to.element_code.reserve(order.size() + from.stores.size());
  for (const ValueId value : order) translate_element(value, &last_reader, &to);
  for (const Store& store : from.stores) {
    to.element_code.push_back(store_of(store, place_[store.value], /*element=*/true));
  }
  for (const ValueId value : from.values) {
    const bool is_stored = last_reader[value] == fusion::kNoValue;
    if (is_stored && instr(value).op != Op::kExpand) registers_.release(place_[value]);
  }
  for (const Register reg : expanded) registers_.release(reg);
  for (const uint16_t j : to.reductions) {
    const Reduction& reduction = code_.reductions[j];
    if (reduction.is_arg()) registers_.release(reduction.values);
    if (!reduction.is_arg() && code_.column) registers_.release(reduction.leaf);
  }
  release_dead(2 * pass + 1);
}

void Translator::add_reduction(ValueId value, Pass* pass) {
  const Instr& from = instr(value);
  const DType type = fusion::expression_dtype(program_, from);
  Reduction reduction;
  reduction.op = from.op;
  reduction.type = type;
  reduction.result = home_[value] = registers_.allocate(from.dtype);
  if (fusion::is_arg_reduction(from.op)) {
    reduction.values = registers_.allocate(type);
    reduction.arg = &table_.arg[arg_reduction_index(from.op)][index_of(type)];
  } else {
    if (code_.column) reduction.leaf = registers_.allocate(type);
    reduction.loops = &table_.reduce[reduction_index(from.op)][index_of(type)];
    reduction.round = table_.round[index_of(from.dtype)];
    reduction.zero_if_empty = is_zero_if_empty(from.op, type);
  }
  reduction_index_[value] = static_cast<uint16_t>(code_.reductions.size());
  pass->reductions.push_back(reduction_index_[value]);
  code_.reductions.push_back(reduction);
}

uint16_t Translator::add_scan(ValueId value, Pass* pass) {
  const Instr& from = instr(value);
  const DType type = fusion::expression_dtype(program_, from);
  code_.scans.push_back({type, &table_.scan[fusion::scan_index(from.op)][index_of(type)],
                         table_.round[index_of(from.dtype)]});
  pass->scans.push_back(static_cast<uint16_t>(code_.scans.size() - 1));
  return pass->scans.back();
}

// ---- Instructions.

uint16_t Translator::bind(uint16_t access, bool element) {
  for (size_t b = 0; b < code_.bindings.size(); ++b) {
    if (code_.bindings[b].access == access && code_.bindings[b].element == element) return b;
  }
  code_.bindings.push_back({access, element});
  return static_cast<uint16_t>(code_.bindings.size() - 1);
}

Instruction Translator::store_of(const Store& store, Register value, bool element) {
  Instruction result(Opcode::kStore, 1, instr(store.value).dtype);
  result.in[0] = value;
  result.aux = bind(store.access, element);
  return result;
}

Translator::Inputs Translator::inputs_of(ValueId value, const std::vector<Register>& places) const {
  Inputs inputs = {0, 0, 0};
  const Instr& user = instr(value);
  for (int k = 0; k < user.num_operands; ++k) inputs[k] = places[user.operands[k]];
  return inputs;
}

void Translator::append(std::vector<Instruction>* code, ValueId value, Register out,
                        const Inputs& inputs, uint8_t dying, bool element) {
  const Instr& from = instr(value);
  Instruction result(Opcode::kMap, from.num_operands, from.dtype);
  result.dying = dying;
  result.out = out;
  std::copy(inputs.begin(), inputs.end(), result.in);
  result.op = from.op;
  result.aux = from.aux;
  switch (from.op) {
    case Op::kLoad: result.opcode = Opcode::kLoad; break;
    case Op::kGather: result.opcode = Opcode::kGather; break;
    case Op::kCoordinate: result.opcode = Opcode::kCoordinate; break;
    case Op::kScalar: result.opcode = Opcode::kScalar; break;
    case Op::kParam: result.opcode = Opcode::kParam; break;
    case Op::kCheckIndex: result.opcode = Opcode::kCheckIndex; break;
    default:
      if (fusion::is_scan(from.op))
        result.opcode = Opcode::kScan;
      else
        set_map(from, &result);
  }
  if (result.opcode >= Opcode::kLoad && result.opcode <= Opcode::kCoordinate) {
    result.aux = bind(from.aux, element);
  }
  code->push_back(result);
}

void Translator::set_map(const Instr& value, Instruction* instruction) const {
  const DType type = fusion::expression_dtype(program_, value);
  if (value.op == Op::kCast) {
    instruction->loops = &table_.cast[index_of(type)][index_of(compute_type(value.dtype))];
  } else {
    const MapLoops* of_op = table_.map[static_cast<int>(value.op)];
    const bool has_form =
        value.dtype == DType::kFloat16 && of_op[index_of(DType::kFloat16)].form[0] != nullptr;
    instruction->loops = &of_op[index_of(has_form ? DType::kFloat16 : type)];
  }
  instruction->round = table_.round[index_of(value.dtype)];
}

}  // namespace

Bytecode translate(const Program& program) { return Translator(program).run(); }

}  // namespace sluice::kernels::interp
