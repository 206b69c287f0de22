// In place of inflate.cpp in builds without zlib.
#include "frontend/files/inflate.h"

namespace sluice::frontend {

std::shared_ptr<const void> inflate(const FileName& name, Bytes, uint64_t) {
  throw Error(ErrorCode::kUnimplemented,
              absl::StrCat(name.op, ": ", name.path,
                           ": is compressed, and this Sluice was built without zlib"));
}

}  // namespace sluice::frontend
