// The images: read from disk, split, and put on the device.
#ifndef SLUICE_EXAMPLES_DIGITS_DATASET_H_
#define SLUICE_EXAMPLES_DIGITS_DATASET_H_

#include <sluice/sluice.h>

#include <cstdint>
#include <string>
#include <vector>

namespace digits {

inline constexpr int kSide = 8;
inline constexpr int kPixels = kSide * kSide;
inline constexpr int kClasses = 10;
inline constexpr int kMaxPixel = 16;

// Images on the host.
struct ImageSet {
  std::vector<float> pixels;    // kPixels an image, row-major, 0 to 1
  std::vector<int64_t> labels;  // 0 to 9
  int64_t size() const { return static_cast<int64_t>(labels.size()); }
};

struct Digits {
  ImageSet train;
  ImageSet test;  // every fifth image of the file
};

// Throws UsageError if the file can't be read or isn't what data/DATA.md describes.
Digits load_digits(const std::string& path);

// Images on the device: pixels (n, kPixels) float32, labels (n) int64.
struct DeviceSet {
  sluice::Tensor pixels;
  sluice::Tensor labels;
  int64_t size() const { return labels.numel(); }
};

DeviceSet to_device(const ImageSet& images);

// `images` plus copies shifted by one pixel up, down, left and right: five times as many.
DeviceSet with_shifts(const DeviceSet& images);

}  // namespace digits

#endif  // SLUICE_EXAMPLES_DIGITS_DATASET_H_
