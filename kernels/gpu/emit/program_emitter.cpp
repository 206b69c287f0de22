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

constexpr int kWarpsOfBlock = 8;

class ProgramEmitter {
 public:
  ProgramEmitter(const Program& program, RowWay way, Functions* functions, Writer* writer)
      : program_(program),
        plan_(program),
        way_(way),
        lanes_(lanes_of(program)),
        addresses_(program),
        body_(program, lanes_, addresses_, functions, writer),
        writer_(*writer) {}

  void emit_args();
  void emit_run();
  int blocks() const { return blocks_of(plan_, way_); }

 private:
  // Makes the team and leaves where there is nothing to do.
  void emit_team();
  void emit_points();
  void emit_pass(int number);
  void emit_kept_pass(int number);
  void emit_row_stores();
  // Declares the reductions of a pass; their names, and those of what sl_pass() is given first.
  std::vector<std::string> emit_reductions(const Plan::Pass& pass, std::vector<std::string> first);
  void emit_loads_struct(int number);
  static std::string name_of(const char* what, int number) { return absl::StrCat(what, number); }
  const char* lanes_type() const { return lanes_ == 1 ? "sl_lanes<1>" : "auto"; }
  bool pointwise() const { return program_.schedule == Schedule::kPointwise; }
  bool keeps() const { return way_.kind != RowWay::kRead; }
  // Of the order's threads, that each stands for.
  int turns() const { return way_.kind == RowWay::kKeptByWarp ? kWarpsOfBlock : 1; }

  const Program& program_;
  const Plan plan_;
  const RowWay way_;
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
  const int num_passes = static_cast<int>(plan_.passes.size());
  if (!pointwise() && !keeps()) {
    for (int p = 0; p < num_passes; ++p) emit_loads_struct(p);
  }
  writer_.open("SL_INLINE void run(const Args& p, Index block)");
  emit_team();
  addresses_.write_outer(&writer_);
  body_.emit_outer(plan_.uniform);
  if (pointwise()) {
    emit_points();
  } else {
    if (keeps()) body_.emit_arrays(plan_.kept, way_.groups);
    for (int p = 0; p < num_passes; ++p) keeps() ? emit_kept_pass(p) : emit_pass(p);
    body_.emit_outer(plan_.after);
    if (!plan_.row_stores.empty()) emit_row_stores();
  }
  writer_.close();
}

void ProgramEmitter::emit_team() {
  switch (program_.schedule) {
    case Schedule::kPointwise:
      writer_.line("sl_point_team<Index, ", lanes_, "> team(p.call, block);");
      writer_.line("if (!team.active(p.call)) return;");
      if (takes_tiles(program_)) {
        writer_.open("if (p.call.splits > 1)");
        writer_.line("if (!team.find_tile(p.call, p.extent[", program_.outer_rank - 2,
                     "])) return;");
        writer_.reopen("else");
      }
      writer_.line("team.", program_.outer_rank > 1 ? "find_line(p.call)" : "start_of_line()", ";");
      if (takes_tiles(program_)) writer_.close();
      break;
    case Schedule::kRow:
      if (program_.lanes_across_rows) {
        writer_.line("const sl_across_team<Index> team(p.call, block);");
        break;
      }
      if (keeps()) {
        writer_.line("const sl_kept_team<Index, ", turns(), ", ", int{way_.groups},
                     "> team(p.call, block);");
      } else {
        writer_.line("const ", has_chunks_across(program_) ? "sl_chunk_team" : "sl_row_team",
                     "<Index> team(p.call, block);");
      }
      writer_.line("if (!team.active()) return;");
      break;
    case Schedule::kColumn:
      writer_.line("const sl_column_team<Index, ", program_.tiled ? "true" : "false", ", ",
                   has_short_columns(program_) ? "true" : "false", "> team(p.call, block);");
      break;
  }
}

void ProgramEmitter::emit_points() {
  const Plan::Pass& points = plan_.passes[0];
  body_.emit_outer(points.row);
  body_.emit_shared(points);
  writer_.open("const auto points = [&](", lanes_type(), " lanes, Index ", addresses_.walked(),
               ") SL_LAMBDA");
  body_.emit_points(points);
  writer_.close("};");
  writer_.line("team.walk(points);");
}

void ProgramEmitter::emit_loads_struct(int number) {
  writer_.line("template <int N>");
  writer_.open("struct ", name_of("Loads", number));
  body_.emit_members(plan_.passes[number]);
  writer_.close("};");
}

std::vector<std::string> ProgramEmitter::emit_reductions(const Plan::Pass& pass,
                                                         std::vector<std::string> first) {
  const bool takes_turns =
      program_.lanes_across_rows || has_chunks_across(program_) || has_short_columns(program_);
  for (const ValueId id : pass.reductions) {
    const std::string accumulator = BodyEmitter::accumulator(id);
    writer_.line(
        "sl_reduction<", body_.combiner(id), takes_turns ? ", 8, sl_most_turns" : "", "> ",
        accumulator, "(",
        std::find(plan_.reductions.begin(), plan_.reductions.end(), id) - plan_.reductions.begin(),
        ");");
    first.push_back(accumulator);
  }
  return first;
}

void ProgramEmitter::emit_pass(int number) {
  const Plan::Pass& pass = plan_.passes[number];
  const std::string load = name_of("load", number), body = name_of("pass", number),
                    loads = name_of("Loads", number);
  body_.emit_outer(pass.row);
  body_.emit_shared(pass);
  const std::vector<std::string> arguments =
      emit_reductions(pass, {"p.call", "team", absl::StrCat(number), load, body});
  // Long bodies have one lane. A generic lambda would have NVRTC's front end evaluate each of their
  // values anew with all that it depends on, which takes forever.
  const std::string loads_type = lanes_ == 1 ? loads + "<1>" : "auto";
  auto open = [&](const std::string& name, const char* constant) {
    writer_.open("const auto ", name, " = [&](", lanes_type(), " lanes, Index ",
                 addresses_.walked(), ", ", constant, loads_type, "& loads) SL_LAMBDA");
  };
  open(load, "");
  body_.emit_load(pass);
  writer_.close("};");
  open(body, "const ");
  body_.emit_pass(pass);
  writer_.close("};");
  writer_.line("if (!sl_pass<", lanes_, ", ", pass.batch, ", ", loads, ">(",
               absl::StrJoin(arguments, ", "), ")) return;");
  for (const ValueId id : pass.reductions) body_.emit_result(id);
}

// The same of rows that their threads keep.
void ProgramEmitter::emit_kept_pass(int number) {
  const Plan::Pass& pass = plan_.passes[number];
  body_.emit_outer(pass.row);
  body_.emit_shared(pass);
  for (const ValueId id : pass.reductions) {
    writer_.line(body_.kept_reduction(pass, id, turns()), " ", BodyEmitter::accumulator(id), ";");
  }
  const auto each = [&](auto emit) {
    writer_.open("team.each([&](int k, Index ", addresses_.walked(), ") SL_LAMBDA");
    emit();
    writer_.close("});");
  };
  if (const std::vector<ValueId> loads = body_.kept_loads(plan_.kept, number); !loads.empty()) {
    writer_.open("if (p.call.aligned)");
    each([&] { body_.emit_kept_loads(loads, /*aligned=*/true); });
    writer_.reopen("else");
    each([&] { body_.emit_kept_loads(loads, /*aligned=*/false); });
    writer_.close();
  }
  each([&] { body_.emit_kept_pass(pass, plan_.kept, number); });
  for (const ValueId id : pass.reductions) {
    writer_.line(BodyEmitter::accumulator(id), ".close(team);");
    body_.emit_result(id);
  }
}

void ProgramEmitter::emit_row_stores() {
  if (!keeps()) {
    writer_.line("if (p.call.stage >= 0 && p.call.stage != ", plan_.passes.size(), ") return;");
  }
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

int emit_program(const Program& program, RowWay way, const std::string& name, bool wide,
                 Functions* functions, Writer* writer) {
  emit_comment(program, writer);
  writer->line("namespace ", name, " {");
  writer->line("typedef ", wide ? "sl_i64" : "sl_i32", " Index;");
  ProgramEmitter emitter(program, way, functions, writer);
  emitter.emit_args();
  emitter.emit_run();
  writer->line("}  // namespace ", name);
  return emitter.blocks();
}

}  // namespace sluice::kernels::cuda
