#include "tests/emulated_cuda/kernels.h"

#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace sluice::emulated {
namespace {

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

}  // namespace

void* open_image(const void* image, std::string* error) {
  const char* bytes = static_cast<const char*>(image);
  if (bytes[0] == '/') return open_library(bytes, error);
  if (std::memcmp(bytes, ELFMAG, SELFMAG) != 0) {
    *error = "the image is neither a shared object nor a path";
    return nullptr;
  }
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

void close_image(void* library) { dlclose(library); }

KernelFunction find_kernel(void* library, const char* name) {
  using Entry = const char*(unsigned grid, unsigned block, const void* const* arguments);
  auto* entry = reinterpret_cast<Entry*>(dlsym(library, name));
  if (entry == nullptr) return nullptr;
  return [entry](const Geometry& geometry, const void* params) -> const char* {
    for (int i = 1; i < 3; ++i) {
      if (geometry.grid[i] != 1 || geometry.block[i] != 1) return "the grid has to be a line";
    }
    if (geometry.shared_bytes != 0) return "there is no dynamic shared memory";
    return entry(geometry.grid[0], geometry.block[0], &params);
  };
}

}  // namespace sluice::emulated
