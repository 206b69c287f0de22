// The names in compiled code: what it defines, and the functions of this process that it calls. It
// refers to them by name, not by address, so that other processes can load it
// (kernels/cache/disk_cache.h).
#ifndef SLUICE_KERNELS_COMPILED_SYMBOLS_H_
#define SLUICE_KERNELS_COMPILED_SYMBOLS_H_

namespace sluice::kernels {

// The entry points (kernels/executable.h).
inline constexpr const char* kRowsName = "rows";
inline constexpr const char* kBlockName = "block";
inline constexpr const char* kFinishName = "finish";

inline constexpr const char* kRaiseErrorName = "sluice_raise_error";
inline constexpr const char* kThreadBufferName = "sluice_thread_buffer";
inline constexpr const char* kExternalArrayName = "sluice_external_array";

}  // namespace sluice::kernels

#endif  // SLUICE_KERNELS_COMPILED_SYMBOLS_H_
