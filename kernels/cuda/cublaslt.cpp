#include "sluice/kernels/cuda/cublaslt.h"

#include <dlfcn.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <type_traits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sluice/kernels/cuda/library_paths.h"

namespace sluice::kernels::cuda {
namespace {

constexpr int kOldestMajor = 12, kNewestMajor = 13;

absl::StatusOr<const CublasLt*> find(int driver_major) {
  const std::string named = environment_variable("SLUICE_CUBLASLT");
  if (named == "off") {
    return absl::FailedPreconditionError("SLUICE_CUBLASLT says that cuBLASLt is not to be used");
  }
  std::vector<std::string> candidates = {named};
  if (named.empty()) {
    std::vector<std::string> names;
    for (int major = std::min(driver_major, kNewestMajor); major >= kOldestMajor; --major) {
      names.push_back(absl::StrCat("libcublasLt.so.", major));
    }
    candidates = library_candidates(names, "{cu13,cublas}/lib");
  }
  absl::Status why = absl::OkStatus();
  for (const std::string& library : candidates) {
    const absl::StatusOr<CublasLt> table = load_cublaslt(library);
    if (table.ok()) return new CublasLt(*table);
    why = table.status();
  }
  if (!named.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the library that SLUICE_CUBLASLT names cannot be used: ", std::string(why.message())));
  }
  return absl::FailedPreconditionError(
      "libcublasLt.so was not found (install a CUDA toolkit or the Python package "
      "nvidia-cublas-cu12, or set SLUICE_CUBLASLT to the library's path)");
}

}  // namespace

absl::StatusOr<const CublasLt*> find_cublaslt(int driver_version) {
  static std::mutex mutex;
  static auto* found = new std::map<int, absl::StatusOr<const CublasLt*>>;  // by major version
  const int major = driver_version / 1000;
  std::lock_guard lock(mutex);
  auto it = found->find(major);
  if (it == found->end()) it = found->emplace(major, find(major)).first;
  return it->second;
}

absl::StatusOr<CublasLt> load_cublaslt(const std::string& library) {
  void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return absl::NotFoundError(dlerror());
  CublasLt table;
  const char* missing = nullptr;
  const auto find = [&](auto& function, const char* symbol) {
    void* const address = dlsym(handle, symbol);
    if (address == nullptr && missing == nullptr) missing = symbol;
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(address);
  };
#define SLUICE_CUBLASLT_CALL(result, name, symbol, ...) find(table.name, #symbol);
#include "sluice/kernels/cuda/cublaslt.def"
#undef SLUICE_CUBLASLT_CALL
  if (missing == nullptr) return table;
  dlclose(handle);
  return absl::NotFoundError(absl::StrCat(library, " has no ", missing));
}

}  // namespace sluice::kernels::cuda
