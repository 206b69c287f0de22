// Where the APIs of LLVM 15 to 20 differ. Includes LLVM.
#ifndef SLUICE_KERNELS_LLVM_IR_COMPAT_H_
#define SLUICE_KERNELS_LLVM_IR_COMPAT_H_

#include "llvm/ADT/StringMap.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/OptBisect.h"
#include "llvm/Support/CodeGen.h"
#include "llvm/Target/TargetMachine.h"

#if LLVM_VERSION_MAJOR >= 17
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"
#else
#include "llvm/ADT/Triple.h"
#include "llvm/Support/Host.h"
#endif

namespace sluice::kernels::llvm_compat {

#if LLVM_VERSION_MAJOR >= 18
inline constexpr auto kObjectFile = llvm::CodeGenFileType::ObjectFile;
inline constexpr auto kAssemblyFile = llvm::CodeGenFileType::AssemblyFile;
inline constexpr auto kOptLess = llvm::CodeGenOptLevel::Less;
#else
inline constexpr auto kObjectFile = llvm::CGFT_ObjectFile;
inline constexpr auto kAssemblyFile = llvm::CGFT_AssemblyFile;
inline constexpr auto kOptLess = llvm::CodeGenOpt::Less;
#endif

// Skips code generation passes that cost more compile time than kernels gain by them, since IR is
// emitted in good order: loop strength reduction, scheduling, sinking, ... (a quarter of the time).
// `before_pass` is called as each pass begins.
inline void restrict_passes(llvm::LLVMContext& context, void (*before_pass)()) {
#if LLVM_VERSION_MAJOR >= 17
  struct Gate : llvm::OptPassGate {
    explicit Gate(void (*called)()) : before_pass(called) {}
    bool shouldRunPass(const llvm::StringRef name, llvm::StringRef) override {
      before_pass();
      constexpr const char* kKept[] = {"Instruction Selection",
                                       "CodeGen Prepare",
                                       "Control Flow Optimizer",
                                       "Loop Invariant Code Motion",
                                       "Machine Common Subexpression Elimination",
                                       "Remove dead machine instructions",
                                       "Two-Address instruction pass"};
      for (const char* kept : kKept) {
        if (name.contains(kept)) return true;
      }
      return false;
    }
    bool isEnabled() const override { return true; }
    void (*const before_pass)();
  };
  static Gate& gate = *new Gate(before_pass);  // outlives compilations that exit() interrupts
  context.setOptPassGate(gate);
#else
  (void)context;
  (void)before_pass;
#endif
}

inline llvm::StringMap<bool> host_features() {
#if LLVM_VERSION_MAJOR >= 19
  const auto found = llvm::sys::getHostCPUFeatures();
#else
  llvm::StringMap<bool> found;
  llvm::sys::getHostCPUFeatures(found);
#endif
  llvm::StringMap<bool> features;
  for (const auto& feature : found) features[feature.first()] = feature.second;
  return features;
}

}  // namespace sluice::kernels::llvm_compat

#endif  // SLUICE_KERNELS_LLVM_IR_COMPAT_H_
