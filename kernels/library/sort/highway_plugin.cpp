// Loads Highway's sorts from the library that lies beside this one, by the first line that is
// sorted.
#include "kernels/library/sort/highway.h"
#include "runtime/shared_library.h"

namespace sluice::kernels {
namespace {

const VectorSorts* load() {
  auto library = runtime::SharedLibrary::open_beside(SLUICE_HIGHWAY_PLUGIN_NAME);
  if (!library.ok()) return nullptr;
  decltype(&sluice_vector_sorts) exported = nullptr;
  library->find("sluice_vector_sorts", &exported);
  if (exported == nullptr) return nullptr;
  library->keep();
  return exported();
}

}  // namespace

const VectorSorts* find_vector_sorts() {
  static const VectorSorts* const sorts = load();
  return sorts;
}

}  // namespace sluice::kernels
