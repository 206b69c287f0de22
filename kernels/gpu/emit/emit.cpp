#include "kernels/gpu/emit/emit.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/gpu/emit/functions.h"
#include "kernels/gpu/emit/program_emitter.h"
#include "kernels/gpu/emit/writer.h"

namespace sluice::kernels::cuda {
namespace {

std::string program_name(const Kernel& kernel, size_t program) {
  return absl::StrCat(kernel.name, "_program", program);
}

std::string block_index(const Kernel& kernel, size_t program, const char* first) {
  return absl::StrCat(program_name(kernel, program), "::Index(sl_block()", first, ")");
}

// `blocks`: of a multiprocessor, that registers are to suffice for.
void emit_direct(const Kernel& kernel, int blocks, Writer* writer) {
  const std::string program = program_name(kernel, 0);
  writer->open("SL_KERNEL_OF(", kernel.name, ", ", program, "::Args, ", blocks, ")");
  writer->line(program, "::run(p, ", block_index(kernel, 0, ""), ");");
  writer->close();
}

void emit_by_table(const Kernel& kernel, int blocks, Writer* writer) {
  const bool by_value = kernel.table_words > 0;
  writer->open("SL_KERNEL_OF(", kernel.name, ", ",
               by_value ? absl::StrCat("sl_words<", kernel.table_words, ">") : "sl_table", ", ",
               blocks, ")");
  writer->line("const sl_entry entry = sl_find_call(p.words);");
  writer->open("switch (entry.program)");
  for (size_t k = 0; k < kernel.programs.size(); ++k) {
    const std::string program = program_name(kernel, k);
    writer->open("case ", k, ":");
    // A copy, so that no store can seem to change the arguments.
    writer->line("const ", program, "::Args args = *reinterpret_cast<const ", program,
                 "::Args*>(p.words + entry.words);");
    // Of addresses that come by way of a table the compiler does not know that.
    const std::vector<fusion::Access>& accesses = kernel.programs[k].program->accesses;
    for (size_t a = 0; a < accesses.size(); ++a) {
      if (accesses[a].buffer != fusion::kNoBuffer) writer->line("SL_IN_MEMORY(args.a", a, ");");
    }
    writer->line(program, "::run(args, ", block_index(kernel, k, " - sl_u32(entry.first_block)"),
                 ");");
    writer->line("break;");
    writer->close();
  }
  writer->close();
  writer->close();
}

}  // namespace

std::string emit(absl::Span<const Kernel> kernels) {
  Functions functions;
  Writer programs;
  for (const Kernel& kernel : kernels) {
    // Arguments from a table are in registers.
    constexpr int kMostBlocksByTable = 2, kMostBlocks = 32;
    int blocks = kernel.by_table ? kMostBlocksByTable : kMostBlocks;
    for (size_t k = 0; k < kernel.programs.size(); ++k) {
      programs.blank();
      const auto [program, way] = kernel.programs[k];
      blocks = std::min(blocks, emit_program(*program, way, program_name(kernel, k), kernel.wide,
                                             &functions, &programs));
    }
    programs.blank();
    if (kernel.by_table)
      emit_by_table(kernel, blocks, &programs);
    else
      emit_direct(kernel, blocks, &programs);
  }
  return absl::StrCat(functions.text(), programs.text());
}

}  // namespace sluice::kernels::cuda
