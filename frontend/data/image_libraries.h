// libpng and TurboJPEG, found when they are first needed: their own headers are not.
#ifndef SLUICE_FRONTEND_DATA_IMAGE_LIBRARIES_H_
#define SLUICE_FRONTEND_DATA_IMAGE_LIBRARIES_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"

namespace sluice::frontend {

// Of libpng's simplified API, which reports errors by what it returns: png_image.
struct PngImage {
  static constexpr uint32_t kVersion = 1;
  // Bits of `format`; without them: grey, a byte each.
  static constexpr uint32_t kAlpha = 1, kColor = 2, kColorAndAlpha = kColor | kAlpha;
  // Of `flags`: values of 16 bits mean colors as those of 8 bits do.
  static constexpr uint32_t kDeepIsSrgb = 4;

  void* opaque = nullptr;
  uint32_t version = kVersion;
  uint32_t width = 0, height = 0;
  uint32_t format = 0;
  uint32_t flags = 0;
  uint32_t colormap_entries = 0;
  uint32_t warning_or_error = 0;
  char message[64] = {};
};

// Functions give 0 if they fail, and `message` then says why.
struct PngLibrary {
  int (*begin_read)(PngImage* image, const void* file, size_t size) = nullptr;
  int (*finish_read)(PngImage* image, const void* background, void* pixels, int32_t row_stride,
                     void* colormap) = nullptr;
  int (*write)(PngImage* image, void* file, size_t* size, int to_8_bits, const void* pixels,
               int32_t row_stride, const void* colormap) = nullptr;
  void (*free)(PngImage* image) = nullptr;
};

// Functions give 0 if they succeed.
struct JpegLibrary {
  enum Pixels : int { kRgb = 0, kGrey = 6, kRgba = 7 };
  enum Colors : int { kGreyColors = 2 };
  enum Sampling : int { kEach = 0, kHalf = 2, kNoColor = 3 };

  void* (*make_reader)() = nullptr;
  void* (*make_writer)() = nullptr;
  int (*destroy)(void* handle) = nullptr;
  char* (*message)(void* handle) = nullptr;
  int (*read_header)(void* reader, const unsigned char* file, unsigned long size, int* width,
                     int* height, int* sampling, int* colors) = nullptr;
  int (*read)(void* reader, const unsigned char* file, unsigned long size, unsigned char* pixels,
              int width, int row_stride, int height, int format, int flags) = nullptr;
  int (*write)(void* writer, const unsigned char* pixels, int width, int row_stride, int height,
               int format, unsigned char** file, unsigned long* size, int sampling, int quality,
               int flags) = nullptr;
  void (*free)(unsigned char* file) = nullptr;
};

// Those that $SLUICE_LIBPNG and $SLUICE_TURBOJPEG name, paths or names for the loader's search;
// else the system's. kUnimplemented, saying what to install, if there is none. Looked for once;
// thread-safe.
const absl::StatusOr<PngLibrary>& find_png();
const absl::StatusOr<JpegLibrary>& find_jpeg();

}  // namespace sluice::frontend

#endif  // SLUICE_FRONTEND_DATA_IMAGE_LIBRARIES_H_
