// Compiled code kept on disk for other processes: one file per key in one folder.
//
//  - Keys are compared whole, never by hash alone. They name everything the code depends on, so
//    entries never have to be invalidated.
//  - A file is named by a 128-bit hash of its key and holds the key, the value and a checksum. An
//    entry that is truncated, damaged, foreign or of another version is a miss; the code compiled
//    then replaces it.
//  - A file is written under a temporary name and renamed, so processes share the folder without
//    locks.
//  - Missing folders, space or permissions are no error: the cache then stores nothing.
#ifndef SLUICE_KERNELS_CACHE_DISK_CACHE_H_
#define SLUICE_KERNELS_CACHE_DISK_CACHE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace sluice::kernels {

// Statistics of one DiskCache since it was opened.
struct DiskCacheStats {
  int64_t hits = 0;
  int64_t misses = 0;
  int64_t writes = 0;
};

// Thread-safe. Any number of processes may share a folder.
class DiskCache {
 public:
  // Creates the folder and its parents with mode 0700 if they are missing. Null if that fails, or
  // if anyone but this user can write to the folder, since code is loaded from it. Leaves foreign
  // files alone.
  //
  // Beyond `max_bytes` the least recently used entries are removed. Every further process that
  // writes concurrently may exceed the limit by a sixteenth.
  static std::unique_ptr<DiskCache> open(const std::string& folder, int64_t max_bytes);

  ~DiskCache();
  DiskCache(const DiskCache&) = delete;
  DiskCache& operator=(const DiskCache&) = delete;

  std::optional<std::string> find(absl::string_view key);

  // Stores or replaces the value of `key`, unless it exceeds a sixteenth of `max_bytes`.
  void insert(absl::string_view key, absl::string_view value);

  DiskCacheStats stats() const;

 private:
  DiskCache(int folder, int64_t max_bytes);
  // Writes `entry` to the file `name`. False on failure.
  bool write(const std::string& name, absl::string_view entry);
  // Removes the least recently used entries beyond the limit, and files left by killed processes.
  void trim();

  const int folder_;  // a descriptor, so that the folder checked is the folder used
  const int64_t max_bytes_;
  const int64_t step_;  // bytes written between two scans of the folder
  std::atomic<int64_t> until_trim_;
  std::atomic<uint64_t> serial_{0};
  std::atomic<int64_t> hits_{0}, misses_{0}, writes_{0};
};

// A hash of 32 hex digits, equal in all processes. Entries are named by it.
std::string digest_of(absl::string_view key);

// The process's cache, or null if there is none. Configured by the environment, read at first use:
//   SLUICE_DISK_CACHE=off  none
//   SLUICE_CACHE_DIR       the folder; else $XDG_CACHE_HOME/sluice, else $HOME/.cache/sluice
//   SLUICE_CACHE_BYTES     max_bytes, 1 GiB if not set
DiskCache* disk_cache();

}  // namespace sluice::kernels

#endif  // SLUICE_KERNELS_CACHE_DISK_CACHE_H_
