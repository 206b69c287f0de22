// Memory of the program's own as a buffer.
#ifndef SLUICE_RUNTIME_LENT_BUFFER_H_
#define SLUICE_RUNTIME_LENT_BUFFER_H_

#include <cstddef>
#include <functional>

#include "runtime/memory/buffer.h"

namespace sluice::runtime {

// A buffer on host memory that is read only, and of no allocator: neither its limit nor its
// statistics count it. `give_back` may be empty; it is called once, when the last reference is
// dropped, by the thread that drops it, whatever locks that holds. If making the buffer throws, it
// has been called.
BufferRef lend(void* data, size_t bytes, std::function<void()> give_back);

}  // namespace sluice::runtime

#endif  // SLUICE_RUNTIME_LENT_BUFFER_H_
