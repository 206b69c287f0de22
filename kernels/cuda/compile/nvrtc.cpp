#include "kernels/cuda/compile/nvrtc.h"

#include <algorithm>
#include <cstdio>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "kernels/cache/compile_threads.h"
#include "kernels/cuda/library_paths.h"
#include "runtime/shared_library.h"

namespace sluice::kernels::cuda {
namespace {

constexpr int kOutOfMemory = 1;
// The most of a log that becomes part of a message.
constexpr size_t kMessageBytes = 2000;

absl::StatusOr<const Nvrtc*> keep(std::unique_ptr<Nvrtc> nvrtc) {
  // The library has static objects, which exit() destroys: its threads must be stopped before.
  CompileThreads::stop_at_exit();
  return nvrtc.release();
}

absl::StatusOr<const Nvrtc*> find(int newest_major) {
  if (const std::string named = environment_variable("SLUICE_NVRTC"); !named.empty()) {
    absl::StatusOr<std::unique_ptr<Nvrtc>> nvrtc = Nvrtc::load(named);
    if (nvrtc.ok()) return keep(*std::move(nvrtc));
    return absl::FailedPreconditionError(
        absl::StrCat("the CUDA compiler that SLUICE_NVRTC names cannot be used: ",
                     std::string(nvrtc.status().message())));
  }
  const std::vector<std::string> names = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2"};
  std::string unfit;
  for (const std::string& library : library_candidates(names, "{cu13,cuda_nvrtc}/lib")) {
    absl::StatusOr<std::unique_ptr<Nvrtc>> nvrtc = Nvrtc::load(library);
    if (!nvrtc.ok()) continue;
    if ((*nvrtc)->version() / 1000 <= newest_major) return keep(*std::move(nvrtc));
    unfit = absl::StrCat("; ", library, " has version ", (*nvrtc)->version_text(),
                         ", whose code a driver for CUDA ", newest_major, " does not load");
  }
  return absl::FailedPreconditionError(
      absl::StrCat("there is no CUDA compiler: libnvrtc.so was not found (install a CUDA toolkit "
                   "or the Python package nvidia-cuda-nvrtc-cu12, or set SLUICE_NVRTC to the "
                   "library's path)",
                   unfit));
}

}  // namespace

absl::StatusOr<const Nvrtc*> Nvrtc::get(int driver_version) {
  return found_once<find>(driver_version);
}

absl::StatusOr<std::unique_ptr<Nvrtc>> Nvrtc::load(const std::string& name) {
  absl::StatusOr<runtime::SharedLibrary> library = runtime::SharedLibrary::open(name);
  if (!library.ok()) return library.status();
  std::unique_ptr<Nvrtc> nvrtc(new Nvrtc);
  Api& api = nvrtc->api_;
  library->find("nvrtcVersion", &api.version);
  library->find("nvrtcGetErrorString", &api.error_text);
  library->find("nvrtcGetNumSupportedArchs", &api.num_architectures);
  library->find("nvrtcGetSupportedArchs", &api.architectures);
  library->find("nvrtcCreateProgram", &api.create);
  library->find("nvrtcDestroyProgram", &api.destroy);
  library->find("nvrtcCompileProgram", &api.compile);
  library->find("nvrtcGetProgramLogSize", &api.log_size);
  library->find("nvrtcGetProgramLog", &api.log);
  library->find("nvrtcGetCUBINSize", &api.cubin_size);
  library->find("nvrtcGetCUBIN", &api.cubin);
  library->find("nvrtcGetPTXSize", &api.ptx_size);
  library->find("nvrtcGetPTX", &api.ptx);
  if (!library->status().ok()) return library->status();
  int major = 0, minor = 0, count = 0;
  if (api.version(&major, &minor) != 0 || api.num_architectures(&count) != 0) {
    return absl::FailedPreconditionError(absl::StrCat(name, " does not say its version"));
  }
  nvrtc->version_ = 1000 * major + 10 * minor;
  nvrtc->architectures_.resize(static_cast<size_t>(count));
  if (api.architectures(nvrtc->architectures_.data()) != 0) nvrtc->architectures_.clear();
  std::sort(nvrtc->architectures_.begin(), nvrtc->architectures_.end());
  library->keep();
  return nvrtc;
}

std::string Nvrtc::version_text() const {
  return absl::StrCat(version_ / 1000, ".", version_ % 1000 / 10);
}

std::string Nvrtc::Target::name() const {
  return absl::StrCat(is_exact ? "sm_" : "compute_", architecture);
}

absl::StatusOr<Nvrtc::Target> Nvrtc::target_for(int compute_capability) const {
  const auto after =
      std::upper_bound(architectures_.begin(), architectures_.end(), compute_capability);
  if (after == architectures_.begin()) {
    return absl::FailedPreconditionError(
        absl::StrCat("NVRTC ", version_text(), " does not compile for compute capability ",
                     compute_capability / 10, ".", compute_capability % 10));
  }
  const int architecture = *std::prev(after);
  return Target{architecture, architecture == compute_capability};
}

absl::StatusOr<CompiledCode> Nvrtc::compile(const std::string& source, const Target& target,
                                            absl::Span<const std::string> options) const {
  const std::string architecture = absl::StrCat("--gpu-architecture=", target.name());
  std::vector<const char*> pointers = {architecture.c_str()};
  if (target.is_exact) pointers.push_back("--ptxas-options=-v");
  for (const std::string& option : options) pointers.push_back(option.c_str());

  Program program = nullptr;
  int result = api_.create(&program, source.c_str(), "kernels.cu", 0, nullptr, nullptr);
  CompiledCode code;
  code.is_ptx = !target.is_exact;
  if (result == 0) {
    result = api_.compile(program, static_cast<int>(pointers.size()), pointers.data());
    // Sizes include the terminating null.
    const auto get = [&](auto size_of, auto read, std::string* bytes) {
      size_t size = 0;
      int status = size_of(program, &size);
      bytes->resize(size);
      if (status == 0 && size > 0) status = read(program, bytes->data());
      return status;
    };
    get(api_.log_size, api_.log, &code.log);
    while (!code.log.empty() && code.log.back() == '\0') code.log.pop_back();
    if (result == 0) {
      result = target.is_exact ? get(api_.cubin_size, api_.cubin, &code.image)
                               : get(api_.ptx_size, api_.ptx, &code.image);
    }
    api_.destroy(&program);
  }
  if (result != 0) {
    return absl::Status(
        result == kOutOfMemory ? absl::StatusCode::kResourceExhausted : absl::StatusCode::kInternal,
        absl::StrCat("NVRTC ", version_text(), " for ", target.name(), ": ",
                     api_.error_text(result), code.log.empty() ? "" : "\n",
                     code.log.substr(0, kMessageBytes)));
  }
  code.kernels = parse_resources(code.log);
  return code;
}

std::vector<KernelResources> parse_resources(const std::string& log) {
  std::vector<KernelResources> kernels;
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    static const std::string kEntry = "Compiling entry function '";
    if (const size_t at = line.find(kEntry); at != std::string::npos) {
      const size_t begin = at + kEntry.size();
      kernels.emplace_back().name = line.substr(begin, line.find('\'', begin) - begin);
    }
    if (kernels.empty()) continue;
    KernelResources& kernel = kernels.back();
    // Functions that were not inlined have lines of their own under the kernel.
    int stack = 0, stores = 0;
    if (std::sscanf(line.c_str(), " %d bytes stack frame, %d bytes spill stores", &stack,
                    &stores) == 2) {
      kernel.stack_bytes += stack;
      kernel.spill_bytes += stores;
    }
    if (const size_t at = line.find("Used "); at != std::string::npos) {
      std::sscanf(line.c_str() + at, "Used %d registers", &kernel.registers);
    }
    if (const size_t at = line.find(" bytes smem"); at != std::string::npos) {
      const size_t begin = line.find_last_not_of("0123456789", at - 1) + 1;
      std::sscanf(line.c_str() + begin, "%d", &kernel.shared_bytes);
    }
  }
  return kernels;
}

}  // namespace sluice::kernels::cuda
