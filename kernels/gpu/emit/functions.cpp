#include "kernels/gpu/emit/functions.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "kernels/gpu/emit/types.h"

namespace sluice::kernels::cuda {
namespace {

using fusion::Op;
using fusion::TypeRule;

const std::string kParameters[] = {"a", "b", "c"};

std::string name_of(const char* what, DType dtype) {
  return absl::StrCat("sl_", what, "_", sluice::name_of(dtype));
}

std::string call(const std::string& function, const std::vector<std::string>& operands) {
  return absl::StrCat(function, "(", absl::StrJoin(operands, ", "), ")");
}

void write_statements(const Expression& expression, Writer* writer) {
  for (size_t k = 0; k < expression.statements.size(); ++k) {
    const Statement& statement = expression.statements[k];
    writer->line("const ", register_type(statement.dtype), " t", k, " = ", statement.expression,
                 ";");
  }
  writer->line("return ", expression.result, ";");
}

}  // namespace

void Functions::define(const Signature& signature, const Expression& expression) {
  if (!defined_.insert(signature.name).second) return;
  std::vector<std::string> parameters;
  for (size_t k = 0; k < signature.parameters.size(); ++k) {
    parameters.push_back(absl::StrCat(register_type(signature.parameters[k]), " ", kParameters[k]));
  }
  writer_.open("SL_INLINE ", register_type(signature.result), " ",
               call(signature.name, parameters));
  write_statements(expression, &writer_);
  writer_.close();
}

std::string Functions::pointwise(Op op, DType dtype, const std::vector<std::string>& operands) {
  const Expression expression = cuda::pointwise(op, dtype, operands.data());
  if (expression.is_simple()) return expression.text();
  Signature signature{name_of(fusion::name_of(op), dtype), result_dtype(op, dtype),
                      std::vector<DType>(operands.size(), dtype)};
  if (fusion::op_info(op).rule == TypeRule::kSelect) signature.parameters[0] = DType::kBool;
  define(signature, cuda::pointwise(op, dtype, kParameters));
  return call(signature.name, operands);
}

std::string Functions::cast(DType from, DType to, const std::string& operand) {
  const Expression expression = cuda::cast(from, to, operand);
  if (expression.is_simple()) return expression.text();
  const std::string name = absl::StrCat(name_of("cast", from), "_", sluice::name_of(to));
  define({name, to, {from}}, cuda::cast(from, to, kParameters[0]));
  return call(name, {operand});
}

std::string Functions::reduction(Op op, DType dtype) {
  const std::string name = name_of(fusion::name_of(op), dtype);
  if (!defined_.insert(absl::StrCat("struct ", name)).second) return name;
  const char* type = register_type(dtype);
  writer_.open("struct ", name);
  if (fusion::is_arg_reduction(op)) {
    writer_.line("typedef sl_best<", type, "> Type;");
    writer_.line("SL_INLINE static Type identity() { return {", identity(op, dtype),
                 ", 9223372036854775807ll}; }");
    writer_.line("SL_INLINE static Type combine(Type a, Type b) { return sl_better(a, b, ",
                 combine(op, dtype, "a.value", "b.value").text(), "); }");
  } else {
    writer_.line("typedef ", type, " Type;");
    writer_.line("SL_INLINE static Type identity() { return ", identity(op, dtype), "; }");
    writer_.open("SL_INLINE static Type combine(Type a, Type b)");
    write_statements(combine(op, dtype, kParameters[0], kParameters[1]), &writer_);
    writer_.close();
    if (dtype == DType::kFloat32 && (op == Op::kMax || op == Op::kMin)) {
      writer_.line("template <typename Pair>");
      writer_.line("SL_INLINE static Pair combine_pairs(Pair a, Pair b) { return ",
                   op == Op::kMax ? "sl_maximum" : "sl_minimum", "(a, b); }");
    }
  }
  writer_.close("};");
  return name;
}

}  // namespace sluice::kernels::cuda
