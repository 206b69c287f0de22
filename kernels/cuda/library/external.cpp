// Functions that the program has registered, on a GPU: a thread for each element of the result.
#include "fusion/library/external.h"

#include <algorithm>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "kernels/cuda/compile/source_kernels.h"
#include "kernels/cuda/library/library.h"
#include "kernels/gpu/run/call.h"
#include "runtime/integers.h"

namespace sluice::kernels::cuda {
namespace {

constexpr size_t kMaxInputs = 16;

// What comes before the program's source.
constexpr const char* kExternalText = R"sluice(
// ---- External ops. kernels/cuda/library/external.cpp fills in sluice_call.

#ifndef __CUDACC__
#define __device__ inline
#endif

struct sluice_input {
  const void* data;
  long long rank, extents[8], strides[8];
};
struct sluice_call {
  sluice_input inputs[16];
  void* output;
  long long elements;
  long long first_block;  // of this launch
};

// Element i of input k, in row-major order.
template <typename T>
SL_INLINE const T& sluice_at(const sluice_call& call, int k, long long i) {
  const sluice_input& input = call.inputs[k];
  const T* at = (const T*)input.data;
  for (long long d = input.rank - 1; d >= 0; --d) {
    at += i % input.extents[d] * input.strides[d];
    i /= input.extents[d];
  }
  return *at;
}

)sluice";

// sluice_call of the text.
struct ExternalArguments {
  struct Input {
    const void* data = nullptr;
    int64_t rank = 0, extents[kMaxRank] = {}, strides[kMaxRank] = {};
  };
  Input inputs[kMaxInputs];
  void* output;
  int64_t elements;
  int64_t first_block = 0;

  ExternalArguments(const fusion::ExternalAttributes& of, absl::Span<void* const> buffers)
      : output(buffers[of.inputs.size()]), elements(of.output.shape().numel()) {
    for (size_t k = 0; k < of.inputs.size(); ++k) {
      const fusion::ExternalArray& array = of.inputs[k];
      const int64_t offset = array.offset * static_cast<int64_t>(size_of(array.dtype));
      inputs[k].data = static_cast<const char*>(buffers[k]) + offset;
      inputs[k].rank = array.rank;
      std::copy_n(array.extents.data(), array.rank, inputs[k].extents);
      std::copy_n(array.strides.data(), array.rank, inputs[k].strides);
    }
  }
};

class ExternalRunner : public LibraryRunner {
 public:
  explicit ExternalRunner(const LibraryDevice& device)
      : kernels_(device.context, device.compiler) {}

  absl::Status prepare(const fusion::LibraryCall& call) override {
    const fusion::ExternalAttributes& of = fusion::external_of(call);
    return of.function == nullptr ? absl::OkStatus() : kernel(of).compile();
  }

  absl::Status enqueue(runtime::cuda::CudaStream* stream, const fusion::LibraryCall& call,
                       absl::Span<void* const> buffers, absl::string_view label) override {
    const fusion::ExternalAttributes& of = fusion::external_of(call);
    if (of.function == nullptr) {
      return absl::FailedPreconditionError("the op was unregistered before it was computed");
    }
    ExternalArguments arguments(of, buffers);
    return kernel(of).launch(stream, &arguments, ceil_div(arguments.elements, int64_t{kThreads}),
                             label);
  }

 private:
  // By its source: what has the same is the same kernel.
  SourceKernel& kernel(const fusion::ExternalAttributes& of) {
    const std::string& source = of.function->cuda_source();
    const std::string name = absl::StrCat("external_", number_of(source));
    return kernels_.get(name, [&] {
      return absl::StrCat(kExternalText, source, "\nSL_KERNEL(", name,
                          ", sluice_call) {\n"
                          "  const long long i =\n"
                          "      (p.first_block + sl_block()) * SL_THREADS + "
                          "sl_thread();\n"
                          "  if (i < p.elements) compute(p, i);\n}\n");
    });
  }
  size_t number_of(const std::string& source) {
    std::lock_guard lock(mutex_);
    return numbers_.try_emplace(source, numbers_.size()).first->second;
  }

  SourceKernels kernels_;
  std::mutex mutex_;
  absl::flat_hash_map<std::string, size_t> numbers_;  // guarded by mutex_
};

}  // namespace

std::unique_ptr<LibraryRunner> make_external_runner(const LibraryDevice& device) {
  return std::make_unique<ExternalRunner>(device);
}

}  // namespace sluice::kernels::cuda
