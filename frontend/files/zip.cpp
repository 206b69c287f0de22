#include "frontend/files/zip.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <set>

#include "frontend/files/inflate.h"

namespace sluice::frontend {
namespace {

constexpr uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50,
                   kEnd64 = 0x06064b50, kLocator64 = 0x07064b50;
constexpr uint32_t kLocalBytes = 30, kCentralBytes = 46, kEndBytes = 22, kEnd64Bytes = 56,
                   kLocator64Bytes = 20;
constexpr uint16_t kVersion = 45;         // that knows ZIP64
constexpr uint16_t kUtf8 = 1 << 11;       // flags
constexpr uint16_t kEncrypted = 1 << 0;   //
constexpr uint16_t kZip64Extra = 1;       // ids of extra fields
constexpr uint16_t kAlignExtra = 0xd935;  //
constexpr uint16_t kDate = (1 << 5) | 1;  // 1 January 1980, so that equal tensors give equal files
constexpr uint16_t kIn64 = 0xffff;        // the field is in the ZIP64 record
constexpr uint32_t kIn64Wide = 0xffffffff;  //
constexpr uint64_t kMemberAlignment = 64;

template <typename T>
T get(Bytes bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

template <typename T>
void put_number(std::string* out, T value) {
  out->append(reinterpret_cast<const char*>(&value), sizeof(T));
}
template <typename... T>
std::string record(T... fields) {
  std::string out;
  (put_number(&out, fields), ...);
  return out;
}

// CRC-32, eight bytes at a time.
class Checksum {
 public:
  void add(Bytes bytes) {
    const auto& tables = Checksum::tables();
    size_t at = 0;
    for (; at + 8 <= bytes.size(); at += 8) {
      const uint64_t word = get<uint64_t>(bytes, at) ^ state_;
      state_ = 0;
      for (size_t k = 0; k < 8; ++k) state_ ^= tables[7 - k][(word >> (8 * k)) & 0xff];
    }
    for (; at < bytes.size(); ++at) {
      state_ = tables[0][(state_ ^ static_cast<uint32_t>(bytes[at])) & 0xff] ^ (state_ >> 8);
    }
  }
  uint32_t value() const { return ~state_; }

 private:
  using Tables = std::array<std::array<uint32_t, 256>, 8>;
  static constexpr Tables make_tables() {
    Tables tables{};
    for (uint32_t byte = 0; byte < 256; ++byte) {
      uint32_t state = byte;
      for (int bit = 0; bit < 8; ++bit) state = (state >> 1) ^ ((state & 1) != 0 ? 0xedb88320 : 0);
      tables[0][byte] = state;
    }
    for (size_t k = 1; k < 8; ++k) {
      for (size_t byte = 0; byte < 256; ++byte) {
        const uint32_t before = tables[k - 1][byte];
        tables[k][byte] = tables[0][before & 0xff] ^ (before >> 8);
      }
    }
    return tables;
  }
  static const Tables& tables() {
    static constexpr Tables kTables = make_tables();
    return kTables;
  }

  uint32_t state_ = ~uint32_t{0};
};

uint32_t checksum(Bytes bytes) {
  Checksum sum;
  sum.add(bytes);
  return sum.value();
}

struct Directory {
  uint64_t entries;
  uint64_t bytes;
  uint64_t offset;
};

Directory find_directory(const FilePart& file) {
  const uint64_t size = file.bytes.size();
  if (size < kEndBytes) file.name.fail("is not a zip archive: it has only ", size, " bytes");
  // The last record of all, before a comment of at most 64 KiB.
  uint64_t at = size - kEndBytes;
  const uint64_t least = at > 0xffff ? at - 0xffff : 0;
  while (get<uint32_t>(file.bytes, at) != kEnd ||
         at + kEndBytes + get<uint16_t>(file.bytes, at + 20) != size) {
    if (at == least)
      file.name.fail("is not a zip archive, or not all of one: it has no end record");
    --at;
  }
  const Bytes end = file.bytes.subspan(at, kEndBytes);
  Directory directory{get<uint16_t>(end, 10), get<uint32_t>(end, 12), get<uint32_t>(end, 16)};
  if (directory.entries != kIn64 && directory.bytes != kIn64Wide && directory.offset != kIn64Wide) {
    return directory;
  }
  if (at < kLocator64Bytes || get<uint32_t>(file.bytes, at - kLocator64Bytes) != kLocator64) {
    return directory;
  }
  const auto where = get<uint64_t>(file.bytes, at - kLocator64Bytes + 8);
  const Bytes end64 = file.slice(where, kEnd64Bytes, "the ZIP64 end record");
  if (get<uint32_t>(end64, 0) != kEnd64) file.name.fail("the ZIP64 end record is not one");
  return {get<uint64_t>(end64, 32), get<uint64_t>(end64, 40), get<uint64_t>(end64, 48)};
}

struct Sizes {
  uint64_t uncompressed;
  uint64_t compressed;
  uint64_t offset;
};

// Takes over the fields that the ZIP64 extra field has.
Sizes widened(const FilePart& file, Sizes sizes, Bytes extra) {
  while (extra.size() >= 4) {
    const auto id = get<uint16_t>(extra, 0), length = get<uint16_t>(extra, 2);
    extra = extra.subspan(4);
    if (length > extra.size()) file.name.fail("an extra field of an entry is too long");
    if (id == kZip64Extra) {
      Bytes rest = extra.first(length);
      for (uint64_t* field : {&sizes.uncompressed, &sizes.compressed, &sizes.offset}) {
        if (*field != kIn64Wide) continue;
        if (rest.size() < 8) file.name.fail("a ZIP64 field of an entry is too short");
        *field = get<uint64_t>(rest, 0);
        rest = rest.subspan(8);
      }
      return sizes;
    }
    extra = extra.subspan(length);
  }
  return sizes;
}

FilePart contents(const FilePart& file, Bytes header, const Sizes& sizes) {
  const Bytes local = file.slice(sizes.offset, kLocalBytes, "the header of an entry");
  if (get<uint32_t>(local, 0) != kLocal) file.name.fail("the header of an entry is not one");
  const uint64_t start =
      sizes.offset + kLocalBytes + get<uint16_t>(local, 26) + get<uint16_t>(local, 28);
  const Bytes stored = file.slice(start, sizes.compressed, "the contents of an entry");
  FilePart part{file.name, stored, file.owner};
  const auto flags = get<uint16_t>(header, 8), method = get<uint16_t>(header, 10);
  if ((flags & kEncrypted) != 0) file.name.fail("is encrypted");
  if (method == 8) {
    part.owner = inflate(file.name, stored, sizes.uncompressed);
    part.bytes = {static_cast<const std::byte*>(part.owner.get()), sizes.uncompressed};
  } else if (method != 0) {
    file.name.fail("is compressed by method ", method, "; what is read is stored or deflated");
  } else if (sizes.compressed != sizes.uncompressed) {
    file.name.fail("is stored, but its sizes differ");
  }
  if (checksum(part.bytes) != get<uint32_t>(header, 16)) {
    file.name.fail("does not have its checksum: the file is damaged");
  }
  return part;
}

}  // namespace

std::vector<ZipEntry> read_zip(const FilePart& file) {
  const Directory directory = find_directory(file);
  Bytes rest = file.slice(directory.offset, directory.bytes, "the directory");
  std::vector<ZipEntry> entries;
  std::set<std::string> names;
  uint64_t contained = 0;
  for (uint64_t k = 0; k < directory.entries; ++k) {
    if (rest.size() < kCentralBytes || get<uint32_t>(rest, 0) != kCentral) {
      file.name.fail("the directory has only ", k, " of its ", directory.entries, " entries");
    }
    const Bytes header = rest.first(kCentralBytes);
    const size_t name_bytes = get<uint16_t>(header, 28), extra_bytes = get<uint16_t>(header, 30),
                 comment_bytes = get<uint16_t>(header, 32);
    const size_t length = kCentralBytes + name_bytes + extra_bytes + comment_bytes;
    if (rest.size() < length) file.name.fail("the directory ends within an entry");
    std::string name(reinterpret_cast<const char*>(rest.data()) + kCentralBytes, name_bytes);
    if (!names.insert(name).second) file.name.fail("has two entries named ", name);
    FilePart named = file;
    named.name.path += absl::StrCat(": ", name);
    const Sizes sizes = widened(
        named, {get<uint32_t>(header, 24), get<uint32_t>(header, 20), get<uint32_t>(header, 42)},
        rest.subspan(kCentralBytes + name_bytes, extra_bytes));
    // Else a small file could stand for any amount of memory.
    if (__builtin_add_overflow(contained, sizes.compressed, &contained) ||
        contained > file.bytes.size()) {
      file.name.fail("has entries that overlap");
    }
    entries.push_back({std::move(name), contents(named, header, sizes)});
    rest = rest.subspan(length);
  }
  return entries;
}

void ZipWriter::put(const std::string& bytes) {
  append_(bytes.data(), bytes.size());
  position_ += bytes.size();
}

void ZipWriter::add(const std::string& name, std::initializer_list<Bytes> contents) {
  Checksum sum;
  uint64_t size = 0;
  for (const Bytes bytes : contents) {
    sum.add(bytes);
    size += bytes.size();
  }
  const uint64_t offset = position_;
  const auto name_bytes = static_cast<uint16_t>(name.size());
  constexpr uint16_t kStored = 0, kMidnight = 0, kNone = 0;
  // The local header's sizes, and padding up to where the contents begin.
  constexpr uint16_t kLocalExtra = 20;
  const uint64_t unpadded = offset + kLocalBytes + name_bytes + kLocalExtra + 4;
  const auto padding =
      static_cast<uint16_t>((kMemberAlignment - unpadded % kMemberAlignment) % kMemberAlignment);
  put(record(kLocal, kVersion, kUtf8, kStored, kMidnight, kDate, sum.value(), kIn64Wide, kIn64Wide,
             name_bytes, static_cast<uint16_t>(kLocalExtra + 4 + padding)) +
      name + record(kZip64Extra, uint16_t{16}, size, size, kAlignExtra, padding) +
      std::string(padding, '\0'));
  for (const Bytes bytes : contents) {
    append_(bytes.data(), bytes.size());
    position_ += bytes.size();
  }
  directory_ +=
      record(kCentral, kVersion, kVersion, kUtf8, kStored, kMidnight, kDate, sum.value(), kIn64Wide,
             kIn64Wide, name_bytes, uint16_t{28}, kNone, kNone, kNone, uint32_t{0}, kIn64Wide) +
      name + record(kZip64Extra, uint16_t{24}, size, size, offset);
  ++entries_;
}

void ZipWriter::finish() {
  const uint64_t start = position_, bytes = directory_.size();
  put(directory_);
  const uint64_t end64 = position_;
  put(record(kEnd64, uint64_t{kEnd64Bytes - 12}, kVersion, kVersion, uint32_t{0}, uint32_t{0},
             entries_, entries_, bytes, start));
  put(record(kLocator64, uint32_t{0}, end64, uint32_t{1}));
  put(record(kEnd, uint16_t{0}, uint16_t{0}, kIn64, kIn64, kIn64Wide, kIn64Wide, uint16_t{0}));
}

}  // namespace sluice::frontend
