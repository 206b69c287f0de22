// Built where the generator is a part of sluice: where sluice is a static library, or LLVM is a
// shared one. Then exit() destroys what LLVM has constructed.
#include "kernels/cache/compile_threads.h"
#include "kernels/compiled/generator.h"

namespace sluice::kernels {

absl::StatusOr<const Generator*> find_generator() {
  static const Generator* const generator = sluice_llvm_generator(&CompileThreads::stop_at_exit);
  return generator;
}

}  // namespace sluice::kernels
