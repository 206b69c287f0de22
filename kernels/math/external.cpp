#include "kernels/math/external.h"

#include "kernels/isa_table.h"

namespace sluice::kernels::math {

#define SLUICE_ISA_EXTERNALS(isa)            \
  namespace isa {                            \
  void fill_externals(ExternalLoops& table); \
  }
SLUICE_FOR_EACH_ISA(SLUICE_ISA_EXTERNALS)

namespace {

template <typename T>
T call_one(External f, T a, const T* b) {
  T result;
  external_array(f, &a, b, &result, 1);
  return result;
}

}  // namespace

int arity_of(External f) {
  static constexpr uint8_t kArity[] = {
#define SLUICE_EXTERNAL(id, name, arity, function) arity, arity,
#include "kernels/math/externals.def"
  };
  return kArity[static_cast<int>(f)];
}

void external_array(External f, const void* a, const void* b, void* out, int64_t n) {
  static const ExternalLoops* const loops =
      table_for_host<ExternalLoops>(SLUICE_ISA_FILLS(fill_externals));
  loops->f[static_cast<int>(f)](a, b, out, n);
}

float call_external(External f, float a) { return call_one<float>(f, a, nullptr); }
double call_external(External f, double a) { return call_one<double>(f, a, nullptr); }
float call_external(External f, float a, float b) { return call_one<float>(f, a, &b); }
double call_external(External f, double a, double b) { return call_one<double>(f, a, &b); }

}  // namespace sluice::kernels::math
