// The exception that every public call throws.
#ifndef SLUICE_ERROR_H_
#define SLUICE_ERROR_H_

#include <stdexcept>
#include <string>

#include "absl/status/status.h"

namespace sluice {

// what() names the op the user called, with the shapes and dtypes it was given.
//   kInvalidArgument    shapes, axes or dtypes that don't go together; a wrong count
//   kOutOfRange         an index outside its axis
//   kResourceExhausted  memory that cannot be allocated
//   kFailedPrecondition use of an empty Tensor, ...
//   kUnimplemented      an op that does not exist yet, for this dtype or at all
//   kInternal           a device or a compiler failed. A lost GPU fails every use of its tensors
//                       until the process ends; tensors on other devices are unaffected
//   kDataLoss           $SLUICE_VALIDATE found bits that differ
class Error : public std::runtime_error {
 public:
  Error(absl::StatusCode code, const std::string& message)
      : std::runtime_error(message), code_(code) {}
  explicit Error(const absl::Status& status)
      : Error(status.code(), std::string(status.message())) {}

  absl::StatusCode code() const noexcept { return code_; }

 private:
  absl::StatusCode code_;
};

}  // namespace sluice

#endif  // SLUICE_ERROR_H_
