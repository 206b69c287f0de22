#include <cstdlib>

#include "absl/strings/string_view.h"
#include "kernels/library/convolution/block_convolution.h"
#include "runtime/shared_library.h"

namespace sluice::kernels {
namespace {

const Convolutions* find() {
  const char* const wanted = std::getenv("SLUICE_ONEDNN");
  if (wanted != nullptr && absl::string_view(wanted) == "off") return nullptr;
#if defined(SLUICE_ONEDNN_PLUGIN_NAME)
  return runtime::plugin<Convolutions>(SLUICE_ONEDNN_PLUGIN_NAME, "sluice_convolutions");
#elif SLUICE_HAVE_ONEDNN
  return sluice_convolutions();
#else
  return nullptr;
#endif
}

}  // namespace

const Convolutions* find_convolutions() {
  static const Convolutions* const convolutions = find();
  return convolutions;
}

}  // namespace sluice::kernels
