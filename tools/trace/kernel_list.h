// The kernels of a trace, and what they were compiled from.
#ifndef SLUICE_TOOLS_TRACE_KERNEL_LIST_H_
#define SLUICE_TOOLS_TRACE_KERNEL_LIST_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "trace/trace.h"

namespace sluice::trace {

// A line per kernel: number, beginning of the key, origin of the code, compile time, runs, name and
// the compiler's figures.
std::string list_kernels(const Trace& trace);

// Finds a kernel by number or by the beginning of its key. InvalidArgument unless exactly one fits.
absl::StatusOr<int32_t> find_kernel(const Trace& trace, absl::string_view number_or_key);

// A kernel's loop program, source and assembly, as far as the trace has them.
std::string describe_kernel(const Trace& trace, int32_t kernel);

}  // namespace sluice::trace

#endif  // SLUICE_TOOLS_TRACE_KERNEL_LIST_H_
