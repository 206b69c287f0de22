#include "fusion/plan/size_line.h"

#include <numeric>

namespace sluice::fusion {

SizeLine::SizeLine(absl::Span<const int64_t> a, absl::Span<const int64_t> b)
    : origin_(a.begin(), a.end()), slopes_(a.size()) {
  int64_t step = 0;
  for (size_t k = 0; k < a.size(); ++k) step = std::gcd(step, b[k] - a[k]);
  while (a[first_] == b[first_]) ++first_;
  if (b[first_] < a[first_]) step = -step;
  for (size_t k = 0; k < a.size(); ++k) slopes_[k] = (b[k] - a[k]) / step;
}

std::optional<int64_t> SizeLine::position_of(absl::Span<const int64_t> numbers) const {
  const int64_t distance = numbers[first_] - origin_[first_];
  if (distance % slopes_[first_] != 0) return std::nullopt;
  const int64_t position = distance / slopes_[first_];
  for (size_t k = 0; k < numbers.size(); ++k) {
    if (numbers[k] != value(k, position)) return std::nullopt;
  }
  return position;
}

std::vector<int64_t> SizeLine::at(int64_t position) const {
  std::vector<int64_t> numbers(origin_.size());
  for (size_t k = 0; k < numbers.size(); ++k) numbers[k] = value(k, position);
  return numbers;
}

}  // namespace sluice::fusion
