// What is done to data before something is learned from it.
#include "examples/numpy/snippets.h"

namespace snippets {
namespace {

//   scaled = (samples - samples.mean(axis=0)) / samples.std(axis=0)
//   print(scaled)
void standardise() {
  const Tensor x = samples();
  const Tensor scaled = (x - x.mean(0)) / sl::std(x, 0);
  print(scaled);
}

//   low, high = samples.min(axis=0), samples.max(axis=0)
//   print((samples - low) / (high - low))
void scale_to_unit_range() {
  const Tensor x = samples();
  const Tensor low = x.min(0), high = x.max(0);
  print((x - low) / (high - low));
}

//   print(samples / np.abs(samples).max(axis=0))
void scale_by_largest_magnitude() {
  const Tensor x = samples();
  print(x / sl::abs(x).max(0));
}

//   lengths = np.sqrt((samples ** 2).sum(axis=1, keepdims=True))
//   print(samples / lengths)
void rows_of_unit_length() {
  const Tensor x = samples();
  const Tensor lengths = sl::sqrt(sl::pow(x, 2).sum(1, true));
  print(x / lengths);
}

//   codes = np.zeros((labels.size, 3))
//   codes[np.arange(labels.size), labels] = 1
//   print(codes)
void one_hot_codes() {
  const Tensor y = labels();
  Tensor codes = sl::zeros({y.size(), 3}, sl::kFloat64);
  codes = codes.set({sl::arange(y.size()), y}, 1);
  print(codes);
}

//   print(np.eye(3, dtype=int)[labels])
void one_hot_by_rows_of_eye() {
  const Tensor y = labels();
  print(sl::eye(3, 3, sl::kInt64)[y]);
}

//   print((samples > samples.mean(axis=0)).astype(int))
void binarise() {
  const Tensor x = samples();
  print((x > x.mean(0)).astype(sl::kInt64));
}

//   holes = np.where(samples > 5.5, np.nan, samples)
//   means = np.nanmean(holes, axis=0)
//   print(np.where(np.isnan(holes), means, holes))
void impute_means() {
  const Tensor x = samples();
  const Tensor holes = sl::where(x > 5.5, NAN, x);
  const Tensor means = sl::nanmean(holes, 0);
  print(sl::where(sl::isnan(holes), means, holes));
}

//   a, b, c = samples[:, 0], samples[:, 1], samples[:, 2]
//   print(np.stack([a, b, c, a * b, a * c, b * c], axis=1))
void products_of_features() {
  const Tensor x = samples();
  const Tensor a = x(Slice{}, 0), b = x(Slice{}, 1), c = x(Slice{}, 2);
  print(sl::stack({a, b, c, a * b, a * c, b * c}, 1));
}

//   guesses = np.array([0, 1, 1, 1, 2, 2])
//   matrix = np.zeros((3, 3), int)
//   np.add.at(matrix, (labels, guesses), 1)
//   print(matrix)
void confusion_matrix() {
  const Tensor y = labels();
  const Tensor guesses = Tensor::from<int64_t>({0, 1, 1, 1, 2, 2});
  Tensor matrix = sl::zeros({3, 3}, sl::kInt64);
  matrix = matrix.add_at({y, guesses}, 1);
  print(matrix);
}

//   guesses = np.array([0, 1, 1, 1, 2, 2])
//   print(np.round(np.mean(guesses == labels), 6))
void accuracy() {
  const Tensor guesses = Tensor::from<int64_t>({0, 1, 1, 1, 2, 2});
  print(sl::around(sl::mean((guesses == labels()).astype(sl::kFloat64)), 6));
}

//   apart = samples[:, None, :] - samples[None, :, :]
//   print(np.sqrt((apart ** 2).sum(axis=-1)))
void pairwise_distances() {
  const Tensor x = samples();
  const Tensor apart = x(Slice{}, sl::newaxis, Slice{}) - x(sl::newaxis, Slice{}, Slice{});
  print(sl::sqrt(sl::pow(apart, 2).sum(-1)));
}

//   centres = samples[[0, 2]]
//   near = ((samples[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
//   members = (near[:, None] == np.arange(2)).astype(float)
//   print(near)
//   print(members.T @ samples / members.sum(axis=0)[:, None])
void step_of_k_means() {
  const Tensor x = samples();
  const Tensor centres = x[std::vector<int64_t>{0, 2}];
  const Tensor near = sl::pow(x(Slice{}, sl::newaxis) - centres, 2).sum(2).argmin(1);
  const Tensor members = (near(Slice{}, sl::newaxis) == sl::arange(2)).astype(sl::kFloat64);
  print(near);
  print(sl::matmul(members.T(), x) / members.sum(0)(Slice{}, sl::newaxis));
}

//   scores = samples - samples.max(axis=1, keepdims=True)
//   print(np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True))
void softmax_of_rows() {
  const Tensor x = samples();
  const Tensor scores = x - x.max(1, true);
  print(sl::exp(scores) / sl::exp(scores).sum(1, true));
}

constexpr Snippet kSnippets[] = {
    {"standardise", standardise},
    {"scale_to_unit_range", scale_to_unit_range},
    {"scale_by_largest_magnitude", scale_by_largest_magnitude},
    {"rows_of_unit_length", rows_of_unit_length},
    {"one_hot_codes", one_hot_codes},
    {"one_hot_by_rows_of_eye", one_hot_by_rows_of_eye},
    {"binarise", binarise},
    {"impute_means", impute_means},
    {"products_of_features", products_of_features},
    {"confusion_matrix", confusion_matrix},
    {"accuracy", accuracy},
    {"pairwise_distances", pairwise_distances},
    {"step_of_k_means", step_of_k_means},
    {"softmax_of_rows", softmax_of_rows},
};

}  // namespace

std::span<const Snippet> preprocessing() { return kSnippets; }

}  // namespace snippets
