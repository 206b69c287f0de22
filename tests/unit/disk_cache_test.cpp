// Blobs on disk: what is found is what was put there, whatever happens to the files, and processes
// that are killed do no harm.
#include "kernels/cache/disk_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <map>
#include <random>
#include <thread>

#include "absl/strings/str_cat.h"
#include "tests/support/disk_cache_folder.h"

namespace sluice::kernels {
namespace {

namespace fs = std::filesystem;
using testing::contents_of;
using ::testing::ElementsAre;
using testing::files_in;
using ::testing::IsEmpty;
using testing::mode_of;
using ::testing::Optional;
using testing::write_file;

constexpr int64_t kMaxBytes = 1 << 20;

void set_age(const fs::path& path, int64_t seconds) {
  fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::seconds(seconds));
}

class DiskCacheTest : public testing::FolderTest {
 protected:
  // Puts an entry into a cache and gives its file.
  fs::path insert(DiskCache& cache, const std::string& key, const std::string& value) {
    const std::vector<fs::path> before = files_in(folder_);
    cache.insert(key, value);
    const std::vector<fs::path> after = files_in(folder_);
    std::vector<fs::path> made;
    std::set_difference(after.begin(), after.end(), before.begin(), before.end(),
                        std::back_inserter(made));
    EXPECT_EQ(made.size(), 1);
    return made.empty() ? fs::path() : made[0];
  }
};

// ---- One process.

TEST_F(DiskCacheTest, FindsWhatWasInserted) {
  const std::string binary("\0\xff\n\0", 4);
  const std::map<std::string, std::string> entries = {
      {"", "of nothing"}, {"nothing", ""},      {"a", "b"},
      {binary, binary},   {"key", "value"},     {std::string(1000, 'k'), std::string(50000, 'v')},
      {"key ", "valu"},   {"keyvalue", "other"}};
  const auto cache = open();
  for (const auto& [key, value] : entries) {
    EXPECT_EQ(cache->find(key), std::nullopt);
    cache->insert(key, value);
    EXPECT_THAT(cache->find(key), Optional(value));
  }
  const auto other = open();
  for (const auto& [key, value] : entries) EXPECT_THAT(other->find(key), Optional(value));
  EXPECT_EQ(files_in(folder_).size(), entries.size());

  const auto count = static_cast<int64_t>(entries.size());
  EXPECT_EQ(cache->stats().hits, count);
  EXPECT_EQ(cache->stats().misses, count);
  EXPECT_EQ(cache->stats().writes, count);
  EXPECT_EQ(other->stats().hits, count);
  EXPECT_EQ(other->stats().misses + other->stats().writes, 0);
}

TEST_F(DiskCacheTest, ReplacesAnEntry) {
  const auto cache = open();
  for (const std::string value : {"one", "another one", ""}) {
    cache->insert("key", value);
    EXPECT_THAT(open()->find("key"), Optional(value));
  }
  EXPECT_EQ(files_in(folder_).size(), 1);
}

TEST_F(DiskCacheTest, KeepsNothingLarge) {
  const auto cache = open(16000);
  cache->insert("key", std::string(1000, 'v'));
  EXPECT_THAT(files_in(folder_), IsEmpty());
  cache->insert("key", std::string(900, 'v'));
  EXPECT_NE(cache->find("key"), std::nullopt);
  EXPECT_EQ(open(8000)->find("key"), std::nullopt);
  open(0)->insert("other", "");
  EXPECT_EQ(files_in(folder_).size(), 1);
}

TEST_F(DiskCacheTest, ServesManyThreads) {
  const auto cache = open();
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&cache, t] {
      for (int i = 0; i < 200; ++i) {
        const std::string key = absl::StrCat((i + t) % 20);
        cache->insert(key, "value of " + key);
        EXPECT_THAT(cache->find(key), Optional("value of " + key));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(files_in(folder_).size(), 20);
}

// ---- Damage.

TEST_F(DiskCacheTest, MissesWhatIsCutOrLonger) {
  const auto cache = open();
  const fs::path file = insert(*cache, "some key", "some value");
  const std::string entry = contents_of(file);
  for (size_t size = 0; size < entry.size(); ++size) {
    write_file(file, entry.substr(0, size));
    EXPECT_EQ(cache->find("some key"), std::nullopt) << size;
    write_file(file, entry.substr(size));
    EXPECT_EQ(size == 0, cache->find("some key").has_value()) << size;
  }
  write_file(file, entry + std::string(1, '\0'));
  EXPECT_EQ(cache->find("some key"), std::nullopt);
  write_file(file, entry);
  EXPECT_THAT(cache->find("some key"), Optional(std::string("some value")));
}

TEST_F(DiskCacheTest, MissesWhatHasAFlippedBit) {
  const auto cache = open();
  const fs::path file = insert(*cache, "some key", "a value of some bytes");
  const std::string entry = contents_of(file);
  for (size_t bit = 0; bit < 8 * entry.size(); ++bit) {
    std::string damaged = entry;
    damaged[bit / 8] ^= 1 << bit % 8;
    write_file(file, damaged);
    EXPECT_EQ(cache->find("some key"), std::nullopt) << bit;
  }
  cache->insert("some key", "new");
  EXPECT_THAT(cache->find("some key"), Optional(std::string("new")));
}

TEST_F(DiskCacheTest, BelievesNoLength) {
  const auto cache = open();
  const fs::path file = insert(*cache, "some key", "some value");
  const std::string entry = contents_of(file);
  for (size_t at = 0; at < 32; at += 8) {
    for (const uint64_t number : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 31, uint64_t{1} << 62,
                                  ~uint64_t{0}, ~uint64_t{0} - 7, ~uint64_t{0} - 40}) {
      std::string damaged = entry;
      std::memcpy(damaged.data() + at, &number, sizeof(number));
      if (damaged == entry) continue;
      write_file(file, damaged);
      EXPECT_EQ(cache->find("some key"), std::nullopt) << at << " " << number;
    }
  }
}

TEST_F(DiskCacheTest, MissesWhatIsForeign) {
  const auto cache = open();
  const fs::path file = insert(*cache, "key", "value");
  const std::string entry = contents_of(file);

  std::mt19937_64 rng(1);
  for (int i = 0; i < 100; ++i) {
    std::string noise(rng() % 300, '\0');
    for (char& c : noise) c = static_cast<char>(rng());
    write_file(file, noise);
    EXPECT_EQ(cache->find("key"), std::nullopt);
  }
  fs::resize_file(file, uint64_t{1} << 40);  // has no blocks
  EXPECT_EQ(cache->find("key"), std::nullopt);

  write_file(root_ / "elsewhere", entry);
  fs::remove(file);
  fs::create_symlink(root_ / "elsewhere", file);
  EXPECT_EQ(cache->find("key"), std::nullopt);
  cache->insert("key", "value");
  EXPECT_THAT(cache->find("key"), Optional(std::string("value")));

  fs::remove(file);
  ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
  EXPECT_EQ(cache->find("key"), std::nullopt);

  fs::remove(file);
  fs::create_directory(file);
  EXPECT_EQ(cache->find("key"), std::nullopt);
  cache->insert("key", "value");
  EXPECT_EQ(cache->find("key"), std::nullopt);
  EXPECT_THAT(files_in(folder_), ElementsAre(file));
}

TEST_F(DiskCacheTest, MissesAnotherKeyOfTheSameName) {
  const auto cache = open();
  const fs::path one = insert(*cache, "key 1", "value 1");
  const fs::path two = insert(*cache, "key 2", "value 2");
  fs::copy_file(one, two, fs::copy_options::overwrite_existing);
  EXPECT_EQ(cache->find("key 2"), std::nullopt);
  EXPECT_THAT(cache->find("key 1"), Optional(std::string("value 1")));
  cache->insert("key 2", "value 2");
  EXPECT_THAT(cache->find("key 2"), Optional(std::string("value 2")));
}

// ---- The folder.

TEST_F(DiskCacheTest, StaysWithinItsBytes) {
  const auto cache = open(64 << 10);
  for (int i = 0; i < 300; ++i) {
    const std::string key = absl::StrCat("key ", i);
    cache->insert(key, std::string(1000, 'v'));
    EXPECT_NE(cache->find(key), std::nullopt);
    int64_t total = 0;
    for (const fs::path& file : files_in(folder_)) total += fs::file_size(file);
    ASSERT_LE(total, 64 << 10);
    ASSERT_GE(total, std::min(i, 50) << 10);
  }
}

TEST_F(DiskCacheTest, RemovesTheLeastRecentlyUsed) {
  const std::string value(1000, 'v');
  std::map<int, fs::path> files;
  {
    const auto cache = open();
    for (int i = 0; i < 100; ++i) files[i] = insert(*cache, absl::StrCat("key ", i), value);
  }
  const int64_t size = fs::file_size(files[0]);
  for (int i = 0; i < 100; ++i) set_age(files[i], 100000 - 100 * i);
  // A hit counts as a use.
  ASSERT_NE(open()->find("key 3"), std::nullopt);
  write_file(folder_ / "foreign", std::string(100000, 'f'));
  write_file(folder_ / "0123456789abcdef0123456789abcdef", "foreign too");
  set_age(folder_ / "foreign", 200000);
  set_age(folder_ / "0123456789abcdef0123456789abcdef", 200000);

  // 14 sixteenths are left at most: 84 entries.
  const auto cache = open(96 * size);
  for (int i = 100; i < 106; ++i) cache->insert(absl::StrCat("key ", i), value);
  EXPECT_TRUE(fs::exists(folder_ / "foreign"));
  EXPECT_TRUE(fs::exists(folder_ / "0123456789abcdef0123456789abcdef"));
  for (int i = 0; i < 106; ++i) {
    const bool is_there = cache->find(absl::StrCat("key ", i)).has_value();
    if (i < 16 || i > 26) {
      EXPECT_EQ(is_there, i == 3 || i > 26) << i;
    }
  }
}

TEST_F(DiskCacheTest, RemovesWhatKilledProcessesLeft) {
  const auto cache = open(16000);
  const fs::path file = insert(*cache, "key", "value");
  const fs::path stale = file.string() + ".1.2.3.tmp";
  const fs::path fresh = file.string() + ".1.2.4.tmp";
  const fs::path foreign = folder_ / "somebody's.tmp";
  for (const fs::path& left : {stale, fresh, foreign}) write_file(left, "left");
  set_age(stale, 4000);
  set_age(foreign, 4000);
  for (int i = 0; i < 4; ++i) cache->insert("other", std::string(900, 'v'));
  EXPECT_FALSE(fs::exists(stale));
  EXPECT_TRUE(fs::exists(fresh));
  EXPECT_TRUE(fs::exists(foreign));
  EXPECT_NE(cache->find("key"), std::nullopt);
}

TEST_F(DiskCacheTest, IsOfOneUserOnly) {
  const mode_t mask = umask(0);
  folder_ = root_ / "a" / "b" / "c";
  const fs::path file = insert(*open(), "key", "value");
  umask(mask);
  for (const fs::path& made : {folder_, folder_.parent_path(), root_ / "a"}) {
    EXPECT_EQ(mode_of(made), 0700) << made;
  }
  EXPECT_EQ(mode_of(file), 0600);

  for (const mode_t mode : {0720, 0702, 0777, 01777}) {
    ASSERT_EQ(chmod(folder_.c_str(), mode), 0);
    EXPECT_EQ(DiskCache::open(folder_, kMaxBytes), nullptr) << std::oct << mode;
  }
  ASSERT_EQ(chmod(folder_.c_str(), 0755), 0);
  EXPECT_NE(open()->find("key"), std::nullopt);
  ASSERT_EQ(chmod(file.c_str(), 0620), 0);
  EXPECT_EQ(open()->find("key"), std::nullopt);

  EXPECT_EQ(DiskCache::open(file, kMaxBytes), nullptr);
  EXPECT_EQ(DiskCache::open(file / "below", kMaxBytes), nullptr);
  if (geteuid() != 0) return;  // only root can give a folder away
  ASSERT_EQ(chmod(file.c_str(), 0600), 0);
  ASSERT_EQ(chown(folder_.c_str(), 1, -1), 0);
  EXPECT_EQ(DiskCache::open(folder_, kMaxBytes), nullptr);
  ASSERT_EQ(chown(folder_.c_str(), 0, -1), 0);
  ASSERT_EQ(chown(file.c_str(), 1, -1), 0);
  EXPECT_EQ(open()->find("key"), std::nullopt);
}

TEST_F(DiskCacheTest, GoesOnWithoutWriting) {
  // Not even root can make files there.
  if (const auto cache = DiskCache::open("/proc/self/fd", kMaxBytes)) {
    cache->insert("key", "value");
    EXPECT_EQ(cache->find("key"), std::nullopt);
    EXPECT_EQ(cache->stats().writes, 0);
  }

  const auto cache = open();
  cache->insert("key", "value");
  ASSERT_EQ(chmod(folder_.c_str(), 0500), 0);
  cache->insert("other", "value");
  EXPECT_THAT(cache->find("key"), Optional(std::string("value")));
  ASSERT_EQ(chmod(folder_.c_str(), 0700), 0);

  fs::remove_all(folder_);
  cache->insert("key", "value");
  EXPECT_EQ(cache->find("key"), std::nullopt);
}

TEST_F(DiskCacheTest, GoesOnWhenTheDiskIsFull) {
  const auto cache = open();
  cache->insert("key", "value");
  const pid_t child = fork();
  if (child == 0) {
    // The same error as of a full disk, but for its number.
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {1000, 1000};
    setrlimit(RLIMIT_FSIZE, &limit);
    cache->insert("key", std::string(5000, 'v'));
    cache->insert("other", std::string(5000, 'v'));
    const bool is_right = cache->stats().writes == 1 && cache->find("key") == "value" &&
                          cache->find("other") == std::nullopt;
    _exit(is_right ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(files_in(folder_).size(), 1);
}

// ---- Many processes.

std::string random_value(int key) {
  std::mt19937_64 rng(key);
  std::string value(rng() % 6000, '\0');
  for (char& c : value) c = static_cast<char>(rng());
  return value;
}

TEST_F(DiskCacheTest, SurvivesKilledProcesses) {
  constexpr int kProcesses = 32;
  constexpr int kKeys = 64;
  constexpr int64_t kBytes = 128 << 10;  // less than all entries have
  const auto run = [&](unsigned seed) {
    const auto cache = DiskCache::open(folder_, kBytes);
    if (cache == nullptr) _exit(1);
    std::mt19937 rng(seed);
    while (true) {
      const int key = rng() % kKeys;
      const std::string name = absl::StrCat("key ", key);
      if (rng() % 2 == 0) cache->insert(name, random_value(key));
      const std::optional<std::string> found = cache->find(name);
      if (found.has_value() && *found != random_value(key)) _exit(2);
    }
  };
  std::mt19937 rng(7);
  for (int round = 0; round < 3; ++round) {
    std::vector<pid_t> children;
    for (int i = 0; i < kProcesses; ++i) {
      const pid_t child = fork();
      if (child == 0) run(rng() + i);
      ASSERT_GT(child, 0);
      children.push_back(child);
    }
    for (const pid_t child : children) {
      std::this_thread::sleep_for(std::chrono::microseconds(rng() % 20000));
      kill(child, SIGKILL);
    }
    for (const pid_t child : children) {
      int status = 0;
      ASSERT_EQ(waitpid(child, &status, 0), child);
      EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
    }
  }

  const auto cache = open();
  int found = 0;
  for (int key = 0; key < kKeys; ++key) {
    const std::string name = absl::StrCat("key ", key);
    if (const auto value = cache->find(name)) {
      ++found;
      EXPECT_EQ(*value, random_value(key));
    }
    cache->insert(name, random_value(key));
    EXPECT_THAT(cache->find(name), Optional(random_value(key)));
  }
  EXPECT_GT(found, 0);
}

}  // namespace
}  // namespace sluice::kernels
