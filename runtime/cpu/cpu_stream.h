#ifndef SLUICE_RUNTIME_CPU_CPU_STREAM_H_
#define SLUICE_RUNTIME_CPU_CPU_STREAM_H_

#include <memory>

#include "runtime/stream.h"

namespace sluice::runtime {

// Runs batches on a thread of its own, but those that are too short for a hand-off, or that the
// caller waits for anyway, on the caller's thread when nothing is queued before them.
std::unique_ptr<Stream> make_cpu_stream();

}  // namespace sluice::runtime

#endif  // SLUICE_RUNTIME_CPU_CPU_STREAM_H_
