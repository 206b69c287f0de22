// Tells the compiler what lets it vectorise a loop.
#ifndef SLUICE_KERNELS_INDEPENDENT_TURNS_H_
#define SLUICE_KERNELS_INDEPENDENT_TURNS_H_

// Before a loop: no iteration reads what an earlier one wrote.
#ifdef __clang__
#define SLUICE_INDEPENDENT_TURNS _Pragma("clang loop vectorize(assume_safety)")
#else
#define SLUICE_INDEPENDENT_TURNS _Pragma("GCC ivdep")
#endif

#endif  // SLUICE_KERNELS_INDEPENDENT_TURNS_H_
