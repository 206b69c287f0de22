// A line of sizes: numbers that are all linear functions of one, such as the length of a sequence.
#ifndef SLUICE_FUSION_PLAN_SIZE_LINE_H_
#define SLUICE_FUSION_PLAN_SIZE_LINE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"

namespace sluice::fusion {

class SizeLine {
 public:
  // Through both, which differ and are equally many; the least step on it is 1. Position 0 is `a`.
  SizeLine(absl::Span<const int64_t> a, absl::Span<const int64_t> b);

  // Where `numbers`, which are as many, lie on the line; nullopt: beside it.
  std::optional<int64_t> position_of(absl::Span<const int64_t> numbers) const;
  std::vector<int64_t> at(int64_t position) const;
  // Number `k` there.
  int64_t value(size_t k, int64_t position) const { return origin_[k] + position * slopes_[k]; }
  // By how much number `k` grows from one position to the next.
  int64_t slope(size_t k) const { return slopes_[k]; }

 private:
  std::vector<int64_t> origin_, slopes_;
  size_t first_ = 0;  // of the numbers that vary
};

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_PLAN_SIZE_LINE_H_
