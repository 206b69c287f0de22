// Prints the generic kernel as nvcc takes it. Built and run while sluice is built, not part of it.
#include <cstdio>

#include "kernels/gpu/generic/generic.h"
#include "kernels/gpu/prelude/prelude.h"

int main() {
  std::fputs(sluice::kernels::cuda::device_source(sluice::kernels::cuda::generic_source()).c_str(),
             stdout);
}
