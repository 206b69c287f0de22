#include "kernels/library/lapack.h"

#include <cstdlib>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/host_isa.h"
#include "runtime/shared_library.h"

namespace sluice::kernels {
namespace {

// Debian's builds lie beside one another, and the loader's search gives one of them under the same
// name. That without threads is not safe to call from several.
constexpr const char* kCandidates[] = {
    "/usr/lib/x86_64-linux-gnu/openblas-pthread/libopenblas.so.0",
    "/usr/lib/aarch64-linux-gnu/openblas-pthread/libopenblas.so.0",
    "libopenblas.so.0",
    "libopenblas.so",
    "liblapack.so.3",
};

constexpr const char* kCore = "OPENBLAS_CORETYPE";

// What OpenBLAS should take this processor for, if it does not know it: one that is newer than the
// library gets kernels for SSE3. "": nothing, or it was told by the user.
std::string better_core(runtime::SharedLibrary* library) {
  char* (*core)() = nullptr;
  library->find("openblas_get_corename", &core);
  if (core == nullptr || std::getenv(kCore) != nullptr || absl::string_view(core()) != "Prescott") {
    return "";
  }
  switch (host_isa()) {
    case Isa::kX86_64V4: return "SkylakeX";
    case Isa::kX86_64V3: return "Haswell";
    default: return "";
  }
}

absl::StatusOr<runtime::SharedLibrary> open(const std::string& name) {
  absl::StatusOr<runtime::SharedLibrary> library = runtime::SharedLibrary::open(name);
  if (!library.ok()) return library;
  const std::string core = better_core(&*library);
  if (core.empty()) return runtime::SharedLibrary::open(name);
  // It reads the variable as it is loaded, and no other thread is to see it for longer.
  library = absl::UnknownError("closed");
  setenv(kCore, core.c_str(), 0);
  library = runtime::SharedLibrary::open(name);
  unsetenv(kCore);
  return library;
}

absl::StatusOr<Lapack> load(const std::string& name) {
  absl::StatusOr<runtime::SharedLibrary> library = open(name);
  if (!library.ok()) return library.status();
  Lapack table;
  table.name = name;
#define SLUICE_LAPACK(routine, ...)                    \
  library->find("s" #routine "_", &table.f32.routine); \
  library->find("d" #routine "_", &table.f64.routine);
#include "kernels/library/lapack.def"
  if (!library->status().ok()) return library->status();
  void (*set_num_threads)(int) = nullptr;
  library->find("openblas_set_num_threads", &set_num_threads);
  if (set_num_threads != nullptr) set_num_threads(1);
  int (*get_parallel)() = nullptr;
  library->find("openblas_get_parallel", &get_parallel);
  table.is_thread_safe = get_parallel == nullptr || get_parallel() != 0;
  library->keep();
  return table;
}

absl::StatusOr<Lapack> find() {
  const char* const named = std::getenv("SLUICE_LAPACK");
  if (named != nullptr && *named != '\0') {
    absl::StatusOr<Lapack> table = load(named);
    if (table.ok()) return table;
    return absl::UnimplementedError(
        absl::StrCat("the library that SLUICE_LAPACK names cannot be used: ",
                     std::string(table.status().message())));
  }
  for (const char* const candidate : kCandidates) {
    absl::StatusOr<Lapack> table = load(candidate);
    if (table.ok()) return table;
  }
  return absl::UnimplementedError(
      "needs LAPACK, and there is none (install OpenBLAS, in Debian libopenblas0-pthread, or set "
      "SLUICE_LAPACK to a library's path)");
}

}  // namespace

const absl::StatusOr<Lapack>& find_lapack() {
  static const auto* const found = new absl::StatusOr<Lapack>(find());
  return *found;
}

}  // namespace sluice::kernels
