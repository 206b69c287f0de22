#include "frontend/registry/op_rows.h"

#include <algorithm>
#include <string>
#include <utility>

namespace sluice::frontend {
namespace {

constexpr std::string_view kReductionParameters =
    "(Arg x, const Axes& axes = {}, bool keepdims = false)";

// What ops.def calls type rules and domains, in words.
namespace words {
constexpr std::string_view kSame = "their dtype", kFloat = "a float", kPredicate = "bool",
                           kLogical = "bool", kSelect = "the dtype of a and b";
constexpr std::string_view kAll = "any dtype", kNumber = "numbers", kInteger = "integers",
                           kFloating = "any dtype", kIntegral = "integers and bool",
                           kBool = "any dtype";
}  // namespace words

std::vector<OpRow> pointwise_rows(int arity) {
  std::vector<OpRow> rows;
#define SLUICE_POINTWISE_OP(id, op, count, names, rule, kinds, slot, text, ...) \
  if (count == arity) {                                                         \
    rows.push_back({.name = #op,                                                \
                    .kind = OpKind::kPointwise,                                 \
                    .gradient = Gradient::slot,                                 \
                    .doc = text,                                                \
                    .arity = count,                                             \
                    .operands = names,                                          \
                    .domain = words::kinds,                                     \
                    .result_dtype = words::rule});                              \
  }
#include "fusion/ir/ops.def"
  return rows;
}

std::vector<OpRow> reduction_rows() {
  std::vector<OpRow> rows;
#define SLUICE_REDUCTION_OP(id, op, kinds, slot, text, ...) \
  rows.push_back({.name = #op,                              \
                  .kind = OpKind::kReduction,               \
                  .gradient = Gradient::slot,               \
                  .doc = text,                              \
                  .result = "Tensor",                       \
                  .parameters = kReductionParameters});
#define SLUICE_ARG_REDUCTION_OP SLUICE_REDUCTION_OP
#include "fusion/ir/ops.def"
  return rows;
}

// A result type with a comma in it is written in parentheses.
std::string_view without_parentheses(std::string_view text) {
  return text.starts_with('(') ? text.substr(1, text.size() - 2) : text;
}

// The row of an op of the section, by another name.
OpRow alias_row(const OpSection& section, std::string_view alias, std::string_view function,
                std::string_view doc) {
  OpRow row = *std::find_if(section.rows.begin(), section.rows.end(),
                            [&](const OpRow& each) { return each.name == function; });
  row.name = alias;
  row.doc = doc;
  row.alias_of = function;
  return row;
}

std::vector<OpSection> make_sections() {
  std::vector<OpSection> sections;
#define SLUICE_SECTION(title, text) sections.push_back({title, text, {}, {}});
#define SLUICE_POINTWISE_SECTION(arity, title, text) \
  sections.push_back({title, text, pointwise_rows(arity), {}});
#define SLUICE_REDUCTION_SECTION(title, text) \
  sections.push_back({title, text, reduction_rows(), {}});
#define SLUICE_FUNCTION(type, function, list, row_kind, slot, text)     \
  sections.back().rows.push_back({.name = #function,                    \
                                  .kind = OpKind::row_kind,             \
                                  .gradient = Gradient::slot,           \
                                  .doc = text,                          \
                                  .result = without_parentheses(#type), \
                                  .parameters = #list});
#define SLUICE_OVERLOAD(type, function, list, text) \
  sections.back().rows.back().overloads.push_back(  \
      {without_parentheses(#type), #function, #list, text});
#define SLUICE_ALIAS(count, alias, id, function) \
  sections.back().rows.push_back(                \
      alias_row(sections.back(), #alias, #function, #function "(), by the standard's name."));
#define SLUICE_UNARY_OPERATOR(symbol, id, name) \
  sections.back().operators.push_back({OperatorForm::kUnary, #symbol, #name});
#define SLUICE_BINARY_OPERATOR(symbol, id, name) \
  sections.back().operators.push_back({OperatorForm::kBinary, #symbol, #name});
#define SLUICE_COMPOUND_OPERATOR(symbol, id, name) \
  sections.back().operators.push_back({OperatorForm::kCompound, #symbol, #name});
#include "frontend/functions.def"
  return sections;
}

}  // namespace

const std::vector<OpSection>& op_sections() {
  static const auto* sections = new std::vector<OpSection>(make_sections());
  return *sections;
}

std::string parameters_of(const OpRow& row) {
  if (row.arity == 0) return std::string(row.parameters);
  const std::string type = row.arity == 3 ? "const Operand& " : "const Tensor& ";
  std::string list = "(" + type;
  for (const char c : row.operands) {
    list += c;
    if (c == ' ') list += type;
  }
  return list + ")";
}

std::string signature_of(const OpRow& row) {
  const std::string result(row.arity == 0 ? row.result : "Tensor");
  return result + " " + std::string(row.name) + parameters_of(row);
}

}  // namespace sluice::frontend
