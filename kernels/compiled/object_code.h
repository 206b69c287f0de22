// An object file of compiled code, made executable. Code that comes from disk is loaded without
// LLVM.
#ifndef SLUICE_KERNELS_COMPILED_OBJECT_CODE_H_
#define SLUICE_KERNELS_COMPILED_OBJECT_CODE_H_

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sluice::kernels {

class ObjectCode {
 public:
  // `object`: relocatable ELF for this machine as LLVM makes it of a kernel: code and constants,
  // calls of functions that `address_of` names (null: unknown), no writable data. All else is
  // kInvalidArgument, and so is a file that is damaged: nothing outside `object` is read, and
  // nothing outside the code's own memory is written.
  static absl::StatusOr<ObjectCode> load(absl::string_view object,
                                         absl::FunctionRef<void*(const char*)> address_of);

  // The address of a function that the object defines; null if it does not.
  template <typename F>
  void find(absl::string_view name, F** function) const {
    *function = reinterpret_cast<F*>(address(name));
  }

 private:
  struct Unmap {
    size_t bytes;
    void operator()(void* memory) const;
  };
  friend class ObjectReader;

  void* address(absl::string_view name) const;

  std::unique_ptr<void, Unmap> memory_;
  std::vector<std::pair<std::string, void*>> functions_;
};

}  // namespace sluice::kernels

#endif  // SLUICE_KERNELS_COMPILED_OBJECT_CODE_H_
