// Prints the generic kernel as nvcc takes it. Built and run while sluice is built, not part of it.
#include <cstdio>

#include "sluice/kernels/cuda/generic.h"
#include "sluice/kernels/cuda/prelude.h"

int main() {
  std::fputs(sluice::kernels::cuda::device_source(sluice::kernels::cuda::generic_source()).c_str(),
             stdout);
}
