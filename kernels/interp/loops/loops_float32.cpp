#include "kernels/interp/loops/loops_impl.h"

namespace sluice::kernels::interp::SLUICE_ISA_NAMESPACE {

namespace {

namespace float16_forms {
#define SLUICE_FLOAT16_FORM(id, function)             \
  struct id {                                         \
    template <typename A, typename V>                 \
    SLUICE_MATH_INLINE static auto apply(A a, V, V) { \
      return m::of_float16::function(a);              \
    }                                                 \
  };
#include "kernels/math/float16_forms.def"
}  // namespace float16_forms

}  // namespace

void fill_float32(LoopTable& table) {
  fill_type<float>(table);
  constexpr int kFloat16 = static_cast<int>(DType::kFloat16);
#define SLUICE_FLOAT16_FORM(id, function) \
  set_map<float16_forms::id, float, float, 1>(table.map[static_cast<int>(Op::k##id)][kFloat16]);
#include "kernels/math/float16_forms.def"
}

}  // namespace sluice::kernels::interp::SLUICE_ISA_NAMESPACE
