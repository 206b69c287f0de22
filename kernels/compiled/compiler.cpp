#include "kernels/compiled/compiler.h"

#include <dlfcn.h>
#include <sys/stat.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "kernels/compiled/cpu_identity.h"
#include "kernels/compiled/generator.h"
#include "kernels/compiled/object_code.h"
#include "kernels/compiled/symbols.h"
#include "kernels/math/external.h"

namespace sluice::kernels {
namespace {

using fusion::Program;

struct HostFunction {
  const char* name;
  void* address;
};

const HostFunction kHostFunctions[] = {
    {kRaiseErrorName, reinterpret_cast<void*>(&raise_error)},
    {kThreadBufferName, reinterpret_cast<void*>(&thread_buffer)},
    {kExternalArrayName, reinterpret_cast<void*>(&math::external_array)},
};

void* address_of(const char* name) {
  for (const HostFunction& function : kHostFunctions) {
    if (absl::string_view(function.name) == name) return function.address;
  }
  // Routines that code generation may fall back on: memcpy, fmaf, ...
  return dlsym(RTLD_DEFAULT, name);
}

class CompiledKernel : public Executable {
 public:
  static absl::StatusOr<std::shared_ptr<const Executable>> load(absl::string_view object) {
    absl::StatusOr<ObjectCode> code = ObjectCode::load(object, address_of);
    if (!code.ok()) return code.status();
    auto kernel = std::make_shared<CompiledKernel>(*std::move(code));
    const EntryPoints& entry = kernel->entry();
    if (entry.rows == nullptr || (entry.block == nullptr) != (entry.finish == nullptr)) {
      return absl::InvalidArgumentError("compiled code: entry points are missing");
    }
    return kernel;
  }

  explicit CompiledKernel(ObjectCode code) : code_(std::move(code)) {
    code_.find(kRowsName, &entry_.rows);
    code_.find(kBlockName, &entry_.block);
    code_.find(kFinishName, &entry_.finish);
  }

 private:
  const ObjectCode code_;
};

// Of LLVM's shared library, which may be replaced by a later patch. Archives are in the
// fingerprint.
std::string library_identity() {
#ifndef SLUICE_LLVM_LIBRARY
  return "";
#else
  struct stat status;
  if (stat(SLUICE_LLVM_LIBRARY, &status) != 0) return "?";
  return absl::StrCat(status.st_size, "@", status.st_mtim.tv_sec, ".", status.st_mtim.tv_nsec);
#endif
}

// Equal keys mean equal code, whatever build of this library asks.
std::string cache_key(const Program& program) {
  static const std::string& machine = *new std::string(
      absl::StrCat(fingerprint(), " ", library_identity(), " ", cpu_identity(), "\n"));
  return absl::StrCat(absl::string_view("llvm\0", 5), machine, fusion::canonical_key(program));
}

absl::StatusOr<std::string> generate(const Program& program, CodeKind kind) {
  const absl::StatusOr<const Generator*> generator = find_generator();
  if (!generator.ok()) return generator.status();
  std::string code;
  absl::Status status = (*generator)->generate(program, kind, &code);
  if (!status.ok()) return status;
  return code;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const Executable>> compile_llvm(const Program& program,
                                                               DiskCache* cache, bool* from_cache) {
  if (from_cache != nullptr) *from_cache = false;
  const std::string key = cache == nullptr ? "" : cache_key(program);
  if (cache != nullptr) {
    if (const std::optional<std::string> object = cache->find(key)) {
      auto kernel = CompiledKernel::load(*object);
      if (kernel.ok()) {
        if (from_cache != nullptr) *from_cache = true;
        return kernel;
      }
    }
  }
  const absl::StatusOr<std::string> object = generate(program, CodeKind::kObject);
  if (!object.ok()) return object.status();
  auto kernel = CompiledKernel::load(*object);
  if (kernel.ok() && cache != nullptr) cache->insert(key, *object);
  return kernel;
}

bool llvm_available() { return !llvm_target().empty(); }

std::string llvm_problem() {
  const absl::StatusOr<const Generator*> generator = find_generator();
  if (!generator.ok()) return std::string(generator.status().message());
  return llvm_available() ? "" : "LLVM does not know this machine";
}

std::string llvm_version() {
  const std::string text = fingerprint();
  return text.substr(text.find("LLVM "));
}

std::string llvm_target() {
  const absl::StatusOr<const Generator*> generator = find_generator();
  return generator.ok() ? (*generator)->target() : "";
}

absl::StatusOr<std::string> llvm_ir_text(const Program& program) {
  return generate(program, CodeKind::kIr);
}

absl::StatusOr<std::string> llvm_assembly_text(const Program& program) {
  return generate(program, CodeKind::kAssembly);
}

}  // namespace sluice::kernels
