// Memory between pages that may not be touched.
#ifndef SLUICE_TESTS_SUPPORT_GUARDED_BYTES_H_
#define SLUICE_TESTS_SUPPORT_GUARDED_BYTES_H_

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace sluice::test {

// Bytes between two pages that nobody may touch, next to the one or the other.
class GuardedBytes {
 public:
  GuardedBytes(const std::vector<uint8_t>& values, bool at_end)
      : page_(static_cast<size_t>(sysconf(_SC_PAGESIZE))),
        size_((values.size() + page_ - 1) / page_ * page_),
        pages_(static_cast<char*>(
            mmap(nullptr, size_ + 2 * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    EXPECT_NE(pages_, MAP_FAILED);
    EXPECT_EQ(mprotect(pages_ + page_, size_, PROT_READ | PROT_WRITE), 0);
    data_ = pages_ + page_ + (at_end ? size_ - values.size() : 0);
    std::memcpy(data_, values.data(), values.size());
  }
  ~GuardedBytes() { munmap(pages_, size_ + 2 * page_); }
  GuardedBytes(const GuardedBytes&) = delete;
  GuardedBytes& operator=(const GuardedBytes&) = delete;
  char* data() const { return data_; }

 private:
  const size_t page_, size_;
  char* const pages_;
  char* data_;
};

}  // namespace sluice::test

#endif  // SLUICE_TESTS_SUPPORT_GUARDED_BYTES_H_
