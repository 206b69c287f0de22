#include "kernels/cuda/library/cudnn/cudnn.h"

#include "absl/strings/str_cat.h"
#include "kernels/cuda/library_paths.h"
#include "runtime/shared_library.h"

namespace sluice::kernels::cuda {
namespace {

absl::StatusOr<const Cudnn*> search_cudnn(int driver_major) {
  return find_library<Cudnn>({.library = "cuDNN",
                              .variable = "SLUICE_CUDNN",
                              .names = {"libcudnn.so.9"},
                              .package_folders = "cudnn/lib",
                              .file = "libcudnn.so.9",
                              .source = "cuDNN or the Python package nvidia-cudnn-cu12"},
                             [&](const std::string& path, bool is_named) {
                               return load_cudnn(path, is_named ? 0 : driver_major);
                             });
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
#include "kernels/cuda/library/cudnn/cudnn.def"
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
