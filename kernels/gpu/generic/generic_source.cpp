#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/gpu/emit/functions.h"
#include "kernels/gpu/emit/types.h"
#include "kernels/gpu/emit/writer.h"
#include "kernels/gpu/generic/generic.h"
#include "kernels/gpu/generic/generic_code.h"
#include "kernels/reduction.h"

namespace sluice::kernels::cuda {
namespace {

using fusion::Op;
using fusion::OpInfo;
using fusion::Schedule;
using fusion::TypeRule;

constexpr const char* kMachine =
#include "kernels/gpu/generic/generic_machine.inc"
    ;

constexpr const char* kSlotNames[] = {"x(word)", "y(word)", "z(word)"};
constexpr const char* kOperands[] = {"a", "b", "c"};

template <typename F>
void for_each_dtype(const F& f) {
  for (int t = 0; t < kNumDTypes; ++t) f(static_cast<DType>(t));
}
template <typename F>
void for_each_compute_type(const F& f) {
  for_each_dtype([&](DType dtype) {
    if (!is_half(dtype)) f(dtype);
  });
}
template <typename F>
void for_each_op(const F& f) {
  for (int i = 0; i < fusion::kNumOps; ++i) f(static_cast<Op>(i));
}

// Compute types that the expression of an op is there for.
bool is_instantiated(Op op, DType dtype) {
  const OpInfo& info = fusion::op_info(op);
  if (info.rule == TypeRule::kFixed) return dtype == info.operand_dtype;
  return in_domain(info.domain, dtype);
}

class SourceWriter {
 public:
  std::string text();

 private:
  void write_constants();
  void write_combine();
  void write_interpret();
  void write_common();
  void write_group(DType dtype);
  void write_memory(DType dtype);
  void write_cast(DType from, DType to);
  void write_pointwise(Op op, DType dtype);
  void write_result(Op op, DType dtype);

  // `case <code>: <statement> break;`
  template <typename... Parts>
  void write_case(int code, const std::string& comment, const Parts&... parts) {
    writer_.line("case ", code, ": ", parts..., " break;  // ", comment);
  }
  static std::string group_name(DType dtype) {
    return absl::StrCat("step_", sluice::name_of(dtype));
  }
  static std::string operand(int k, DType dtype) {
    return absl::StrCat("const ", register_type(dtype), " ", kOperands[k], " = get<",
                        register_type(dtype), ">(m, ", kSlotNames[k], "); ");
  }
  static std::string result(DType dtype, const std::string& text) {
    return absl::StrCat("put<", register_type(dtype), ">(m, to(word), ", text, ");");
  }

  Functions functions_;
  Writer writer_;
};

std::string SourceWriter::text() {
  Writer constants;
  auto constant = [&](const char* name, auto value) {
    constants.line("constexpr int ", name, " = ", static_cast<int>(value), ";");
  };
  constants.line("namespace sl_generic {");
  constant("kSlots", generic::kSlots);
  constant("kNoSlot", generic::kNoSlot);
  constant("kMaxReductions", generic::kMaxReductions);
  constant("kMaxRank", generic::kMaxRank);
  constant("kPointwise", Schedule::kPointwise);
  constant("kRow", Schedule::kRow);
  constants.line("}  // namespace sl_generic");
  writer_.line("namespace sl_generic {");
  write_combine();
  writer_.blank();
  write_interpret();
  writer_.line("}  // namespace sl_generic");
  return absl::StrCat(constants.text(), functions_.text(), kMachine, "\n", writer_.text());
}

void SourceWriter::write_combine() {
  writer_.open("SL_FUNCTION Partial combine(Partial a, Partial b)");
  writer_.open("switch (int(a.form >> kCodeShift))");
  for_each_op([&](Op op) {
    if (!fusion::is_reduction(op)) return;
    for_each_compute_type([&](DType dtype) {
      if (!is_instantiated(op, dtype)) return;
      writer_.line("case ", generic::code_of(op, dtype), ": return combine_as<",
                   functions_.reduction(op, dtype), ">(a, b);");
    });
  });
  writer_.close();
  writer_.line("return a;");
  writer_.close();
}

void SourceWriter::write_interpret() {
  for_each_compute_type([&](DType dtype) { write_group(dtype); });
  writer_.open("SL_FUNCTION const sl_u64* interpret(Machine& m, const sl_u64* at)");
  writer_.open("for (;;)");
  writer_.line("const sl_u64 word = *at++;");
  writer_.open("switch (int(word) & 0xffff)");
  write_common();
  for_each_dtype([&](DType dtype) { write_memory(dtype); });
  writer_.open("default: switch (int(word) >> ", generic::kGroupShift, " & 0xff)");
  for_each_compute_type([&](DType dtype) {
    writer_.line("case ", generic::group_of(dtype), ": ", group_name(dtype), "(m, word); break;");
  });
  writer_.close();
  writer_.close();
  writer_.close();
  writer_.close();
}

void SourceWriter::write_group(DType dtype) {
  writer_.open("SL_FUNCTION void ", group_name(dtype), "(Machine& m, sl_u64 word)");
  writer_.open("switch (int(word) & 0xffff)");
  for_each_compute_type([&](DType to) { write_cast(dtype, to); });
  for_each_op([&](Op op) {
    if (op == Op::kCast || !is_instantiated(op, dtype)) return;
    if (fusion::is_reduction(op)) write_result(op, dtype);
    if (fusion::is_pointwise(op)) write_pointwise(op, dtype);
  });
  writer_.close();
  writer_.close();
}

void SourceWriter::write_common() {
  writer_.line("case ", generic::kEnd, ": return at;");
  write_case(generic::kParam, "param", "put(m, to(word), m.words[aux(word)]);");
  write_case(generic::kCoordinate, "coordinate",
             "put(m, to(word), sl_i64(m.words[aux(word)]) + offset_of(m, aux(word)));");
  write_case(
      generic::kCheckIndex, "check_index",
      "put(m, to(word), sl_check_index(m.call().errors + aux(word), get<sl_i64>(m, x(word)), "
      "get<sl_i64>(m, y(word)), holds(m, z(word))));");
  write_case(generic::kTake, "take",
             "m.reductions[to(word)].take({m.slot[x(word)], sl_u64(aux(word)) << kCodeShift | "
             "sl_u64(m.walked)});");
  auto write_round = [&](int code, DType dtype) {
    const std::string name = sluice::name_of(dtype);
    write_case(code, absl::StrCat("round ", name),
               result(dtype, absl::StrCat("sl_round_", name, "(get<float>(m, x(word)))")));
  };
  write_round(generic::kRoundFloat16, kFloat16);
  write_round(generic::kRoundBFloat16, kBFloat16);
}

void SourceWriter::write_memory(DType dtype) {
  const std::string name = sluice::name_of(dtype);
  const char* type = memory_type(dtype);
  write_case(generic::code_of_scalar(dtype), absl::StrCat("scalar ", name),
             "put(m, to(word), sl_scalar<", type, ">(m.words[aux(word)]));");
  write_case(generic::code_of_load(dtype), absl::StrCat("load ", name), "load<", type,
             ">(m, to(word), aux(word), x(word), y(word));");
  write_case(generic::code_of_store(dtype), absl::StrCat("store ", name), "sl_store(address_of<",
             type, ">(m, aux(word)), get<", register_type(dtype), ">(m, x(word)));");
}

void SourceWriter::write_cast(DType from, DType to) {
  write_case(generic::code_of_cast(from, to),
             absl::StrCat("cast ", sluice::name_of(from), " ", sluice::name_of(to)), "{ ",
             operand(0, from), result(to, functions_.cast(from, to, kOperands[0])), " }");
}

void SourceWriter::write_pointwise(Op op, DType dtype) {
  const OpInfo& info = fusion::op_info(op);
  std::string loads;
  std::vector<std::string> operands;
  for (int k = 0; k < info.arity; ++k) {
    const bool is_mask = k == 0 && info.rule == TypeRule::kSelect;
    absl::StrAppend(&loads, operand(k, is_mask ? kBool : dtype));
    operands.push_back(kOperands[k]);
  }
  write_case(generic::code_of(op, dtype),
             absl::StrCat(fusion::name_of(op), " ", sluice::name_of(dtype)), "{ ", loads,
             result(result_dtype(op, dtype), functions_.pointwise(op, dtype, operands)), " }");
}

void SourceWriter::write_result(Op op, DType dtype) {
  const std::string name = functions_.reduction(op, dtype);
  const std::string identity = absl::StrCat(name, "::identity()");
  const std::string comment =
      absl::StrCat("result of ", fusion::name_of(op), " ", sluice::name_of(dtype));
  if (fusion::is_arg_reduction(op)) {
    write_case(generic::code_of(op, dtype), comment, "put_position(m, to(word), x(word), ",
               identity, ".position);");
    return;
  }
  write_case(generic::code_of(op, dtype), comment, "put_total<", register_type(dtype),
             ">(m, to(word), x(word), ", is_zero_if_empty(op, dtype) ? "0" : identity, ");");
}

}  // namespace

std::string generic_source() { return SourceWriter().text(); }

}  // namespace sluice::kernels::cuda
