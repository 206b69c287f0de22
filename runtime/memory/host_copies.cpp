#include "runtime/memory/host_copies.h"

#include <mutex>
#include <utility>
#include <vector>

#include "runtime/memory/allocator.h"

namespace sluice::runtime {

struct HostCopies {
  struct Copy {
    Layout layout;
    size_t bytes;
    BufferRef values;
  };
  std::vector<Copy> copies;
};

namespace {

// Of all buffers: whoever reads in place has waited for a value, and copies it the first time.
std::mutex& copying() {
  static std::mutex* mutex = new std::mutex;
  return *mutex;
}

}  // namespace

absl::StatusOr<const void*> host_copy(Buffer* buffer, const Layout& layout, size_t bytes,
                                      absl::FunctionRef<absl::Status(void*)> fill) {
  std::lock_guard lock(copying());
  if (buffer->host_copies == nullptr) buffer->host_copies = new HostCopies;
  auto& copies = buffer->host_copies->copies;
  for (const HostCopies::Copy& copy : copies) {
    if (copy.layout == layout && copy.bytes == bytes) return copy.values->data();
  }
  absl::StatusOr<BufferRef> values = allocate(bytes);
  if (!values.ok()) return values.status();
  if (absl::Status status = fill((*values)->data()); !status.ok()) return status;
  copies.push_back({layout, bytes, *std::move(values)});
  return copies.back().values->data();
}

void drop_host_copies(Buffer* buffer) { delete std::exchange(buffer->host_copies, nullptr); }

}  // namespace sluice::runtime
