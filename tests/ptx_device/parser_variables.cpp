// Variables and registers.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "tests/ptx_device/parser_state.h"

namespace sluice::ptx {
namespace {

// Between variables, so that an access past one is not an access to the next.
constexpr int kSharedGap = 64;
constexpr int kLocalGap = 32;

int aligned(int64_t offset, int align) {
  return static_cast<int>((offset + align - 1) / align * align);
}

}  // namespace

// `declaration`: ".align 4 .b8 name[24] = {..}".
void Parser::variable(const std::string& space, const std::string& declaration) {
  const size_t equals = declaration.find('=');
  const Declaration declared = parse_declaration(declaration.substr(0, equals));
  const int bytes = static_cast<int>(declared.bytes);
  Symbol symbol{Symbol::kGlobalVariable, 0, 0, declared.bytes};
  if (space == ".global" || space == ".const") {
    symbol.place = place_global(
        declared, equals == std::string::npos ? std::string() : declaration.substr(equals + 1));
  } else if (space == ".shared") {
    const bool in_function = current_ >= 0;
    int& end = in_function ? shared_end_ : program_->shared_end;
    symbol.kind = Symbol::kSharedVariable;
    symbol.place = aligned(end + kSharedGap, declared.align);
    end = static_cast<int>(symbol.place) + bytes;
    (in_function ? program_->functions[current_].shared : program_->shared)
        .push_back({declared.name, symbol.place, declared.bytes});
  } else if (space == ".local") {
    int& end = program_->functions[current_].local_bytes;
    symbol.kind = Symbol::kLocalVariable;
    symbol.place = aligned(end + kLocalGap, declared.align);
    end = static_cast<int>(symbol.place) + bytes;
  } else {  // .param in a body: an argument or a result of a call
    symbol.kind = Symbol::kFrameVariable;
    symbol.place = aligned(frame_, 16);
    frame_ = static_cast<int>(symbol.place) + bytes;
    max_frame_ = std::max(max_frame_, frame_);
  }
  scopes_.back()[declared.name] = symbol;
}

int64_t Parser::place_global(const Declaration& declared, const std::string& values) {
  constexpr uint64_t kAlign = 256;
  program_->globals.emplace_back(declared.bytes + kAlign);
  const auto raw = reinterpret_cast<uint64_t>(program_->globals.back().data());
  const uint64_t begin = (raw + kAlign - 1) / kAlign * kAlign;
  auto* const memory = reinterpret_cast<uint8_t*>(begin);
  const int size = bytes_of(declared.type);
  std::string list = values;
  std::replace_if(
      list.begin(), list.end(), [](char c) { return c == '{' || c == '}'; }, ' ');
  int64_t at = 0;
  for (const std::string& value : split_operands(list)) {
    if (at + size > declared.bytes) fail("too many values of " + declared.name);
    const uint64_t number = number_of(value, declared.type);
    std::memcpy(memory + at, &number, size);
    at += size;
  }
  program_->global_ranges.emplace_back(begin, begin + declared.bytes);
  return static_cast<int64_t>(begin);
}

// A statement that begins with a dot.
void Parser::directive(const std::string& statement) {
  const size_t space = statement.find_first_of(" \t");
  const std::string name = statement.substr(0, space);
  if (name == ".pragma") return;
  if (space == std::string::npos) fail("directive " + statement);
  const std::string rest = trim(statement.substr(space));
  if (name == ".reg") {
    registers(rest);
  } else if (name == ".local" || name == ".shared" || name == ".param") {
    variable(name, rest);
  } else {
    fail("directive " + statement);
  }
}

// ".b32 %r<9>" is %r0 to %r8.
void Parser::registers(const std::string& declaration) {
  const size_t gap = declaration.find_first_of(" \t");
  if (type_of(declaration.substr(1, gap - 1)) == kNoType) fail("registers " + declaration);
  for (const std::string& item : split_operands(declaration.substr(gap))) {
    Symbol symbol{Symbol::kRegister, registers_, 0, 0};
    const size_t bracket = item.find('<');
    if (bracket != std::string::npos) symbol.count = std::atoi(item.c_str() + bracket + 1);
    registers_ += std::max(symbol.count, 1);
    scopes_.back()[bracket == std::string::npos ? item : item.substr(0, bracket + 1)] = symbol;
  }
}

}  // namespace sluice::ptx
