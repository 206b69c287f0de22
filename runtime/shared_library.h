// A shared library that is looked for and loaded at run time.
#ifndef SLUICE_RUNTIME_SHARED_LIBRARY_H_
#define SLUICE_RUNTIME_SHARED_LIBRARY_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace sluice::runtime {

// Unloaded when this ends, unless keep() has been called.
class SharedLibrary {
 public:
  // A name that the loader looks for in its own places, or a path. kNotFound, with the loader's
  // message, if there is none or it cannot be loaded.
  static absl::StatusOr<SharedLibrary> open(const std::string& name);

  // Sets `function` to the library's `symbol`; null if there is none.
  template <typename F>
  void find(const char* symbol, F** function) {
    *function = reinterpret_cast<F*>(address_of(symbol));
  }

  // "libm.so.6 has no cuInit", of the first symbol that find() did not find; ok if there is none.
  const absl::Status& status() const { return status_; }

  // What has been found is there until the process ends.
  void keep() { handle_.release(); }

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

}  // namespace sluice::runtime

#endif  // SLUICE_RUNTIME_SHARED_LIBRARY_H_
