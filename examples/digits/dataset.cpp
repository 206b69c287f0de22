#include "dataset.h"

#include <charconv>
#include <fstream>

#include "options.h"

namespace digits {
namespace {

namespace sl = sluice;

constexpr int64_t kTestEvery = 5;
constexpr int64_t kLeastImages = 100;

// Parses "p,p,...,p,label" into `numbers`. Returns an error message, or nothing.
std::string parse_line(const std::string& line, int (&numbers)[kPixels + 1]) {
  const char* at = line.data();
  const char* const end = at + line.size();
  for (int i = 0; i <= kPixels; ++i) {
    const auto [next, error] = std::from_chars(at, end, numbers[i]);
    const int greatest = i < kPixels ? kMaxPixel : kClasses - 1;
    if (error != std::errc() || numbers[i] < 0 || numbers[i] > greatest) {
      return "number " + std::to_string(i + 1) + " is not in 0 to " + std::to_string(greatest);
    }
    at = next;
    if (i < kPixels && (at == end || *at++ != ',')) {
      return "expected " + std::to_string(kPixels + 1) + " numbers, found " + std::to_string(i + 1);
    }
  }
  return at == end ? "" : "more than " + std::to_string(kPixels + 1) + " numbers";
}

}  // namespace

Digits load_digits(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw UsageError("can't read the data file " + path);

  Digits digits;
  std::string line;
  int64_t count = 0;
  while (std::getline(file, line)) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    int numbers[kPixels + 1];
    ++count;
    if (const std::string problem = parse_line(line, numbers); !problem.empty()) {
      throw UsageError("damaged data file: " + path + ":" + std::to_string(count) + ": " + problem);
    }
    ImageSet& set = count % kTestEvery == 0 ? digits.test : digits.train;
    for (int i = 0; i < kPixels; ++i) {
      set.pixels.push_back(static_cast<float>(numbers[i]) / kMaxPixel);
    }
    set.labels.push_back(numbers[kPixels]);
  }
  if (count < kLeastImages) {
    throw UsageError("damaged data file: " + path + " holds " + std::to_string(count) +
                     " images, fewer than " + std::to_string(kLeastImages));
  }
  return digits;
}

DeviceSet to_device(const ImageSet& images) {
  return {sl::Tensor::from(images.pixels, {images.size(), kPixels}),
          sl::Tensor::from(images.labels, {images.size()})};
}

DeviceSet with_shifts(const DeviceSet& images) {
  const int64_t count = images.size();
  const sl::Tensor framed =
      sl::pad(images.pixels.reshape({count, kSide, kSide}), {{0, 0}, {1, 1}, {1, 1}});
  // The offset of the original-sized window in the padded image.
  constexpr int kStarts[][2] = {{1, 1}, {0, 1}, {2, 1}, {1, 0}, {1, 2}};
  std::vector<sl::Tensor> pixels, labels;
  for (const auto& [row, column] : kStarts) {
    pixels.push_back(framed.slice(1, row, row + kSide)
                         .slice(2, column, column + kSide)
                         .reshape({count, kPixels}));
    labels.push_back(images.labels);
  }
  return {sl::concat(pixels), sl::concat(labels)};
}

}  // namespace digits
