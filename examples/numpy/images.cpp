// Images of one channel, and of three.
#include "examples/numpy/snippets.h"

namespace snippets {
namespace {

//   print(np.round(255 * (picture / 31) ** (1 / 2.2)).astype(np.uint8))
void gamma_correction() {
  print(sl::round(255 * sl::pow(picture() / 31, 1 / 2.2)).astype(sl::kUInt8));
}

//   colour = np.stack([picture, picture.max() - picture, picture % 8], axis=-1)
//   print(np.round(colour @ np.array([0.299, 0.587, 0.114]), 4))
void grayscale() {
  const Tensor x = picture();
  const Tensor colour = sl::stack({x, x.max() - x, x % 8}, -1);
  print(sl::around(sl::matmul(colour, array({0.299, 0.587, 0.114})), 4));
}

//   p = picture
//   gx = (p[:-2, 2:] + 2 * p[1:-1, 2:] + p[2:, 2:]) - (p[:-2, :-2] + 2 * p[1:-1, :-2] + p[2:, :-2])
//   gy = (p[2:, :-2] + 2 * p[2:, 1:-1] + p[2:, 2:]) - (p[:-2, :-2] + 2 * p[:-2, 1:-1] + p[:-2, 2:])
//   print(np.round(np.hypot(gx, gy), 4))
void sobel() {
  const Tensor p = picture();
  const Slice first{{}, -2}, middle{1, -1}, last{2, {}};
  const Tensor gx = (p(first, last) + 2 * p(middle, last) + p(last, last)) -
                    (p(first, first) + 2 * p(middle, first) + p(last, first));
  const Tensor gy = (p(last, first) + 2 * p(last, middle) + p(last, last)) -
                    (p(first, first) + 2 * p(first, middle) + p(first, last));
  print(sl::around(sl::hypot(gx, gy), 4));
}

//   padded = np.pad(picture, 1)
//   print(sum(padded[i:i + 5, j:j + 6] for i in range(3) for j in range(3)) / 9)
void box_blur() {
  const Tensor padded = sl::pad(picture(), {{1, 1}, {1, 1}});
  Tensor sum = sl::zeros({5, 6}, sl::kFloat64);
  for (int64_t i = 0; i < 3; ++i) {
    for (int64_t j = 0; j < 3; ++j) sum += padded(Slice{i, i + 5}, Slice{j, j + 6});
  }
  print(sum / 9);
}

//   print(np.where(picture > picture.mean(), 255, 0))
void threshold() {
  const Tensor x = picture();
  print(sl::where(x > x.mean(), int64_t{255}, int64_t{0}));
}

//   print(np.rot90(picture))
void rotate_left() { print(sl::flip(picture().T(), 0)); }

//   print(picture[::-1, ::-1])
void rotate_half() { print(sl::flip(picture())); }

//   print(picture[1:4, 2:5])
void crop() { print(picture()(Slice{1, 4}, Slice{2, 5})); }

//   print(np.pad(picture, ((1, 0), (0, 2)), constant_values=99))
void pad_with_a_colour() { print(sl::pad(picture(), {{1, 0}, {0, 2}}, 99)); }

//   total = picture.cumsum(axis=0).cumsum(axis=1)
//   print(total)
//   print(total[3, 4] - total[0, 4] - total[3, 1] + total[0, 1])
void integral_image() {
  const Tensor total = sl::cumsum(sl::cumsum(picture(), 0), 1);
  print(total);
  print(total(3, 4) - total(0, 4) - total(3, 1) + total(0, 1));
}

//   print(picture[:4].reshape(2, 2, 3, 2).mean(axis=(1, 3)))
void halve_by_means() { print(picture()(Slice{{}, 4}).reshape(2, 2, 3, 2).mean({1, 3})); }

//   print(np.repeat(np.repeat(picture[:2, :3], 2, axis=0), 2, axis=1))
void enlarge() { print(sl::repeat(sl::repeat(picture()(Slice{{}, 2}, Slice{{}, 3}), 2, 0), 2, 1)); }

//   counts = np.bincount(picture.astype(int).ravel(), minlength=32)
//   share = np.cumsum(counts) / picture.size
//   print(np.round(31 * share[picture.astype(int)], 4))
void equalise_histogram() {
  const Tensor levels = picture().astype(sl::kInt64);
  const Tensor counts = sl::bincount(levels.reshape(-1), {}, 32);
  const Tensor share = sl::cumsum(counts, 0).astype(sl::kFloat64) / levels.size();
  print(sl::around(31 * share[levels], 4));
}

//   y, x = np.mgrid[0:5, 0:6]
//   mask = (y - 2) ** 2 + (x - 2.5) ** 2 < 5
//   print(np.where(mask, picture, 0))
void round_mask() {
  const auto grid = sl::meshgrid({sl::arange(5), sl::arange(6).astype(sl::kFloat64)}, true);
  const Tensor mask = sl::pow(grid[0] - 2, 2) + sl::pow(grid[1] - 2.5, 2) < 5;
  print(sl::where(mask, picture(), 0));
}

//   noise = picture % 3 - 1
//   print(np.round(10 * np.log10(31 ** 2 / (noise ** 2).mean()), 4))
void peak_signal_to_noise() {
  const Tensor noise = picture() % 3 - 1;
  print(sl::around(10 * sl::log10(31 * 31 / sl::pow(noise, 2).mean()), 4));
}

constexpr Snippet kSnippets[] = {
    {"gamma_correction", gamma_correction},
    {"grayscale", grayscale},
    {"sobel", sobel},
    {"box_blur", box_blur},
    {"threshold", threshold},
    {"rotate_left", rotate_left},
    {"rotate_half", rotate_half},
    {"crop", crop},
    {"pad_with_a_colour", pad_with_a_colour},
    {"integral_image", integral_image},
    {"halve_by_means", halve_by_means},
    {"enlarge", enlarge},
    {"equalise_histogram", equalise_histogram},
    {"round_mask", round_mask},
    {"peak_signal_to_noise", peak_signal_to_noise},
};

}  // namespace

std::span<const Snippet> images() { return kSnippets; }

}  // namespace snippets
