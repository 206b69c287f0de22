#include "kernels/cuda/library/products/cublaslt.h"

#include "kernels/cuda/library_paths.h"
#include "runtime/shared_library.h"

namespace sluice::kernels::cuda {
namespace {

absl::StatusOr<const CublasLt*> find(int driver_major) {
  return find_library<CublasLt>(
      {.library = "cuBLASLt",
       .variable = "SLUICE_CUBLASLT",
       .names = names_by_major("libcublasLt.so.", driver_major),
       .package_folders = "{cu13,cublas}/lib",
       .file = "libcublasLt.so",
       .source = "a CUDA toolkit or the Python package nvidia-cublas-cu12"},
      [](const std::string& path, bool) { return load_cublaslt(path); });
}

}  // namespace

absl::StatusOr<const CublasLt*> find_cublaslt(int driver_version) {
  return found_once<find>(driver_version);
}

absl::StatusOr<CublasLt> load_cublaslt(const std::string& name) {
  absl::StatusOr<runtime::SharedLibrary> library = runtime::SharedLibrary::open(name);
  if (!library.ok()) return library.status();
  CublasLt table;
#define SLUICE_CUBLASLT_CALL(result, name, symbol, ...) library->find(#symbol, &table.name);
#include "kernels/cuda/library/products/cublaslt.def"
#undef SLUICE_CUBLASLT_CALL
  if (!library->status().ok()) return library->status();
  library->keep();
  return table;
}

}  // namespace sluice::kernels::cuda
