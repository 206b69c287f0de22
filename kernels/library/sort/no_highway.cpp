// In place of highway.cpp in builds without Highway.
#include "kernels/library/sort/highway.h"

namespace sluice::kernels {

const VectorSorts* find_vector_sorts() { return nullptr; }

}  // namespace sluice::kernels
