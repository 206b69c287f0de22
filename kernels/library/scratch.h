// Memory for the length of a call.
#ifndef SLUICE_KERNELS_LIBRARY_SCRATCH_H_
#define SLUICE_KERNELS_LIBRARY_SCRATCH_H_

#include <cstddef>
#include <vector>

namespace sluice::kernels {

// At least `bytes` bytes, aligned to 64, uninitialised, for use by any thread. Destroyed by the
// thread that constructed it, which keeps the memory for the next: fresh pages cost more than to
// fill them. While one is alive its thread may construct others (a thread that waits for a loop may
// be given work of another).
class Scratch {
 public:
  explicit Scratch(size_t bytes);
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  char* data() const { return data_; }

 private:
  char* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace sluice::kernels

#endif  // SLUICE_KERNELS_LIBRARY_SCRATCH_H_
