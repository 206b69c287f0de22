#include "kernels/cuda/library/factor/cusolver.h"

#include "kernels/cuda/library_paths.h"
#include "runtime/shared_library.h"

namespace sluice::kernels::cuda {
namespace {

absl::StatusOr<const Cusolver*> search_cusolver(int driver_major) {
  constexpr int kBehind = 1;  // libcusolver.so.11 is CUDA 12's
  return find_library<Cusolver>(
      {.library = "cuSOLVER",
       .variable = "SLUICE_CUSOLVER",
       .names = names_by_major("libcusolver.so.", driver_major, kBehind),
       .package_folders = "{cu13,cusolver}/lib",
       .file = "libcusolver.so",
       .source = "a CUDA toolkit or the Python package nvidia-cusolver-cu12"},
      [](const std::string& path, bool) { return load_cusolver(path); });
}

}  // namespace

absl::StatusOr<const Cusolver*> find_cusolver(int driver_version) {
  return found_once<search_cusolver>(driver_version);
}

absl::StatusOr<Cusolver> load_cusolver(const std::string& name) {
  absl::StatusOr<runtime::SharedLibrary> library = runtime::SharedLibrary::open(name);
  if (!library.ok()) return library.status();
  Cusolver table;
#define SLUICE_CUSOLVER_CALL(result, name, symbol, ...) library->find(#symbol, &table.name);
#define SLUICE_CUSOLVER_ROUTINE(name, ...)             \
  library->find("cusolverDnS" #name, &table.f32.name); \
  library->find("cusolverDnD" #name, &table.f64.name);
#include "kernels/cuda/library/factor/cusolver.def"
  if (!library->status().ok()) return library->status();
  library->keep();
  return table;
}

}  // namespace sluice::kernels::cuda
