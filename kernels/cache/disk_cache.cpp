#include "kernels/cache/disk_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "runtime/size_text.h"

namespace sluice::kernels {
namespace {

constexpr int64_t kDefaultMaxBytes = int64_t{1} << 30;
// Scans of the folder per max_bytes written; a full folder is trimmed by one such part.
constexpr int64_t kSteps = 16;
// A hit updates the entry's time stamp if that is older than this.
constexpr int64_t kTouchSeconds = 60 * 60;
// A temporary file older than this was left by a killed process.
constexpr int64_t kStaleSeconds = 60 * 60;

// ---- The format of an entry: header, key, value, checksum of all three.

struct Header {
  uint64_t magic;  // differs on a machine of other byte order
  uint64_t version;
  uint64_t key_bytes;
  uint64_t value_bytes;
};
constexpr uint64_t kMagic = 0x6568636163756c73;
constexpr uint64_t kVersion = 1;
constexpr size_t kOverhead = sizeof(Header) + sizeof(uint64_t);

// Equal in all processes. Each word is mixed in by a bijection of the state, so that a change
// within one word always changes the hash.
uint64_t hash_of(absl::string_view bytes, uint64_t odd) {
  uint64_t hash = odd ^ bytes.size();
  const auto mix = [&](uint64_t word) {
    hash = (hash ^ word) * odd;
    hash ^= hash >> 32;
  };
  for (; !bytes.empty(); bytes.remove_prefix(std::min(bytes.size(), sizeof(uint64_t)))) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data(), std::min(bytes.size(), sizeof(word)));
    mix(word);
  }
  mix(0);
  return hash;
}

uint64_t checksum_of(absl::string_view bytes) { return hash_of(bytes, 0x9e3779b97f4a7c15); }

constexpr size_t kHashDigits = 32;
constexpr const char* kEntrySuffix = ".kernel";
constexpr const char* kTemporarySuffix = ".tmp";

std::string name_of(absl::string_view key) { return absl::StrCat(digest_of(key), kEntrySuffix); }

enum class FileKind { kForeign, kEntry, kTemporary };

FileKind kind_of(absl::string_view name) {
  const absl::string_view digits = name.substr(0, kHashDigits);
  const bool is_ours = digits.size() == kHashDigits &&
                       std::all_of(digits.begin(), digits.end(), absl::ascii_isxdigit) &&
                       absl::StartsWith(name.substr(kHashDigits), kEntrySuffix);
  if (!is_ours) return FileKind::kForeign;
  if (absl::EndsWith(name, kEntrySuffix)) return FileKind::kEntry;
  return absl::EndsWith(name, kTemporarySuffix) ? FileKind::kTemporary : FileKind::kForeign;
}

std::string make_entry(absl::string_view key, absl::string_view value) {
  const Header header{kMagic, kVersion, key.size(), value.size()};
  std::string entry;
  entry.reserve(kOverhead + key.size() + value.size());
  entry.append(reinterpret_cast<const char*>(&header), sizeof(header));
  entry.append(key.data(), key.size());
  entry.append(value.data(), value.size());
  const uint64_t checksum = checksum_of(entry);
  entry.append(reinterpret_cast<const char*>(&checksum), sizeof(checksum));
  return entry;
}

// The value, if `entry` is valid and belongs to `key`.
std::optional<std::string> value_of(absl::string_view entry, absl::string_view key) {
  if (entry.size() < kOverhead || entry.size() - kOverhead < key.size()) return std::nullopt;
  const size_t value_bytes = entry.size() - kOverhead - key.size();
  Header header;
  std::memcpy(&header, entry.data(), sizeof(header));
  if (header.magic != kMagic || header.version != kVersion || header.key_bytes != key.size() ||
      header.value_bytes != value_bytes || entry.substr(sizeof(header), key.size()) != key) {
    return std::nullopt;
  }
  uint64_t checksum;
  const size_t checked_bytes = entry.size() - sizeof(checksum);
  std::memcpy(&checksum, entry.data() + checked_bytes, sizeof(checksum));
  if (checksum != checksum_of(entry.substr(0, checked_bytes))) return std::nullopt;
  return std::string(entry.substr(sizeof(header) + key.size(), value_bytes));
}

// ---- Files.

class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  ~File() { close(); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  bool is_open() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }
  int release() { return std::exchange(descriptor_, -1); }
  bool close() {
    const int descriptor = release();
    return descriptor < 0 || ::close(descriptor) == 0;
  }

 private:
  int descriptor_;
};

// Code is loaded from it, so nobody else may write to it.
bool is_mine_alone(const struct stat& status) {
  return status.st_uid == geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

int64_t age_of(const struct stat& status) { return std::time(nullptr) - status.st_mtim.tv_sec; }

// Calls transfer(bytes_done) until all `count` bytes are transferred.
template <typename Transfer>
bool transfer_all(size_t count, const Transfer& transfer) {
  for (size_t done = 0; done < count;) {
    const ssize_t moved = transfer(done);
    if (moved < 0 && errno == EINTR) continue;
    if (moved <= 0) return false;
    done += moved;
  }
  return true;
}

// Reads the file and marks it as used. Nullopt if it is not a regular file, exceeds `max_bytes`, or
// changes meanwhile.
std::optional<std::string> read_entry(int folder, const std::string& name, int64_t max_bytes) {
  // Opening a pipe must not block.
  const File file(openat(folder, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status;
  if (!file.is_open() || fstat(file.descriptor(), &status) != 0 || !S_ISREG(status.st_mode) ||
      !is_mine_alone(status) || status.st_size > max_bytes) {
    return std::nullopt;
  }
  std::string bytes(status.st_size, '\0');
  const bool is_whole = transfer_all(bytes.size(), [&](size_t done) {
    return read(file.descriptor(), bytes.data() + done, bytes.size() - done);
  });
  if (!is_whole) return std::nullopt;
  if (age_of(status) > kTouchSeconds) futimens(file.descriptor(), nullptr);
  return bytes;
}

void make_folders(const std::string& path) {
  for (size_t end = 0; end != std::string::npos;) {
    end = path.find('/', end + 1);
    mkdir(path.substr(0, end).c_str(), 0700);
  }
}

uint64_t random_bits() {
  uint64_t bits = 0;
  [[maybe_unused]] const ssize_t got = getrandom(&bits, sizeof(bits), GRND_NONBLOCK);
  return bits;
}

}  // namespace

std::unique_ptr<DiskCache> DiskCache::open(const std::string& folder, int64_t max_bytes) {
  make_folders(folder);
  File opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat status;
  if (!opened.is_open() || fstat(opened.descriptor(), &status) != 0 || !is_mine_alone(status)) {
    return nullptr;
  }
  return std::unique_ptr<DiskCache>(new DiskCache(opened.release(), max_bytes));
}

// The first scan is due after a random part of a step, so that many processes that write little
// scan as often, together, as one that writes as much.
DiskCache::DiskCache(int folder, int64_t max_bytes)
    : folder_(folder),
      max_bytes_(max_bytes),
      step_(max_bytes / kSteps),
      until_trim_(1 + random_bits() % std::max<uint64_t>(step_, 1)) {}

DiskCache::~DiskCache() { ::close(folder_); }

std::optional<std::string> DiskCache::find(absl::string_view key) {
  std::optional<std::string> value;
  if (const auto entry = read_entry(folder_, name_of(key), step_)) value = value_of(*entry, key);
  (value ? hits_ : misses_).fetch_add(1, std::memory_order_relaxed);
  return value;
}

void DiskCache::insert(absl::string_view key, absl::string_view value) {
  const std::string entry = make_entry(key, value);
  const int64_t size = entry.size();
  if (size > step_ || !write(name_of(key), entry)) return;
  writes_.fetch_add(1, std::memory_order_relaxed);
  if (until_trim_.fetch_sub(size, std::memory_order_relaxed) > size) return;
  until_trim_.store(step_, std::memory_order_relaxed);
  trim();
}

bool DiskCache::write(const std::string& name, absl::string_view entry) {
  // Process ids do not identify processes of several machines or containers that share the folder.
  const std::string temporary =
      absl::StrCat(name, ".", getpid(), ".", serial_.fetch_add(1, std::memory_order_relaxed), ".",
                   absl::Hex(random_bits()), kTemporarySuffix);
  File file(openat(folder_, temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file.is_open()) return false;
  const bool is_whole = transfer_all(entry.size(), [&](size_t done) {
    return ::write(file.descriptor(), entry.data() + done, entry.size() - done);
  });
  // No fsync: if a crash of the machine loses the contents, the checksum detects it.
  if (is_whole && file.close() &&
      renameat(folder_, temporary.c_str(), folder_, name.c_str()) == 0) {
    return true;
  }
  unlinkat(folder_, temporary.c_str(), 0);
  return false;
}

void DiskCache::trim() {
  File copy(openat(folder_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!copy.is_open()) return;
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(fdopendir(copy.descriptor()), closedir);
  if (listing == nullptr) return;
  copy.release();

  struct Entry {
    timespec used;
    int64_t bytes;
    std::string name;
  };
  std::vector<Entry> entries;
  int64_t total = 0;
  while (const dirent* found = readdir(listing.get())) {
    const FileKind kind = kind_of(found->d_name);
    struct stat status;
    if (kind == FileKind::kForeign ||
        fstatat(folder_, found->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(status.st_mode)) {
      continue;
    }
    if (kind == FileKind::kTemporary) {
      if (age_of(status) > kStaleSeconds) unlinkat(folder_, found->d_name, 0);
      continue;
    }
    total += status.st_size;
    entries.push_back({status.st_mtim, status.st_size, found->d_name});
  }
  if (total <= max_bytes_ - step_) return;

  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.used.tv_sec, a.used.tv_nsec) < std::tie(b.used.tv_sec, b.used.tv_nsec);
  });
  // An entry that another process removes meanwhile counts as removed. One that it has just used is
  // compiled again when needed.
  for (const Entry& entry : entries) {
    if (total <= max_bytes_ - 2 * step_) break;
    if (unlinkat(folder_, entry.name.c_str(), 0) == 0 || errno == ENOENT) total -= entry.bytes;
  }
}

DiskCacheStats DiskCache::stats() const {
  return {hits_.load(std::memory_order_relaxed), misses_.load(std::memory_order_relaxed),
          writes_.load(std::memory_order_relaxed)};
}

namespace {

// Empty if not set. Uses secure_getenv: a set-user-ID program must not load code from a folder that
// its user chose.
std::string environment(const char* name) {
  const char* value = secure_getenv(name);
  return value == nullptr ? "" : value;
}

std::string default_folder() {
  const std::string folder = environment("SLUICE_CACHE_DIR");
  if (!folder.empty()) return folder;
  const std::string caches = environment("XDG_CACHE_HOME");
  if (absl::StartsWith(caches, "/")) return absl::StrCat(caches, "/sluice");
  const std::string home = environment("HOME");
  return absl::StartsWith(home, "/") ? absl::StrCat(home, "/.cache/sluice") : "";
}

std::unique_ptr<DiskCache> open_default() {
  const std::string setting = environment("SLUICE_DISK_CACHE");
  bool is_on = true;
  if (setting == "off" || (absl::SimpleAtob(setting, &is_on) && !is_on)) return nullptr;
  const std::string folder = default_folder();
  if (folder.empty()) return nullptr;
  const std::optional<int64_t> max_bytes = runtime::parse_size(environment("SLUICE_CACHE_BYTES"));
  return DiskCache::open(folder, max_bytes.value_or(kDefaultMaxBytes));
}

}  // namespace

std::string digest_of(absl::string_view key) {
  return absl::StrCat(absl::Hex(hash_of(key, 0xc2b2ae3d27d4eb4f), absl::kZeroPad16),
                      absl::Hex(hash_of(key, 0xff51afd7ed558ccd), absl::kZeroPad16));
}

DiskCache* disk_cache() {
  // Never destroyed: a compilation may still be running at exit.
  static DiskCache* const cache = open_default().release();
  return cache;
}

}  // namespace sluice::kernels
