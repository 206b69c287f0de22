// A place for disk caches, and a look at their files.
#ifndef SLUICE_TESTS_SUPPORT_DISK_CACHE_FOLDER_H_
#define SLUICE_TESTS_SUPPORT_DISK_CACHE_FOLDER_H_

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "kernels/cache/disk_cache.h"

namespace sluice::testing {

inline void write_file(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

inline std::string contents_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& file : std::filesystem::directory_iterator(folder)) files.push_back(file.path());
  std::sort(files.begin(), files.end());
  return files;
}

inline mode_t mode_of(const std::filesystem::path& path) {
  struct stat status {};
  EXPECT_EQ(lstat(path.c_str(), &status), 0) << path;
  return status.st_mode & 0777;
}

// With a folder of its own among the temporary files, in which `folder_` is not made yet.
class FolderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "/sluice_disk_cache_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    folder_ = root_ / "cache";
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  std::unique_ptr<kernels::DiskCache> open(int64_t max_bytes = 1 << 20) {
    std::unique_ptr<kernels::DiskCache> cache = kernels::DiskCache::open(folder_, max_bytes);
    EXPECT_NE(cache, nullptr);
    return cache;
  }

  std::filesystem::path root_;
  std::filesystem::path folder_;
};

}  // namespace sluice::testing

#endif  // SLUICE_TESTS_SUPPORT_DISK_CACHE_FOLDER_H_
