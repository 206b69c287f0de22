#include "tests/emulated_cuda/host_compiler.h"

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "kernels/gpu/prelude/prelude.h"

namespace sluice::emulated {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMessageBytes = 2000;

std::string command_line() {
  return absl::StrCat(HostCompiler::program(), " ",
                      absl::StrJoin(kernels::cuda::host_options(), " "), " -O1 -w");
}

std::string contents_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

std::string HostCompiler::program() {
  const char* compiler = std::getenv("CXX");
  return compiler != nullptr && *compiler != '\0' ? compiler : SLUICE_HOST_COMPILER;
}

HostCompiler::HostCompiler() : command_(command_line()) {}

absl::StatusOr<fs::path> HostCompiler::folder() {
  const fs::path path = fs::temp_directory_path() / absl::StrCat("sluice_emulated_cuda_", getuid());
  mkdir(path.c_str(), 0700);
  struct stat status;
  if (lstat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) || status.st_uid != getuid() ||
      (status.st_mode & 0077) != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(path.string(), " is not a folder of this user alone"));
  }
  return path;
}

absl::StatusOr<kernels::cuda::CompiledCode> HostCompiler::compile(const std::string& text, bool) {
  return build(kernels::cuda::host_source(text), &text);
}

absl::StatusOr<kernels::cuda::CompiledCode> HostCompiler::compile_source(
    const std::string& source) {
  return build(source, nullptr);
}

absl::StatusOr<kernels::cuda::CompiledCode> HostCompiler::build(const std::string& body,
                                                                const std::string* text) {
  static std::atomic<int> count{0};
  const absl::StatusOr<fs::path> home = folder();
  if (!home.ok()) return home.status();
  const std::string source = absl::StrCat("// ", command_, "\n", body);
  const std::string stem = *home / absl::StrCat(absl::Hex(std::hash<std::string>()(source)));
  kernels::cuda::CompiledCode code;
  code.image = stem + ".so";
  // The source is renamed into place after its object, so a matching source implies a whole object.
  if (contents_of(stem + ".cpp") == source && fs::exists(code.image)) return code;

  const std::string mine = absl::StrCat(stem, ".", getpid(), ".", count++);
  std::ofstream(mine + ".cpp", std::ios::binary) << source;
  // For cuda_sources_test, which compiles it for real devices.
  if (text != nullptr) std::ofstream(mine + ".cu", std::ios::binary) << *text;
  const std::string command =
      absl::StrCat(command_, " -o '", mine, ".so' '", mine, ".cpp' -lm > '", mine, ".log' 2>&1");
  const int result = std::system(command.c_str());
  code.log = contents_of(mine + ".log");
  fs::remove(mine + ".log");
  if (result != 0) {
    fs::remove(mine + ".cpp");
    fs::remove(mine + ".cu");
    return absl::InternalError(
        absl::StrCat("the host's compiler failed:\n", code.log.substr(0, kMessageBytes)));
  }
  fs::rename(mine + ".so", code.image);
  if (text != nullptr) fs::rename(mine + ".cu", stem + ".cu");
  fs::rename(mine + ".cpp", stem + ".cpp");
  return code;
}

}  // namespace sluice::emulated
