// Sorts by Highway's vqsort, which is vectorised. A shared libsluice has them in a library of its
// own: libhwy measures the processor's clock as it is loaded, which takes 3 ms.
#ifndef SLUICE_KERNELS_LIBRARY_SORT_HIGHWAY_H_
#define SLUICE_KERNELS_LIBRARY_SORT_HIGHWAY_H_

#include <cstdint>

#include "kernels/library/sort/sort_words.h"

namespace sluice::kernels {

// As sort_words().
struct VectorSorts {
  void (*of16)(uint16_t* words, int64_t count);
  void (*of32)(uint32_t* words, int64_t count);
  void (*of64)(uint64_t* words, int64_t count);
  void (*of128)(WideWord* words, int64_t count);

  void operator()(uint16_t* words, int64_t count) const { of16(words, count); }
  void operator()(uint32_t* words, int64_t count) const { of32(words, count); }
  void operator()(uint64_t* words, int64_t count) const { of64(words, count); }
  void operator()(WideWord* words, int64_t count) const { of128(words, count); }
};

// Null where there is no Highway.
const VectorSorts* find_vector_sorts();

}  // namespace sluice::kernels

// What the library with Highway exports.
extern "C" [[gnu::visibility("default")]] const sluice::kernels::VectorSorts* sluice_vector_sorts();

#endif  // SLUICE_KERNELS_LIBRARY_SORT_HIGHWAY_H_
