// Images in files, and files of samples that are mapped.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include <gtest/gtest.h>

#include "tests/support/folder.h"
#include "tests/support/test_util.h"

namespace sluice::test {
namespace {

using Bytes = std::vector<uint8_t>;

Bytes bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

// A smooth picture: a JPEG of it is nearly the same.
Tensor picture(int64_t channels, int64_t height, int64_t width) {
  std::vector<uint8_t> values;
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t y = 0; y < height; ++y) {
      for (int64_t x = 0; x < width; ++x) {
        values.push_back(static_cast<uint8_t>(20 + 40 * c + 3 * y + 2 * x));
      }
    }
  }
  return Tensor::from(values, {channels, height, width});
}

// Whether images of this kind can be read and written here.
bool has(const char* ending) {
  const Folder folder("sluice_images_");
  try {
    data::save_image(folder.path(std::string("x") + ending), picture(1, 2, 2));
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnimplemented) << error.what();
    return false;
  }
  return true;
}

// The message of what decoding throws; "" if it throws nothing.
std::string error_of(const Bytes& file, ErrorCode code = ErrorCode::kInvalidArgument) {
  try {
    static_cast<void>(data::decode_image(file).to_vector<uint8_t>());
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  return "";
}

TEST(Images, APngHasTheBitsThatWereSaved) {
  if (!has(".png")) GTEST_SKIP() << "there is no libpng";
  const Folder folder("sluice_images_");
  for (const int64_t channels : {1, 2, 3, 4}) {
    const Tensor image = picture(channels, 7, 13);
    const std::string path = folder.path("x.PNG");
    data::save_image(path, image);
    const Tensor back = data::load_image(path);
    EXPECT_EQ(back.shape(), image.shape());
    EXPECT_EQ(back.to_vector<uint8_t>(), image.to_vector<uint8_t>());
    EXPECT_EQ(data::decode_image(bytes_of(path)).to_vector<uint8_t>(), image.to_vector<uint8_t>());
  }
  data::save_image(folder.path("flat.png"), picture(1, 5, 4)(0));
  EXPECT_EQ(data::load_image(folder.path("flat.png")).shape(), Shape({1, 5, 4}));
}

TEST(Images, GiveTheChannelsThatAreAskedFor) {
  if (!has(".png")) GTEST_SKIP() << "there is no libpng";
  const Folder folder("sluice_images_");
  const std::string grey = folder.path("grey.png"), colors = folder.path("colors.png");
  data::save_image(grey, picture(1, 3, 4));
  data::save_image(colors, picture(4, 3, 4));
  const Tensor three = data::load_image(grey, {.channels = 3});
  for (const int c : {0, 1, 2}) {
    EXPECT_EQ(three(c).to_vector<uint8_t>(), picture(1, 3, 4).to_vector<uint8_t>());
  }
  const Tensor four = data::load_image(grey, {.channels = 4});
  EXPECT_EQ(four(3).to_vector<uint8_t>(), Bytes(12, 255));
  // How opaque a pixel is does not change its color.
  EXPECT_EQ(data::load_image(colors, {.channels = 3}).to_vector<uint8_t>(),
            slice(picture(4, 3, 4), 0, 0, 3).to_vector<uint8_t>());
  EXPECT_EQ(data::load_image(colors, {.channels = 1}).shape(), Shape({1, 3, 4}));
  EXPECT_THROW(static_cast<void>(data::load_image(colors, {.channels = 2})), Error);
}

TEST(Images, AJpegIsNearWhatWasSaved) {
  if (!has(".jpg")) GTEST_SKIP() << "there is no libjpeg-turbo";
  const Folder folder("sluice_images_");
  for (const int64_t channels : {1, 3}) {
    const Tensor image = picture(channels, 24, 30);
    data::save_image(folder.path("x.jpg"), image, {.quality = 95});
    const Tensor back = data::load_image(folder.path("x.jpg"));
    ASSERT_EQ(back.shape(), image.shape());
    const Tensor difference = abs(back.astype(kFloat32) - image.astype(kFloat32));
    EXPECT_LT(max(difference).item<float>(), 12);
    EXPECT_EQ(data::load_image(folder.path("x.jpg"), {.channels = 4})(3).to_vector<uint8_t>(),
              Bytes(24 * 30, 255));
  }
  EXPECT_THROW(data::save_image(folder.path("x.jpg"), picture(4, 8, 8)), Error);
  EXPECT_THROW(data::save_image(folder.path("x.jpg"), picture(3, 8, 8), {.quality = 0}), Error);
}

TEST(Images, FilesThatEndEarlyAreErrors) {
  const Folder folder("sluice_images_");
  for (const char* const ending : {".png", ".jpg"}) {
    if (!has(ending)) continue;
    const std::string path = folder.path(std::string("x") + ending);
    data::save_image(path, picture(3, 20, 20));
    const Bytes whole = bytes_of(path);
    for (size_t size = 0; size + 16 < whole.size(); ++size) {
      EXPECT_NE(error_of(Bytes(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size))), "")
          << size << " of " << whole.size() << ending;
    }
  }
}

TEST(Images, DamagedFilesAreErrorsOrOtherImages) {
  const Folder folder("sluice_images_");
  std::mt19937 random(1);
  for (const char* const ending : {".png", ".jpg"}) {
    if (!has(ending)) continue;
    const std::string path = folder.path(std::string("x") + ending);
    data::save_image(path, picture(3, 20, 20));
    const Bytes whole = bytes_of(path);
    for (int i = 0; i < 2000; ++i) {
      Bytes file = whole;
      for (uint32_t n = 1 + random() % 4; n > 0; --n) {
        file[random() % file.size()] = static_cast<uint8_t>(random());
      }
      static_cast<void>(error_of(file));
    }
  }
}

TEST(Images, ASizeThatNoMemoryHasIsAnError) {
  const Folder folder("sluice_images_");
  if (has(".jpg")) {
    data::save_image(folder.path("x.jpg"), picture(3, 8, 8));
    Bytes file = bytes_of(folder.path("x.jpg"));
    for (size_t i = 0; i + 9 < file.size(); ++i) {
      if (file[i] != 0xff || file[i + 1] != 0xc0) continue;
      for (size_t k = 5; k < 9; ++k) file[i + k] = 0xfa;  // height, width
      break;
    }
    EXPECT_NE(error_of(file).find("64250 x 64250 pixels; at most"), std::string::npos)
        << error_of(file);
  }
  EXPECT_NE(error_of({1, 2, 3, 4}).find("neither PNG nor JPEG"), std::string::npos);
  EXPECT_NE(error_of({}), "");
  EXPECT_THROW(data::save_image(folder.path("x.bmp"), picture(3, 8, 8)), Error);
  EXPECT_THROW(data::save_image(folder.path("x.png"), picture(3, 8, 8).astype(kFloat32)), Error);
  EXPECT_THROW(data::save_image(folder.path("x.png"), picture(5, 8, 8)), Error);
  try {
    static_cast<void>(data::load_image(folder.path("none.png")));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kNotFound);
  }
}

using ImagesDeathTest = testing::Test;

TEST(ImagesDeathTest, AMissingLibraryIsAnErrorThatNamesIt) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto decode = [](const char* variable, Bytes file) {
    setenv(variable, "/nowhere/lib.so", 1);
    std::fputs(error_of(file, ErrorCode::kUnimplemented).c_str(), stderr);
    std::_Exit(0);
  };
  const Bytes png = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
  EXPECT_EXIT(decode("SLUICE_LIBPNG", png), testing::ExitedWithCode(0),
              "decode_image: the library that SLUICE_LIBPNG names cannot be used");
  EXPECT_EXIT(decode("SLUICE_TURBOJPEG", {0xff, 0xd8, 0xff}), testing::ExitedWithCode(0),
              "decode_image: the library that SLUICE_TURBOJPEG names cannot be used");
}

TEST(LoadRaw, ReadsSamplesInTheirPlaces) {
  const Folder folder("sluice_raw_");
  std::vector<int16_t> values(2 * 3 * 5 + 1);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int16_t>(i * 7);
  const std::string path = folder.write(
      "x", std::string(reinterpret_cast<const char*>(values.data()), values.size() * 2));
  const Tensor all = data::load_raw(path, {2, 3}, kInt16);
  EXPECT_EQ(all.shape(), Shape({5, 2, 3}));
  EXPECT_EQ(all.to_vector<int16_t>(), std::vector<int16_t>(values.begin(), values.end() - 1));
  // Every second of records of three; the last has nothing behind it.
  const Tensor some = data::load_raw(path, {2}, kInt16, {.skip = 2, .record = 6});
  EXPECT_EQ(some.shape(), Shape({10, 2}));
  EXPECT_EQ(some(9).to_vector<int16_t>(), (std::vector<int16_t>{values[28], values[29]}));
  EXPECT_EQ(data::load_raw(path, {100}, kInt16).shape(), Shape({0, 100}));
  EXPECT_EQ(data::load_raw(path, {}, kUInt8, {.skip = 60}).to_vector<uint8_t>().size(), 2u);
  for (const data::RawOptions& wrong :
       {data::RawOptions{.skip = -1}, {.record = 2}, {.record = 13}, {.record = -6}}) {
    EXPECT_THROW(static_cast<void>(data::load_raw(path, {2, 3}, kInt16, wrong)), Error);
  }
  EXPECT_THROW(static_cast<void>(data::load_raw(path, {0}, kInt16)), Error);
  EXPECT_THROW(static_cast<void>(data::load_raw(path, {1, 1, 1, 1, 1, 1, 1, 1}, kInt16)), Error);
}

// 64 GiB, which nobody has written: a batch costs what it has.
TEST(LoadRaw, ReadsNoMoreThanBatchesHave) {
  if (default_device() != Device::cpu()) GTEST_SKIP() << "a GPU gets a copy";
  const Folder folder("sluice_raw_");
  const std::string path = folder.write("x", "");
  std::error_code error;
  std::filesystem::resize_file(path, uintmax_t{64} << 30, error);
  if (error) GTEST_SKIP() << "no file may have 64 GiB here: " << error.message();
  std::fstream(path, std::ios::in | std::ios::out | std::ios::binary)
      .seekp(std::streamoff{50} << 30)
      .write("\x05", 1);
  const data::Dataset set{data::load_raw(path, {1 << 20}, kUInt8)};
  EXPECT_EQ(set.size(), 65536);
  data::Loader loader(set, {.batch = 4, .shuffle = true, .seed = 3});
  EXPECT_EQ(sum(loader.batch(0, 0)[0].astype(kFloat32)).item<float>(), 0);
  EXPECT_EQ(set.at({51200, 1})[0](0, 0).item<uint8_t>(), 5);
  EXPECT_LT(stats().bytes_live, int64_t{100} << 20);
}

}  // namespace
}  // namespace sluice::test
