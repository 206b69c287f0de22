#include "runtime/cuda/driver/module.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace sluice::runtime::cuda {
namespace {

// Launches with more dynamic shared memory must opt in by a function attribute.
constexpr int kUsualSharedBytes = 48 << 10;

}  // namespace

absl::StatusOr<std::unique_ptr<Module>> Module::load(Context* context, const void* image) {
  const CurrentContext current(context);
  if (!current.status().ok()) return current.status();
  char log[4096] = "";
  JitOption options[] = {JitOption::kErrorLog, JitOption::kErrorLogBytes};
  void* values[] = {log, reinterpret_cast<void*>(sizeof(log) - 1)};
  ModuleHandle handle = nullptr;
  const absl::Status status =
      context->call<&Driver::module_load_data_ex>(&handle, image, 2u, options, values);
  if (status.ok()) return std::unique_ptr<Module>(new Module(context, handle));
  if (log[0] == '\0') return status;
  return absl::Status(status.code(), absl::StrCat(status.message(), ": ", log));
}

Module::~Module() {
  const CurrentContext current(context_);
  context_->driver().module_unload(handle_);
}

absl::StatusOr<Function> Module::function(const char* name, int max_shared_bytes) const {
  const CurrentContext current(context_);
  absl::Status status = current.status();
  if (!status.ok()) return status;
  Function found;
  status = context_->call<&Driver::module_get_function>(&found.handle, handle_, name);
  if (!status.ok()) return prefixed(name, status);
  const auto ask = [&](FunctionAttribute attribute, int* value) {
    status.Update(context_->call<&Driver::func_get_attribute>(value, attribute, found.handle));
  };
  ask(FunctionAttribute::kRegisters, &found.registers);
  ask(FunctionAttribute::kLocalBytes, &found.spilled_bytes);
  ask(FunctionAttribute::kStaticSharedBytes, &found.static_shared_bytes);
  ask(FunctionAttribute::kMaxThreadsPerBlock, &found.max_threads);
  if (max_shared_bytes > kUsualSharedBytes) {
    status.Update(context_->call<&Driver::func_set_attribute>(
        found.handle, FunctionAttribute::kMaxDynamicSharedBytes, max_shared_bytes));
  }
  if (!status.ok()) return prefixed(name, status);
  return found;
}

}  // namespace sluice::runtime::cuda
