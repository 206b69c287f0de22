// A folder of a test's own.
#ifndef SLUICE_TESTS_SUPPORT_FOLDER_H_
#define SLUICE_TESTS_SUPPORT_FOLDER_H_

#include <filesystem>
#include <fstream>
#include <random>
#include <string>

namespace sluice::test {

// Goes with what is in it.
class Folder {
 public:
  explicit Folder(const std::string& prefix)
      : path_(std::filesystem::temp_directory_path() / (prefix + unique())) {
    std::filesystem::create_directory(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path_ / name, std::ios::binary) << bytes;
    return (path_ / name).string();
  }
  std::string path(const std::string& name) const { return (path_ / name).string(); }

 private:
  static std::string unique() {
    return std::to_string(std::random_device()()) + std::to_string(std::random_device()());
  }
  std::filesystem::path path_;
};

}  // namespace sluice::test

#endif  // SLUICE_TESTS_SUPPORT_FOLDER_H_
