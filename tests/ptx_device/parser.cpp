// Modules and functions.
#include "tests/ptx_device/parser.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>

#include "tests/ptx_device/parser_state.h"

namespace sluice::ptx {
namespace {

// Without comments. Lines stay what they are.
std::string without_comments(const std::string& text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.compare(i, 2, "//") == 0) {
      while (i < text.size() && text[i] != '\n') ++i;
      if (i < text.size()) result += '\n';
    } else if (text.compare(i, 2, "/*") == 0) {
      for (; i < text.size() && text.compare(i, 2, "*/") != 0; ++i) {
        if (text[i] == '\n') result += '\n';
      }
      ++i;
    } else if (text[i] != '\0') {
      result += text[i];
    }
  }
  return result;
}

}  // namespace

int bytes_of(Type type) {
  switch (type) {
    case kB16:
    case kU16:
    case kS16:
    case kF16:
    case kBF16: return 2;
    case kB32:
    case kU32:
    case kS32:
    case kF16x2:
    case kBF16x2:
    case kF32: return 4;
    case kB64:
    case kU64:
    case kS64:
    case kF64: return 8;
    default: return 1;
  }
}

const uint64_t* Program::constant(uint64_t value) {
  const uint64_t*& row = row_of[value];
  if (row == nullptr) {
    rows.emplace_back(kWarp, value);
    row = rows.back().data();
  }
  return row;
}

std::unique_ptr<Program> parse(const std::string& text, std::string* error) {
  Parser parser(text);
  try {
    return parser.run();
  } catch (const ParseError& failure) {
    *error = "PTX line " + std::to_string(parser.line()) + ": " + failure.what;
    return nullptr;
  }
}

Parser::Parser(const std::string& text)
    : program_(std::make_unique<Program>()), text_(without_comments(text)) {}

std::unique_ptr<Program> Parser::run() {
  scopes_.emplace_back();
  while (skip_space()) module_level();
  program_->max_frame = max_frame_;
  for (const Function& function : program_->functions) {
    if (!function.is_defined) fail("function " + function.name + " is not defined");
    program_->max_registers = std::max(program_->max_registers, function.registers);
    program_->max_local = std::max(program_->max_local, function.local_bytes);
    if (!function.is_entry) {
      program_->max_frame = std::max(program_->max_frame, function.param_bytes);
    }
  }
  link_calls();
  return std::move(program_);
}

// A function may be called before it is defined.
void Parser::link_calls() {
  for (Instruction& insn : program_->code) {
    if (insn.op != kCall) continue;
    const Function& callee = program_->functions[insn.function];
    insn.target = callee.begin;
    if (insn.arguments.size() != callee.formals.size()) fail("arguments of " + callee.name);
    if (insn.results.size() != callee.returns.size()) fail("results of " + callee.name);
    for (size_t i = 0; i < insn.arguments.size(); ++i) {
      insn.arguments[i].to = static_cast<int>(callee.formals[i].offset);
      if (insn.arguments[i].bytes != callee.formals[i].bytes) fail("an argument's size");
    }
    for (size_t i = 0; i < insn.results.size(); ++i) {
      insn.results[i].from = static_cast<int>(callee.returns[i].offset);
      if (insn.results[i].bytes != callee.returns[i].bytes) fail("a result's size");
    }
  }
}

bool Parser::skip_space() {
  while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) {
    if (text_[at_] == '\n') ++line_;
    ++at_;
  }
  return at_ < text_.size();
}

std::string Parser::word() {
  skip_space();
  const size_t begin = at_;
  while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 ||
                                std::strchr("._$%", text_[at_]) != nullptr)) {
    ++at_;
  }
  return text_.substr(begin, at_ - begin);
}

std::string Parser::until(char stop) {
  std::string result;
  while (at_ < text_.size() && text_[at_] != stop) {
    if (text_[at_] == '\n') ++line_;
    result += text_[at_++];
  }
  ++at_;
  return result;
}

std::string Parser::rest_of_line() {
  std::string result;
  while (at_ < text_.size() && text_[at_] != '\n') result += text_[at_++];
  return trim(result);
}

void Parser::module_level() {
  std::string what = word();
  if (what == ".version" || what == ".target" || what == ".address_size") {
    rest_of_line();
    return;
  }
  while (what == ".visible" || what == ".weak" || what == ".extern") what = word();
  if (what == ".func" || what == ".entry") {
    function(what == ".entry");
  } else if (what == ".global" || what == ".const" || what == ".shared") {
    variable(what, until(';'));
  } else {
    fail("at module level: " + what + " " + rest_of_line());
  }
}

std::vector<Variable> Parser::formals(const std::string& list, int* end, bool is_entry) {
  std::vector<Variable> result;
  for (const std::string& item : split_operands(list)) {
    const Declaration declared = parse_declaration(item);
    *end = (*end + declared.align - 1) / declared.align * declared.align;
    scopes_.back()[declared.name] = {is_entry ? Symbol::kFormal : Symbol::kFrameVariable, *end, 0,
                                     declared.bytes};
    result.push_back({declared.name, *end, declared.bytes});
    *end += static_cast<int>(declared.bytes);
  }
  return result;
}

void Parser::function(bool is_entry) {
  scopes_.emplace_back();
  int end = 0;
  Function parsed;
  parsed.is_entry = is_entry;
  skip_space();
  if (!is_entry && text_[at_] == '(') {
    ++at_;
    parsed.returns = formals(until(')'), &end, false);
  }
  parsed.name = word();
  skip_space();
  if (text_[at_] == '(') {
    ++at_;
    parsed.formals = formals(until(')'), &end, is_entry);
  }
  const bool has_body = function_head(parsed.name, &parsed);
  const auto [known, is_new] =
      program_->by_name.try_emplace(parsed.name, static_cast<int>(program_->functions.size()));
  if (is_new) program_->functions.emplace_back();
  const int index = known->second;
  parsed.begin = static_cast<int>(program_->code.size());
  program_->functions[index] = std::move(parsed);
  if (has_body) {
    current_ = index;
    registers_ = 0;
    frame_ = is_entry ? 0 : end;
    shared_end_ = program_->shared_end;
    labels_.clear();
    jumps_.clear();
    tables_.clear();
    body();
    finish_function(index, is_entry, end);
    current_ = -1;
  }
  scopes_.pop_back();
}

// Directives before the body. False if there is none.
bool Parser::function_head(const std::string& name, Function* function) {
  for (;;) {
    skip_space();
    const char c = text_[at_];
    if (c == ';' || c == '{') {
      ++at_;
      return c == '{';
    }
    const std::string directive = word();
    if (directive == ".noreturn") continue;
    if (directive == ".attribute") {
      until(')');
      continue;
    }
    const std::string value = rest_of_line();
    if (directive == ".maxntid") function->max_threads = std::atoi(value.c_str());
    if (directive.empty()) fail("in the head of " + name + ": " + value);
  }
}

void Parser::finish_function(int index, bool is_entry, int end_of_params) {
  Function& function = program_->functions[index];
  std::vector<Instruction>& code = program_->code;
  if (static_cast<int>(code.size()) == function.begin || code.back().op != kRet) {
    Instruction ret;
    ret.op = kRet;
    ret.text = "(end)";
    code.push_back(ret);
  }
  function.registers = registers_;
  function.param_bytes = is_entry ? end_of_params : frame_;
  function.is_defined = true;
  max_frame_ = std::max(max_frame_, frame_);
  const auto place_of = [&](const std::string& label) {
    const auto it = labels_.find(label);
    if (it == labels_.end()) fail("no label " + label);
    return it->second;
  };
  for (const auto& [at, label] : jumps_) code[at].target = place_of(label);
  for (size_t at = function.begin; at < code.size(); ++at) {
    if (code[at].op != kBrx) continue;
    const std::string& name = table_of_[static_cast<int>(at)];
    const auto table = tables_.find(name);
    if (table == tables_.end()) fail("no table " + name);
    for (const std::string& label : table->second) code[at].targets.push_back(place_of(label));
  }
}

}  // namespace sluice::ptx
