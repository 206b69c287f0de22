#include "kernels/cuda/library/convolution/cudnn.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/cuda/library_paths.h"
#include "runtime/shared_library.h"

namespace sluice::kernels::cuda {
namespace {

absl::StatusOr<const Cudnn*> search_cudnn(int driver_major) {
  const std::string named = environment_variable("SLUICE_CUDNN");
  if (named == "off") {
    return absl::FailedPreconditionError("SLUICE_CUDNN says that cuDNN is not to be used");
  }
  std::vector<std::string> candidates = {named};
  if (named.empty()) candidates = library_candidates({"libcudnn.so.9"}, "cudnn/lib");
  absl::Status why = absl::OkStatus();
  for (const std::string& library : candidates) {
    const absl::StatusOr<Cudnn> table = load_cudnn(library, named.empty() ? driver_major : 0);
    if (table.ok()) return new Cudnn(*table);
    why = table.status();
  }
  if (!named.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the library that SLUICE_CUDNN names cannot be used: ", std::string(why.message())));
  }
  return absl::FailedPreconditionError(
      "libcudnn.so.9 was not found (install cuDNN or the Python package nvidia-cudnn-cu12, or set "
      "SLUICE_CUDNN to the library's path)");
}

}  // namespace

absl::StatusOr<const Cudnn*> find_cudnn(int driver_version) {
  return found_once<search_cudnn>(driver_version);
}

absl::StatusOr<Cudnn> load_cudnn(const std::string& name, int newest_cuda) {
  absl::StatusOr<runtime::SharedLibrary> library = runtime::SharedLibrary::open(name);
  if (!library.ok()) return library.status();
  Cudnn table;
#define SLUICE_CUDNN_CALL(result, name, symbol, ...) library->find(#symbol, &table.name);
#include "kernels/cuda/library/convolution/cudnn.def"
#undef SLUICE_CUDNN_CALL
  if (!library->status().ok()) return library->status();
  // Libraries for all versions of CUDA have one name; each has a runtime in it.
  const size_t cuda = table.get_cudart_version() / 1000;
  if (newest_cuda > 0 && cuda > static_cast<size_t>(newest_cuda)) {
    return absl::FailedPreconditionError(absl::StrCat(name, " is for CUDA ", cuda));
  }
  library->keep();
  return table;
}

}  // namespace sluice::kernels::cuda
