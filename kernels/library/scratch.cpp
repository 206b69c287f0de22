#include "kernels/library/scratch.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <new>
#include <utility>

namespace sluice::kernels {
namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kMaxKept = 4;                      // blocks of a thread
constexpr size_t kMaxKeptBytes = size_t{64} << 20;  // of one
constexpr size_t kHugePage = size_t{2} << 20;       // of larger ones, whose pages are always fresh

struct Block {
  char* data;
  size_t bytes;
};

// The blocks that a thread keeps.
struct Kept {
  Block blocks[kMaxKept];
  size_t count = 0;

  ~Kept() {
    while (count > 0) std::free(blocks[--count].data);
  }
};
thread_local Kept kept;

}  // namespace

Scratch::Scratch(size_t bytes) {
  if (bytes == 0) return;
  if (kept.count > 0) {
    const Block block = kept.blocks[--kept.count];
    data_ = block.data;
    bytes_ = block.bytes;
    if (bytes_ >= bytes) return;
    std::free(std::exchange(data_, nullptr));
  }
  const bool is_huge = bytes > kMaxKeptBytes;
  const size_t alignment = is_huge ? kHugePage : kAlignment;
  bytes_ = (bytes + alignment - 1) / alignment * alignment;
  data_ = static_cast<char*>(std::aligned_alloc(alignment, bytes_));
  if (data_ == nullptr) throw std::bad_alloc();
  if (is_huge) madvise(data_, bytes_, MADV_HUGEPAGE);
}

Scratch::~Scratch() {
  if (data_ == nullptr) return;
  if (kept.count == kMaxKept || bytes_ > kMaxKeptBytes) {
    std::free(data_);
  } else {
    kept.blocks[kept.count++] = {data_, bytes_};
  }
}

}  // namespace sluice::kernels
