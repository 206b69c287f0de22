#ifndef SLUICE_FRONTEND_FILES_INFLATE_H_
#define SLUICE_FRONTEND_FILES_INFLATE_H_

#include "frontend/files/file.h"

namespace sluice::frontend {

// What `deflated` (RFC 1951) stands for, which must be `size` bytes. Throws Error if it is not, or
// (kUnimplemented) if Sluice was built without zlib.
std::shared_ptr<const void> inflate(const FileName& name, Bytes deflated, uint64_t size);

}  // namespace sluice::frontend

#endif  // SLUICE_FRONTEND_FILES_INFLATE_H_
