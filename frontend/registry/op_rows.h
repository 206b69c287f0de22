// The rows of fusion/ir/ops.def and frontend/functions.def as text, in the order of the reference:
// for the registry, and for the program that prints include/sluice/ops.h and the reference.
#ifndef SLUICE_FRONTEND_REGISTRY_OP_ROWS_H_
#define SLUICE_FRONTEND_REGISTRY_OP_ROWS_H_

#include <string_view>
#include <vector>

#include <sluice/registry.h>

namespace sluice::frontend {

// Another C++ form of a function.
struct OpOverload {
  std::string_view result, name, parameters, doc;
};

enum class OperatorForm : uint8_t { kUnary, kBinary, kCompound };
struct OpOperator {
  OperatorForm form;
  std::string_view symbol;  // "+="
  std::string_view name;    // of its function
};

struct OpRow {
  std::string_view name;
  OpKind kind;
  Gradient gradient;
  std::string_view doc;
  // A function: "Tensor" and "(Arg x, int axis = -1)". Of pointwise ops and reductions of ops.def
  // both are empty.
  std::string_view result = {}, parameters = {};
  // A pointwise op of ops.def: its number of operands and their names, "x, y". Else 0.
  int arity = 0;
  std::string_view operands = {};
  // Of ops.def: which dtypes it takes and what it gives, in words. Else empty.
  std::string_view domain = {}, result_dtype = {};
  std::vector<OpOverload> overloads = {};
  std::string_view alias_of = {};  // the op that this is another name of
};

struct OpSection {
  std::string_view title, text;
  std::vector<OpRow> rows;
  std::vector<OpOperator> operators;
};

const std::vector<OpSection>& op_sections();

// The C++ declaration of the function of a row, without a semicolon: "Tensor exp(const Tensor& x)";
// `where` arguments of pointwise ops are left out.
std::string signature_of(const OpRow& row);
// Its parameter list, "(Arg x, int axis = -1)".
std::string parameters_of(const OpRow& row);

}  // namespace sluice::frontend

#endif  // SLUICE_FRONTEND_REGISTRY_OP_ROWS_H_
