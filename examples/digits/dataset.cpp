#include "dataset.h"

#include "options.h"

namespace digits {
namespace {

namespace sl = sluice;

constexpr int kMaxPixel = 16;
constexpr int64_t kTestEvery = 5;
constexpr int64_t kLeastImages = 100;

// A row for each image: its pixels, then its label.
sl::Tensor read_table(const std::string& path) {
  try {
    return sl::data::load_csv(path);
  } catch (const sl::Error& error) {
    throw UsageError(error.what());
  }
}

sl::data::Dataset with_shifts(const sl::Tensor& images, const sl::Tensor& labels) {
  const sl::Tensor framed = sl::pad(images, {{0, 0}, {0, 0}, {1, 1}, {1, 1}});
  const auto moved = [&](int64_t down, int64_t right) {
    return framed.slice(2, 1 - down, 1 - down + kSide).slice(3, 1 - right, 1 - right + kSide);
  };
  return {sl::concat({images, moved(1, 0), moved(-1, 0), moved(0, 1), moved(0, -1)}),
          sl::tile(labels, {5})};
}

}  // namespace

Digits load_digits(const std::string& path) {
  const sl::Tensor table = read_table(path);
  if (table.shape(1) != kPixels + 1 || table.shape(0) < kLeastImages) {
    throw UsageError("damaged data file: " + path + " has " + sl::to_string(table.shape()) +
                     " numbers, not at least " + std::to_string(kLeastImages) + " rows of " +
                     std::to_string(kPixels + 1));
  }
  const sl::Tensor images = table(sl::Slice{}, sl::Slice{0, kPixels}) / float{kMaxPixel};
  const sl::Tensor labels = table(sl::Slice{}, -1);
  if (sl::any((images < 0) | (images > 1)).item<bool>() ||
      sl::any((labels < 0) | (labels >= kClasses)).item<bool>()) {
    throw UsageError("damaged data file: " + path + " has pixels or labels out of range");
  }
  const sl::Tensor pixels = images.reshape({-1, 1, kSide, kSide});
  const sl::Tensor digits = labels.astype(sl::kInt64);
  const sl::Tensor is_test = sl::arange(digits.numel()) % kTestEvery == kTestEvery - 1;
  return {with_shifts(pixels(!is_test), digits(!is_test)), {pixels(is_test), digits(is_test)}};
}

HostImages on_host(const sl::data::Dataset& images) {
  return {images[0].to_vector<float>(), images[1].to_vector<int64_t>()};
}

}  // namespace digits
