// Built where sluice is a static library: the generator is a part of it.
#include "kernels/cache/compile_threads.h"
#include "kernels/compiled/generator.h"

namespace sluice::kernels {

absl::StatusOr<const Generator*> find_generator() {
  return sluice_llvm_generator(&CompileThreads::stop_at_exit);
}

}  // namespace sluice::kernels
