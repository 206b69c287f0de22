// Prints what the tables of ops say, for scripts/generate and the docs target:
//   sluice_print_ops header      include/sluice/ops.h
//   sluice_print_ops reference   every op, in Markdown
#include <cstdio>
#include <string>
#include <string_view>

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
// Common to all: operands broadcast as in NumPy; dtypes combine by promote()
// (include/sluice/dtype.h); a C++ number may stand for an operand of an element-wise op. `axis` may
// be negative. A bad call throws Error at once, naming the op and the shapes and dtypes it was
// given, and changes nothing.
//
// Overloads for temporaries let them go before the statement ends. `where` is for traces; the
// templates are there for pointers to functions, which know no default arguments.
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

namespace sluice {

using TensorPair = std::pair<Tensor, Tensor>;
)";
constexpr const char* kTail = R"(
}  // namespace sluice

#endif  // SLUICE_OPS_H_
)";

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

void put_unary(const std::string& name, const std::string& x) {
  put("Tensor " + name + "(const Tensor& " + x + ", Location where = Location::current());\n");
  put("Tensor " + name + "(Tensor&& " + x + ", Location where = Location::current());\n");
  put("template <typename = void>\nTensor " + name + "(const Tensor& " + x + ") { return " + name +
      "(" + x + ", Location()); }\n");
}

void put_binary(const std::string& name, const std::string& x, const std::string& y) {
  constexpr std::string_view kTypes[][2] = {
      {"const Tensor&", "const Tensor&"}, {"Tensor&&", "const Tensor&"},
      {"const Tensor&", "Tensor&&"},      {"Tensor&&", "Tensor&&"},
      {"const Tensor&", "Scalar"},        {"Tensor&&", "Scalar"},
      {"Scalar", "const Tensor&"},        {"Scalar", "Tensor&&"}};
  for (const auto& [a, b] : kTypes) {
    put("Tensor " + name + "(" + std::string(a) + " " + x + ", " + std::string(b) + " " + y +
        ", Location where = Location::current());\n");
  }
  put("template <typename = void>\nTensor " + name + "(const Tensor& " + x + ", const Tensor& " +
      y + ") { return " + name + "(" + x + ", " + y + ", Location()); }\n");
}

void put_declarations(const OpRow& row) {
  const std::string name(row.name);
  if (row.arity == 1) return put_unary(name, std::string(row.operands));
  if (row.arity == 2) {
    const size_t comma = row.operands.find(", ");
    return put_binary(name, std::string(row.operands.substr(0, comma)),
                      std::string(row.operands.substr(comma + 2)));
  }
  put(signature_of(row) + ";\n");
  for (const auto& overload : row.overloads) {
    put_comment(overload.doc);
    put(std::string(overload.result) + " " + std::string(overload.name) +
        std::string(overload.parameters) + ";\n");
  }
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
  constexpr std::string_view kWhere = ", Location where = Location::current()";
  std::string parameters(row.parameters);
  if (const size_t at = parameters.find(kWhere); at != std::string::npos) {
    parameters.erase(at, kWhere.size());
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
  } else if (what == "reference") {
    sluice::put_reference();
  } else {
    std::fprintf(stderr, "usage: sluice_print_ops header|reference\n");
    return 2;
  }
  return 0;
}
