// The parser's state, which its source files share.
#ifndef SLUICE_TESTS_PTX_DEVICE_PARSER_STATE_H_
#define SLUICE_TESTS_PTX_DEVICE_PARSER_STATE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/ptx_device/program.h"

namespace sluice::ptx {

struct ParseError {
  std::string what;
};
[[noreturn]] void fail(const std::string& what);

// ---- Words and names (parser_text.cpp).

std::vector<std::string> split(const std::string& text, char separator);
std::vector<std::string> split_words(const std::string& text);
// At commas outside brackets.
std::vector<std::string> split_operands(const std::string& text);
std::string trim(const std::string& text);
// The bits of a literal. Hexadecimal floats (0f3F800000) say their own type.
uint64_t number_of(const std::string& text, Type type);
Type type_of(const std::string& name);    // "f32"; kNoType if it is none
int special_of(const std::string& name);  // "%tid.x" as a Special; -1 if it is none

// Sets an instruction's op, types and flags from its opcode, "mad.lo.s32".
void decode_opcode(const std::string& opcode, Instruction* insn);

struct Declaration {
  int align = 1;
  Type type = kNoType;
  std::string name;
  int64_t bytes = 0;
};
// ".align 4 .b8 name[24]"
Declaration parse_declaration(const std::string& text);

// ---- The parser.

struct Symbol {
  enum Kind {
    kRegister,
    kGlobalVariable,
    kSharedVariable,
    kLocalVariable,
    kFrameVariable,  // an argument or a result of a call
    kFormal          // a parameter of an entry
  } kind;
  int64_t place = 0;  // a register's number, an offset in a space, a global's address
  int count = 0;      // of registers declared together, %r<9>
  int64_t bytes = 0;
};

class Parser {
 public:
  explicit Parser(const std::string& text);

  // Throws ParseError.
  std::unique_ptr<Program> run();
  int line() const { return line_; }

 private:
  // Text (parser.cpp).
  bool skip_space();
  std::string word();
  std::string until(char stop);
  std::string rest_of_line();

  // Modules and functions (parser.cpp).
  void module_level();
  void link_calls();
  std::vector<Variable> formals(const std::string& list, int* end, bool is_entry);
  void function(bool is_entry);
  bool function_head(const std::string& name, Function* function);
  void finish_function(int index, bool is_entry, int end_of_params);

  // Variables (parser_variables.cpp).
  void variable(const std::string& space, const std::string& declaration);
  int64_t place_global(const Declaration& declared, const std::string& values);
  void directive(const std::string& statement);
  void registers(const std::string& declaration);

  // Bodies and instructions (parser_body.cpp).
  void body();
  void label_or_statement();
  void instruction(std::string statement, int line);
  void operands_of(const std::vector<std::string>& operands, const std::string& opcode,
                   Instruction* insn);
  void move_operands(const std::vector<std::string>& operands, Instruction* insn);
  void call_operands(const std::vector<std::string>& operands, Instruction* insn);
  void source(const std::string& text, Type type, Instruction* insn);
  void destination(const std::string& text, Instruction* insn);
  Operand operand(std::string text, Type type);
  void address(std::string text, Instruction* insn);
  const Symbol* find(const std::string& name) const;
  int register_of(const std::string& name) const;  // -1 if it is none

  std::unique_ptr<Program> program_;
  std::string text_;  // without comments
  size_t at_ = 0;
  int line_ = 1;
  std::vector<std::map<std::string, Symbol>> scopes_;
  int max_frame_ = 0;

  // Of the function that is being parsed.
  int current_ = -1, registers_ = 0, frame_ = 0, shared_end_ = 0;
  std::map<std::string, int> labels_;
  std::vector<std::pair<int, std::string>> jumps_;          // instruction and label
  std::map<std::string, std::vector<std::string>> tables_;  // labels of .branchtargets
  std::map<int, std::string> table_of_;                     // by instruction
};

}  // namespace sluice::ptx

#endif  // SLUICE_TESTS_PTX_DEVICE_PARSER_STATE_H_
