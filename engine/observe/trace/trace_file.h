// Traces as files, and $SLUICE_TRACE.
#ifndef SLUICE_ENGINE_OBSERVE_TRACE_FILE_H_
#define SLUICE_ENGINE_OBSERVE_TRACE_FILE_H_

#include <string>

namespace sluice::engine {

// As trace::write(). Without `may_make_code`, no compiler is asked: kernels then have the source
// and assembly that an earlier trace has shown, or none. Throws Error.
void write_trace(const std::string& path, bool may_make_code);

// Begins to record if $SLUICE_TRACE or $SLUICE_DEBUG asks for it; true if so. What $SLUICE_TRACE
// names is written when the process ends. To be called once, by the thread that loads the library.
bool start_by_environment();

}  // namespace sluice::engine

#endif  // SLUICE_ENGINE_OBSERVE_TRACE_FILE_H_
