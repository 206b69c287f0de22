#include "kernels/gpu/emit/program_emitter.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "kernels/gpu/emit/addresses.h"
#include "kernels/gpu/emit/body_emitter.h"
#include "kernels/gpu/emit/plan.h"
#include "kernels/gpu/emit/types.h"

namespace sluice::kernels::cuda {
namespace {

using fusion::Access;
using fusion::Program;
using fusion::Schedule;
using fusion::ValueId;

class ProgramEmitter {
 public:
  ProgramEmitter(const Program& program, Functions* functions, Writer* writer)
      : program_(program),
        plan_(program),
        lanes_(lanes_of(program)),
        addresses_(program),
        body_(program, lanes_, addresses_, functions, writer),
        writer_(*writer) {}

  void emit_args();
  void emit_run();

 private:
  // Makes the team and leaves where there is nothing to do.
  void emit_team();
  void emit_pass(int number);
  void emit_row_stores();
  std::string pass_name(int number) const { return absl::StrCat("pass", number); }
  bool pointwise() const { return program_.schedule == Schedule::kPointwise; }

  const Program& program_;
  const Plan plan_;
  const int lanes_;
  const Addresses addresses_;
  BodyEmitter body_;
  Writer& writer_;
};

void ProgramEmitter::emit_args() {
  auto array = [&](const char* type, const char* name, int count) {
    if (count > 0) writer_.line(type, " ", name, "[", count, "];");
  };
  writer_.open("struct Args");
  writer_.line("sl_call call;");
  array("sl_i64", "extent", program_.rank());
  array("sl_u64", "divisor", program_.rank());
  array("sl_u64", "scalar", program_.num_scalars);
  array("sl_i64", "param", program_.num_params);
  for (size_t a = 0; a < program_.accesses.size(); ++a) {
    const Access& access = program_.accesses[a];
    if (access.buffer == fusion::kNoBuffer)
      writer_.line("sl_i64 a", a, ";");
    else
      writer_.line(memory_type(access.dtype), "* a", a, ";");
    array("sl_i64", absl::StrCat("s", a).c_str(), program_.rank());
  }
  writer_.close("};");
}

void ProgramEmitter::emit_run() {
  writer_.open("SL_INLINE void run(const Args& p, Index block)");
  emit_team();
  addresses_.write_outer(&writer_);
  body_.emit_outer(plan_.uniform);
  for (size_t p = 0; p < plan_.passes.size(); ++p) emit_pass(static_cast<int>(p));
  body_.emit_outer(plan_.after);
  if (!plan_.row_stores.empty()) emit_row_stores();
  writer_.close();
}

void ProgramEmitter::emit_team() {
  switch (program_.schedule) {
    case Schedule::kPointwise:
      writer_.line("sl_point_team<Index, ", lanes_, "> team(p.call, block);");
      writer_.line("if (!team.active(p.call)) return;");
      writer_.line("team.", program_.outer_rank > 1 ? "find_line(p.call)" : "start_of_line()", ";");
      break;
    case Schedule::kRow:
      writer_.line("const sl_row_team<Index> team(p.call, block);");
      writer_.line("if (!team.active()) return;");
      break;
    case Schedule::kColumn: writer_.line("const sl_column_team<Index> team(p.call, block);"); break;
  }
}

void ProgramEmitter::emit_pass(int number) {
  const Plan::Pass& pass = plan_.passes[number];
  body_.emit_outer(pass.row);
  std::vector<std::string> arguments = {"p.call", "team", absl::StrCat(number), pass_name(number)};
  for (const ValueId id : pass.reductions) {
    const std::string accumulator = BodyEmitter::accumulator(id);
    writer_.line(
        "sl_reduction<", body_.combiner(id), "> ", accumulator, "(",
        std::find(plan_.reductions.begin(), plan_.reductions.end(), id) - plan_.reductions.begin(),
        ");");
    arguments.push_back(accumulator);
  }
  // Long bodies have one lane. A generic lambda would have NVRTC's front end evaluate each of their
  // values anew with all that it depends on, which takes forever.
  const char* const lanes = lanes_ == 1 ? "sl_lanes<1>" : "auto";
  writer_.open("const auto ", pass_name(number), " = [&](", lanes, " lanes, Index ",
               addresses_.walked(), ") SL_LAMBDA");
  body_.emit_pass(pass);
  writer_.close("};");
  if (pointwise()) {
    writer_.line("team.walk(", pass_name(number), ");");
    return;
  }
  writer_.line("if (!sl_pass<", lanes_, ">(", absl::StrJoin(arguments, ", "), ")) return;");
  for (const ValueId id : pass.reductions) body_.emit_result(id);
}

void ProgramEmitter::emit_row_stores() {
  writer_.line("if (p.call.stage >= 0 && p.call.stage != ", plan_.passes.size(), ") return;");
  writer_.line("team.sync();");
  writer_.open("if (team.leads())");
  for (const fusion::Store& store : plan_.row_stores) body_.emit_row_store(store);
  writer_.close();
}

void emit_comment(const Program& program, Writer* writer) {
  for (absl::string_view line : absl::StrSplit(fusion::to_text(program), '\n', absl::SkipEmpty())) {
    writer->line("// ", line);
  }
}

}  // namespace

void emit_program(const Program& program, const std::string& name, bool wide, Functions* functions,
                  Writer* writer) {
  emit_comment(program, writer);
  writer->line("namespace ", name, " {");
  writer->line("typedef ", wide ? "sl_i64" : "sl_i32", " Index;");
  ProgramEmitter emitter(program, functions, writer);
  emitter.emit_args();
  emitter.emit_run();
  writer->line("}  // namespace ", name);
}

}  // namespace sluice::kernels::cuda
