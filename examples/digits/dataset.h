// The handwritten digits of data/DATA.md.
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

// Images (n, 1, kSide, kSide) float32 from 0 to 1, and labels (n) int64.
struct Digits {
  sluice::data::Dataset train;  // with copies shifted by a pixel up, down, left and right
  sluice::data::Dataset test;   // every fifth image of the file
};

// Throws UsageError if the file can't be read or isn't what data/DATA.md describes.
Digits load_digits(const std::string& path);

// Images on the host, for pictures.
struct HostImages {
  std::vector<float> pixels;  // kPixels an image
  std::vector<int64_t> labels;
  int64_t size() const { return static_cast<int64_t>(labels.size()); }
};
HostImages on_host(const sluice::data::Dataset& images);

}  // namespace digits

#endif  // SLUICE_EXAMPLES_DIGITS_DATASET_H_
