// Signals: filters, windows, trends.
#include "examples/numpy/snippets.h"

namespace snippets {
namespace {

//   totals = np.cumsum(np.concatenate([[0.0], wave]))
//   print((totals[3:] - totals[:-3]) / 3)
void moving_average() {
  const Tensor totals = sl::cumsum(sl::concat({array({0}), wave()}), 0);
  print((totals(Slice{3, {}}) - totals(Slice{{}, -3})) / 3);
}

//   kernel = np.array([0.25, 0.5, 0.25])
//   print(np.convolve(wave, kernel, mode='valid'))
void convolution() {
  const Tensor x = wave(), kernel = array({0.25, 0.5, 0.25});
  Tensor y = sl::zeros(10, sl::kFloat64);
  for (int64_t k = 0; k < 3; ++k) y += kernel[2 - k] * x.slice(0, k, k + 10);
  print(y);
}

//   t = np.arange(12.0)
//   slope = ((t - t.mean()) * wave).sum() / ((t - t.mean()) ** 2).sum()
//   print(np.round(wave - wave.mean() - slope * (t - t.mean()), 6))
void detrend() {
  const Tensor x = wave(), t = sl::arange(0, 12, 1, sl::kFloat64);
  const Tensor slope = ((t - t.mean()) * x).sum() / sl::pow(t - t.mean(), 2).sum();
  print(sl::around(x - x.mean() - slope * (t - t.mean()), 6));
}

//   n = np.arange(8)
//   print(0.5 - 0.5 * np.cos(2 * np.pi * n / 7))
void hann_window() {
  const Tensor n = sl::arange(8).astype(sl::kFloat64);
  print(0.5 - 0.5 * sl::cos(2 * M_PI * n / 7));
}

//   n = np.arange(8)
//   print(0.54 - 0.46 * np.cos(2 * np.pi * n / 7))
void hamming_window() {
  const Tensor n = sl::arange(8).astype(sl::kFloat64);
  print(0.54 - 0.46 * sl::cos(2 * M_PI * n / 7));
}

//   n = np.arange(9)
//   print(1 - np.abs((n - 4) / 4))
void triangular_window() {
  const Tensor n = sl::arange(9).astype(sl::kFloat64);
  print(1 - sl::abs((n - 4) / 4));
}

//   frames = np.stack([wave[i:i + 4] for i in range(0, 9, 2)])
//   print((frames ** 2).mean(axis=1))
void energy_of_frames() {
  std::vector<Tensor> frames;
  for (int64_t i = 0; i < 9; i += 2) frames.push_back(wave()(Slice{i, i + 4}));
  print(sl::pow(sl::stack(frames), 2).mean(1));
}

//   print(wave[1:] - 0.9 * wave[:-1])
void pre_emphasis() {
  const Tensor x = wave();
  print(x(Slice{1, {}}) - 0.9 * x(Slice{{}, -1}));
}

//   centred = wave - 6.5
//   print(np.count_nonzero(np.diff(np.signbit(centred))))
void zero_crossings() {
  const Tensor centred = wave() - 6.5;
  print(sl::count_nonzero(sl::diff(sl::signbit(centred))));
}

//   d = wave - wave.mean()
//   print(np.round([(d[:12 - k] * d[k:]).sum() / (d * d).sum() for k in range(5)], 6))
void autocorrelation() {
  const Tensor d = wave() - wave().mean();
  std::vector<Tensor> at;
  for (int64_t k = 0; k < 5; ++k) {
    at.push_back((d(Slice{{}, 12 - k}) * d(Slice{k, {}})).sum() / (d * d).sum());
  }
  print(sl::around(sl::stack(at), 6));
}

//   inner = wave[1:-1]
//   print((inner > wave[:-2]) & (inner > wave[2:]))
void peaks() {
  const Tensor x = wave(), inner = x(Slice{1, -1});
  print((inner > x(Slice{{}, -2})) & (inner > x(Slice{2, {}})));
}

//   print(np.interp(np.arange(0, 11, 2.5), np.arange(12), wave))
void resample() { print(sl::interp(sl::arange(0, 11, 2.5, sl::kFloat64), sl::arange(12), wave())); }

//   t = np.arange(16) / 16
//   print(np.round(np.sin(2 * np.pi * 3 * t) + 0.5 * np.cos(2 * np.pi * t), 6))
void sum_of_tones() {
  const Tensor t = sl::arange(16).astype(sl::kFloat64) / 16;
  print(sl::around(sl::sin(2 * M_PI * 3 * t) + 0.5 * sl::cos(2 * M_PI * t), 6));
}

//   print(np.round(20 * np.log10(np.abs(wave) / np.abs(wave).max()), 6))
void decibels() {
  const Tensor size = sl::abs(wave());
  print(sl::around(20 * sl::log10(size / size.max()), 6));
}

constexpr Snippet kSnippets[] = {
    {"moving_average", moving_average},
    {"convolution", convolution},
    {"detrend", detrend},
    {"hann_window", hann_window},
    {"hamming_window", hamming_window},
    {"triangular_window", triangular_window},
    {"energy_of_frames", energy_of_frames},
    {"pre_emphasis", pre_emphasis},
    {"zero_crossings", zero_crossings},
    {"autocorrelation", autocorrelation},
    {"peaks", peaks},
    {"resample", resample},
    {"sum_of_tones", sum_of_tones},
    {"decibels", decibels},
};

}  // namespace

std::span<const Snippet> signals() { return kSnippets; }

}  // namespace snippets
