// Direct uses of the device: the driver's copy, the libraries.
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <string>

#include "bench/gpu/measure.h"
#include "kernels/cuda/compile/nvrtc.h"
#include "kernels/cuda/library/products/cublaslt.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/status_error.h"

namespace sluice::bench {
namespace {

using runtime::cuda::Context;
using runtime::cuda::CudaDevice;
using runtime::cuda::CurrentContext;
using runtime::cuda::DevicePtr;
using runtime::cuda::Driver;
using runtime::cuda::StreamHandle;

void require(const absl::Status& status) {
  if (!status.ok()) throw error_of(status);
}

CudaDevice& gpu() {
  const absl::StatusOr<CudaDevice*> device = runtime::cuda::cuda_device(default_device().index());
  require(device.status());
  return **device;
}

// The driver's copy between two blocks of device memory.
class DriverCopy {
 public:
  explicit DriverCopy(size_t bytes) : bytes_(bytes), device_(gpu()) {
    auto stream = runtime::cuda::CudaStream::make(&device_);
    require(stream.status());
    stream_ = *std::move(stream);
    for (void** memory : {&source_, &target_}) {
      const absl::StatusOr<void*> allocated = device_.allocator().allocate(bytes, stream_.get());
      require(allocated.status());
      *memory = *allocated;
    }
  }
  ~DriverCopy() {
    for (void* memory : {source_, target_}) device_.allocator().free(memory);
  }
  DriverCopy(const DriverCopy&) = delete;
  DriverCopy& operator=(const DriverCopy&) = delete;

  // Seconds per copy.
  double run(int copies) {
    const CurrentContext current(&device_.context());
    require(current.status());
    Context& context = device_.context();
    const double start = now();
    for (int i = 0; i < copies; ++i) {
      require(context.call<&Driver::memcpy_dtod_async>(reinterpret_cast<DevicePtr>(target_),
                                                       reinterpret_cast<DevicePtr>(source_), bytes_,
                                                       stream_->handle()));
    }
    require(context.call<&Driver::stream_synchronize>(stream_->handle()));
    return (now() - start) / copies;
  }

 private:
  const size_t bytes_;
  CudaDevice& device_;
  std::unique_ptr<runtime::cuda::CudaStream> stream_;
  void* source_ = nullptr;
  void* target_ = nullptr;
};

std::string text_of(const absl::Status& status) {
  std::string text(status.message());
  std::replace(text.begin(), text.end(), '"', '\'');
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

std::string nvrtc_text(int driver_version) {
  const auto found = kernels::cuda::Nvrtc::get(driver_version);
  return found.ok() ? (*found)->version_text() : text_of(found.status());
}

std::string cublaslt_text(int driver_version) {
  const auto found = kernels::cuda::find_cublaslt(driver_version);
  if (!found.ok()) return text_of(found.status());
  const size_t version = (*found)->get_version();
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100);
}

}  // namespace

void bench_copies(const Bench& bench) {
  const int64_t bytes = bench.settings.size(int64_t{256} << 20, int64_t{256} << 10);
  const std::string size = size_text({bytes});
  if (bench.settings.on_gpu) {
    bench.attempt("copy by the driver", [&] {
      DriverCopy copy(static_cast<size_t>(bytes));
      copy.run(10);
      const Result result{
          .workload = "copy by the driver", .dtype = "bytes", .size = size, .bytes = 2 * bytes};
      bench.time_samples(result, 9, [&] { return copy.run(bench.settings.quick ? 2 : 200); });
    });
  }
  bench.attempt("copy by a kernel", [&] {
    // Reads and writes each element once. (There is no copy op.)
    const Tensor x = uniform({bytes / 4});
    const Result result{
        .workload = "copy by a kernel", .dtype = "bytes", .size = size, .bytes = 2 * bytes};
    bench.time(result, [&] { abs(x).eval(); });
  });
}

void probe(const Settings& settings) {
  if (settings.on_gpu) {
    const runtime::cuda::DeviceInfo& info = gpu().context().info();
    int driver = 0;
    gpu().context().driver().driver_get_version(&driver);
    std::printf(
        "{\"device\": \"%s\", \"compute_capability\": \"%d.%d\", \"memory_bytes\": %lld, "
        "\"multiprocessors\": %d, \"cuda\": \"%d.%d\", \"nvrtc\": \"%s\", \"cublaslt\": \"%s\"}\n",
        info.name.c_str(), info.compute_capability / 10, info.compute_capability % 10,
        static_cast<long long>(info.memory_bytes), info.multiprocessors, driver / 1000,
        driver % 1000 / 10, nvrtc_text(driver).c_str(), cublaslt_text(driver).c_str());
  } else {
    std::printf("{\"device\": \"cpu\"}\n");
  }
  std::fflush(stdout);
  const int64_t n = 1 << 16;
  const Tensor x = Tensor::from(std::vector<float>(n, 1.5f), {n});
  const float total = sum(x * 2.f).item<float>();
  if (total != 3.f * n) {
    throw Error(ErrorCode::kInternal,
                "the sum of " + std::to_string(n) + " threes is " + std::to_string(total));
  }
}

}  // namespace sluice::bench
