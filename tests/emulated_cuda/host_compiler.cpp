#include "sluice/tests/emulated_cuda/host_compiler.h"

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "sluice/kernels/cuda/prelude.h"

namespace sluice::emulated {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMessageBytes = 2000;

std::string command_line() {
  const char* compiler = std::getenv("CXX");
  return absl::StrCat(compiler != nullptr && *compiler != '\0' ? compiler : "c++", " ",
                      absl::StrJoin(kernels::cuda::host_options(), " "), " -O1 -w");
}

// Code is loaded from it: it is nobody else's.
absl::StatusOr<fs::path> make_folder() {
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

std::string contents_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

absl::StatusOr<std::string> HostCompiler::folder() {
  const absl::StatusOr<fs::path> path = make_folder();
  if (!path.ok()) return path.status();
  return path->string();
}

HostCompiler::HostCompiler() : command_(command_line()) {}

absl::StatusOr<kernels::cuda::CompiledCode> HostCompiler::compile(const std::string& text, bool) {
  static std::atomic<int> count{0};
  const absl::StatusOr<fs::path> home = make_folder();
  if (!home.ok()) return home.status();
  const std::string source = absl::StrCat("// ", command_, "\n", kernels::cuda::host_source(text));
  const std::string stem = *home / absl::StrCat(absl::Hex(std::hash<std::string>()(source)));
  kernels::cuda::CompiledCode code;
  code.image = stem + ".so";
  // Sources come after their objects, by renaming, and are compared as a whole.
  if (contents_of(stem + ".cpp") == source && fs::exists(code.image)) return code;

  const std::string mine = absl::StrCat(stem, ".", getpid(), ".", count++);
  std::ofstream(mine + ".cpp", std::ios::binary) << source;
  // The kernels' text, for a compiler of device code.
  std::ofstream(mine + ".cu", std::ios::binary) << text;
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
  fs::rename(mine + ".cu", stem + ".cu");
  fs::rename(mine + ".cpp", stem + ".cpp");
  return code;
}

}  // namespace sluice::emulated
