// Statistics.
#include "examples/numpy/snippets.h"

namespace snippets {
namespace {

//   print((wave - wave.mean()) / wave.std(ddof=1))
void z_scores() {
  const Tensor x = wave();
  print((x - x.mean()) / sl::std(x, {}, false, 1));
}

//   x, y = samples[:, 0], samples[:, 2]
//   dx, dy = x - x.mean(), y - y.mean()
//   print(np.round((dx * dy).sum() / np.sqrt((dx ** 2).sum() * (dy ** 2).sum()), 6))
void correlation() {
  const Tensor x = samples()(Slice{}, 0), y = samples()(Slice{}, 2);
  const Tensor dx = x - x.mean(), dy = y - y.mean();
  print(sl::around((dx * dy).sum() / sl::sqrt(sl::pow(dx, 2).sum() * sl::pow(dy, 2).sum()), 6));
}

//   print(np.corrcoef(samples, rowvar=False))
void correlation_matrix() { print(sl::corrcoef(samples(), false)); }

//   centred = samples - samples.mean(axis=0)
//   print(centred.T @ centred / (len(samples) - 1))
void covariance_by_hand() {
  const Tensor x = samples();
  const Tensor centred = x - x.mean(0);
  print(sl::matmul(centred.T(), centred) / (x.shape(0) - 1));
}

//   p = np.bincount(labels) / labels.size
//   print(np.round(-(p * np.log2(p)).sum(), 6))
void entropy() {
  const Tensor y = labels();
  const Tensor p = sl::bincount(y).astype(sl::kFloat64) / y.size();
  print(sl::around(-(p * sl::log2(p)).sum(), 6));
}

//   p, q = np.array([0.2, 0.3, 0.5]), np.array([0.1, 0.6, 0.3])
//   print(np.round(np.sum(p * np.log(p / q)), 6))
void divergence() {
  const Tensor p = array({0.2, 0.3, 0.5}), q = array({0.1, 0.6, 0.3});
  print(sl::around(sl::sum(p * sl::log(p / q)), 6));
}

//   d = wave - wave.mean()
//   print(np.round((d ** 3).mean() / (d ** 2).mean() ** 1.5, 6))
//   print(np.round((d ** 4).mean() / (d ** 2).mean() ** 2 - 3, 6))
void skewness_and_kurtosis() {
  const Tensor d = wave() - wave().mean();
  print(sl::around(sl::pow(d, 3).mean() / sl::pow(sl::pow(d, 2).mean(), 1.5), 6));
  print(sl::around(sl::pow(d, 4).mean() / sl::pow(sl::pow(d, 2).mean(), 2) - 3, 6));
}

//   counts, edges = np.histogram(wave, bins=4)
//   print(counts)
//   print(edges)
void histogram_of_values() {
  const auto [counts, edges] = sl::histogram(wave(), 4);
  print(counts);
  print(edges);
}

//   counts, edges = np.histogram(wave, bins=4)
//   middles = (edges[1:] + edges[:-1]) / 2
//   print(np.round((counts * middles).sum() / counts.sum(), 6))
void mean_of_a_histogram() {
  const auto [counts, edges] = sl::histogram(wave(), 4);
  const Tensor middles = (edges(Slice{1, {}}) + edges(Slice{{}, -1})) / 2;
  print(sl::around((counts * middles).sum() / counts.sum(), 6));
}

//   sums = np.bincount(labels, weights=samples[:, 0])
//   print(sums / np.bincount(labels))
void means_of_groups() {
  const Tensor y = labels();
  const Tensor sums = sl::bincount(y, samples()(Slice{}, 0));
  print(sums / sl::bincount(y));
}

//   w = np.arange(1.0, 13.0)
//   print(np.round((w * wave).sum() / w.sum(), 6))
void weighted_mean() {
  const Tensor w = sl::arange(1.0, 13.0, 1.0, sl::kFloat64);
  print(sl::around((w * wave()).sum() / w.sum(), 6));
}

//   print(np.round(np.exp(np.log(wave).mean()), 6))
//   print(np.round(wave.size / (1 / wave).sum(), 6))
void geometric_and_harmonic_means() {
  print(sl::around(sl::exp(sl::log(wave()).mean()), 6));
  print(sl::around(wave().size() / (1 / wave()).sum(), 6));
}

//   print(np.cumsum(wave) / np.arange(1, 13))
void running_mean() {
  const Tensor x = wave();
  print(sl::cumsum(x, 0) / sl::arange(1, 13));
}

//   t = np.arange(12.0)
//   slope = ((t - t.mean()) * (wave - wave.mean())).sum() / ((t - t.mean()) ** 2).sum()
//   print(np.round([slope, wave.mean() - slope * t.mean()], 6))
void straight_line_fit() {
  const Tensor x = wave(), t = sl::arange(0, 12, 1, sl::kFloat64);
  const Tensor slope = ((t - t.mean()) * (x - x.mean())).sum() / sl::pow(t - t.mean(), 2).sum();
  print(sl::around(sl::stack({slope, x.mean() - slope * t.mean()}), 6));
}

constexpr Snippet kSnippets[] = {
    {"z_scores", z_scores},
    {"correlation", correlation},
    {"correlation_matrix", correlation_matrix},
    {"covariance_by_hand", covariance_by_hand},
    {"entropy", entropy},
    {"divergence", divergence},
    {"skewness_and_kurtosis", skewness_and_kurtosis},
    {"histogram_of_values", histogram_of_values},
    {"mean_of_a_histogram", mean_of_a_histogram},
    {"means_of_groups", means_of_groups},
    {"weighted_mean", weighted_mean},
    {"geometric_and_harmonic_means", geometric_and_harmonic_means},
    {"running_mean", running_mean},
    {"straight_line_fit", straight_line_fit},
};

}  // namespace

std::span<const Snippet> statistics() { return kSnippets; }

}  // namespace snippets
