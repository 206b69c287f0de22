#include "kernels/cuda/gpu.h"

#include <utility>

#include "kernels/cuda/compile/caching_compiler.h"
#include "kernels/cuda/compile/generic_image.h"
#include "kernels/cuda/compile/nvrtc.h"

namespace sluice::kernels::cuda {
namespace {

std::function<std::unique_ptr<Compiler>()>& compiler_for_testing() {
  static auto* make = new std::function<std::unique_ptr<Compiler>()>;
  return *make;
}

const Cudnn*& cudnn_for_testing() {
  static const Cudnn* table = nullptr;
  return table;
}

const Cusolver*& cusolver_for_testing() {
  static const Cusolver* table = nullptr;
  return table;
}

int driver_version(const runtime::cuda::Context& context) {
  int version = 0;
  context.driver().driver_get_version(&version);
  return version;
}

std::unique_ptr<Compiler> make_compiler(const runtime::cuda::Context& context) {
  if (compiler_for_testing()) return compiler_for_testing()();
  return with_disk_cache(
      make_nvrtc_compiler(context.info().compute_capability, driver_version(context)));
}

// Loads NVRTC, or waits for the thread that does.
bool uses_generic_image(const runtime::cuda::Context& context) {
  if (generic_image() == nullptr || compiler_for_testing()) return false;
  const int driver = driver_version(context);
  const absl::StatusOr<const Nvrtc*> nvrtc = Nvrtc::get(driver);
  return fits_generic_image(generic_image_version(), driver, nvrtc.ok() ? (*nvrtc)->version() : 0);
}

}  // namespace

void set_compiler_for_testing(std::function<std::unique_ptr<Compiler>()> make) {
  compiler_for_testing() = std::move(make);
}

void set_cudnn_for_testing(const Cudnn* table) { cudnn_for_testing() = table; }

void set_cusolver_for_testing(const Cusolver* table) { cusolver_for_testing() = table; }

Gpu::Gpu(runtime::cuda::CudaDevice* device)
    : device_(*device),
      kernels_(&device->context(), make_compiler(device->context())),
      library_compiler_(make_compiler(device->context())),
      library_({&device->context(), library_compiler_.get(),
                compiler_for_testing() ? 0 : driver_version(device->context()), cudnn_for_testing(),
                cusolver_for_testing()}),
      generic_(&device->context()) {
  kernels_.warm_up();
}

const runtime::cuda::Function* Gpu::generic() {
  std::call_once(generic_once_, [this] {
    if (uses_generic_image(device_.context()) && generic_.load(generic_image()).ok()) return;
    generic_.compile(make_compiler(device_.context()));
  });
  return generic_.function();
}

const runtime::cuda::Function* Gpu::wait_for_generic() {
  if (generic() == nullptr) generic_.wait();
  return generic_.function();
}

void Gpu::wait_for_compilers() {
  kernels_.wait();
  generic_.wait();
}

bool Gpu::take_graph() {
  if (++num_graphs_ <= kMaxGraphs) return true;
  --num_graphs_;
  return false;
}

}  // namespace sluice::kernels::cuda
