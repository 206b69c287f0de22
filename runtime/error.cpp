#include <sluice/error.h>

#include "absl/status/status.h"
#include "runtime/status_error.h"

namespace sluice {

// Here, so that the library alone has what identifies the type.
Error::Error(ErrorCode code, const std::string& message)
    : std::runtime_error(message), code_(code) {}
Error::~Error() = default;

namespace {

constexpr bool is(ErrorCode code, absl::StatusCode other) {
  return static_cast<int>(code) == static_cast<int>(other);
}

static_assert(is(ErrorCode::kOk, absl::StatusCode::kOk) &&
              is(ErrorCode::kCancelled, absl::StatusCode::kCancelled) &&
              is(ErrorCode::kUnknown, absl::StatusCode::kUnknown) &&
              is(ErrorCode::kInvalidArgument, absl::StatusCode::kInvalidArgument) &&
              is(ErrorCode::kDeadlineExceeded, absl::StatusCode::kDeadlineExceeded) &&
              is(ErrorCode::kNotFound, absl::StatusCode::kNotFound) &&
              is(ErrorCode::kAlreadyExists, absl::StatusCode::kAlreadyExists) &&
              is(ErrorCode::kPermissionDenied, absl::StatusCode::kPermissionDenied) &&
              is(ErrorCode::kResourceExhausted, absl::StatusCode::kResourceExhausted) &&
              is(ErrorCode::kFailedPrecondition, absl::StatusCode::kFailedPrecondition) &&
              is(ErrorCode::kAborted, absl::StatusCode::kAborted) &&
              is(ErrorCode::kOutOfRange, absl::StatusCode::kOutOfRange) &&
              is(ErrorCode::kUnimplemented, absl::StatusCode::kUnimplemented) &&
              is(ErrorCode::kInternal, absl::StatusCode::kInternal) &&
              is(ErrorCode::kUnavailable, absl::StatusCode::kUnavailable) &&
              is(ErrorCode::kDataLoss, absl::StatusCode::kDataLoss) &&
              is(ErrorCode::kUnauthenticated, absl::StatusCode::kUnauthenticated));

}  // namespace

ErrorCode code_of(const absl::Status& status) { return static_cast<ErrorCode>(status.code()); }

Error error_of(const absl::Status& status) {
  return Error(code_of(status), std::string(status.message()));
}

}  // namespace sluice
