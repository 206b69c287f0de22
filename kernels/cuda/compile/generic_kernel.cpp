#include "kernels/cuda/compile/generic_kernel.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "kernels/cache/compile_threads.h"
#include "kernels/gpu/generic/generic.h"

namespace sluice::kernels::cuda {

using runtime::cuda::Function;
using runtime::cuda::Module;

// A task that is still queued when the kernel is destroyed holds it longer, and then does nothing.
struct GenericKernel::Shared {
  absl::Status load(const void* image) {
    std::lock_guard lock(load_mutex);
    if (ready.load() != nullptr) return absl::OkStatus();
    absl::StatusOr<std::unique_ptr<Module>> loaded = Module::load(context, image);
    if (!loaded.ok()) return loaded.status();
    const absl::StatusOr<Function> found = (*loaded)->function(kGenericKernel);
    if (!found.ok()) return found.status();
    module = *std::move(loaded);
    function = *found;
    ready.store(&function, std::memory_order_release);
    return absl::OkStatus();
  }

  absl::Status compile(Compiler* compiler) {
    const absl::StatusOr<CompiledCode> code =
        compiler->compile(generic_source(), /*contracts=*/false);
    return code.ok() ? load(code->image.c_str()) : code.status();
  }

  void run(Compiler* compiler) {
    {
      std::lock_guard lock(mutex);
      if (closed) return;
      ++running;
    }
    const absl::Status status = compile(compiler);
    std::lock_guard lock(mutex);
    --running;
    --requested;
    failure = status;
    changed.notify_all();
  }

  runtime::cuda::Context* context;

  std::mutex load_mutex;
  std::unique_ptr<Module> module;  // these are written once, before `ready`
  Function function;
  std::atomic<const Function*> ready{nullptr};

  std::mutex mutex;  // guards all below
  std::condition_variable changed;
  int requested = 0;  // compilations that have not ended
  int running = 0;    // those that have begun
  bool closed = false;
  absl::Status failure;
};

GenericKernel::GenericKernel(runtime::cuda::Context* context)
    : shared_(std::make_shared<Shared>()) {
  shared_->context = context;
}

GenericKernel::~GenericKernel() {
  std::unique_lock lock(shared_->mutex);
  shared_->closed = true;
  shared_->changed.wait(lock, [this] { return shared_->running == 0; });
  shared_->ready.store(nullptr);
  shared_->module.reset();
}

const Function* GenericKernel::function() const {
  return shared_->ready.load(std::memory_order_acquire);
}

absl::Status GenericKernel::load(const void* image) { return shared_->load(image); }

void GenericKernel::compile(std::unique_ptr<Compiler> compiler) {
  {
    std::lock_guard lock(shared_->mutex);
    ++shared_->requested;
  }
  CompileThreads::get().add([shared = shared_, compiler = std::shared_ptr<Compiler>(std::move(
                                                   compiler))] { shared->run(compiler.get()); });
}

void GenericKernel::wait() {
  std::unique_lock lock(shared_->mutex);
  shared_->changed.wait(lock, [this] { return shared_->requested == 0; });
}

absl::Status GenericKernel::failure() const {
  std::lock_guard lock(shared_->mutex);
  return shared_->failure;
}

}  // namespace sluice::kernels::cuda
