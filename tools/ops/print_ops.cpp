// Prints what the tables of ops say, for scripts/generate and the docs target:
//   sluice_print_ops header      include/sluice/ops.h
//   sluice_print_ops forms       include/sluice/detail/op_forms.h
//   sluice_print_ops exprs       include/sluice/detail/expr_ops.h
//   sluice_print_ops reference   every op, in Markdown
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/registry/op_rows.h"

namespace sluice {
namespace {

using frontend::OperatorForm;
using frontend::OpOperator;
using frontend::OpRow;
using frontend::OpSection;

constexpr size_t kColumns = 100;

constexpr const char* kHead =
    R"(// Every op on tensors, as free functions. Names and meaning are those of NumPy and the Python array
// API standard where it has them.
//
// scripts/generate writes this file from fusion/ir/ops.def and frontend/functions.def.
//
// Common to all: operands broadcast as in NumPy; dtypes combine by promote() (<sluice/dtype.h>); a
// C++ number may stand for an operand of an element-wise op. "Numbers" are all dtypes but bool;
// what "gives a float" gives x's dtype if that is one, else float32. `axis` may be negative. A bad
// call throws Error (kInvalidArgument) at once, naming the op and the shapes and dtypes it was
// given, and changes nothing. `where` is the call, for traces.
#ifndef SLUICE_OPS_H_
#define SLUICE_OPS_H_

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <sluice/convolution.h>
#include <sluice/tensor.h>

#pragma GCC visibility push(default)
namespace sluice {

using TensorPair = std::pair<Tensor, Tensor>;

// What unique_all() gives.
struct UniqueAll {
  Tensor values, indices, inverse_indices, counts;
};

// The shape that tensors of these broadcast to. Throws Error (kInvalidArgument) if they don't.
[[nodiscard]] Shape broadcast_shapes(std::span<const Shape> shapes);
[[nodiscard]] Shape broadcast_shapes(std::initializer_list<Shape> shapes);
)";
constexpr const char* kTail = R"(
}  // namespace sluice
#pragma GCC visibility pop

#include <sluice/detail/op_forms.h>

#endif  // SLUICE_OPS_H_
)";

constexpr const char* kFormsHead =
    R"(// Other C++ forms of the element-wise functions of <sluice/ops.h>: of temporaries, which they let
// go before the statement ends; of numbers; and templates for pointers to functions, which know no
// default arguments.
//
// scripts/generate writes this file from fusion/ir/ops.def.
#ifndef SLUICE_DETAIL_OP_FORMS_H_
#define SLUICE_DETAIL_OP_FORMS_H_

#include <sluice/ops.h>

#pragma GCC visibility push(default)
namespace sluice {

)";
constexpr const char* kFormsTail = R"(
}  // namespace sluice
#pragma GCC visibility pop

#endif  // SLUICE_DETAIL_OP_FORMS_H_
)";

constexpr const char* kExprsHead =
    R"(// The ops of the functions that map() is given: those of <sluice/ops.h> of the same names, of
// elements.
//
// scripts/generate writes this file from fusion/ir/ops.def and frontend/functions.def.
#ifndef SLUICE_DETAIL_EXPR_OPS_H_
#define SLUICE_DETAIL_EXPR_OPS_H_

#include <sluice/map.h>

#pragma GCC visibility push(default)
namespace sluice {

)";
constexpr const char* kExprsTail = R"(
}  // namespace sluice
#pragma GCC visibility pop

#endif  // SLUICE_DETAIL_EXPR_OPS_H_
)";

constexpr std::string_view kWhere = ", Location where = Location::current())";

void put(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

void put_comment(std::string_view text) {
  std::string line = "//";
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    if (line.size() + 1 + word.size() > kColumns) {
      put(line + "\n");
      line = "//";
    }
    line += " " + std::string(word);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (line.size() > 2) put(line + "\n");
}

void put_declarations(const OpRow& row) {
  std::string declaration = signature_of(row);
  if (row.arity == 1 || row.arity == 2) {
    declaration.pop_back();
    declaration += kWhere;
  }
  const auto declare = [](const std::string& function) {
    // Of a Tensor the class says it.
    put((function.starts_with("Tensor ") ? "" : "[[nodiscard]] ") + function + ";\n");
  };
  declare(declaration);
  for (const auto& overload : row.overloads) {
    put_comment(overload.doc);
    declare(std::string(overload.result) + " " + std::string(overload.name) +
            std::string(overload.parameters));
  }
}

// A pointwise op's forms for temporaries and numbers, and its template.
void put_forms(const OpRow& row) {
  const std::string name(row.name);
  const auto declare = [&](const std::string& parameters) {
    put("Tensor " + name + "(" + parameters + std::string(kWhere) + ";\n");
  };
  if (row.arity == 1) {
    const std::string x(row.operands);
    declare("Tensor&& " + x);
    put("template <typename = void>\nTensor " + name + "(const Tensor& " + x + ") { return " +
        name + "(" + x + ", Location()); }\n");
    return;
  }
  const size_t comma = row.operands.find(", ");
  const std::string x(row.operands.substr(0, comma)), y(row.operands.substr(comma + 2));
  constexpr std::string_view kTypes[][2] = {
      {"Tensor&&", "const Tensor&"}, {"const Tensor&", "Tensor&&"}, {"Tensor&&", "Tensor&&"},
      {"const Tensor&", "Scalar"},   {"Tensor&&", "Scalar"},        {"Scalar", "const Tensor&"},
      {"Scalar", "Tensor&&"}};
  for (const auto& [a, b] : kTypes) {
    declare(std::string(a) + " " + x + ", " + std::string(b) + " " + y);
  }
  put("template <typename = void>\nTensor " + name + "(const Tensor& " + x + ", const Tensor& " +
      y + ") { return " + name + "(" + x + ", " + y + ", Location()); }\n");
}

void put_declarations(const OpOperator& row) {
  const std::string name = "operator" + std::string(row.symbol);
  switch (row.form) {
    case OperatorForm::kUnary: put("Tensor " + name + "(const Arg& x);\n"); break;
    case OperatorForm::kBinary:
      put("Tensor " + name + "(const Arg& x, const Arg& y);\n");
      put("Tensor " + name + "(const Arg& x, Scalar y);\n");
      put("Tensor " + name + "(Scalar x, const Arg& y);\n");
      break;
    case OperatorForm::kCompound:
      put("Tensor& " + name + "(Tensor& x, const Operand& y);\n");
      break;
  }
}

std::string types_of(const OpRow& row) {
  if (row.domain.empty()) return {};
  return " Takes " + std::string(row.domain) + "; gives " + std::string(row.result_dtype) + ".";
}

void put_header() {
  put(kHead);
  for (const OpSection& section : frontend::op_sections()) {
    put("\n// " + std::string(section.title) + ".\n");
    if (!section.text.empty()) {
      put("//\n");
      put_comment(section.text);
    }
    for (const OpRow& row : section.rows) {
      put("\n");
      put_comment(std::string(row.doc) + types_of(row));
      put_declarations(row);
    }
    if (section.operators.empty()) continue;
    put("\n");
    put_comment(
        "Operators of the functions above. `where` comes with the operands. Compound assignment "
        "makes "
        "the handle name the new value and lets go of the old one.");
    for (const OpOperator& row : section.operators) put_declarations(row);
  }
  put(kTail);
}

void put_forms() {
  put(kFormsHead);
  for (const OpSection& section : frontend::op_sections()) {
    for (const OpRow& row : section.rows) {
      if (row.arity == 1 || row.arity == 2) put_forms(row);
    }
  }
  put("\n// What x(...) returns is a value, not a place.\n");
  for (const OpSection& section : frontend::op_sections()) {
    for (const OpOperator& row : section.operators) {
      if (row.form != OperatorForm::kCompound) continue;
      put("Tensor& operator" + std::string(row.symbol) +
          "(Tensor&& x, const Operand& y) = delete;  // instead: x = x." +
          (row.name == "add"
               ? "add_at({i, j}, y)"
               : "set({i, j}, x(i, j) " + std::string(row.symbol.substr(0, row.symbol.size() - 1)) +
                     " y)") +
          "\n");
    }
  }
  put(kFormsTail);
}

// The forms of an op of `arity` elements and numbers, of which one is an element at least.
void put_expr(const std::string& name, int arity, std::string_view operands) {
  std::vector<std::string> names(1);
  for (const char c : operands) {
    if (c == ',') {
      names.emplace_back();
    } else if (c != ' ') {
      names.back() += c;
    }
  }
  for (int element = 0; element < arity; ++element) {
    std::string parameters;
    for (int k = 0; k < arity; ++k) {
      const char* const type = k < element    ? "Scalar "
                               : k == element ? "const ExprArg& "
                                              : "const ExprOperand& ";
      parameters += (k == 0 ? "" : ", ") + (type + names[static_cast<size_t>(k)]);
    }
    put("Expr " + name + "(" + parameters + ");\n");
  }
}

void put_exprs() {
  put(kExprsHead);
  for (const OpSection& section : frontend::op_sections()) {
    for (const OpRow& row : section.rows) {
      if (row.arity != 0) put_expr(std::string(row.name), row.arity, row.operands);
    }
    for (const OpOperator& row : section.operators) {
      const std::string name = "operator" + std::string(row.symbol);
      if (row.form == OperatorForm::kUnary) put_expr(name, 1, "x");
      if (row.form == OperatorForm::kBinary) put_expr(name, 2, "x, y");
      if (row.form == OperatorForm::kCompound) {
        put("Expr& " + name + "(Expr& x, const ExprOperand& y);\n");
      }
    }
  }
  put(kExprsTail);
}

// `|` ends a cell of a table.
std::string cell(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '|') result += '\\';
    result += c;
  }
  return result;
}

void put_operators(const OpSection& section, std::string_view function) {
  for (const OpOperator& row : section.operators) {
    if (row.name == function) put(", `" + cell(row.symbol) + "`");
  }
}

// How an op is called, without what is only for traces.
std::string usage_of(const OpRow& row) {
  if (row.arity != 0) return std::string(row.name) + "(" + std::string(row.operands) + ")";
  std::string parameters(row.parameters);
  if (const size_t at = parameters.find(kWhere); at != std::string::npos) {
    parameters.replace(at, kWhere.size(), ")");
  }
  return std::string(row.name) + parameters;
}

void put_row(const OpSection& section, const OpRow& row, bool has_types) {
  put("| `" + usage_of(row) + "`");
  put_operators(section, row.name);
  put(std::string(" | ") + name_of(row.kind) + " | " + name_of(row.gradient) + " | ");
  if (has_types) put(std::string(row.domain) + " | " + std::string(row.result_dtype) + " | ");
  put(cell(row.doc));
  for (const auto& overload : row.overloads) {
    if (overload.doc.empty()) continue;
    put(" `" + std::string(overload.name) + std::string(overload.parameters) +
        "`: " + std::string(overload.doc));
  }
  put(" |\n");
}

void put_reference() {
  put("# Reference of the ops\n\n"
      "Made from `fusion/ir/ops.def` and `frontend/functions.def`. The rules that all ops share "
      "are\n"
      "in [ops.md](ops.md).\n");
  for (const OpSection& section : frontend::op_sections()) {
    put("\n## " + std::string(section.title) + "\n\n");
    if (!section.text.empty()) put(std::string(section.text) + "\n\n");
    const bool has_types = !section.rows.front().domain.empty();
    put(has_types
            ? "| op | kind | gradient | takes | gives | |\n| --- | --- | --- | --- | --- | --- |\n"
            : "| op | kind | gradient | |\n| --- | --- | --- | --- |\n");
    for (const OpRow& row : section.rows) put_row(section, row, has_types);
  }
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
  const std::string_view what = argc == 2 ? argv[1] : "";
  if (what == "header") {
    sluice::put_header();
  } else if (what == "forms") {
    sluice::put_forms();
  } else if (what == "exprs") {
    sluice::put_exprs();
  } else if (what == "reference") {
    sluice::put_reference();
  } else {
    std::fprintf(stderr, "usage: sluice_print_ops header|forms|exprs|reference\n");
    return 2;
  }
  return 0;
}
