// How convolutions and pooling place their windows.
#ifndef SLUICE_CONVOLUTION_H_
#define SLUICE_CONVOLUTION_H_

#include <concepts>
#include <cstdint>
#include <string_view>

#pragma GCC visibility push(default)
namespace sluice {

// An extent for each of two spatial axes, or the same one for both.
struct Pair {
  int64_t height, width;
  Pair(int64_t both) : height(both), width(both) {}
  Pair(int64_t rows, int64_t columns) : height(rows), width(columns) {}
};

// Likewise for each of three.
struct Triple {
  int64_t depth, height, width;
  Triple(int64_t all) : depth(all), height(all), width(all) {}
  Triple(int64_t planes, int64_t rows, int64_t columns)
      : depth(planes), height(rows), width(columns) {}
};

namespace detail {
// Whether a padding is "same" and not "valid"; throws Error if it is neither.
bool is_same_padding(std::string_view mode);
}  // namespace detail

// Zeros beside the elements of each axis: so many at either end; none, "valid"; or "same", as many
// as give ceil(extent / stride) places, the odd one at the end.
template <typename Extents>
struct Padding {
  Extents extents = 0;
  bool is_same = false;

  Padding(const Extents& each) : extents(each) {}
  template <std::integral... Numbers>
  requires std::constructible_from<Extents, Numbers...> Padding(Numbers... numbers)
      : extents(static_cast<int64_t>(numbers)...) {}
  Padding(std::string_view mode) : is_same(detail::is_same_padding(mode)) {}
  Padding(const char* mode) : Padding(std::string_view(mode)) {}
};

// Options of windows over axes that have an extent each: an int64_t, a Pair or a Triple.
template <typename Extents>
struct ConvOptions {
  Extents stride = 1;
  Padding<Extents> padding = 0;
  Extents dilation = 1;
  int64_t groups = 1;
};
using Conv1dOptions = ConvOptions<int64_t>;
using Conv2dOptions = ConvOptions<Pair>;
using Conv3dOptions = ConvOptions<Triple>;

template <typename Extents>
struct ConvTransposeOptions {
  Extents stride = 1;
  Extents padding = 0;
  Extents output_padding = 0;  // elements more at the end; less than the stride or the dilation
  Extents dilation = 1;
  int64_t groups = 1;
};
using ConvTranspose1dOptions = ConvTransposeOptions<int64_t>;
using ConvTranspose2dOptions = ConvTransposeOptions<Pair>;
using ConvTranspose3dOptions = ConvTransposeOptions<Triple>;

template <typename Extents>
struct PoolOptions {
  Extents stride = 0;  // 0: the window's extent
  Extents padding = 0;
  bool count_include_pad = true;
  // The last window may reach beyond the padding, where there is nothing.
  bool ceil_mode = false;
};
using Pool1dOptions = PoolOptions<int64_t>;
using Pool2dOptions = PoolOptions<Pair>;
using Pool3dOptions = PoolOptions<Triple>;

}  // namespace sluice
#pragma GCC visibility pop

#endif  // SLUICE_CONVOLUTION_H_
