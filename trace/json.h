// The file form of a trace: docs/trace.schema.json describes it.
#ifndef SLUICE_TRACE_JSON_H_
#define SLUICE_TRACE_JSON_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "trace/trace.h"

namespace sluice::trace {

inline constexpr char kFormat[] = "sluice-trace";
inline constexpr int kVersion = 2;

// One line for each object of the long lists. What is not UTF-8 in a string is replaced.
std::string to_json(const Trace& trace);

// InvalidArgument, with a sentence that names the place, for anything that to_json() could not have
// written: what is not JSON, of another format or version, members unknown or of a wrong type,
// indices of what is not there. All indices of a trace that this gives can be followed.
absl::StatusOr<Trace> from_json(std::string_view text);

}  // namespace sluice::trace

#endif  // SLUICE_TRACE_JSON_H_
