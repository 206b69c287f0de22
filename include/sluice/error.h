// The exception that every public call throws.
#ifndef SLUICE_ERROR_H_
#define SLUICE_ERROR_H_

#include <stdexcept>
#include <string>

#pragma GCC visibility push(default)
namespace sluice {

// The codes of gRPC and of absl::StatusCode, by the same numbers. Those that Sluice gives an Error:
enum class ErrorCode : int {
  kInvalidArgument = 3,     // shapes, axes or dtypes that don't go together; a wrong count
  kNotFound = 5,            // no op of this name
  kResourceExhausted = 8,   // memory that cannot be allocated
  kFailedPrecondition = 9,  // use of an empty Tensor or a device out of reach; a singular matrix
  kOutOfRange = 11,         // an index outside its axis
  kUnimplemented = 12,      // an op that does not exist yet, for this dtype or at all
  kInternal = 13,     // a device or a compiler failed. A lost GPU fails every use of its tensors
                      // until the process ends; tensors on other devices are unaffected
  kUnavailable = 14,  // a file that cannot be read or written
  kDataLoss = 15,     // $SLUICE_VALIDATE found bits that differ
  // The others:
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kDeadlineExceeded = 4,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kAborted = 10,
  kUnauthenticated = 16,
};

// what() names the op the user called, with the shapes and dtypes it was given.
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message);
  Error(const Error&) = default;
  Error& operator=(const Error&) = default;
  ~Error() override;

  [[nodiscard]] ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

}  // namespace sluice
#pragma GCC visibility pop

#endif  // SLUICE_ERROR_H_
