// The C++ types that stand for dtypes in emitted text.
#ifndef SLUICE_KERNELS_GPU_EMIT_TYPES_H_
#define SLUICE_KERNELS_GPU_EMIT_TYPES_H_

#include <sluice/dtype.h>

namespace sluice::kernels::cuda {

// Of an element in memory.
constexpr const char* memory_type(DType dtype) {
  constexpr const char* kNames[kNumDTypes] = {"sl_b8",   "sl_i8",  "sl_i16", "sl_i32", "sl_i64",
                                              "sl_u8",   "sl_u16", "sl_u32", "sl_u64", "sl_f16",
                                              "sl_bf16", "float",  "double"};
  return kNames[static_cast<int>(dtype)];
}

// Of a value in a register: half types are floats there.
constexpr const char* register_type(DType dtype) {
  return dtype == DType::kBool ? "bool" : memory_type(compute_type(dtype));
}

// Of two values of a half type.
constexpr const char* pair_type(DType dtype) {
  return dtype == DType::kFloat16 ? "sl_f16x2" : "sl_bf16x2";
}

}  // namespace sluice::kernels::cuda

#endif  // SLUICE_KERNELS_GPU_EMIT_TYPES_H_
