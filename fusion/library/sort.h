// Library calls that put elements in order along an axis.
#ifndef SLUICE_FUSION_LIBRARY_SORT_H_
#define SLUICE_FUSION_LIBRARY_SORT_H_

#include <cstdint>
#include <string>

#include <sluice/dtype.h>
#include "fusion/library/lines.h"
#include "fusion/lower/step.h"

namespace sluice::fusion {

enum class SortResult : uint8_t {
  kValues,     // each line of y has the elements of x's
  kPositions,  // int64: where these elements are in x's line
  kFirst,      // likewise, of the first `count` only
};

// Whether a GPU selects the first `count` elements of lines: of others it has to sort all.
inline constexpr int64_t kMaxSelected = 2048;
inline bool is_selected(int64_t length, int64_t count) {
  return count <= kMaxSelected && length >= 1 << 15 && length <= int64_t{0xffffffff};
}

// Least first, or greatest first if `descending`. NaN comes last in both. Equal elements, and -0
// and 0 are equal, keep their order in both.
//
// Buffers: x, of `dtype`, and y.
struct SortAttributes : SizedAttributes<SortAttributes> {
  DType dtype = DType::kFloat32;
  SortResult result = SortResult::kValues;
  bool descending = false;
  Lines lines;
  int64_t count = 0;   // of a line of y: at most lines.length
  int64_t offset = 0;  // of x from the base of the block, in elements

  template <typename Attributes, typename F>
  static void for_each_number(Attributes& of, F f) {
    Lines::for_each_number(of.lines, f);
    f(of.count);
    f(of.offset);
  }
  std::string text() const override;
  int64_t flops() const override { return 0; }
  double cost() const override;
};

// `call` is of kind kSort.
inline const SortAttributes& sort_of(const LibraryCall& call) {
  return static_cast<const SortAttributes&>(*call.attributes);
}

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_LIBRARY_SORT_H_
