// Statements, instructions and operands.
#include <cctype>
#include <cstdlib>

#include "tests/ptx_device/parser_state.h"

namespace sluice::ptx {
namespace {

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// What "name+8" adds to the name.
int64_t offset_of(const std::string& text) {
  const size_t plus = text.find('+');
  return plus == std::string::npos ? 0 : std::atoll(trim(text.substr(plus + 1)).c_str());
}
std::string name_of(const std::string& text) { return trim(text.substr(0, text.find('+'))); }

// "{a, b}" or "(a, b)" without its brackets.
std::vector<std::string> items_of(const std::string& group) {
  return split_operands(group.substr(1, group.size() - 2));
}

}  // namespace

void Parser::body() {
  int depth = 0;
  for (;;) {
    if (!skip_space()) fail("a body without an end");
    switch (text_[at_]) {
      case '{':
        ++at_;
        ++depth;
        scopes_.emplace_back();
        break;
      case '}':
        ++at_;
        if (depth-- == 0) return;
        scopes_.pop_back();
        break;
      case ';': ++at_; break;
      default: label_or_statement();
    }
  }
}

void Parser::label_or_statement() {
  const size_t begin = at_;
  const int line = line_;
  const std::string first = word();
  skip_space();
  if (!first.empty() && text_[at_] == ':') {
    ++at_;
    skip_space();
    if (text_.compare(at_, 14, ".branchtargets") == 0) {
      word();
      tables_[first] = split_operands(until(';'));
    } else {
      labels_[first] = static_cast<int>(program_->code.size());
    }
    return;
  }
  if (first == ".loc" || first == ".file") {
    rest_of_line();
    return;
  }
  at_ = begin;
  line_ = line;
  const std::string statement = trim(until(';'));
  if (statement[0] == '.') {
    directive(statement);
  } else {
    instruction(statement, line);
  }
}

void Parser::instruction(std::string statement, int line) {
  for (char& c : statement) {
    if (c == '\n' || c == '\t') c = ' ';
  }
  Instruction insn;
  insn.line = line;
  program_->texts.push_back(statement);
  insn.text = program_->texts.back().c_str();
  if (statement[0] == '@') {
    insn.guard_negated = statement[1] == '!';
    const size_t begin = insn.guard_negated ? 2 : 1;
    const size_t end = statement.find(' ', begin);
    insn.guard = register_of(statement.substr(begin, end - begin));
    if (insn.guard < 0) fail("guard of " + statement);
    statement = trim(statement.substr(end));
  }
  const size_t gap = statement.find(' ');
  const std::string opcode = statement.substr(0, gap);
  decode_opcode(opcode, &insn);
  operands_of(split_operands(gap == std::string::npos ? "" : statement.substr(gap)), opcode, &insn);
  for (int i = 0; i < insn.ns; ++i) {
    if (insn.s[i].kind == Operand::kSink) fail("a source that is nothing");
  }
  program_->code.push_back(insn);
}

void Parser::operands_of(const std::vector<std::string>& operands, const std::string& opcode,
                         Instruction* insn) {
  const int here = static_cast<int>(program_->code.size());
  const auto need = [&](size_t count) {
    if (operands.size() < count) fail("operands of " + opcode);
  };
  const auto sources_from = [&](size_t first, Type type) {
    for (size_t i = first; i < operands.size(); ++i) source(operands[i], type, insn);
  };
  switch (insn->op) {
    case kRet:
    case kExit:
    case kTrap:
    case kWaitCopies:
    case kFence: return;
    case kMma:
      need(4);
      destination(operands[0], insn);
      sources_from(1, kB32);
      if (insn->nd != 4 || insn->ns != 10) fail("operands of " + opcode);
      return source("0xffffffff", kB32, insn);
    case kLdMatrix:
      need(2);
      destination(operands[0], insn);
      address(operands[1], insn);
      if (insn->nd != 4) fail("operands of " + opcode);
      return source("0xffffffff", kB32, insn);
    case kCopyAsync:
      need(4);
      address(operands[0], insn);
      source(trim(operands[1].substr(1, operands[1].size() - 2)), kU64, insn);
      return sources_from(2, kU32);
    case kBar:
    case kWarpSync:
      if (operands.size() != 1) fail(opcode + " with a count");
      return source(operands[0], kB32, insn);
    case kMov: need(2); return move_operands(operands, insn);
    case kLd:
      need(2);
      destination(operands[0], insn);
      if (insn->nd != insn->vector) fail("a vector of " + opcode);
      return address(operands[1], insn);
    case kSt:
      need(2);
      address(operands[0], insn);
      source(operands[1], insn->type, insn);
      if (insn->ns != insn->vector) fail("a vector of " + opcode);
      return;
    case kAtom:
      need(3);
      destination(operands[0], insn);
      address(operands[1], insn);
      return sources_from(2, insn->type);
    case kRed:
      need(2);
      address(operands[0], insn);
      return sources_from(1, insn->type);
    case kBra:
      need(1);
      jumps_.emplace_back(here, operands[0]);
      return;
    case kBrx:
      need(2);
      source(operands[0], kU32, insn);
      table_of_[here] = operands[1];
      return;
    case kCall: return call_operands(operands, insn);
    default:
      need(1);
      destination(operands[0], insn);
      return sources_from(1, insn->op == kCvt ? insn->source_type : insn->type);
  }
}

void Parser::move_operands(const std::vector<std::string>& operands, Instruction* insn) {
  destination(operands[0], insn);
  const Symbol* const symbol = find(name_of(operands[1]));
  if (const int special = special_of(operands[1]); special >= 0) {
    insn->op = kSpecial;
    insn->special = static_cast<Special>(special);
  } else if (symbol != nullptr && symbol->kind == Symbol::kLocalVariable) {
    insn->op = kLocalAddress;
    insn->offset = symbol->place + offset_of(operands[1]);
  } else {
    if (operands[0][0] == '{') insn->op = kUnpack;
    if (operands[1][0] == '{') insn->op = kPack;
    source(operands[1], insn->type, insn);
  }
}

// (results), name, (arguments)
void Parser::call_operands(const std::vector<std::string>& operands, Instruction* insn) {
  std::string callee;
  for (const std::string& item : operands) {
    if (item[0] != '(') {
      if (!callee.empty()) fail("an indirect call");
      callee = item;
      continue;
    }
    for (const std::string& name : items_of(item)) {
      const Symbol* const symbol = find(name);
      if (symbol == nullptr || symbol->kind != Symbol::kFrameVariable) fail("argument " + name);
      const int place = static_cast<int>(symbol->place), bytes = static_cast<int>(symbol->bytes);
      if (callee.empty()) {
        insn->results.push_back({0, place, bytes});
      } else {
        insn->arguments.push_back({place, 0, bytes});
      }
    }
  }
  const auto function = program_->by_name.find(callee);
  if (function == program_->by_name.end()) fail("no function " + callee);
  insn->function = function->second;
}

void Parser::source(const std::string& text, Type type, Instruction* insn) {
  for (const std::string& item : text[0] == '{' ? items_of(text) : std::vector{text}) {
    if (insn->ns == static_cast<int>(std::size(insn->s))) fail("too many operands");
    insn->s[insn->ns++] = operand(item, type);
  }
}

void Parser::destination(const std::string& text, Instruction* insn) {
  for (const std::string& part : split(text, '|')) {  // "value|predicate"
    const std::string one = trim(part);
    for (const std::string& item : one[0] == '{' ? items_of(one) : std::vector{one}) {
      if (insn->nd == static_cast<int>(std::size(insn->d))) fail("too many results");
      insn->d[insn->nd++] = operand(item, kNoType);
    }
  }
}

Operand Parser::operand(std::string text, Type type) {
  Operand result;
  if (text == "_") {
    result.kind = Operand::kSink;
    return result;
  }
  if (text[0] == '!') {
    result.negated = true;
    text = trim(text.substr(1));
  }
  if (const int reg = register_of(text); reg >= 0) {
    result.kind = Operand::kReg;
    result.reg = reg;
    return result;
  }
  result.kind = Operand::kImm;
  if (is_digit(text[0]) || text[0] == '-') {
    result.row = program_->constant(number_of(text, type));
    return result;
  }
  const Symbol* const symbol = find(name_of(text));
  if (symbol == nullptr) fail("nothing is called " + text);
  if (symbol->kind == Symbol::kLocalVariable || symbol->kind == Symbol::kFrameVariable) {
    fail("the address of " + text);
  }
  result.row = program_->constant(static_cast<uint64_t>(symbol->place + offset_of(text)));
  return result;
}

void Parser::address(std::string text, Instruction* insn) {
  if (text.front() != '[' || text.back() != ']') fail("an address: " + text);
  text = trim(text.substr(1, text.size() - 2));
  const std::string name = name_of(text);
  insn->offset = offset_of(text);
  if (const int reg = register_of(name); reg >= 0) {
    insn->base.kind = Operand::kReg;
    insn->base.reg = reg;
    return;
  }
  uint64_t place = 0;
  if (is_digit(name[0])) {
    place = number_of(name, kU64);
  } else {
    const Symbol* const symbol = find(name);
    if (symbol == nullptr) fail("nothing is called " + name);
    if (symbol->kind == Symbol::kLocalVariable) {
      insn->offset += symbol->place;
      return;
    }
    if (symbol->kind == Symbol::kFrameVariable) insn->space = kParamFrame;
    place = static_cast<uint64_t>(symbol->place);
  }
  insn->base.kind = Operand::kImm;
  insn->base.row = program_->constant(place);
}

const Symbol* Parser::find(const std::string& name) const {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    const auto found = scope->find(name);
    if (found != scope->end()) return &found->second;
  }
  return nullptr;
}

int Parser::register_of(const std::string& name) const {
  const Symbol* symbol = find(name);
  if (symbol != nullptr) {
    return symbol->kind == Symbol::kRegister ? static_cast<int>(symbol->place) : -1;
  }
  size_t digits = name.size();
  while (digits > 0 && is_digit(name[digits - 1])) --digits;
  if (digits == name.size()) return -1;
  symbol = find(name.substr(0, digits) + "<");
  if (symbol == nullptr) return -1;
  const int number = std::atoi(name.c_str() + digits);
  if (number >= symbol->count) fail("register " + name);
  return static_cast<int>(symbol->place + number);
}

}  // namespace sluice::ptx
