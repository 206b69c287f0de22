#include "frontend/files/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "engine/engine.h"
#include "frontend/memory.h"

namespace sluice::frontend {
namespace {

static_assert(std::endian::native == std::endian::little);

// Smaller values are copied: a mapping costs more than they do.
constexpr size_t kLeastMapped = 64 << 10;

[[noreturn]] void fail_at(const char* op, const std::string& path, const char* action) {
  const int error = errno;
  throw Error(error == ENOENT ? ErrorCode::kNotFound : ErrorCode::kUnavailable,
              absl::StrCat(op, ": ", path, ": cannot ", action, ": ", std::strerror(error)));
}

// An open file, closed at the end of its scope.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return number_; }
  bool ok() const { return number_ >= 0; }

 private:
  int number_;
};

// The temporary file, removed unless it has been renamed.
struct Temporary {
  std::string path;
  bool kept = false;
  ~Temporary() {
    if (!kept) unlink(path.c_str());
  }
};

}  // namespace

void FileName::throw_error(const std::string& message) {
  throw Error(ErrorCode::kInvalidArgument, message);
}

Bytes FilePart::slice(uint64_t offset, uint64_t length, const char* what) const {
  if (offset > bytes.size() || length > bytes.size() - offset) {
    name.fail(what, ": ", length, " bytes at ", offset, " are not within the ", bytes.size(),
              " bytes that there are");
  }
  return bytes.subspan(offset, length);
}

FilePart open_file(const char* op, const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat about;
  if (!file.ok() || fstat(file.get(), &about) != 0) fail_at(op, path, "open it");
  FilePart part{{op, path}, {}, nullptr};
  if (!S_ISREG(about.st_mode)) part.name.fail("is not a regular file");
  const auto size = static_cast<size_t>(about.st_size);
  if (size == 0) return part;
  void* const start = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (start == MAP_FAILED) fail_at(op, path, "map it");
  part.bytes = {static_cast<const std::byte*>(start), size};
  part.owner = std::shared_ptr<const void>(
      start, [size](const void* mapped) { munmap(const_cast<void*>(mapped), size); });
  return part;
}

Tensor tensor_of(const FilePart& file, Bytes values, DType dtype, const Shape& shape,
                 std::span<const int64_t> strides) {
  if (dtype == DType::kBool && std::any_of(values.begin(), values.end(),
                                           [](std::byte value) { return value > std::byte{1}; })) {
    file.name.fail("has a bool that is neither 0 nor 1");
  }
  const char* const op = file.name.op;
  if (values.size() < kLeastMapped) {
    return copied(values.data(), checked_layout(op, dtype, shape, strides), dtype);
  }
  return adopt(
      op, values.data(), shape, dtype, [owner = file.owner] {}, strides);
}

Values::Values(const Tensor& x) {
  engine::Node* const node = x.node_ref().get();
  const auto size = static_cast<size_t>(node->bytes());
  engine::wait(node);
  if (node->device == Device::cpu() && is_contiguous(node->layout)) {
    bytes_ = {static_cast<const std::byte*>(engine::read_in_place(node)), size};
    return;
  }
  copy_ = std::make_unique<std::byte[]>(size);
  engine::read(node, copy_.get());
  bytes_ = {copy_.get(), size};
}

void write_file(const char* op, const std::string& path, absl::FunctionRef<void(Append)> write) {
  static std::atomic<uint64_t> next{0};
  Temporary temporary{absl::StrCat(path, ".", getpid(), ".", next.fetch_add(1), ".tmp")};
  const Descriptor file(
      open(temporary.path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!file.ok()) {
    temporary.kept = true;
    fail_at(op, path, "write it");
  }
  write([&](const void* data, size_t bytes) {
    const auto* from = static_cast<const char*>(data);
    while (bytes > 0) {
      const ssize_t written = ::write(file.get(), from, bytes);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail_at(op, path, "write it");
      from += written;
      bytes -= static_cast<size_t>(written);
    }
  });
  if (fsync(file.get()) != 0 && errno != EINVAL) fail_at(op, path, "write it");
  if (std::rename(temporary.path.c_str(), path.c_str()) != 0) fail_at(op, path, "replace it");
  temporary.kept = true;
}

}  // namespace sluice::frontend
