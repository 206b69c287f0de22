// LLVM's part of kernels/compiled/generator.h.
#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "kernels/compiled/generator.h"
#include "kernels/llvm/emit_kernel.h"
#include "kernels/llvm/host.h"
#include "kernels/llvm/ir/compat.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/CodeGen/SelectionDAGNodes.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"

namespace sluice::kernels {
namespace {

using fusion::Program;

// As sluice_llvm_generator() is given it.
void (*before_pass)() = nullptr;

// Constructs the tables of types that instruction selection would construct as its first static
// objects: if another thread calls exit() meanwhile, handlers registered after this call run before
// those tables go.
void construct_type_tables() {
  struct Node : llvm::SDNode {
    static void construct() { (void)getSDVTList(llvm::MVT::i32); }
  };
  Node::construct();
}

// This thread's code generator. Null if the target is unknown. Never destroyed: kernels may be
// described when the process ends, after the thread's own objects are gone.
llvm::TargetMachine* target_machine() {
  [[maybe_unused]] static const bool prepared = [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    construct_type_tables();
    before_pass();
    return true;
  }();
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
  llvm_compat::restrict_passes(context, before_pass);
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

absl::Status emit_file(llvm::Module& module, llvm::TargetMachine& machine,
                       decltype(llvm_compat::kObjectFile) kind, std::string* code) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, kind, /*DisableVerify=*/true)) {
    return absl::InternalError("LLVM cannot emit code for this machine");
  }
  passes.run(module);
  code->assign(bytes.begin(), bytes.end());
  return absl::OkStatus();
}

absl::Status generate(const Program& program, CodeKind kind, std::string* code) {
  llvm::TargetMachine* const machine = target_machine();
  if (machine == nullptr) return absl::UnavailableError("LLVM does not know this machine");
  llvm::LLVMContext context;
  const auto module = emit_module(program, *machine, context);
  if (!module.ok()) return module.status();
  if (kind != CodeKind::kIr) {
    return emit_file(
        **module, *machine,
        kind == CodeKind::kObject ? llvm_compat::kObjectFile : llvm_compat::kAssemblyFile, code);
  }
  llvm::raw_string_ostream stream(*code);
  (*module)->print(stream, nullptr);
  return absl::OkStatus();
}

std::string target() {
  if (target_machine() == nullptr) return "";
  return absl::StrCat(host().cpu, "/", 8 * host().vector_bytes, ":", host().features);
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
      // Shuffles of AMD's own (insertq, extrq), of which there is no form for AVX: each takes
      // hundreds of cycles where the upper halves of vectors are in use.
      const bool has = feature.second && feature.first() != "sse4a";
      listed.push_back(absl::StrCat(has ? "+" : "-", feature.first().str()));
    }
    std::sort(listed.begin(), listed.end());
    result.features = absl::StrJoin(listed, ",");
    auto has = [&](const char* name) { return features.lookup(name); };
    const bool avx512 = has("avx512f") && has("avx512bw") && has("avx512dq") && has("avx512vl");
    result.vector_bytes = avx512 ? 64 : has("avx2") ? 32 : 16;
    result.masked_vectors = avx512;
    result.masks_slow_streams = avx512 && result.cpu != "znver4";
    const llvm::Triple triple(llvm::sys::getProcessTriple());
    result.converts_int64 = avx512 || !triple.isX86();
    result.float16 = !triple.isX86() || has("f16c");
    result.computes_float16 = triple.isX86() && avx512 && has("avx512fp16");
    return made;
  }();
  return found;
}

}  // namespace sluice::kernels

const sluice::kernels::Generator* sluice_llvm_generator(void (*before_pass)()) {
  using sluice::kernels::Generator;
  sluice::kernels::before_pass = before_pass;
  static const Generator generator{sluice::kernels::fingerprint(), &sluice::kernels::target,
                                   &sluice::kernels::generate};
  return &generator;
}
