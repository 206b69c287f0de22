#include "kernels/interp/interpreter.h"

#include "kernels/interp/machine.h"

namespace sluice::kernels {
namespace {

using interp::Bytecode;
using interp::Machine;

class Interpreter : public Executable {
 public:
  explicit Interpreter(const fusion::Program& program) : code_(interp::translate(program)) {
    entry_.rows = [](const void* context, const KernelArgs* args, int64_t begin, int64_t end) {
      if (begin >= end) return;
      machine(context, *args).rows(begin, end);
    };
    // With more than one pass, a later one may have element-level stores that need whole rows, as
    // scans do.
    if (code_.num_passes != 1 || code_.reductions.empty() || !code_.scans.empty()) return;
    entry_.block = [](const void* context, const KernelArgs* args, int64_t begin, int64_t end,
                      int64_t first, int64_t last, void* partials) {
      if (begin >= end) return;
      machine(context, *args).block(begin, end, first, last, static_cast<char*>(partials));
    };
    entry_.finish = [](const void* context, const KernelArgs* args, int64_t begin, int64_t end,
                       int64_t num_blocks, const void* partials, int64_t partial_stride) {
      if (begin >= end) return;
      machine(context, *args)
          .finish(begin, end, num_blocks, static_cast<const char*>(partials), partial_stride);
    };
  }

 private:
  static Machine machine(const void* context, const KernelArgs& args) {
    thread_local interp::Scratch scratch;
    const auto* self = static_cast<const Interpreter*>(static_cast<const Executable*>(context));
    return Machine(self->code_, args, &scratch);
  }

  const Bytecode code_;
};

}  // namespace

std::shared_ptr<const Executable> make_interpreter(const fusion::Program& program) {
  return std::make_shared<Interpreter>(program);
}

}  // namespace sluice::kernels
