#include "frontend/data/image_libraries.h"

#include <cstdlib>
#include <span>
#include <string>

#include "absl/strings/str_cat.h"
#include "runtime/shared_library.h"

namespace sluice::frontend {
namespace {

// A library by the names of its files, and the variable that names another one.
struct Wanted {
  const char* name;
  const char* variable;
  const char* package;
  std::span<const char* const> files;
};

template <typename Table, typename Find>
absl::StatusOr<Table> load(const std::string& file, Find find_functions) {
  absl::StatusOr<runtime::SharedLibrary> library = runtime::SharedLibrary::open(file);
  if (!library.ok()) return library.status();
  Table table;
  find_functions(&*library, &table);
  if (!library->status().ok()) return library->status();
  library->keep();
  return table;
}

template <typename Table, typename Find>
absl::StatusOr<Table> look_for(const Wanted& wanted, Find find_functions) {
  const char* const named = std::getenv(wanted.variable);
  if (named != nullptr && *named != '\0') {
    absl::StatusOr<Table> table = load<Table>(named, find_functions);
    if (table.ok()) return table;
    return absl::UnimplementedError(
        absl::StrCat("the library that ", wanted.variable,
                     " names cannot be used: ", std::string(table.status().message())));
  }
  for (const char* const file : wanted.files) {
    absl::StatusOr<Table> table = load<Table>(file, find_functions);
    if (table.ok()) return table;
  }
  return absl::UnimplementedError(
      absl::StrCat("needs ", wanted.name, ", and there is none (install it, in Debian ",
                   wanted.package, ", or set ", wanted.variable, " to a library's path)"));
}

constexpr const char* kPngFiles[] = {"libpng16.so.16", "libpng16.so", "libpng.so"};
constexpr const char* kJpegFiles[] = {"libturbojpeg.so.0", "libturbojpeg.so"};

}  // namespace

const absl::StatusOr<PngLibrary>& find_png() {
  static const auto* const found = new absl::StatusOr<PngLibrary>(
      look_for<PngLibrary>({"libpng", "SLUICE_LIBPNG", "libpng16-16", kPngFiles},
                           [](runtime::SharedLibrary* library, PngLibrary* table) {
                             library->find("png_image_begin_read_from_memory", &table->begin_read);
                             library->find("png_image_finish_read", &table->finish_read);
                             library->find("png_image_write_to_memory", &table->write);
                             library->find("png_image_free", &table->free);
                           }));
  return *found;
}

const absl::StatusOr<JpegLibrary>& find_jpeg() {
  static const auto* const found = new absl::StatusOr<JpegLibrary>(
      look_for<JpegLibrary>({"libjpeg-turbo", "SLUICE_TURBOJPEG", "libturbojpeg0", kJpegFiles},
                            [](runtime::SharedLibrary* library, JpegLibrary* table) {
                              library->find("tjInitDecompress", &table->make_reader);
                              library->find("tjInitCompress", &table->make_writer);
                              library->find("tjDestroy", &table->destroy);
                              library->find("tjGetErrorStr2", &table->message);
                              library->find("tjDecompressHeader3", &table->read_header);
                              library->find("tjDecompress2", &table->read);
                              library->find("tjCompress2", &table->write);
                              library->find("tjFree", &table->free);
                            }));
  return *found;
}

}  // namespace sluice::frontend
