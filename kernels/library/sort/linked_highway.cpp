// Built where sluice is a static library: Highway is linked to.
#include "kernels/library/sort/highway.h"

namespace sluice::kernels {

const VectorSorts* find_vector_sorts() { return sluice_vector_sorts(); }

}  // namespace sluice::kernels
