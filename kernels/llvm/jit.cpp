#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "kernels/cache/compile_threads.h"
#include "kernels/cache/disk_cache.h"
#include "kernels/llvm/compiler.h"
#include "kernels/llvm/emit_kernel.h"
#include "kernels/llvm/host.h"
#include "kernels/llvm/host_functions.h"
#include "kernels/llvm/ir/compat.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/CodeGen/SelectionDAGNodes.h"
#include "llvm/ExecutionEngine/Orc/CompileUtils.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"

namespace sluice::kernels {
namespace {

using fusion::Program;

absl::Status to_status(llvm::Error error) {
  return absl::InternalError(absl::StrCat("LLVM: ", llvm::toString(std::move(error))));
}

using ObjectCode = llvm::SmallVector<char, 0>;

// The version of code generator settings that neither the IR nor the target names: those below and
// restrict_passes(). Raise it when these change.
constexpr int kCodeGeneration = 1;

// This thread's code generator. Null if the target is unknown. Never destroyed: kernels may be
// described when the process ends, after the thread's own objects are gone.
llvm::TargetMachine* target_machine() {
  static const auto create = []() -> std::unique_ptr<llvm::TargetMachine> {
    const std::string triple = llvm::sys::getProcessTriple();
    std::string error;
    const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
    if (target == nullptr) return nullptr;
    llvm::TargetOptions options;
    options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
    return std::unique_ptr<llvm::TargetMachine>(
        target->createTargetMachine(triple, host().cpu, host().features, options, llvm::Reloc::PIC_,
                                    llvm::CodeModel::Small, llvm_compat::kOptLess, /*JIT=*/true));
  };
  static std::mutex mutex;
  static auto* const machines = new std::vector<std::unique_ptr<llvm::TargetMachine>>;
  thread_local llvm::TargetMachine* machine = nullptr;
  if (machine == nullptr) {
    std::lock_guard lock(mutex);
    machines->push_back(create());
    machine = machines->back().get();
  }
  return machine;
}

// Its main dylib has the host's functions.
llvm::Expected<std::unique_ptr<llvm::orc::LLJIT>> make_jit() {
  llvm::TargetMachine* const machine = target_machine();
  if (machine == nullptr) {
    return llvm::createStringError(llvm::inconvertibleErrorCode(), "this machine is not known");
  }
  // Kernels have no constructors to run, and so need no platform. They come as objects: that it
  // could compile IR, too, must not cost it target machines of its own.
  auto jit = llvm::orc::LLJITBuilder()
                 .setPlatformSetUp(llvm::orc::setUpInactivePlatform)
                 .setJITTargetMachineBuilder({machine->getTargetTriple()})
                 .setDataLayout(machine->createDataLayout())
                 .setCompileFunctionCreator([&](llvm::orc::JITTargetMachineBuilder) {
                   return std::make_unique<llvm::orc::SimpleCompiler>(*machine);
                 })
                 .create();
  if (!jit) return jit;
  for (const HostFunction& function : kHostFunctions) {
    if (auto error = llvm_compat::define_function(**jit, (*jit)->getMainJITDylib(), function.name,
                                                  function.address)) {
      return error;
    }
  }
  return jit;
}

// Constructs the tables of types that instruction selection would construct as its first static
// objects: if another thread calls exit() meanwhile, handlers registered after this call run before
// those tables go.
void construct_type_tables() {
  struct Node : llvm::SDNode {
    static void construct() { (void)getSDVTList(llvm::MVT::i32); }
  };
  Node::construct();
}

// The process's JIT. Never destroyed: executables may outlive static objects.
llvm::Expected<llvm::orc::LLJIT*> shared_jit() {
  struct Made {
    std::unique_ptr<llvm::orc::LLJIT> jit;
    std::string error;
  };
  static const Made& made = *[] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    construct_type_tables();
    CompileThreads::stop_at_exit();
    auto* result = new Made;
    auto jit = make_jit();
    if (jit)
      result->jit = std::move(*jit);
    else
      result->error = llvm::toString(jit.takeError());
    return result;
  }();
  if (made.jit != nullptr) return made.jit.get();
  return llvm::createStringError(llvm::inconvertibleErrorCode(), made.error.c_str());
}

absl::Status check_supported(const Program& program) {
  if (host().float16) return absl::OkStatus();
  auto needs_float16 = [](const auto& part) { return part.dtype == DType::kFloat16; };
  for (const fusion::Access& access : program.accesses) {
    if (needs_float16(access)) return absl::UnimplementedError("CPU without float16 conversion");
  }
  for (const fusion::Instr& instr : program.body) {
    if (needs_float16(instr)) return absl::UnimplementedError("CPU without float16 conversion");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<llvm::Module>> emit_module(const Program& program,
                                                          const llvm::TargetMachine& machine,
                                                          llvm::LLVMContext& context) {
  if (absl::Status status = check_supported(program); !status.ok()) return status;
  llvm_compat::restrict_passes(context, &CompileThreads::stop_at_exit);
  auto module = std::make_unique<llvm::Module>("kernel", context);
  module->setTargetTriple(machine.getTargetTriple().str());
  module->setDataLayout(machine.createDataLayout());
  emit_kernel(program, *module);
#ifndef NDEBUG
  std::string problem;
  llvm::raw_string_ostream stream(problem);
  if (llvm::verifyModule(*module, &stream)) {
    return absl::InternalError(absl::StrCat("bad IR: ", stream.str()));
  }
#endif
  return module;
}

// Equal keys mean equal code, whatever build of this library asks: the key has the IR itself, and
// so says all that emit_kernel() decides. Bitcode names the triple, the CPU and its features, and
// the LLVM that runs, which may be a later patch than that of the headers.
std::string cache_key(const llvm::Module& module) {
  std::string bitcode;
  llvm::raw_string_ostream stream(bitcode);
  llvm::WriteBitcodeToFile(module, stream);
  return absl::StrCat(absl::string_view("llvm\0", 5), kCodeGeneration, " ", llvm_version(), " ",
                      llvm_target(), "\n", stream.str());
}

absl::StatusOr<ObjectCode> generate(llvm::Module& module, llvm::TargetMachine& machine,
                                    decltype(llvm_compat::kObjectFile) kind) {
  ObjectCode bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, kind, /*DisableVerify=*/true)) {
    return absl::InternalError("LLVM cannot emit code for this machine");
  }
  passes.run(module);
  return bytes;
}

class CompiledKernel : public Executable {
 public:
  CompiledKernel(llvm::orc::LLJIT& jit, llvm::orc::JITDylib& code) : jit_(jit), code_(code) {}
  ~CompiledKernel() override {
    llvm::consumeError(jit_.getExecutionSession().removeJITDylib(code_));
  }

  absl::Status link(llvm::StringRef object, bool splits_rows) {
    code_.addToLinkOrder(jit_.getMainJITDylib());
    if (auto error = llvm_compat::link_process_symbols(jit_, code_)) {
      return to_status(std::move(error));
    }
    auto copy = llvm::MemoryBuffer::getMemBufferCopy(object, "kernel");
    if (auto error = jit_.addObjectFile(code_, std::move(copy))) {
      return to_status(std::move(error));
    }
    absl::Status status = find(kRowsName, &entry_.rows);
    if (status.ok() && splits_rows) status = find(kBlockName, &entry_.block);
    if (status.ok() && splits_rows) status = find(kFinishName, &entry_.finish);
    return status;
  }

 private:
  template <typename F>
  absl::Status find(const char* name, F* function) {
    auto address = jit_.lookup(code_, name);
    if (!address) return to_status(address.takeError());
    *function = reinterpret_cast<F>(static_cast<uintptr_t>(address->getValue()));
    return absl::OkStatus();
  }

  llvm::orc::LLJIT& jit_;
  llvm::orc::JITDylib& code_;
};

absl::StatusOr<std::shared_ptr<const Executable>> link(llvm::orc::LLJIT& jit,
                                                       llvm::StringRef object, bool splits_rows) {
  static std::atomic<uint64_t> serial{0};
  auto code = jit.createJITDylib(absl::StrCat("kernel", serial++));
  if (!code) return to_status(code.takeError());
  auto kernel = std::make_shared<CompiledKernel>(jit, *code);
  if (absl::Status status = kernel->link(object, splits_rows); !status.ok()) return status;
  return kernel;
}

}  // namespace

const Host& host() {
  // Never destroyed: a compilation may still be under way at exit.
  static const Host& found = *[] {
    auto* made = new Host;
    Host& result = *made;
    result.cpu = llvm::sys::getHostCPUName().str();
    const llvm::StringMap<bool> features = llvm_compat::host_features();
    std::vector<std::string> listed;
    for (const auto& feature : features) {
      listed.push_back(absl::StrCat(feature.second ? "+" : "-", feature.first().str()));
    }
    std::sort(listed.begin(), listed.end());
    result.features = absl::StrJoin(listed, ",");
    auto has = [&](const char* name) { return features.lookup(name); };
    const bool avx512 = has("avx512f") && has("avx512bw") && has("avx512dq") && has("avx512vl");
    result.vector_bytes = avx512 ? 64 : has("avx2") ? 32 : 16;
    result.masked_vectors = avx512;
    result.gathers = avx512 || has("avx2");
    const llvm::Triple triple(llvm::sys::getProcessTriple());
    result.float16 = !triple.isX86() || has("f16c");
    return made;
  }();
  return found;
}

absl::StatusOr<std::shared_ptr<const Executable>> compile_llvm(const Program& program,
                                                               DiskCache* cache, bool* from_cache) {
  if (from_cache != nullptr) *from_cache = false;
  auto jit = shared_jit();
  if (!jit) return to_status(jit.takeError());
  llvm::TargetMachine* machine = target_machine();
  if (machine == nullptr) return absl::UnimplementedError("LLVM does not know this machine");

  llvm::LLVMContext context;
  auto module = emit_module(program, *machine, context);
  if (!module.ok()) return module.status();
  const bool splits_rows = (*module)->getFunction(kBlockName) != nullptr;
  const std::string key = cache == nullptr ? "" : cache_key(**module);
  if (cache != nullptr) {
    if (const std::optional<std::string> object = cache->find(key)) {
      auto kernel = link(**jit, *object, splits_rows);
      if (kernel.ok()) {
        if (from_cache != nullptr) *from_cache = true;
        return kernel;
      }
    }
  }

  const absl::StatusOr<ObjectCode> object = generate(**module, *machine, llvm_compat::kObjectFile);
  if (!object.ok()) return object.status();
  auto kernel = link(**jit, llvm::StringRef(object->data(), object->size()), splits_rows);
  if (kernel.ok() && cache != nullptr) {
    cache->insert(key, absl::string_view(object->data(), object->size()));
  }
  return kernel;
}

bool llvm_available() {
  auto jit = shared_jit();
  if (jit) return target_machine() != nullptr;
  llvm::consumeError(jit.takeError());
  return false;
}

std::string llvm_version() { return absl::StrCat("LLVM ", LLVM_VERSION_STRING); }

std::string llvm_target() {
  return absl::StrCat(host().cpu, "/", 8 * host().vector_bytes, ":", host().features);
}

absl::StatusOr<std::string> llvm_ir_text(const Program& program) {
  if (!llvm_available()) return absl::UnimplementedError("LLVM does not know this machine");
  llvm::LLVMContext context;
  auto module = emit_module(program, *target_machine(), context);
  if (!module.ok()) return module.status();
  std::string text;
  llvm::raw_string_ostream stream(text);
  (*module)->print(stream, nullptr);
  return stream.str();
}

absl::StatusOr<std::string> llvm_assembly_text(const Program& program) {
  if (!llvm_available()) return absl::UnimplementedError("LLVM does not know this machine");
  llvm::LLVMContext context;
  auto module = emit_module(program, *target_machine(), context);
  if (!module.ok()) return module.status();
  const auto text = generate(**module, *target_machine(), llvm_compat::kAssemblyFile);
  if (!text.ok()) return text.status();
  return std::string(text->begin(), text->end());
}

}  // namespace sluice::kernels
