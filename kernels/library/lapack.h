// LAPACK, found when it is first needed.
#ifndef SLUICE_KERNELS_LIBRARY_LAPACK_H_
#define SLUICE_KERNELS_LIBRARY_LAPACK_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"

namespace sluice::kernels {

// The routines of one element type.
template <typename T>
struct LapackOf {
#define SLUICE_LAPACK(name, ...) void (*name)(__VA_ARGS__) = nullptr;
#include "kernels/library/lapack.def"
};

struct Lapack {
  LapackOf<float> f32;
  LapackOf<double> f64;
  std::string name;            // of the file
  bool is_thread_safe = true;  // false: one call at a time

  template <typename T>
  const LapackOf<T>& of() const {
    if constexpr (sizeof(T) == sizeof(float)) {
      return f32;
    } else {
      return f64;
    }
  }
};

// That which $SLUICE_LAPACK names, a path or a name for the loader's search; else OpenBLAS, or the
// system's LAPACK. Its routines run on the thread that calls them: OpenBLAS is told so, for the
// whole process. kUnimplemented, saying what to install, if there is none. Looked for once;
// thread-safe.
const absl::StatusOr<Lapack>& find_lapack();

}  // namespace sluice::kernels

#endif  // SLUICE_KERNELS_LIBRARY_LAPACK_H_
