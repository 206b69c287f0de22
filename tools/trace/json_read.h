// Reads the file form of a trace.
#ifndef SLUICE_TOOLS_TRACE_JSON_READ_H_
#define SLUICE_TOOLS_TRACE_JSON_READ_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "trace/trace.h"

namespace sluice::trace {

// InvalidArgument, with a sentence that names the place, for anything that to_json() could not have
// written: text that is not JSON, another format or version, unknown members, members of a wrong
// type, indices out of range. All indices of a trace that this returns are valid.
absl::StatusOr<Trace> from_json(std::string_view text);

}  // namespace sluice::trace

#endif  // SLUICE_TOOLS_TRACE_JSON_READ_H_
