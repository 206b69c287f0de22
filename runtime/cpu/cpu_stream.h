#ifndef SLUICE_RUNTIME_CPU_CPU_STREAM_H_
#define SLUICE_RUNTIME_CPU_CPU_STREAM_H_

#include <memory>

#include "runtime/stream.h"

namespace sluice::runtime {

// Runs batches on a worker thread. When nothing is queued, batches too short for a hand-off and
// batches that the caller waits for run on the caller's thread.
std::unique_ptr<Stream> make_cpu_stream();

}  // namespace sluice::runtime

#endif  // SLUICE_RUNTIME_CPU_CPU_STREAM_H_
