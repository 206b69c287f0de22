#include <sluice/dtype.h>

#include <algorithm>

namespace sluice {
namespace {

DType unsigned_of_size(size_t size) {
  switch (size) {
    case 1: return DType::kUInt8;
    case 2: return DType::kUInt16;
    case 4: return DType::kUInt32;
    default: return DType::kUInt64;
  }
}

DType signed_of_size(size_t size) {
  switch (size) {
    case 1: return DType::kInt8;
    case 2: return DType::kInt16;
    case 4: return DType::kInt32;
    default: return DType::kInt64;
  }
}

}  // namespace

const char* name_of(DType dtype) {
  constexpr const char* kNames[kNumDTypes] = {"bool",     "int8",    "int16",  "int32",  "int64",
                                              "uint8",    "uint16",  "uint32", "uint64", "float16",
                                              "bfloat16", "float32", "float64"};
  return kNames[static_cast<int>(dtype)];
}

DType promote(DType a, DType b) {
  if (a == b) return a;
  const DTypeKind ka = kind_of(a);
  const DTypeKind kb = kind_of(b);
  if (ka == DTypeKind::kBool) return b;
  if (kb == DTypeKind::kBool) return a;
  if (ka == DTypeKind::kFloat && kb == DTypeKind::kFloat) {
    // Neither half type holds all values of the other: their join is float32.
    if (size_of(a) == size_of(b)) return DType::kFloat32;
    return size_of(a) > size_of(b) ? a : b;
  }
  if (ka == DTypeKind::kFloat) return a;
  if (kb == DTypeKind::kFloat) return b;
  const size_t size = std::max(size_of(a), size_of(b));
  if (ka == kb) return ka == DTypeKind::kSigned ? signed_of_size(size) : unsigned_of_size(size);
  // Mixed signedness: the smallest signed type that holds both.
  const size_t signed_size = size_of(ka == DTypeKind::kSigned ? a : b);
  const size_t unsigned_size = size_of(ka == DTypeKind::kSigned ? b : a);
  if (signed_size > unsigned_size) return signed_of_size(signed_size);
  if (unsigned_size < 8) return signed_of_size(unsigned_size * 2);
  return DType::kFloat32;
}

}  // namespace sluice
