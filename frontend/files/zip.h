// Zip archives, as .npz files are: PKWARE's APPNOTE.TXT 6.3.
#ifndef SLUICE_FRONTEND_FILES_ZIP_H_
#define SLUICE_FRONTEND_FILES_ZIP_H_

#include <string>
#include <vector>

#include "frontend/files/file.h"

namespace sluice::frontend {

struct ZipEntry {
  std::string name;
  FilePart contents;  // of its own memory if they were compressed
};

// The entries, in the order of the directory. Throws Error if the archive is not whole, if contents
// do not have their checksum, if an entry is encrypted or compressed in a way that is not known,
// and if two have one name.
std::vector<ZipEntry> read_zip(const FilePart& file);

// Writes an archive of entries that are not compressed, each at a multiple of 64 bytes. Always as
// ZIP64, which has no limits of size.
class ZipWriter {
 public:
  explicit ZipWriter(Append append) : append_(append) {}

  void add(const std::string& name, std::initializer_list<Bytes> contents);
  // To be called last.
  void finish();

 private:
  void put(const std::string& bytes);

  Append append_;
  uint64_t position_ = 0;
  uint64_t entries_ = 0;
  std::string directory_;
};

}  // namespace sluice::frontend

#endif  // SLUICE_FRONTEND_FILES_ZIP_H_
