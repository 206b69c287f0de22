// A generator of another build, which sluice must not use.
#include "kernels/compiled/generator.h"

const sluice::kernels::Generator* sluice_llvm_generator(void (*)()) {
  static const sluice::kernels::Generator generator{"another build", nullptr, nullptr};
  return &generator;
}
