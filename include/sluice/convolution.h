// How convolutions and pooling place their windows.
#ifndef SLUICE_CONVOLUTION_H_
#define SLUICE_CONVOLUTION_H_

#include <cstdint>

#include <sluice/detail/export.h>

namespace SLUICE_EXPORT sluice {

// An extent for each spatial axis, or the same one for both.
struct Pair {
  int64_t height, width;
  Pair(int64_t both) : height(both), width(both) {}
  Pair(int64_t rows, int64_t columns) : height(rows), width(columns) {}
};

struct Conv2dOptions {
  Pair stride = 1;
  Pair padding = 0;
  Pair dilation = 1;
  int64_t groups = 1;
};

struct Conv1dOptions {
  int64_t stride = 1;
  int64_t padding = 0;
  int64_t dilation = 1;
  int64_t groups = 1;
};

struct ConvTranspose2dOptions {
  Pair stride = 1;
  Pair padding = 0;
  Pair output_padding = 0;  // rows and columns more at the end; less than the stride or dilation
  Pair dilation = 1;
  int64_t groups = 1;
};

struct Pool1dOptions {
  int64_t stride = 0;  // 0: the window's extent
  int64_t padding = 0;
  bool count_include_pad = true;
};

struct Pool2dOptions {
  Pair stride = 0;  // 0: the window's extents
  Pair padding = 0;
  bool count_include_pad = true;
};

}  // namespace sluice

#endif  // SLUICE_CONVOLUTION_H_
