// Images in files: PNG and JPEG.
#include <algorithm>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sluice/data.h>
#include <sluice/ops.h>
#include "absl/strings/str_cat.h"
#include "engine/observe/call_site.h"
#include "frontend/checks.h"
#include "frontend/data/image_libraries.h"
#include "frontend/files/file.h"

namespace sluice::data {
namespace {

using frontend::Bytes;
using frontend::describe;
using frontend::fail;
using frontend::FileName;
using frontend::find_jpeg;
using frontend::find_png;
using frontend::JpegLibrary;
using frontend::PngImage;
using frontend::PngLibrary;

// A file of a few bytes may say that it has more pixels than there is memory.
constexpr int64_t kMaxPixels = int64_t{1} << 28;

constexpr std::string_view kPngMagic("\x89PNG\r\n\x1a\n", 8);
constexpr std::string_view kJpegMagic("\xff\xd8\xff", 3);

std::string_view text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

template <typename Library>
const Library& checked(const absl::StatusOr<Library>& library, const char* op) {
  if (!library.ok()) {
    throw Error(ErrorCode::kUnimplemented,
                absl::StrCat(op, ": ", std::string(library.status().message())));
  }
  return *library;
}

// Pixels row by row, the channels of each beside one another.
struct Pixels {
  int64_t height = 0, width = 0, channels = 0;
  std::vector<uint8_t> values;

  // Makes room. `name`: of the file that has so many.
  void resize(const FileName& name) {
    if (height <= 0 || width <= 0 || height > kMaxPixels / width) {
      name.fail(width, " x ", height, " pixels; at most ", kMaxPixels, " are read");
    }
    values.resize(static_cast<size_t>(height * width * channels));
  }
  int32_t row() const { return static_cast<int32_t>(width * channels); }
};

Pixels read_png(const FileName& name, Bytes file, int64_t channels) {
  const PngLibrary& png = checked(find_png(), name.op);
  PngImage image;
  // Keeps what libpng has allocated no longer than this call.
  const std::unique_ptr<PngImage, void (*)(PngImage*)> owner(&image, png.free);
  if (png.begin_read(&image, file.data(), file.size()) == 0) {
    name.fail("is no PNG that can be read: ", image.message);
  }
  const uint32_t own = image.format & PngImage::kColorAndAlpha;
  const uint32_t wanted = channels == 1   ? 0
                          : channels == 3 ? PngImage::kColor
                          : channels == 4 ? PngImage::kColorAndAlpha
                                          : own;
  // What is transparent would else be mixed with what the memory held before.
  image.format = wanted | (own & PngImage::kAlpha);
  image.flags |= PngImage::kDeepIsSrgb;
  Pixels pixels{image.height, image.width, 1 + static_cast<int64_t>(image.format), {}};
  pixels.resize(name);
  if (png.finish_read(&image, nullptr, pixels.values.data(), pixels.row(), nullptr) == 0) {
    name.fail("is no PNG that can be read: ", image.message);
  }
  return pixels;
}

Pixels read_jpeg(const FileName& name, Bytes file, int64_t channels) {
  const JpegLibrary& jpeg = checked(find_jpeg(), name.op);
  const std::unique_ptr<void, int (*)(void*)> reader(jpeg.make_reader(), jpeg.destroy);
  if (reader == nullptr) name.fail("libjpeg-turbo does not start");
  const auto* const bytes = reinterpret_cast<const unsigned char*>(file.data());
  int width = 0, height = 0, sampling = 0, colors = 0;
  if (jpeg.read_header(reader.get(), bytes, file.size(), &width, &height, &sampling, &colors) !=
      0) {
    name.fail("is no JPEG that can be read: ", jpeg.message(reader.get()));
  }
  if (channels == 0) channels = colors == JpegLibrary::kGreyColors ? 1 : 3;
  const int format = channels == 1   ? JpegLibrary::kGrey
                     : channels == 3 ? JpegLibrary::kRgb
                                     : JpegLibrary::kRgba;
  Pixels pixels{height, width, channels, {}};
  pixels.resize(name);
  if (jpeg.read(reader.get(), bytes, file.size(), pixels.values.data(), width, pixels.row(), height,
                format, 0) != 0) {
    name.fail("is no JPEG that can be read: ", jpeg.message(reader.get()));
  }
  return pixels;
}

Tensor decode(const FileName& name, Bytes file, const ImageOptions& options) {
  const int64_t channels = options.channels;
  if (channels != 0 && channels != 1 && channels != 3 && channels != 4) {
    fail(name.op, channels, " channels; 1, 3, 4 or 0 can be asked for");
  }
  const bool is_png = text_of(file).starts_with(kPngMagic);
  if (!is_png && !text_of(file).starts_with(kJpegMagic)) name.fail("is neither PNG nor JPEG");
  const Pixels pixels = is_png ? read_png(name, file, channels) : read_jpeg(name, file, channels);
  Tensor image = Tensor::from(pixels.values, {pixels.height, pixels.width, pixels.channels})
                     .to(default_device())
                     .permute({2, 0, 1});
  return channels == 0 || channels == pixels.channels ? image : slice(image, 0, 0, channels);
}

bool has_ending(const std::string& path, std::initializer_list<std::string_view> endings) {
  return std::any_of(endings.begin(), endings.end(), [&](std::string_view ending) {
    return path.size() > ending.size() &&
           std::equal(ending.rbegin(), ending.rend(), path.rbegin(),
                      [](char a, char b) { return a == (b | ('A' <= b && b <= 'Z' ? 32 : 0)); });
  });
}

// Calls use(file, size) with the file that pixels become.
template <typename Use>
void write_png(const Pixels& pixels, Use use) {
  const PngLibrary& png = checked(find_png(), "save_image");
  PngImage image;
  image.width = static_cast<uint32_t>(pixels.width);
  image.height = static_cast<uint32_t>(pixels.height);
  image.format = static_cast<uint32_t>(pixels.channels - 1);
  const std::unique_ptr<PngImage, void (*)(PngImage*)> owner(&image, png.free);
  // A bound of what it takes; a first call would compress the image to say how much.
  size_t size = pixels.values.size() + pixels.values.size() / 100 +
                64 * static_cast<size_t>(pixels.height) + 4096;
  std::vector<uint8_t> file(size);
  if (png.write(&image, file.data(), &size, 0, pixels.values.data(), pixels.row(), nullptr) == 0) {
    throw Error(ErrorCode::kInternal, absl::StrCat("save_image: libpng: ", image.message));
  }
  use(file.data(), size);
}

template <typename Use>
void write_jpeg(const Pixels& pixels, int quality, Use use) {
  const JpegLibrary& jpeg = checked(find_jpeg(), "save_image");
  const bool is_grey = pixels.channels == 1;
  const std::unique_ptr<void, int (*)(void*)> writer(jpeg.make_writer(), jpeg.destroy);
  unsigned char* file = nullptr;
  unsigned long size = 0;
  const int failed =
      writer == nullptr ||
      jpeg.write(writer.get(), pixels.values.data(), static_cast<int>(pixels.width), pixels.row(),
                 static_cast<int>(pixels.height), is_grey ? JpegLibrary::kGrey : JpegLibrary::kRgb,
                 &file, &size, is_grey ? JpegLibrary::kNoColor : JpegLibrary::kHalf, quality,
                 0) != 0;
  const std::unique_ptr<unsigned char, void (*)(unsigned char*)> owner(file, jpeg.free);
  if (failed != 0) {
    throw Error(ErrorCode::kInternal,
                absl::StrCat("save_image: libjpeg-turbo: ",
                             writer == nullptr ? "does not start" : jpeg.message(writer.get())));
  }
  use(file, size);
}

}  // namespace

Tensor load_image(const std::string& path, const ImageOptions& options, Location where) {
  const engine::CallSite site(where, "load_image");
  const frontend::FilePart file = frontend::open_file("load_image", path);
  return decode(file.name, file.bytes, options);
}

Tensor decode_image(std::span<const uint8_t> file, const ImageOptions& options, Location where) {
  const engine::CallSite site(where, "decode_image");
  return decode({"decode_image", "the bytes"}, std::as_bytes(file), options);
}

void save_image(const std::string& path, const Tensor& image, const SaveImageOptions& options,
                Location where) {
  const engine::CallSite site(where, "save_image");
  frontend::node_of("save_image", image);
  const bool is_png = has_ending(path, {".png"});
  if (!is_png && !has_ending(path, {".jpg", ".jpeg"})) {
    fail("save_image", path, " ends in none of .png, .jpg and .jpeg");
  }
  const Tensor x = image.ndim() == 2 ? image.expand_dims(0) : image;
  const int64_t channels = x.ndim() == 3 ? x.shape(0) : 0;
  const bool fits = is_png ? channels >= 1 && channels <= 4 : channels == 1 || channels == 3;
  if (x.dtype() != DType::kUInt8 || !fits || x.numel() == 0 || x.numel() > 4 * kMaxPixels ||
      std::max(x.shape(1), x.shape(2)) > 65'500) {
    fail("save_image", describe(image), " is no image of (channels, height, width) uint8, with ",
         is_png ? "1 to 4 channels" : "1 or 3 channels");
  }
  if (options.quality < 1 || options.quality > 100) {
    fail("save_image", "quality ", options.quality, " is not from 1 to 100");
  }
  const Pixels pixels{x.shape(1), x.shape(2), channels, x.permute({1, 2, 0}).to_vector<uint8_t>()};
  const auto use = [&](const void* file, size_t size) {
    frontend::write_file("save_image", path, [&](frontend::Append append) { append(file, size); });
  };
  if (is_png) {
    write_png(pixels, use);
  } else {
    write_jpeg(pixels, options.quality, use);
  }
}

}  // namespace sluice::data
