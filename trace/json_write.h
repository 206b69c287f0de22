// Writes the file form of a trace; docs/trace.schema.json describes it. Tools read it
// (tools/trace/json_read.h).
#ifndef SLUICE_TRACE_JSON_WRITE_H_
#define SLUICE_TRACE_JSON_WRITE_H_

#include <string>

#include "trace/trace.h"

namespace sluice::trace {

inline constexpr char kFormat[] = "sluice-trace";
inline constexpr int kVersion = 2;

// One line per object of the long lists. Bytes that are not UTF-8 are replaced.
std::string to_json(const Trace& trace);

}  // namespace sluice::trace

#endif  // SLUICE_TRACE_JSON_WRITE_H_
