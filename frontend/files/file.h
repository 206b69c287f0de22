// Whole files, read in place and written at once.
#ifndef SLUICE_FRONTEND_FILES_FILE_H_
#define SLUICE_FRONTEND_FILES_FILE_H_

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include <sluice/tensor.h>
#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"

namespace sluice::frontend {

using Bytes = std::span<const std::byte>;

// What is read, for messages: "load: x.npy: ...".
struct FileName {
  const char* op;
  std::string path;  // and the entry of an archive

  std::string text() const { return absl::StrCat(op, ": ", path); }

  template <typename... Parts>
  [[noreturn]] void fail(const Parts&... parts) const {
    throw_error(absl::StrCat(op, ": ", path, ": ", parts...));
  }

 private:
  [[noreturn]] static void throw_error(const std::string& message);
};

// A part of a file, and what keeps it in memory.
struct FilePart {
  FileName name;
  Bytes bytes;
  std::shared_ptr<const void> owner;

  // `length` bytes from `offset` on; throws if the file ends before, naming `what`.
  Bytes slice(uint64_t offset, uint64_t length, const char* what) const;
};

// The file, mapped. Throws Error if it cannot be read.
FilePart open_file(const char* op, const std::string& path);

// A tensor of values that start at `data`, in the file. On the CPU they stay there if they are many
// and aligned.
Tensor tensor_of(const FilePart& file, Bytes values, DType dtype, const Shape& shape,
                 std::span<const int64_t> strides = {});

// The values of a tensor, computed, in row-major order.
class Values {
 public:
  explicit Values(const Tensor& x);
  Bytes bytes() const { return bytes_; }

 private:
  std::unique_ptr<std::byte[]> copy_;
  Bytes bytes_;
};

// Appends to the file that write_file() makes.
using Append = absl::FunctionRef<void(const void* data, size_t bytes)>;

// Replaces the file by what `write` appends, once all is there. Throws Error, and leaves the old
// file, if it cannot.
void write_file(const char* op, const std::string& path, absl::FunctionRef<void(Append)> write);

}  // namespace sluice::frontend

#endif  // SLUICE_FRONTEND_FILES_FILE_H_
