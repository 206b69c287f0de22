// What compilers have made, kept for other processes: blobs by key, in files of one folder.
//
// The whole key is compared, never a hash alone. An entry that is damaged, foreign or of another
// version is not found. Where nothing can be read or written, nothing is, and nobody is told.
#ifndef SLUICE_KERNELS_CACHE_DISK_CACHE_H_
#define SLUICE_KERNELS_CACHE_DISK_CACHE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace sluice::kernels {

// Of one DiskCache, since it was opened.
struct DiskCacheStats {
  int64_t hits = 0;
  int64_t misses = 0;
  int64_t writes = 0;
};

// Thread-safe, and any number of processes may use one folder at once.
class DiskCache {
 public:
  // Makes the folder, and those above it, with mode 0700 if they are missing. Null if that fails,
  // or if anyone but this user may write to it: code is loaded from it. Of other files in it none
  // is touched.
  //
  // When there are more than `max_bytes`, entries go that have not been found or written for the
  // longest time; each further process that writes at the same time may bring a sixteenth more.
  static std::unique_ptr<DiskCache> open(const std::string& folder, int64_t max_bytes);

  ~DiskCache();
  DiskCache(const DiskCache&) = delete;
  DiskCache& operator=(const DiskCache&) = delete;

  std::optional<std::string> find(absl::string_view key);

  // In place of what `key` had. Not kept if it takes more than a sixteenth of `max_bytes`.
  void insert(absl::string_view key, absl::string_view value);

  DiskCacheStats stats() const;

 private:
  DiskCache(int folder, int64_t max_bytes);
  // Whether `entry` has become the file `name`.
  bool write(const std::string& name, absl::string_view entry);
  // Removes the oldest entries if there are too many, and what killed processes left.
  void trim();

  const int folder_;  // a descriptor: what was checked is what is used
  const int64_t max_bytes_;
  const int64_t step_;  // bytes written between two looks at the whole folder
  std::atomic<int64_t> until_trim_;
  std::atomic<uint64_t> serial_{0};
  std::atomic<int64_t> hits_{0}, misses_{0}, writes_{0};
};

// A hash in 32 hex digits, the same in any process: what entries are called by.
std::string digest_of(absl::string_view key);

// The process's, or null if there is none. From the environment, read once, at first use:
//   SLUICE_DISK_CACHE=off  none
//   SLUICE_CACHE_DIR       the folder; else $XDG_CACHE_HOME/sluice, else $HOME/.cache/sluice
//   SLUICE_CACHE_BYTES     max_bytes, 1 GiB if not set
DiskCache* disk_cache();

}  // namespace sluice::kernels

#endif  // SLUICE_KERNELS_CACHE_DISK_CACHE_H_
