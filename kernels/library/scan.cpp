// The CPU scans in kernels of its own (fusion/ir/scan.h): the planner makes no calls of it there.
#include "kernels/library/library.h"

namespace sluice::kernels {

absl::Status run_scan(const fusion::LibraryCall&, absl::Span<void* const>) {
  return absl::UnimplementedError("the CPU has no library for scans");
}

}  // namespace sluice::kernels
