// Why a queue flushes.
#ifndef SLUICE_ENGINE_RECORD_FLUSH_CAUSE_H_
#define SLUICE_ENGINE_RECORD_FLUSH_CAUSE_H_

#include <cstdint>

namespace sluice::engine {

enum class FlushCause : uint8_t {
  kRead,         // a value was read
  kEval,         // Tensor::eval()
  kFlush,        // flush()
  kSync,         // sync()
  kOps,          // Config::window_ops
  kLoop,         // the window ends where a loop's body does
  kBytes,        // Config::max_pending_bytes
  kOtherThread,  // another thread needs a value
  kIdle,         // the device was idle, and so was the host
  kCopy          // a value was copied to another device
};

}  // namespace sluice::engine

#endif  // SLUICE_ENGINE_RECORD_FLUSH_CAUSE_H_
