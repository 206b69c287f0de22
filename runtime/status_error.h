// The statuses that the engine's layers return, as the Error that programs catch.
#ifndef SLUICE_RUNTIME_STATUS_ERROR_H_
#define SLUICE_RUNTIME_STATUS_ERROR_H_

#include <sluice/error.h>
#include "absl/status/status.h"

namespace sluice {

ErrorCode code_of(const absl::Status& status);
Error error_of(const absl::Status& status);

}  // namespace sluice

#endif  // SLUICE_RUNTIME_STATUS_ERROR_H_
