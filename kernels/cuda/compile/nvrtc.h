// NVIDIA's compiler of CUDA C++ as a library, libnvrtc. It is looked for and loaded at run time:
// neither a toolkit nor a driver is needed to build or to start.
#ifndef SLUICE_KERNELS_CUDA_COMPILE_NVRTC_H_
#define SLUICE_KERNELS_CUDA_COMPILE_NVRTC_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "kernels/cuda/compile/compiler.h"

namespace sluice::kernels::cuda {

// Immutable and never unloaded.
class Nvrtc {
 public:
  // The library for a driver that supports this CUDA version, which rules out later major versions.
  // $SLUICE_NVRTC names a library to use instead, of any version.
  // kFailedPrecondition with a message for the user if there is none. Thread-safe; searches once.
  static absl::StatusOr<const Nvrtc*> get(int driver_version);

  static absl::StatusOr<std::unique_ptr<Nvrtc>> load(const std::string& name);

  int version() const { return version_; }  // 12090: 12.9
  std::string version_text() const;         // "12.9"

  // What code is compiled for.
  struct Target {
    int architecture = 0;  // 90
    bool is_exact = true;  // the device's own architecture, as machine code; else as PTX
    std::string name() const;
  };
  // The device's own architecture, or the latest before it that the library knows.
  absl::StatusOr<Target> target_for(int compute_capability) const;

  // `options`: all but the architecture.
  absl::StatusOr<CompiledCode> compile(const std::string& source, const Target& target,
                                       absl::Span<const std::string> options) const;

 private:
  Nvrtc() = default;

  using Program = void*;
  struct Api {
    int (*version)(int* major, int* minor);
    const char* (*error_text)(int result);
    int (*num_architectures)(int* count);
    int (*architectures)(int* architectures);
    int (*create)(Program*, const char* source, const char* name, int num_headers,
                  const char* const* headers, const char* const* names);
    int (*destroy)(Program*);
    int (*compile)(Program, int num_options, const char* const* options);
    int (*log_size)(Program, size_t*);
    int (*log)(Program, char*);
    int (*cubin_size)(Program, size_t*);
    int (*cubin)(Program, char*);
    int (*ptx_size)(Program, size_t*);
    int (*ptx)(Program, char*);
  };

  Api api_{};
  int version_ = 0;
  std::vector<int> architectures_;  // ascending
};

// What ptxas reports under -v.
std::vector<KernelResources> parse_resources(const std::string& log);

}  // namespace sluice::kernels::cuda

#endif  // SLUICE_KERNELS_CUDA_COMPILE_NVRTC_H_
