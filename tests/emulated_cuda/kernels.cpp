#include "tests/emulated_cuda/kernels.h"

#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "tests/emulated_cuda/test_compiler.h"
#include "tests/ptx_device/memory_map.h"
#include "tests/ptx_device/module.h"

namespace sluice::emulated {
namespace {

struct Image {
  void* library = nullptr;              // of the host's compiler
  std::unique_ptr<ptx::Module> module;  // of NVRTC

  ~Image() {
    if (library != nullptr) dlclose(library);
  }
};

// What the host's prelude exports for a kernel.
using HostKernel = const char*(unsigned grid, unsigned block, const void* const* arguments);

// The driver is not told an image's size. A shared object ends with its section headers or its last
// section.
size_t size_of_elf(const char* image) {
  Elf64_Ehdr header;
  std::memcpy(&header, image, sizeof(header));
  size_t end = header.e_shoff + size_t{header.e_shnum} * header.e_shentsize;
  for (int i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    std::memcpy(&section, image + header.e_shoff + size_t{header.e_shentsize} * i, sizeof(section));
    if (section.sh_type != SHT_NOBITS) end = std::max(end, section.sh_offset + section.sh_size);
  }
  return end;
}

void* open_library(const char* path, std::string* error) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) *error = dlerror();
  return library;
}

void* open_bytes(const char* bytes, std::string* error) {
  const int file = memfd_create("kernels", MFD_CLOEXEC);
  const size_t size = size_of_elf(bytes);
  void* library = nullptr;
  if (file >= 0 && write(file, bytes, size) == static_cast<ssize_t>(size)) {
    library = open_library(("/proc/self/fd/" + std::to_string(file)).c_str(), error);
  } else {
    *error = "the image cannot be copied";
  }
  if (file >= 0) close(file);
  return library;
}

// ---- Both kinds of a kernel, compared.

using Contents = std::vector<std::vector<char>>;

// The bytes of all writable memory of the map.
Contents contents() {
  Contents result;
  for (const auto& [_, range] : ptx::MemoryMap::of_thread().ranges()) {
    if (!range.writable) continue;
    result.emplace_back(reinterpret_cast<const char*>(range.begin),
                        reinterpret_cast<const char*>(range.end));
  }
  return result;
}

void restore(const Contents& before) {
  size_t i = 0;
  for (const auto& [_, range] : ptx::MemoryMap::of_thread().ranges()) {
    if (!range.writable) continue;
    std::memcpy(reinterpret_cast<char*>(range.begin), before[i].data(), before[i].size());
    ++i;
  }
}

// What float32 arithmetic makes. Stored results are canonical; partial sums are not.
constexpr uint32_t kDeviceNan = 0x7fffffff, kHostNan = 0x7fc00000;

// Where the two differ, or "". A byte that only the host has written is one between the members of
// a struct.
std::string difference(const Contents& before, const Contents& host, const Contents& ptx) {
  for (size_t i = 0; i < host.size(); ++i) {
    if (host[i] == ptx[i]) continue;
    for (size_t at = 0; at < host[i].size(); ++at) {
      if (ptx[i][at] == host[i][at] || ptx[i][at] == before[i][at]) continue;
      uint32_t theirs = 0, ours = 0;
      const size_t word = at / 4 * 4, size = std::min<size_t>(4, host[i].size() - word);
      std::memcpy(&theirs, host[i].data() + word, size);
      std::memcpy(&ours, ptx[i].data() + word, size);
      if (ours == kDeviceNan && theirs == kHostNan) continue;
      char text[120];
      std::snprintf(text, sizeof(text), "%08x by PTX, %08x by the host, at byte %zu of block %zu",
                    ours, theirs, word, i);
      return text;
    }
  }
  return {};
}

const char* run_both(const ptx::Module& module, HostKernel* host, const std::string& name,
                     const ptx::Geometry& geometry, const void* params, size_t param_bytes) {
  static thread_local std::string message;
  const Contents before = contents();
  if (const char* const error = host(geometry.blocks, geometry.threads, &params)) return error;
  const Contents by_host = contents();
  restore(before);
  const char* const error = module.run(name, geometry, params, param_bytes);
  if (error != nullptr) return error;
  message = difference(before, by_host, contents());
  return message.empty() ? nullptr : message.c_str();
}

// Null, or what makes kernels of ours impossible to launch so.
const char* check(const Geometry& geometry) {
  for (int i = 1; i < 3; ++i) {
    if (geometry.grid[i] != 1 || geometry.block[i] != 1) return "the grid has to be a line";
  }
  if (geometry.shared_bytes != 0) return "there is no dynamic shared memory";
  return nullptr;
}

}  // namespace

void* open_image(const void* data, std::string* error) {
  const char* bytes = static_cast<const char*>(data);
  auto image = std::make_unique<Image>();
  if (std::memcmp(bytes, ELFMAG, SELFMAG) == 0) {
    image->library = open_bytes(bytes, error);
  } else if (bytes[0] == '/' && bytes[1] != '/') {
    image->library = open_library(bytes, error);
  } else if (std::strncmp(bytes, "//", 2) == 0) {  // PTX begins with comments
    const std::string text = bytes;
    if (text.starts_with(kHostObject)) {
      const size_t begin = std::strlen(kHostObject);
      const std::string path = text.substr(begin, text.find('\n') - begin);
      image->library = open_library(path.c_str(), error);
      if (image->library == nullptr) return nullptr;
    }
    image->module = ptx::Module::parse(text, error);
    if (image->module == nullptr) return nullptr;
    return image.release();
  } else {
    *error = "the image is neither a shared object nor a path nor PTX";
  }
  return image->library == nullptr ? nullptr : image.release();
}

void close_image(void* image) { delete static_cast<Image*>(image); }

bool checks_memory(const void* image) {
  return image != nullptr && static_cast<const Image*>(image)->module != nullptr;
}

KernelFunction find_kernel(void* data, const char* name) {
  const auto* const image = static_cast<const Image*>(data);
  auto* const host = image->library == nullptr
                         ? nullptr
                         : reinterpret_cast<HostKernel*>(dlsym(image->library, name));
  if (image->module == nullptr) {
    if (host == nullptr) return nullptr;
    return [host](const Geometry& geometry, const void* params) -> const char* {
      if (const char* const wrong = check(geometry)) return wrong;
      return host(geometry.grid[0], geometry.block[0], &params);
    };
  }
  const ptx::Module* const module = image->module.get();
  if (!module->has(name)) return nullptr;
  return [module, host, name = std::string(name)](const Geometry& geometry,
                                                  const void* params) -> const char* {
    if (const char* const wrong = check(geometry)) return wrong;
    const ptx::Geometry line{geometry.grid[0], geometry.block[0], ptx_schedule()};
    if (host == nullptr) return module->run(name, line, params, geometry.param_bytes);
    return run_both(*module, host, name, line, params, geometry.param_bytes);
  };
}

}  // namespace sluice::emulated
