#include "tests/emulated_cuda/test_compiler.h"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "kernels/cuda/compile/nvrtc.h"
#include "kernels/cuda/library_paths.h"
#include "kernels/gpu/prelude/prelude.h"
#include "tests/emulated_cuda/host_compiler.h"
#include "tests/emulated_cuda/kernels.h"

namespace sluice::emulated {
namespace {

namespace fs = std::filesystem;
using kernels::cuda::CompiledCode;
using kernels::cuda::environment_variable;
using kernels::cuda::Nvrtc;

constexpr int kDefaultArchitecture = 90;

std::string contents_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

int architecture() {
  const std::string text = environment_variable("SLUICE_PTX_ARCH");
  return text.empty() ? kDefaultArchitecture : std::atoi(text.c_str());
}

// Whether a text calls functions that are not the same on the host and in CUDA's library. The
// generic kernel and the epilogues of products have all of them.
bool calls_functions(const std::string& text) {
  static const auto* const functions = new std::regex(
      "sl_(exp|exp2|expm1|log|log2|log10|log1p|sin|cos|tan|asin|acos|atan|atan2|sinh|cosh|tanh|"
      "asinh|acosh|atanh|erf|erfc|lgamma|tgamma|pow|cbrt|hypot|rsqrt|activation)\\(");
  return std::regex_search(text, *functions);
}

absl::StatusOr<const Nvrtc*> nvrtc() {
  static const auto* const nvrtc = new absl::StatusOr<std::unique_ptr<Nvrtc>>(
      Nvrtc::load(environment_variable("SLUICE_PTX_NVRTC")));
  if (!nvrtc->ok()) return nvrtc->status();
  return nvrtc->value().get();
}

class PtxCompiler : public kernels::cuda::Compiler {
 public:
  explicit PtxCompiler(bool with_host) : with_host_(with_host) {}

  absl::StatusOr<CompiledCode> compile(const std::string& text, bool contracts) override {
    absl::StatusOr<std::string> ptx = compile_to_ptx(text, contracts);
    if (!ptx.ok()) return ptx.status();
    if (const std::string found = may_contract(*ptx); !contracts && !found.empty()) {
      return absl::InternalError(absl::StrCat("NVRTC leaves open whether it contracts: ", found));
    }
    CompiledCode code;
    code.is_ptx = true;
    // What contracts differs by that too.
    if (with_host_ && !contracts && !calls_functions(text)) {
      absl::StatusOr<CompiledCode> host = host_.compile(text, contracts);
      if (!host.ok()) return host.status();
      code.image = absl::StrCat(kHostObject, host->image, "\n");
    }
    code.image += *ptx;
    return code;
  }

  std::string identity() const override {
    return absl::StrCat("PTX ", architecture(), with_host_ ? " and the host's" : "");
  }

 private:
  const bool with_host_;
  HostCompiler host_;
};

}  // namespace

KernelCode kernel_code() {
  static const KernelCode code = [] {
    const std::string text = environment_variable("SLUICE_PTX");
    if (text != "" && text != "run" && text != "compare") {
      std::fprintf(stderr, "SLUICE_PTX is '%s', not 'run' or 'compare'\n", text.c_str());
      std::abort();
    }
    return text == "" ? KernelCode::kHost : text == "run" ? KernelCode::kPtx : KernelCode::kBoth;
  }();
  return code;
}

uint64_t ptx_schedule() {
  static const uint64_t schedule =
      std::strtoull(environment_variable("SLUICE_PTX_SCHEDULE").c_str(), nullptr, 10);
  return schedule;
}

std::unique_ptr<kernels::cuda::Compiler> make_test_compiler() {
  if (kernel_code() == KernelCode::kHost) return std::make_unique<HostCompiler>();
  return std::make_unique<PtxCompiler>(kernel_code() == KernelCode::kBoth);
}

absl::StatusOr<std::string> compile_to_ptx(const std::string& text, bool contracts) {
  static std::atomic<int> count{0};
  const absl::StatusOr<const Nvrtc*> compiler = nvrtc();
  if (!compiler.ok()) return compiler.status();
  const absl::StatusOr<fs::path> home = HostCompiler::folder();
  if (!home.ok()) return home.status();
  const Nvrtc::Target target{architecture(), /*is_exact=*/false};
  const std::string source = kernels::cuda::device_source(text);
  const std::vector<std::string> options = kernels::cuda::device_options(contracts);
  const std::string head = absl::StrCat("// ", absl::Hex(std::hash<std::string>()(source)), " ",
                                        source.size(), " NVRTC ", (*compiler)->version_text(), " ",
                                        target.name(), " ", absl::StrJoin(options, " "), "\n");
  const std::string path = *home / absl::StrCat(absl::Hex(std::hash<std::string>()(head)), ".ptx");
  if (std::string kept = contents_of(path); kept.starts_with(head)) return kept;
  absl::StatusOr<CompiledCode> code = (*compiler)->compile(source, target, options);
  if (!code.ok()) return code.status();
  std::string ptx = absl::StrCat(head, code->image.c_str());
  const std::string mine = absl::StrCat(path, ".", getpid(), ".", count++);
  std::ofstream(mine, std::ios::binary) << ptx;
  fs::rename(mine, path);
  return ptx;
}

std::string may_contract(const std::string& ptx) {
  for (const char* const op : {"add", "sub", "mul"}) {
    for (const char* const type : {".f32", ".f64", ".ftz.f32"}) {
      const std::string instruction = absl::StrCat(op, type, " ");
      if (const size_t at = ptx.find(instruction); at != std::string::npos) {
        return ptx.substr(at, ptx.find('\n', at) - at);
      }
    }
  }
  return {};
}

}  // namespace sluice::emulated
