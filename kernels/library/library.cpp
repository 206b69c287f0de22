#include "kernels/library/library.h"

namespace sluice::kernels {
namespace {

using RunCall = absl::Status (*)(const fusion::LibraryCall&, absl::Span<void* const>);
constexpr RunCall kRunCall[] = {
#define SLUICE_LIBRARY_KIND(id, name) &run_##name,
#include "fusion/ir/library.def"
};

}  // namespace

absl::Status run_library(const fusion::LibraryCall& call, absl::Span<void* const> buffers) {
  return kRunCall[static_cast<int>(call.kind)](call, buffers);
}

}  // namespace sluice::kernels
