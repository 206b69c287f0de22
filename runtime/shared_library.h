// A shared library loaded at run time.
#ifndef SLUICE_RUNTIME_SHARED_LIBRARY_H_
#define SLUICE_RUNTIME_SHARED_LIBRARY_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace sluice::runtime {

// Unloaded by the destructor, unless keep() has been called.
class SharedLibrary {
 public:
  // `name`: a path, or a name for the loader's search. kNotFound, with the loader's message, if the
  // library is missing or cannot be loaded.
  static absl::StatusOr<SharedLibrary> open(const std::string& name);
  // Likewise the file of this name beside the library that this code is in, else `name` itself.
  static absl::StatusOr<SharedLibrary> open_beside(const std::string& name);

  // Sets `function` to the library's `symbol`, or to null if it has none.
  template <typename F>
  void find(const char* symbol, F** function) {
    *function = reinterpret_cast<F*>(address_of(symbol));
  }

  // Names the first symbol that find() missed ("libm.so.6 has no cuInit"); ok if none was.
  const absl::Status& status() const { return status_; }

  // Keeps the library loaded until the process ends.
  void keep() { static_cast<void>(handle_.release()); }

 private:
  struct Close {
    void operator()(void* handle) const;
  };

  SharedLibrary(void* handle, const std::string& name) : handle_(handle), name_(name) {}
  void* address_of(const char* symbol);

  std::unique_ptr<void, Close> handle_;
  std::string name_;
  absl::Status status_;
};

// What a library beside this one, which stays loaded, exports: what its function `symbol` returns.
// Null if the library is missing.
template <typename T>
const T* plugin(const std::string& name, const char* symbol) {
  absl::StatusOr<SharedLibrary> library = SharedLibrary::open_beside(name);
  if (!library.ok()) return nullptr;
  const T* (*exported)() = nullptr;
  library->find(symbol, &exported);
  if (exported == nullptr) return nullptr;
  library->keep();
  return exported();
}

}  // namespace sluice::runtime

#endif  // SLUICE_RUNTIME_SHARED_LIBRARY_H_
