#include "kernels/library/sort/highway.h"
#include "runtime/shared_library.h"

namespace sluice::kernels {

const VectorSorts* find_vector_sorts() {
#if defined(SLUICE_HIGHWAY_PLUGIN_NAME)
  static const auto* const sorts =
      runtime::plugin<VectorSorts>(SLUICE_HIGHWAY_PLUGIN_NAME, "sluice_vector_sorts");
  return sorts;
#elif SLUICE_HAVE_HIGHWAY
  return sluice_vector_sorts();
#else
  return nullptr;
#endif
}

}  // namespace sluice::kernels
